"""Whole commands on real repositories."""

import json
import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from tests import commands

from surefoot.patients import materialise

Surefoot = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def surefoot(tmp_path: Path) -> Surefoot:
    """Runs the command line in a process of its own, with a home of its own."""

    def run(
        *args: str, cwd: Path, env: Mapping[str, str] | None = None, stdin: str = ""
    ) -> subprocess.CompletedProcess[str]:
        whole = {**os.environ, "SUREFOOT_HOME": str(tmp_path / "home"), **(env or {})}
        return commands.surefoot(*args, cwd=cwd, env=whole, stdin=stdin, timeout=300)

    return run


@pytest.fixture
def patient(tmp_path: Path) -> Path:
    """A fresh copy of the bundled patient."""
    return materialise("daybook", tmp_path / "daybook")


@pytest.fixture
def scripted(tmp_path: Path) -> str:
    """A model that only claims, as `--model` takes it."""
    script = tmp_path / "claims.json"
    script.write_text(json.dumps({"schema": 1, "rules": [{"replies": ["All done, tests pass."]}]}))
    return f"scripted:{script}"
