"""`surefoot solve` without an issue: audit, mend cluster after cluster, until nothing blocks (SPEC B5, B7)."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.integration.conftest import Surefoot

PROJECT = """[project]
name = "keys"
version = "1"
requires-python = ">=3.10"
[tool.pytest.ini_options]
pythonpath = ["."]
"""
KEYS = '''"""Cache keys."""
import hashlib
import os

__all__ = "key name".split()


def key(text):
    return hashlib.md5(text.encode()).hexdigest()


def name(text):
    return f"name" + text
'''
TESTS = """from keys import key, name


def test_key():
    assert key("a") == "0cc175b9c0f1b6a831c399e269772661"


def test_name():
    assert name("a") == "namea"
"""
SHELL = KEYS.replace(
    "def name",
    "def run(text):\n    import subprocess\n    subprocess.run(text, shell=True)\n\n\ndef name",
)


def project(root: Path, keys: str) -> Path:
    (root / "tests").mkdir(parents=True)
    (root / "pyproject.toml").write_text(PROJECT)
    (root / "keys.py").write_text(keys)
    (root / "tests" / "test_keys.py").write_text(TESTS)
    who = ("-c", "user.name=T", "-c", "user.email=t@example.invalid")
    for argv in (("init", "-q", "-b", "main"), ("add", "."), ("commit", "-q", "-m", "first")):
        subprocess.run(["git", *who, *argv], cwd=root, check=True)
    return root


def events(root: Path) -> list[dict[str, Any]]:
    (ledger,) = (root / ".surefoot" / "runs").glob("*/events.jsonl")
    return [json.loads(line)["payload"] for line in ledger.read_text().splitlines()]


def shown(root: Path, commit: str, path: str) -> str:
    argv = ["git", "show", f"{commit}:{path}"]
    return subprocess.run(argv, cwd=root, check=True, capture_output=True, text=True).stdout


def solved(surefoot: Surefoot, root: Path, model: str) -> dict[str, Any]:
    done = surefoot(
        "solve", "--model", model, "--solver-model", model, "--json", "--quiet", cwd=root
    )
    said: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return said


def test_what_blocks_is_mended_without_a_model(
    surefoot: Surefoot, scripted: str, tmp_path: Path
) -> None:
    """Complete means: no blocking finding is left; each cluster had two candidates and a roundtable, nobody was asked."""
    root = project(tmp_path / "repo", KEYS)
    said = solved(surefoot, root, scripted)
    assert said["status"] == "complete", said
    assert "no blocking finding is left, of 2" in said["reason"]
    now = shown(root, said["commit"], "keys.py")
    assert "hashlib.md5(text.encode(), usedforsecurity=False)" in now
    assert '__all__ = ["key", "name"]' in now
    assert "import os" not in now
    seen = events(root)
    (plan,) = [e for e in seen if e["kind"] == "plan.made"]
    assert [u["unit_id"] for u in plan["units"]] == ["fix-security", "fix-lint"]
    tried = [e["generator"] for e in seen if e["kind"] == "candidate.tried"]
    assert {"fix:not-for-security", "fix:digest-by-name"} <= set(tried)
    assert {"fix:list-of-names", "fix:list-of-lines"} <= set(tried)
    assert [e for e in seen if e.get("decision") == "roundtable"]
    assert not [e for e in seen if e["kind"] == "model.asked"]


def test_what_no_safe_fix_mends_is_a_blocker_and_the_rest_is_kept(
    surefoot: Surefoot, scripted: str, tmp_path: Path
) -> None:
    """The run says what a person has to mend, and its branch holds what it could."""
    root = project(tmp_path / "repo", SHELL)
    said = solved(surefoot, root, scripted)
    assert said["status"] == "blocked", said
    assert "1 blocking findings that no safe fix mends" in said["reason"]
    assert "keys.py:13 bandit B602" in said["reason"]
    assert "usedforsecurity=False" in shown(root, said["commit"], "keys.py")


def test_a_bare_run_needs_no_weights(surefoot: Surefoot, tmp_path: Path) -> None:
    """The default model need not be there for what no model is asked."""
    root = project(tmp_path / "repo", KEYS)
    done = surefoot("solve", "--json", "--quiet", cwd=root)
    assert json.loads(done.stdout.splitlines()[-1])["status"] == "complete", done.stderr


@pytest.mark.parametrize("weights", ["passes = 2.0", "other = 1"])
def test_weights_are_settings(surefoot: Surefoot, tmp_path: Path, weights: str) -> None:
    """Shares are between 0 and 1, and only those that have an effect are known."""
    root = project(tmp_path / "repo", KEYS)
    (root / "surefoot.toml").write_text(f"[score]\n{weights}\n")
    done = surefoot("solve", cwd=root)
    assert done.returncode != 0
    assert "score." in done.stderr


def test_a_run_that_only_looks_says_what_it_saw(
    surefoot: Surefoot, scripted: str, tmp_path: Path
) -> None:
    """How the tests went and each finding, the worst first; a test that fails is one of them."""
    root = project(tmp_path / "repo", KEYS.replace('f"name"', 'f"nam"'))
    done = surefoot("solve", "--mode", "report_only", "--model", scripted, cwd=root)
    assert done.returncode == 0, done.stderr
    assert "Tests: 1 passed, 1 failed of 2" in done.stdout
    told = [line for line in done.stdout.splitlines() if line.startswith("- ")]
    assert told[0].startswith("- critical: tests/test_keys.py:9")
    assert told[1].startswith("- high: keys.py:")
    assert any("F541" in line for line in told[2:])


def test_a_project_without_tests_is_audited(surefoot: Surefoot, tmp_path: Path) -> None:
    """By all others; that nobody knows its tests is told and no pass, until the settings leave them out."""
    root = tmp_path / "keys"
    root.mkdir()
    (root / "keys.py").write_text(KEYS)
    who = ("-c", "user.name=T", "-c", "user.email=t@example.invalid")
    for argv in (("init", "-q", "-b", "main"), ("add", "."), ("commit", "-q", "-m", "first")):
        subprocess.run(["git", *who, *argv], cwd=root, check=True)
    told = surefoot("audit", cwd=root)
    assert told.returncode == 0, told.stderr
    assert "keys.py:9:12 B324" in told.stdout
    (tests,) = [line for line in told.stdout.splitlines() if line.startswith("tests ")]
    assert "missing" in tests
    assert "no tests were found" in tests
    refused = surefoot("audit", "--enforce", cwd=root)
    assert refused.returncode == 10
    (root / "surefoot.toml").write_text("[audit]\ntools = []\n")
    assert "tests        missing" in surefoot("audit", cwd=root).stdout
    (root / "surefoot.toml").write_text('[audit]\ntools = ["mypy", "ruff", "secrets"]\n')
    assert "tests " not in surefoot("audit", cwd=root).stdout


def test_a_sarif_file_names_files_of_the_checkout_wherever_solve_is_called(
    surefoot: Surefoot, scripted: str, tmp_path: Path
) -> None:
    """Ruff writes whole addresses; from a folder of the repository they name the same file as from its root."""
    root = project(tmp_path / "repo", KEYS)
    below = root / "below"
    below.mkdir()
    (below / "unused.py").write_text("import os\n\n\ndef one():\n    return 1\n")
    for argv in (
        ["add", "-A"],
        ["-c", "user.name=T", "-c", "user.email=t@e.x", "commit", "-qm", "x"],
    ):
        subprocess.run(["git", *argv], cwd=root, check=True)
    ruff = [sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache"]
    log = tmp_path / "f.sarif"
    with log.open("w") as out:
        subprocess.run([*ruff, "--output-format=sarif", "."], cwd=below, stdout=out, check=False)
    done = surefoot("solve", "--sarif", str(log), "--model", scripted, "--json", cwd=below)
    said = json.loads(done.stdout.splitlines()[-1])
    assert said["status"] == "complete", said["reason"]
    assert said["files"] == ["below/unused.py"]


def test_an_audit_that_nobody_does_is_no_pass(surefoot: Surefoot, tmp_path: Path) -> None:
    """A name that no auditor has, and one of an auditor that does not fit the project: each is told, trusted or not."""
    root = project(tmp_path / "repo", KEYS)
    (root / "surefoot.toml").write_text('[audit]\ntools = ["nope"]\n')
    for said in (("trust",), ("audit", "--enforce")):
        done = surefoot(*said, cwd=root)
        assert (done.returncode, done.stdout) == (1, "")
        assert "there is no auditor 'nope'; there are tests, secrets, ruff," in done.stderr
    (root / "surefoot.toml").write_text('[audit]\ntools = ["mypy"]\n')
    assert surefoot("trust", cwd=root).returncode == 0
    done = surefoot("audit", "--enforce", cwd=root)
    assert (done.returncode, done.stdout) == (1, "")
    assert "no auditor of audit.tools (mypy) fits this project" in done.stderr


def test_what_an_audit_tells_holds_no_secret(surefoot: Surefoot, tmp_path: Path) -> None:
    """Neither on the screen nor in a file that it writes, whatever a failing test or a line of the code quotes."""
    token = "ghp_" + "a1B2" * 9
    keys = f'import os; NAME = "{token}"\n\n\ndef key(text):\n    assert not NAME, NAME\n\n\nname = key\n'
    root = project(tmp_path / "repo", keys)
    sarif = tmp_path / "found.sarif"
    done = surefoot("audit", "--sarif-out", str(sarif), "--write-baseline", cwd=root)
    assert done.returncode == 0, done.stderr
    told = done.stdout + sarif.read_text() + (root / "surefoot-baseline.json").read_text()
    assert token not in told
    assert "AssertionError: [redacted:github-token]" in done.stdout
    assert 'NAME = \\"[redacted:github-token]\\"' in sarif.read_text()
    assert surefoot("audit", "--enforce", cwd=root).returncode == 0
