"""`surefoot audit` as people and CI call it."""

from pathlib import Path

import pytest
from tests.integration.conftest import Surefoot
from tests.integration.execute.test_agent import repository

FILES = {"a.py": "import os\n", "test_a.py": "def test_a():\n    assert True\n"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with one finding, which asks one auditor."""
    return repository(tmp_path, FILES | {"surefoot.toml": '[audit]\ntools = ["ruff"]\n'})


def test_a_broken_baseline_is_written_anew(surefoot: Surefoot, root: Path) -> None:
    """As the refusal of every other audit says."""
    baseline = root / "surefoot-baseline.json"
    baseline.write_text("{")
    refused = surefoot("audit", "--enforce", cwd=root)
    assert refused.returncode == 1
    assert "write a new one with surefoot audit --write-baseline" in refused.stderr
    written = surefoot("audit", "--write-baseline", cwd=root)
    assert written.returncode == 0, written.stderr
    assert "accepted 1 findings in surefoot-baseline.json" in written.stderr
    assert surefoot("audit", "--enforce", cwd=root).returncode == 0


def test_writing_a_baseline_accepts_no_broken_tool(surefoot: Surefoot, tmp_path: Path) -> None:
    """With --enforce, an auditor without an answer is told although all findings have just been accepted."""
    files = {"a.py": "import os\n", "surefoot.toml": '[audit]\ntools = ["ruff", "tests"]\n'}
    done = surefoot("audit", "--enforce", "--write-baseline", cwd=repository(tmp_path, files))
    assert "accepted 1 findings in surefoot-baseline.json" in done.stderr
    assert done.returncode == 10
    assert done.stderr.endswith("surefoot: tests is missing\n")
