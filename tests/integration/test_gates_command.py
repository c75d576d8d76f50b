"""`surefoot gates`: STOP or GO, with the evidence of each decision gate (SPEC B9)."""

import json
from pathlib import Path
from typing import Any

from tests.integration.conftest import Surefoot
from tests.integration.execute.test_agent import EDITS, FEATURE, FILES, repository, solve

HEAD = '''"""The head of a report."""

from till.money import show


def head(cents):
    """The sum, shown."""
    return f"Sum: {show(cents)}"
'''
BY_STEPS = ("--strategy", "agent")


def gates(surefoot: Surefoot, root: Path) -> tuple[int, dict[str, Any]]:
    ran = surefoot("gates", "--json", cwd=root)
    assert ran.stdout, ran.stderr
    return ran.returncode, json.loads(ran.stdout.splitlines()[-1])


def test_a_complete_run_is_a_go(surefoot: Surefoot, tmp_path: Path) -> None:
    """The signatures that changed are listed with what they are now, and all who call them fit."""
    root = repository(tmp_path, FILES)
    run = solve(surefoot, root, FEATURE, EDITS, *BY_STEPS)
    assert run["status"] == "complete", run["reason"]
    code, told = gates(surefoot, root)
    assert (code, told["decision"]) == (0, "GO")
    assert [g["gate"] for g in told["gates"] if g["passed"]] == ["G1", "G2", "G3", "G4", "G5"]
    changed = {b["contract"].partition(":")[0] for b in told["boundaries"]}
    assert changed == {"show", "line", "receipt"}
    ids = {line.split()[0] for line in surefoot("events", cwd=root).stdout.splitlines() if line}
    assert all(set(g["evidence"]) <= ids for g in told["gates"])
    shown = surefoot("gates", cwd=root).stdout
    assert shown.startswith("GO")


def test_a_caller_that_no_test_reaches_stops_the_run(surefoot: Surefoot, tmp_path: Path) -> None:
    """Every test passes, and yet a module that was not touched could not call what it calls any more."""
    root = repository(tmp_path, {**FILES, "till/head.py": HEAD})
    demanding = [
        e.replace('def show(cents, currency=\\"\\")', "def show(cents, currency)") for e in EDITS
    ]
    assert demanding != EDITS
    run = solve(surefoot, root, FEATURE, demanding, *BY_STEPS)
    assert run["status"] == "blocked"
    assert str(run["reason"]).startswith("G2 says STOP: till/money.py:4: show")
    code, told = gates(surefoot, root)
    assert (code, told["decision"]) == (10, "STOP")
    broken = [b for b in told["boundaries"] if b["problem"]]
    assert [b["place"] for b in broken] == ["till/money.py:4"]
    assert "till/head.py:8 does not bind" in broken[0]["problem"]
