"""The plan gate: what it refuses, and that nothing which it lets through lacks what it looks for."""

import json
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from tests.unit.plan.plans import FILES, FIXTURES, FIXTURES_OF, SMALL, SPOILED, code_of, good_plans

from surefoot.codec import canonical, decode, plain
from surefoot.errors import UsageError
from surefoot.gitops.refs import checked
from surefoot.plan import CODES, judge
from surefoot.plans import Plan
from surefoot.project import child_run
from surefoot.values import RunId, UnitId


def test_every_refusal_has_a_fixture() -> None:
    """Each kind of refusal but that of a broken gate is shown by a file, and each file is of a kind."""
    kinds = {code_of(path.stem) for path in FIXTURES.glob("*.json")}
    assert kinds == set(CODES) - {"broken"}
    assert {path.stem for path in FIXTURES.glob("*.json")} == set(FIXTURES_OF)


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.json")), ids=lambda p: p.stem)
def test_a_spoiled_plan_is_refused_with_its_own_message(path: Path) -> None:
    """The plan of a fixture is refused for what is wrong with it, in the words that stand in the file."""
    data = json.loads(path.read_text())
    refusals = judge(decode(Plan, canonical(data["plan"])), data["files"])
    assert [plain(r) for r in refusals] == data["refusals"]
    assert refusals[0].code == code_of(path.stem)


def test_the_plan_that_they_spoil_passes() -> None:
    """Without the defects nothing is refused, so each fixture shows its own defect only."""
    assert judge(SMALL, FILES) == ()


def test_a_gate_that_breaks_has_refused() -> None:
    """What makes a check throw does not pass."""
    broken = replace(SMALL, units=None)  # type: ignore[arg-type]  # what no decoder lets through
    assert [r.code for r in judge(broken, FILES)] == ["broken"]


@settings(max_examples=40)
@given(good_plans())
def test_no_plan_that_passes_lacks_anything(plan: Plan) -> None:
    """A random good plan passes; spoiled in any way it is refused for that."""
    assert judge(plan, FILES) == ()
    for name, spoil in SPOILED.items():
        codes = {r.code for r in judge(spoil(plan), FILES)}
        assert code_of(name) in codes, name


def test_an_earlier_milestone_is_done_before() -> None:
    """Its paths may be read and written by a later one without a need."""
    later = replace(SMALL.units[2], reads=("src/new.py",), writes=("src/m0.py",))
    units = (*SMALL.units[:2], later, *SMALL.units[3:])
    assert judge(replace(SMALL, units=units), FILES) == ()


def test_a_new_path_may_have_brackets_in_its_name() -> None:
    """As the routes of web frameworks do; it is no pattern, and a unit that needs it may read it."""
    route = "app/[id]/page.tsx"
    maker = replace(SMALL.units[0], produces=(route,), writes=("src/m0.py", route))
    reader = replace(SMALL.units[1], reads=(route,))
    assert judge(replace(SMALL, units=(maker, reader, *SMALL.units[2:])), FILES) == ()
    many = replace(maker, produces=("app/*.tsx",), writes=("src/m0.py", "app/*.tsx"))
    reader = replace(reader, reads=())
    told = judge(replace(SMALL, units=(many, reader, *SMALL.units[2:])), FILES)
    assert [(r.code, r.subject) for r in told] == [("path", "U0")]


@pytest.mark.parametrize(("name", "passes"), [("1.2", True), ("U..1", False), ("U1.", False)])
def test_an_id_is_one_that_a_branch_can_be_called_by(name: str, *, passes: bool) -> None:
    """The runs of units are called by theirs, and git takes no two dots in a row."""
    spare = replace(SMALL.units[-1], unit_id=UnitId(name))
    refusals = judge(replace(SMALL, units=(*SMALL.units[:-1], spare)), FILES)
    assert [(r.code, r.subject) for r in refusals] == ([] if passes else [("name", name)])
    run = child_run(RunId("20260101-000000-0001"), UnitId(name), 1)
    with nullcontext() if passes else pytest.raises(UsageError):
        checked(run)
