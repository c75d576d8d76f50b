"""`surefoot init` writes what it found, and nothing that only holds on this machine."""

import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

Surefoot = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A git repository with a test."""
    root = tmp_path / "project"
    root.mkdir()
    (root / "test_it.py").write_text("def test_it():\n    assert True\n")
    who = ("-c", "user.name=T", "-c", "user.email=t@example.invalid")
    for args in (("init", "-qb", "main"), ("add", "."), ("commit", "-qm", "first")):
        subprocess.run(["git", *who, *args], cwd=root, check=True, capture_output=True)
    return root


def test_an_interpreter_of_the_project_is_named_from_its_root(
    surefoot: Surefoot, project: Path
) -> None:
    """The same line is right in every clone that has its environment in the same place."""
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", ".venv"], cwd=project, check=True
    )
    (packages,) = (project / ".venv" / "lib").glob("python3*/site-packages")
    there = Path(pytest.__file__).parent.parent
    (packages / "there.pth").write_text(f"{there}\n")
    (project / ".git" / "info" / "exclude").write_text(".venv\n")
    assert surefoot("init", cwd=project).returncode == 0
    written = tomllib.loads((project / "surefoot.toml").read_text())
    assert written["test"] == {"python": ".venv/bin/python"}


def test_an_interpreter_of_the_machine_is_found_anew(surefoot: Surefoot, project: Path) -> None:
    """Its place stands in a comment only; a file that is there already is left alone."""
    done = surefoot("init", cwd=project)
    assert done.returncode == 0, done.stderr
    text = (project / "surefoot.toml").read_text()
    assert "# python = " in text
    assert "python" not in tomllib.loads(text)["test"]
    assert "exists already" in surefoot("init", cwd=project).stderr
    assert (project / "surefoot.toml").read_text() == text


def test_a_link_that_leads_nowhere_is_not_written_through(
    surefoot: Surefoot, project: Path, tmp_path: Path
) -> None:
    """It may lead out of the checkout."""
    outside = tmp_path / "outside.toml"
    (project / "surefoot.toml").symlink_to(outside)
    done = surefoot("init", cwd=project)
    assert done.returncode == 2
    assert "exists already" in done.stderr
    assert not outside.exists()


def test_where_no_tests_are_found_the_file_to_name_them_in_is_written(
    surefoot: Surefoot, project: Path
) -> None:
    """The sentence says what to write there, and the example in it is a comment."""
    (project / "test_it.py").unlink()
    done = surefoot("init", cwd=project)
    assert done.returncode == 0, done.stderr
    assert "no tests were found" in done.stdout
    assert "languages: none found" in done.stdout
    text = (project / "surefoot.toml").read_text()
    assert "# command = " in text
    assert tomllib.loads(text)["test"] == {}
    assert "no tests were found" in surefoot("doctor", cwd=project).stdout
