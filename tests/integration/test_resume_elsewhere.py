"""A run whose model is gone goes on with another one, and its record says so."""

import json
import subprocess
from pathlib import Path

import pytest
from tests.integration.conftest import Surefoot
from tests.integration.steps import call, done, script

GONE = {"schema": 1, "rules": [{"fault": "unreachable", "message": "nobody listens"}]}
ONE_STEP = {
    "analysis": "the sign is wrong",
    "steps": [
        {
            "id": "mend",
            "description": "mend it",
            "intent": "modify",
            "target_files": ["calc.py"],
            "depends_on": [],
            "max_iterations": 4,
            "acceptance": ["the tests pass"],
        }
    ],
    "verification": [],
    "risk_factors": [],
    "confidence": 0.9,
}
FILES = {
    "calc.py": "def add(a, b):\n    return a - b\n",
    "tests/test_calc.py": "from calc import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n",
    "pyproject.toml": '[tool.pytest.ini_options]\npythonpath = ["."]\n',
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A small project with a bug."""
    root = tmp_path / "calc"
    for path, text in FILES.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    who = ("-c", "user.name=T", "-c", "user.email=t@example.invalid")
    for argv in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "first"]):
        subprocess.run(["git", *who, *argv], cwd=root, check=True)
    return root


def rules(folder: Path, name: str, content: object) -> str:
    """A model, as `--model` takes it."""
    file = folder / name
    file.write_text(json.dumps(content))
    return f"scripted:{file}"


def test_another_model_takes_a_paused_run_up(
    surefoot: Surefoot, root: Path, tmp_path: Path
) -> None:
    """Named on the command line; the run then verifies, is replayed with both, and tells of the change."""
    gone = rules(tmp_path, "gone.json", GONE)
    edits = [
        call("file_read", path="calc.py"),
        call("file_edit", path="calc.py", search="a - b", replace="a + b"),
        done(),
    ]
    planning = {"purpose": "planning_model", "reply": json.dumps(ONE_STEP)}
    there = rules(tmp_path, "there.json", script(edits, [planning]))
    limits = ("--strategy", "agent", "--time-limit", "20", "--json")
    solve = ("solve", "--test", "tests/test_calc.py::test_add", "--model", gone, *limits)
    paused = json.loads(surefoot(*solve, cwd=root).stdout)
    assert paused["status"] == "paused", paused["reason"]
    resumed = surefoot("resume", "--model", there, "--time-limit", "600", "--json", cwd=root)
    run = json.loads(resumed.stdout)
    assert (run["status"], run["run_id"]) == ("complete", paused["run_id"]), run["reason"]
    assert f"resumed with {there}, named anew" in surefoot("explain", cwd=root).stdout
    assert f"({there})" in surefoot("show", cwd=root).stdout
    for command in ("verify", "replay"):
        held = surefoot(command, cwd=root)
        assert held.returncode == 0, held.stderr
    thrown = surefoot("reject", "--why", "not wanted", "--json", cwd=root)
    told = {"run_id": run["run_id"], "reason": "not wanted", "kept": []}
    assert json.loads(thrown.stdout) == told


def test_a_model_that_lacks_something_changes_nothing(
    surefoot: Surefoot, root: Path, tmp_path: Path
) -> None:
    """It is said before anything is written; the run stays as it was."""
    gone = rules(tmp_path, "gone.json", GONE)
    limits = ("--strategy", "agent", "--time-limit", "20", "--json")
    surefoot("solve", "--test", "tests/test_calc.py::test_add", "--model", gone, *limits, cwd=root)
    (ledger,) = root.glob(".surefoot/runs/*/events.jsonl")
    before = ledger.read_bytes()
    refused = surefoot("resume", "--model", "scripted:nowhere.json", cwd=root)
    assert refused.returncode == 1
    assert "nowhere.json" in refused.stderr
    assert ledger.read_bytes() == before


def test_another_checkout_does_not_change_the_runner(
    surefoot: Surefoot, root: Path, tmp_path: Path
) -> None:
    """What runs the tests is seen from the checkout; where that has become something else, the run is not gone on with."""
    gone = rules(tmp_path, "gone.json", GONE)
    limits = ("--strategy", "agent", "--time-limit", "20", "--json")
    surefoot("solve", "--test", "tests/test_calc.py::test_add", "--model", gone, *limits, cwd=root)
    (ledger,) = root.glob(".surefoot/runs/*/events.jsonl")
    before = ledger.read_bytes()
    case = "import unittest\n\n\nclass Calc(unittest.TestCase):\n    def test_nothing(self):\n        pass\n"
    (root / "tests" / "test_calc.py").write_text(case)
    (root / "pyproject.toml").write_text("")
    refused = surefoot("resume", "--time-limit", "60", cwd=root)
    assert refused.returncode == 2, refused.stdout
    assert "began with `python3 -m pytest`" in refused.stderr
    assert "run by `python3 -m unittest`" in refused.stderr
    assert ledger.read_bytes() == before
