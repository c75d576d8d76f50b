"""From one issue text to a verified branch: a strong model's eight units in two milestones, four workers."""

import json
import re
from pathlib import Path

import pytest
from bench.paths import model_path
from tests.integration.plan.almanac import DEFECTS, SOLUTIONS, THREE, Almanac, rules
from tests.integration.steps import call, done

from surefoot.cli.common import NO
from surefoot.events.calls import ModelReplied
from surefoot.events.plans import ChildEnded, ChildStarted
from surefoot.ledger import read_events

pytestmark = pytest.mark.campaign

_WORKERS = 4


def working() -> list[dict[str, object]]:
    """Rules of a model that writes each unit's two files, then says that it is done."""
    size = {"complexity": "low", "confidence": 0.9, "reasoning": "two files"}
    made: list[dict[str, object]] = [{"purpose": "task_complexity", "reply": json.dumps(size)}]
    for files in SOLUTIONS.values():
        edits = [call("file_edit", path=path, create=text) for path, text in files.items()]
        mine = rf"New files that it makes: {re.escape(next(iter(files)))};"
        answers = [*edits, done()]
        for number, answer in reversed(list(enumerate(answers))):
            calls = (
                rf".*## Calls so far, oldest first\n.*^{number}\. [a-z_.]+ \{{" if number else ""
            )
            made.append({"purpose": "tool_call", "pattern": rf"(?s){mine}{calls}", "reply": answer})
    return made


def test_eight_units_in_two_milestones_are_executed_by_four_workers(tmp_path: Path) -> None:
    """Planned, gated, run, merged, verified; each requirement points at a passing test, each milestone is a commit."""
    almanac = Almanac(tmp_path)
    model = almanac.scripted([*rules(), *working()])
    planned = almanac.plan(str(almanac.issue), "--model", model)
    assert planned["status"] == "reported", planned
    ran = almanac.surefoot(
        "run", "--jobs", str(_WORKERS), "--model", model, "--strategy", "agent", "--json"
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr + almanac.surefoot("explain").stdout[-6000:]
    summary = json.loads(ran.stdout.splitlines()[-1])
    assert summary["files"] == sorted(path for files in SOLUTIONS.values() for path in files)
    assert almanac.surefoot("verify").returncode == 0
    trace = (almanac.root / ".surefoot" / "runs" / summary["run_id"] / "TRACE.md").read_text()
    rows = trace.splitlines()[4:]
    assert len(rows) == len(SOLUTIONS)
    for row, (unit, files) in zip(rows, SOLUTIONS.items(), strict=True):
        assert f"| {unit} |" in row
        assert f"`{list(files)[1]}::" in row
        assert row.endswith("| - |")
    shown = json.loads(almanac.surefoot("status", "--json").stdout)
    assert [p["state"] for p in shown["parts"]] == ["done", "done"]
    accepted = almanac.surefoot("accept")
    assert accepted.returncode == 0, accepted.stderr


def test_three_defects_are_mended_beside_each_other_by_a_small_model(tmp_path: Path) -> None:
    """No model plans; each unit's run ends complete with evidence of its own, and the merged branch is verified."""
    kit = Almanac(tmp_path, DEFECTS, THREE)
    right = {
        "initials": "def initials(name):\n    return clean(name)[0].upper()\n",
        "cents": "def cents(text):\n    return round(float(clean(text)) * 100)\n",
        "year": "def year(text):\n    return int(clean(text)[:4])\n",
    }
    model = kit.scripted(
        {
            "purpose": "candidate_edit",
            "pattern": rf"(?i)function\W{{1,3}}{name}\b",
            "reply": f"```python\n{code}```",
        }
        for name, code in right.items()
    )
    first, *_, last = mended_beside_each_other(kit, model)
    plan = first.parent.name.partition(".")[0]
    again = kit.surefoot("replay", plan, "--json")
    assert again.returncode == 0, again.stdout + again.stderr
    told = json.loads(again.stdout.splitlines()[-1])
    assert told["identical"]
    last.write_bytes(last.read_bytes().replace(b'"decided_by":"rule"', b'"decided_by":"model"', 1))
    again = kit.surefoot("replay", plan, "--json")
    assert again.returncode == NO
    parted = json.loads(again.stdout.splitlines()[-1])
    assert parted["divergence"].startswith(f"{last.parent.name}: ")
    assert 0 < parted["compared"] < told["compared"]


@pytest.mark.model
def test_three_defects_are_mended_beside_each_other_by_the_embedded_model(tmp_path: Path) -> None:
    """As with a script; the three ask one host at once."""
    kit = Almanac(tmp_path, DEFECTS, THREE)
    (tmp_path / "home" / "cache").mkdir(parents=True)
    (tmp_path / "home" / "cache" / "models").symlink_to(model_path().parent)
    ledgers = mended_beside_each_other(kit, "embedded", "--time-limit", "1200")
    replies = [
        r for path in ledgers for r in read_events(path) if isinstance(r.event, ModelReplied)
    ]
    assert replies


def mended_beside_each_other(kit: Almanac, model: str, *more: str) -> list[Path]:
    """Plan and run; the ledgers of the units."""
    planned = kit.plan(str(kit.issue), "--model", model)
    assert planned["units"] == ["U1", "U2", "U3"], planned
    ran = kit.surefoot("run", "--jobs", "3", "--model", model, *more, "--json")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    summary = json.loads(ran.stdout.splitlines()[-1])
    assert summary["files"] == ["kit/dates.py", "kit/money.py", "kit/names.py"]
    runs = kit.root / ".surefoot" / "runs"
    events = [r.event for r in read_events(runs / summary["run_id"] / "events.jsonl")]
    started = [n for n, e in enumerate(events) if isinstance(e, ChildStarted)]
    ended = [n for n, e in enumerate(events) if isinstance(e, ChildEnded)]
    units = {"initials": "U1", "cents": "U2", "year": "U3"}
    assert len(started) == len(ended) == len(units)
    assert max(started) < min(ended)
    children = [runs / f"{summary['run_id']}.{unit}.1" for unit in units.values()]
    for name, child in zip(units, children, strict=True):
        own = json.loads((child / "summary.json").read_text())
        assert own["status"] == "complete"
        [shown] = [e for e in own["evidence"] if e["kind"] == "failing-tests"]
        assert shown["passed"]
        assert f"tests/test_kit.py::test_{name}" in shown["after"]
    assert kit.surefoot("verify").returncode == 0
    return [child / "events.jsonl" for child in children]
