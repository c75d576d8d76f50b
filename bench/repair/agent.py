"""Surefoot on one case, through its real command line."""

import subprocess
import time
from pathlib import Path
from typing import Final

from bench.meter import LIMIT_S, Used
from bench.repair.cases import Case, files
from bench.repair.outcome import Attempt
from bench.repository import commit_all, git, write_files
from bench.solving import solve
from surefoot.events.work import FactLearned
from surefoot.ledger import read_events

CANDIDATE_S: Final = 0.02
"""One candidate in the trial worker, on an idle machine; `python -m bench.trials` measures it."""
TOKENS: Final = 80_000
"""The run's own ceiling. The case's limit is in seconds and ends it first; this one is for a run that loops."""


def attempt(case: Case, scratch: Path, *, seed: int) -> Attempt:
    """Let Surefoot work on the case in a fresh repository below `scratch`."""
    start = time.monotonic()
    root = scratch / "repository"
    root.mkdir()
    write_files(root, files(case))
    commit_all(root)
    arguments = ["ISSUE.md", "--model", "embedded", "--seed", str(seed)]
    arguments += ["--budget-tokens", str(TOKENS)]
    run = solve(root, arguments, scratch=scratch, may_go_on=_within)
    claimed = run.status == "complete" and not run.over_limit
    return Attempt(
        claimed=claimed,
        status="limit" if run.over_limit else run.status,
        reason=run.reason,
        solution=_result(root, run.commit) if claimed else case.solution,
        used=run.used,
        idle_s=min(run.used.idle_s(CANDIDATE_S), LIMIT_S),
        wall_s=time.monotonic() - start,
        selected=_selected(root),
    )


def _selected(root: Path) -> str:
    """The last selection that a ledger below `root` tells of."""
    told = ""
    for path in sorted(root.glob(".surefoot/runs/*/events.jsonl")):
        for event in (r.event for r in read_events(path)):
            if isinstance(event, FactLearned) and event.topic == "selection":
                told = event.text
    return told


def _within(used: Used) -> bool:
    return used.idle_s(CANDIDATE_S) <= LIMIT_S


def _result(root: Path, commit: str | None) -> str:
    """`solution.py` of the commit that the run names; empty when there is none, which no check accepts."""
    try:
        return git(root, "show", f"{commit}:solution.py") if commit else ""
    except subprocess.CalledProcessError:
        return ""
