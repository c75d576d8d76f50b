"""What every way of running a project's tests keeps, with pytest and without it."""

import sys
import venv
from pathlib import Path

import pytest

from surefoot.kernel.ports import Suite
from surefoot.sandbox import open_processes
from surefoot.suite import PytestSuite, SuitePlan
from surefoot.values import Candidate, Digest, FileEdit, Limits, ReportState

CODE = "def add(a, b):\n    return a - b\n"
TEST = """import unittest
from calc import add

class AddTest(unittest.TestCase):
    def test_add(self):
        self.assertEqual(add(2, 3), 5)
    def test_zero(self):
        self.assertEqual(add(2, 0), 2)
"""
ADD = "tests/test_calc.py::AddTest::test_add"
ZERO = "tests/test_calc.py::AddTest::test_zero"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / "tests").mkdir(parents=True)
    (root / "calc.py").write_text(CODE)
    (root / "tests" / "test_calc.py").write_text(TEST)
    return root


@pytest.fixture(params=["pytest", "unittest"])
def suite(request: pytest.FixtureRequest, root: Path, tmp_path: Path) -> Suite:
    env = Path(sys.prefix)
    if request.param == "unittest":
        env = tmp_path / "env"
        venv.create(env, with_pip=False, symlinks=True)
    plan = SuitePlan(
        python=env / "bin" / "python",
        runner=request.param,
        command=("python3", "-m", request.param),
        reads=(env, Path(sys.base_prefix)),
    )
    scratch = tmp_path / "scratch"
    processes = open_processes(scratch=scratch / "sandbox")
    limits = Limits(wall_s=300.0)
    return PytestSuite(plan, processes, original=root, scratch=scratch, limits=limits)


def test_a_run_reports_all_tests_or_exactly_those_asked_for(suite: Suite, root: Path) -> None:
    """A missing id makes the report unusable and is named."""
    whole = suite.run(root)
    assert (whole.state, whole.collected, whole.failing) == (
        ReportState.COMPLETE,
        (ADD, ZERO),
        (ADD,),
    )
    assert suite.run(root, [ZERO]).collected == (ZERO,)
    missing = suite.run(root, [ZERO, "tests/test_calc.py::AddTest::test_gone"])
    assert missing.state is ReportState.UNPARSABLE
    assert "test_gone" in missing.reason


def test_code_that_ends_its_process_is_never_a_pass(suite: Suite, root: Path) -> None:
    """An exit with 0 in a test is a crash."""
    (root / "calc.py").write_text("import os\ndef add(a, b): os._exit(0)\n")
    report = suite.run(root)
    assert (report.state, report.passing) == (ReportState.CRASHED, ())


def test_a_worker_tries_candidates_and_traces_the_unchanged_code(suite: Suite, root: Path) -> None:
    """The tree itself is not written."""
    edits = (FileEdit(path="calc.py", text=CODE.replace("-", "+")),)
    fix = Candidate(candidate_id=Digest("0" * 64), generator="t", edits=edits, description="")
    with suite.worker(root, [ADD]) as worker:
        assert worker.attempt(fix).report.passing == (ADD,)
        assert worker.attempt(fix, [ADD, ZERO]).report.passing == (ADD, ZERO)
        seen = worker.trace(ADD, ["calc.py"])
    assert (seen.passed, seen.lines) == (False, {"calc.py": (2,)})
    assert (root / "calc.py").read_text() == CODE


def test_test_and_control_paths_are_told_apart(suite: Suite) -> None:
    """A conftest is both, product code is neither."""
    kinds = [(suite.is_test_path(p), suite.is_control_path(p)) for p in ("conftest.py", "calc.py")]
    assert kinds == [(True, True), (False, False)]
