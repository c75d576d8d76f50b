"""Which Python ruff is told that a project supports."""

from pathlib import Path

import pytest

from surefoot.findings.tools.ruff import target_version


@pytest.mark.parametrize(
    ("requires", "target"),
    [
        (">=3.9", "py39"),
        ("<3.13,>=3.10", "py310"),
        ("~=3.11", "py311"),
        (">3.8", "py38"),
        (">=3.14", "py314"),
        (">=3.6", "py37"),
        (">=3.4,<4", "py37"),
        (">3.5", "py37"),
        (">=3", "py313"),
        (">=2.7, !=3.0.*, !=3.1.*", "py313"),
    ],
)
def test_the_target_is_the_oldest_that_ruff_knows(
    tmp_path: Path, requires: str, target: str
) -> None:
    """Ruff refuses a target before 3.7; a project that names no minor version has not said one."""
    (tmp_path / "pyproject.toml").write_text(f'[project]\nrequires-python = "{requires}"\n')
    assert target_version(tmp_path) == target
