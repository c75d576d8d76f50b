"""A run is watched through its ledger, and interrupted when the case is used up."""

import json
from pathlib import Path

import pytest
from bench.meter import Used
from bench.solving import solve

PROGRAM = """#!/usr/bin/env python3
import json, signal, sys, time
from pathlib import Path

run = Path(".surefoot/runs/r1")
run.mkdir(parents=True)
usage = {"prompt_tokens": 10, "cached_tokens": 0, "completion_tokens": 5, "cost_usd": 0.0}
with (run / "events.jsonl").open("w") as out:
    for kind in ("turn.started", "model.replied", "candidate.tried"):
        out.write(json.dumps({"payload": {"kind": kind, "usage": usage}}) + "\\n")
    out.write('{"payload": {"kind": "model.rep')

def cancel(*_):
    print(json.dumps({"status": "cancelled", "reason": "interrupted", "run_id": "r1", "commit": None}))
    sys.exit(11)

signal.signal(signal.SIGTERM, cancel)
if "--forever" in sys.argv:
    signal.pause()
print("progress")
print(json.dumps({"status": "complete", "reason": "done", "run_id": "r1", "commit": "abc"}))
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program"
    path.write_text(PROGRAM)
    path.chmod(0o755)
    (tmp_path / "repository").mkdir()
    return path


def test_the_last_line_says_how_it_ended_and_the_ledger_what_was_used(program: Path) -> None:
    """Whole lines of the ledger are counted, a torn one is not."""
    root = program.parent
    run = solve(root / "repository", ["ISSUE.md"], scratch=root, program=program)
    assert (run.status, run.commit, run.exit_code) == ("complete", "abc", 0)
    assert run.used == Used(model_calls=1, prompt_tokens=10, completion_tokens=5, candidates=1)
    assert not run.over_limit


def test_a_run_over_its_limit_is_interrupted_and_does_not_count_as_complete(program: Path) -> None:
    """It is told to end, ends in its own way, and is marked."""
    root = program.parent
    run = solve(
        root / "repository",
        ["ISSUE.md", "--forever"],
        scratch=root,
        program=program,
        may_go_on=lambda used: used.model_calls == 0,
    )
    assert run.over_limit
    assert (run.status, run.exit_code) == ("cancelled", 11)


def test_a_run_that_says_nothing_is_no_answer(program: Path) -> None:
    """A crash is told from a blocked run, with what it printed."""
    program.write_text("#!/bin/sh\necho oh no >&2\nexit 1\n")
    root = program.parent
    run = solve(root / "repository", [], scratch=root, program=program)
    assert (run.status, run.exit_code) == ("no answer", 1)
    assert "oh no" in run.reason
    assert json.dumps(run.stderr)
