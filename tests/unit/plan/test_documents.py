"""The documents of a plan hold everything, and nothing of an issue's text can break out of its place."""

import json
import re
from dataclasses import replace
from xml.etree import ElementTree as ET

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.plan.plans import SMALL, good_plans
from tests.unit.plan.test_compile import compiled

from surefoot.codec import decode
from surefoot.plan import documents
from surefoot.plans import Clarified, Plan, Question, Source

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = '"]\n# x\n| y | <script>`z`</script> & ;end --> #quot;'


def boxes(plan: Plan) -> dict[str, tuple[float, float]]:
    """Where the picture has each unit."""
    root = ET.fromstring(documents(plan)["graph.svg"])
    found = {}
    for group in root.iter(f"{SVG}g"):
        box, text = group.find(f"{SVG}rect"), group.find(f"{SVG}text")
        assert box is not None
        assert text is not None
        assert text.text is not None
        found[text.text.partition(":")[0]] = (float(box.attrib["x"]), float(box.attrib["y"]))
    return found


def test_a_plan_is_written_in_full() -> None:
    """Roadmap, picture, trace, risks and one specification a unit."""
    plan = compiled()
    files = documents(plan)
    assert sorted(files) == sorted(
        ["ROADMAP.md", "graph.mmd", "graph.svg", "TRACE.md", "trace.json", "RISKS.md", "plan.json"]
        + [f"units/U{n}.md" for n in range(1, 9)]
    )
    assert decode(Plan, files["plan.json"].encode()) == plan
    trace = json.loads(files["trace.json"])
    assert [
        (r["requirement_id"], [u["unit_id"] for u in r["units"]]) for r in trace["requirements"]
    ] == [(f"R{n}", [f"U{n}"]) for n in range(1, 9)]
    assert "tests/test_cli.py::test_main" in files["TRACE.md"]
    assert "the shell's arguments are not checked" in files["RISKS.md"]
    for told in ("almanac/render.py", "U7", "take the two new files away", "tests/test_cli.py"):
        assert told in files["units/U8.md"]


def test_answers_and_sources_stand_in_the_roadmap() -> None:
    """Who said what and when, and what was read where."""
    question = Question(
        question_id="Q1", text="Which?", options=("a", "b"), recommended=0, default=None
    )
    plan = replace(
        compiled(),
        answers=(Clarified(question=question, answer="b", by="ursula", at="2026-01-01T00:00:00"),),
        sources=(Source(where="httpx 1.0: METADATA", fact="a client", digest="ab" * 32),),
    )
    roadmap = documents(plan)["ROADMAP.md"]
    assert "Which? **b** (ursula, 2026-01-01T00:00:00)" in roadmap
    assert "`httpx 1.0: METADATA`: a client (SHA-256 `abababababab`)" in roadmap


@settings(max_examples=30)
@given(good_plans())
def test_the_picture_shows_each_unit_right_of_what_it_needs(plan: Plan) -> None:
    """One box a unit, none upon another, and time goes from left to right."""
    places = boxes(plan)
    assert set(places) == {u.unit_id for u in plan.units}
    assert len(set(places.values())) == len(plan.units)
    for unit in plan.units:
        for need in unit.needs:
            assert places[need][0] < places[unit.unit_id][0]
    edges = re.findall(r"u_(\w+) --> u_(\w+)", documents(plan)["graph.mmd"])
    assert sorted(edges) == sorted((n, u.unit_id) for u in plan.units for n in u.needs)


@settings(max_examples=30)
@given(st.one_of(st.just(HOSTILE), st.text(st.characters(codec="utf-8"))))
def test_no_text_breaks_out_of_its_place(text: str) -> None:
    """The picture stays XML, a label stays one label, a table row one row, and no text becomes a heading."""
    units = tuple(replace(u, title=text, acceptance=(text,)) for u in SMALL.units)
    plan = replace(
        SMALL, units=units, milestones=tuple(replace(m, title=text) for m in SMALL.milestones)
    )
    files = documents(plan)
    assert len(boxes(plan)) == len(units)
    labels = [line for line in files["graph.mmd"].splitlines() if "u_U0[" in line]
    assert len(labels) == 1
    assert re.fullmatch(r' +u_U0\["U0: [^"<>`]*"\]', labels[0])
    headings = [line for line in files["ROADMAP.md"].splitlines() if line.startswith("# ")]
    assert len(headings) == 1
    rows = [line for line in files["ROADMAP.md"].splitlines() if line.startswith("| [U")]
    assert [len(re.findall(r"(?<!\\)\|", row)) for row in rows] == [7] * len(rows)
