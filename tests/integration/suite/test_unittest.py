"""Without pytest, `unittest` tests are run by a runner of ours with the same ids, records and checks."""

import sys
import venv
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.integration.suite.conftest import CALC, Open, Write, candidate

from surefoot.suite import PytestSuite, SuitePlan
from surefoot.values import ReportState

TESTS = """
import unittest
from calc import add, clamp

class AddTest(unittest.TestCase):
    def test_add(self): self.assertEqual(add(2, 3), 5)
    def test_clamp(self): self.assertEqual(clamp(20), 10)
    @unittest.skip("today")
    def test_skip(self): pass
    @unittest.expectedFailure
    def test_xfail(self): self.fail()
    @unittest.expectedFailure
    def test_xpass(self): pass
    def test_error(self): raise ValueError("oh")
    def test_sub(self):
        with self.subTest(1): self.fail("sub")

class BrokenTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls): raise ValueError("set-up")
    def test_never(self): pass

class AsyncTest(unittest.IsolatedAsyncioTestCase):
    async def test_async(self): self.assertEqual(clamp(1), 1)
"""
ADD = "tests/test_calc.py::AddTest::test_add"
CLAMP = "tests/test_calc.py::AddTest::test_clamp"


@pytest.fixture
def project(write: Write) -> Path:
    return write({"calc.py": CALC, "tests/test_calc.py": TESTS})


@pytest.fixture
def suite(
    tmp_path: Path, plan: SuitePlan, project: Path, open_suite: Open
) -> Iterator[PytestSuite]:
    env = tmp_path / "empty"
    venv.create(env, with_pip=False, symlinks=True)
    used = replace(
        plan,
        python=env / "bin" / "python",
        runner="unittest",
        args=("tests",),
        reads=(env, Path(sys.base_prefix)),
    )
    return open_suite(project, used=used)


def test_every_outcome_has_its_name(suite: PytestSuite, project: Path) -> None:
    """The same words as with pytest; a class whose set-up breaks has an error for each test."""
    report = suite.run(project)
    assert report.state is ReportState.COMPLETE, report
    assert {r.test_id.partition("::")[2]: r.outcome.value for r in report.results} == {
        "AddTest::test_add": "failed",
        "AddTest::test_clamp": "passed",
        "AddTest::test_skip": "skipped",
        "AddTest::test_xfail": "xfailed",
        "AddTest::test_xpass": "xpassed",
        "AddTest::test_error": "failed",
        "AddTest::test_sub": "failed",
        "BrokenTest::test_never": "error",
        "AsyncTest::test_async": "passed",
    }
    failure = report.result(ADD)
    assert failure is not None
    assert failure.message == "AssertionError: -1 != 5"
    assert failure.frames[-1].path == "tests/test_calc.py"
    assert report.exit_code == 1


def test_two_files_of_one_name_are_not_taken_for_each_other(
    suite: PytestSuite, project: Path
) -> None:
    """As with pytest, outside of packages the second one cannot be imported; the outcome of the first is not its own."""
    case = "import unittest\nclass T(unittest.TestCase):\n    def test_one(self): {}\n"
    for folder, body in (("a", "pass"), ("b", "self.fail()")):
        (project / "tests" / folder).mkdir()
        (project / "tests" / folder / "test_x.py").write_text(case.format(body))
    report = suite.run(project)
    assert report.state is ReportState.COLLECTION_ERROR
    assert report.reason == "cannot be collected: tests/b/test_x.py"
    assert "tests/a/test_x.py::T::test_one" in report.passing
    assert "tests/b/test_x.py::T::test_one" not in report.passing


def test_asked_ids_are_reported_exactly(suite: PytestSuite, project: Path) -> None:
    """One test, or a missing one."""
    assert suite.run(project, [CLAMP]).passing == (CLAMP,)
    missing = suite.run(project, [CLAMP, ADD + "s"])
    assert (missing.state, ADD + "s" in missing.reason) == (ReportState.UNPARSABLE, True)


def test_a_file_that_cannot_be_imported_is_an_error_entry(
    suite: PytestSuite, project: Path
) -> None:
    """The others are still reported."""
    (project / "tests" / "test_broken.py").write_text("import nothing_like_it")
    report = suite.run(project)
    assert report.state is ReportState.COLLECTION_ERROR
    broken = report.result("tests/test_broken.py")
    assert broken is not None
    assert "nothing_like_it" in broken.message
    assert CLAMP in report.passing


@pytest.mark.parametrize(
    "forgery",
    [
        "import os\ndef add(a, b): os._exit(0)",
        "import os; os._exit(0)",
        "import unittest\nunittest.TestCase.assertEqual = lambda *a: None",
        "import unittest\nunittest.TestResult.addFailure = unittest.TestResult.addSuccess",
        "import unittest\nunittest.TestCase._callTestMethod = lambda *a: None",
        "import unittest\nunittest.TestSuite.run = lambda self, result, debug=False: result",
        "import unittest\ndef add(a, b): raise unittest.SkipTest('no')",
    ],
)
def test_a_forgery_never_completes_with_a_pass(
    forgery: str, suite: PytestSuite, project: Path
) -> None:
    """Neither silence nor a lie is a pass."""
    (project / "calc.py").write_text(f"{CALC}\n{forgery}\n")
    report = suite.run(project, [ADD])
    assert report.state is not ReportState.COMPLETE or ADD not in report.passing


def test_candidates_are_tried_cold(suite: PytestSuite, project: Path) -> None:
    """The worker needs no pytest either."""
    with suite.worker(project, [ADD]) as worker:
        fixed = CALC.replace("total -= 1", "total += 1")
        assert worker.attempt(candidate("calc.py", fixed)).report.passing == (ADD,)
        assert worker.attempt(candidate("calc.py", CALC)).report.failing == (ADD,)
        seen = worker.trace(ADD, ["calc.py"])
        assert seen.values[-1] == "calc.py:11 return -1"
        assert seen.lines == {"calc.py": (8, 9, 10, 11)}
