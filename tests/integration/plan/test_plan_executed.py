"""From one issue text to a verified branch: a strong model's eight units in two milestones, four workers."""

import json
import re
from pathlib import Path

import pytest
from tests.integration.plan.almanac import SOLUTIONS, Almanac, rules
from tests.integration.steps import call, done

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
