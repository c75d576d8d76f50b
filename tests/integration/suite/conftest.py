"""A small project to run tests of, and processes to run them in."""

import importlib.metadata
import sys
import venv
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from surefoot.kernel.ports import Processes
from surefoot.sandbox import open_processes
from surefoot.suite import PytestSuite, SuitePlan
from surefoot.values import Candidate, Digest, FileEdit, Limits

CALC = '''"""Arithmetic."""

LIMIT = 10


def add(a, b):
    """Add two numbers."""
    total = a
    for _ in range(b):
        total -= 1
    return total


def clamp(x):
    return min(x, LIMIT)
'''
TEST_CALC = """import unittest
import pytest
from calc import add, clamp

def test_add():
    assert add(2, 3) == 5

@pytest.mark.parametrize("x", [1, 20])
def test_clamp(x):
    assert clamp(x) <= 10

class MethodTest(unittest.TestCase):
    def test_method(self):
        self.assertEqual(clamp(3), 3)
"""
ADD = "tests/test_calc.py::test_add"
CLAMP = ("tests/test_calc.py::test_clamp[1]", "tests/test_calc.py::test_clamp[20]")
METHOD = "tests/test_calc.py::MethodTest::test_method"
ALL = (METHOD, ADD, *CLAMP)

Write = Callable[[Mapping[str, str]], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write files below a fresh directory."""

    def write_files(files: Mapping[str, str]) -> Path:
        root = tmp_path / "project"
        for name, text in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return root

    return write_files


@pytest.fixture
def calc(write: Write) -> Path:
    """A project whose `add` subtracts."""
    return write({"calc.py": CALC, "tests/test_calc.py": TEST_CALC})


@pytest.fixture(scope="session")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with pytest alone, which starts in a fraction of the time of ours."""
    env = tmp_path_factory.mktemp("bare") / "env"
    venv.create(env, with_pip=False, symlinks=True)
    site = next(env.glob("lib/python3*/site-packages"))
    for name in ("pytest", "pluggy", "iniconfig", "packaging", "pygments"):
        for file in importlib.metadata.files(name) or ():
            top = file.parts[0]
            if top != ".." and not (site / top).exists():
                (site / top).symlink_to(Path(str(file.locate())).parents[len(file.parts) - 1] / top)
    return env


@pytest.fixture(scope="session")
def plan(bare: Path) -> SuitePlan:
    return SuitePlan(
        python=bare / "bin" / "python",
        runner="pytest",
        command=("python3", "-m", "pytest"),
        reads=(bare, Path(sys.prefix), Path(sys.base_prefix)),
    )


@pytest.fixture(scope="session")
def processes(tmp_path_factory: pytest.TempPathFactory) -> Processes:
    return open_processes(unsandboxed=False, scratch=tmp_path_factory.mktemp("sandbox"))


Open = Callable[..., PytestSuite]


@pytest.fixture
def open_suite(plan: SuitePlan, processes: Processes, tmp_path: Path) -> Open:
    """A suite; `original` is the checkout that it belongs to."""

    def opened(original: Path, wall_s: float = 60.0, used: SuitePlan = plan) -> PytestSuite:
        scratch = tmp_path / "scratch"
        scratch.mkdir(exist_ok=True)
        limits = Limits(wall_s=wall_s)
        return PytestSuite(used, processes, original=original, scratch=scratch, limits=limits)

    return opened


def candidate(path: str, text: str | None) -> Candidate:
    """A candidate of one edit."""
    edits = (FileEdit(path=path, text=text),)
    return Candidate(candidate_id=Digest("0" * 64), generator="t", edits=edits, description="")
