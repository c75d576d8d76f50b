"""What every start of the command line pays for."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from surefoot.patients import materialise

HEAVY = {
    "dspy",
    "httpx",
    "litellm",
    "openai",
    "pydantic",
    "rich",
    "sqlite3",
    "surefoot.app",
    "surefoot.values",
    "xllamacpp",
}


def loaded_by(*arguments: str, code: int = 0) -> set[str]:
    """Names of the modules that a command imports, which ends with this exit code."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "surefoot", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stderr.splitlines()[-1]
    return {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_and_version_load_nothing_heavy(option: str) -> None:
    loaded = loaded_by(option)
    assert "surefoot.cli.main" in loaded
    assert not HEAVY & loaded


def test_models_are_explained_without_what_only_a_run_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is a good part of what the whole answer may take; nothing that is installed beside us enters our validation."""
    (tmp_path / "guest.py").write_text("plugin = None\n")
    guest = tmp_path / "guest-1.dist-info"
    guest.mkdir()
    (guest / "METADATA").write_text("Metadata-Version: 2.1\nName: guest\nVersion: 1\n")
    (guest / "entry_points.txt").write_text("[pydantic]\nguest = guest:plugin\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path]))
    loaded = loaded_by("models", "explain", "fix", "--model", "auto")
    assert "surefoot.models.select" in loaded
    assert not (HEAVY - {"pydantic"}) & loaded
    unasked = {"surefoot.artifacts", "surefoot.events", "surefoot.gitops.workspace"}
    assert not ({"guest"} | unasked) & loaded


def test_a_persons_word_loads_nothing_that_only_a_run_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is most of what such a command would take."""
    monkeypatch.setenv("SUREFOOT_HOME", str(tmp_path / "home"))
    repo = materialise("daybook", tmp_path / "daybook")
    (repo / "surefoot.toml").write_text("[risk]\nallow_network = true\n")
    for word in (["lock", "--why", "release freeze"], ["unlock"], ["trust"]):
        loaded = loaded_by(*word, "--repo", str(repo))
        assert "surefoot.ledger.file" in loaded
        assert not {"surefoot.app", "surefoot.assembly", "surefoot.execute"} & loaded


@pytest.mark.parametrize("word", ["show", "diff", "status"])
def test_a_run_is_read_without_what_only_a_run_needs(word: str, tmp_path: Path) -> None:
    """It is half of what such a command would take; that there is no run here is said after the imports."""
    repo = materialise("daybook", tmp_path / "daybook")
    loaded = loaded_by(word, "--repo", str(repo), code=2)
    assert "surefoot.reading" in loaded
    assert not {"surefoot.app", "surefoot.assembly", "surefoot.execute"} & loaded


def test_the_end_looks_for_no_garbage() -> None:
    """The interpreter's last collection goes through every object there is, which is a good part of a short command."""
    script = (
        "import atexit, gc, sys\n"
        "from surefoot.cli import main\n"
        "atexit.register(lambda: print(gc.get_freeze_count() > 1000, len(gc.get_objects()) < 1000))\n"
        "sys.argv = ['surefoot', '--version']\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "True True"
