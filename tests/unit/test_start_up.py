"""What every start of the command line pays for."""

import subprocess
import sys

import pytest

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


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_and_version_load_nothing_heavy(option: str) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "surefoot", option],
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "surefoot.cli.main" in loaded
    assert not HEAVY & loaded
