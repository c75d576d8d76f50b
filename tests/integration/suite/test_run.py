"""A test run in a fresh process becomes a typed report that says neither more nor less than what happened."""

import os
import shutil
import sys
import venv
from dataclasses import replace
from pathlib import Path

import pytest
from tests.integration.suite.conftest import (
    ADD,
    ALL,
    CALC,
    CLAMP,
    METHOD,
    TEST_CALC,
    Open,
    Write,
    candidate,
)

from surefoot.execute.repair.reproduce import new_test_path
from surefoot.kernel.ports import Processes
from surefoot.suite import PytestSuite, SuitePlan
from surefoot.suite.worker import ForkedWorker
from surefoot.values import Limits, ReportState, TestOutcome

FIXED = CALC.replace("total -= 1", "total += 1")


def test_a_run_names_each_test_with_its_outcome(calc: Path, open_suite: Open) -> None:
    """Functions, parameters and unittest methods have entries; a failure has message, frames and detail."""
    suite = open_suite(calc)
    report = suite.run(calc)
    assert (report.state, report.exit_code, report.reason) == (ReportState.COMPLETE, 1, "")
    assert report.collected == tuple(sorted(ALL))
    assert report.failing == (ADD,)
    failure = report.result(ADD)
    assert failure is not None
    assert failure.message.startswith("AssertionError: assert -1 == 5")
    assert "add(2, 3)" in failure.message
    assert [(f.path, f.line, f.function) for f in failure.frames] == [
        ("tests/test_calc.py", 6, "test_add")
    ]
    assert "assert add(2, 3) == 5" in failure.detail


def test_a_fixed_tree_passes_with_exit_code_0(calc: Path, open_suite: Open) -> None:
    """The exit code is the one without the control tests, which also do not show in ids or output."""
    (calc / "calc.py").write_text(FIXED)
    report = open_suite(calc).run(calc)
    assert (report.state, report.exit_code, report.failing) == (ReportState.COMPLETE, 0, ())
    assert report.passing == tuple(sorted(ALL))
    assert "control" not in report.output


def test_the_frames_of_a_crash_lead_into_the_product(calc: Path, open_suite: Open) -> None:
    """An exception inside the product has its line and function as the innermost frame."""
    (calc / "calc.py").write_text(CALC.replace("total -= 1", "total -= 1 / 0"))
    report = open_suite(calc).run(calc, [ADD])
    failure = report.result(ADD)
    assert failure is not None
    assert failure.message == "ZeroDivisionError: division by zero"
    last = failure.frames[-1]
    assert (last.path, last.line, last.function) == ("calc.py", 10, "add")


EVERY_OUTCOME = """
import pytest
@pytest.fixture
def broken(): raise ValueError("set-up")
@pytest.fixture
def untidy():
    yield
    raise ValueError("tear-down")
def test_pass(): pass
def test_fail(): assert 1 == 2
def test_error(broken): pass
def test_teardown(untidy): pass
def test_skip(): pytest.skip("today")
@pytest.mark.xfail
def test_xfail(): assert 0
@pytest.mark.xfail
def test_xpass(): pass
@pytest.mark.xfail(strict=True)
def test_strict(): pass
def test_sub(subtests):
    with subtests.test("a"): assert 0
class TestGroup:
    def test_in_class(self): pass
import unittest
class MethodTest(unittest.TestCase):
    @unittest.expectedFailure
    def test_expected(self): self.fail()
    @unittest.skip("today")
    def test_skipped(self): pass
async def test_async(): pass
def test_output(capfd):
    print("hello")
    assert capfd.readouterr().out == "hello\\n"
"""


def test_every_outcome_has_its_name(write: Write, open_suite: Open) -> None:
    """Outcomes are what pytest says, folded into one per test."""
    root = write({"test_all.py": EVERY_OUTCOME})
    report = open_suite(root).run(root)
    assert report.state is ReportState.COMPLETE, report
    outcomes = {r.test_id.partition("::")[2]: r.outcome.value for r in report.results}
    assert outcomes == {
        "test_pass": "passed",
        "test_fail": "failed",
        "test_error": "error",
        "test_teardown": "error",
        "test_skip": "skipped",
        "test_xfail": "xfailed",
        "test_xpass": "xpassed",
        "test_strict": "failed",
        "test_sub": "failed",
        "TestGroup::test_in_class": "passed",
        "MethodTest::test_expected": "xfailed",
        "MethodTest::test_skipped": "skipped",
        "test_async": "failed",
        "test_output": "passed",
    }


def test_asked_ids_are_reported_exactly(calc: Path, open_suite: Open) -> None:
    """A file, class or parametrised function stands for what it holds; other ids are not reported."""
    suite = open_suite(calc)
    assert suite.run(calc, [METHOD]).collected == (METHOD,)
    assert suite.run(calc, ["tests/test_calc.py::test_clamp"]).collected == CLAMP


@pytest.mark.parametrize("missing", ["tests/test_calc.py::test_gone", "tests/test_gone.py::test_x"])
def test_a_missing_id_is_named(missing: str, calc: Path, open_suite: Open) -> None:
    """A report that lacks an id that was asked for cannot be used."""
    report = open_suite(calc).run(calc, [METHOD, missing])
    assert report.state is ReportState.UNPARSABLE
    assert missing in report.reason


def test_an_id_that_a_hook_removes_or_adds_is_named(calc: Path, open_suite: Open) -> None:
    """Fewer or more tests than asked for cannot be used either."""
    conftest = calc / "conftest.py"
    conftest.write_text("def pytest_collection_modifyitems(items): del items[-1]")
    report = open_suite(calc).run(calc, CLAMP)
    assert (report.state, CLAMP[1] in report.reason) == (ReportState.UNPARSABLE, True)
    conftest.write_text("def pytest_collection_modifyitems(items): items.append(items[0])")
    report = open_suite(calc).run(calc, CLAMP)
    assert (report.state, CLAMP[0] in report.reason) == (ReportState.UNPARSABLE, True)


def test_a_file_that_cannot_be_imported_is_an_error_entry(calc: Path, open_suite: Open) -> None:
    """The other files' tests are reported beside it, but the report is not complete."""
    (calc / "tests" / "test_broken.py").write_text("from calc import nothing")
    report = open_suite(calc).run(calc)
    assert report.state is ReportState.COLLECTION_ERROR
    broken = report.result("tests/test_broken.py")
    assert broken is not None
    assert broken.outcome is TestOutcome.ERROR
    assert "cannot import name 'nothing'" in broken.message
    assert broken.frames[-1].path == "tests/test_broken.py"
    assert CLAMP[0] in report.passing


def test_a_broken_product_is_a_collection_error_of_its_tests(calc: Path, open_suite: Open) -> None:
    """A syntax error in the product shows at the test file that imports it."""
    (calc / "calc.py").write_text("def add(:\n")
    report = open_suite(calc).run(calc, [ADD])
    assert report.state is ReportState.COLLECTION_ERROR
    assert "SyntaxError" in report.results[0].message


def test_a_collection_that_is_ended_early_is_not_a_pass(calc: Path, open_suite: Open) -> None:
    """A file that was skipped before stands for none of the tests that did not run."""
    hook = "import pytest\ndef pytest_collection_modifyitems(): pytest.exit('set DB_URL')\n"
    (calc / "tests" / "conftest.py").write_text(hook)
    (calc / "tests" / "test_a.py").write_text("import pytest\npytest.importorskip('nowhere')\n")
    report = open_suite(calc).run(calc)
    assert (report.state, "pytest.exit" in report.reason) == (ReportState.CRASHED, True), report


def test_nothing_collected_is_not_a_pass(write: Write, open_suite: Open) -> None:
    """An empty suite has a state of its own."""
    root = write({"test_none.py": "x = 1\n"})
    report = open_suite(root).run(root)
    assert (report.state, report.results) == (ReportState.NOTHING_COLLECTED, ())


def test_a_runner_that_cannot_start_is_not_a_pass(calc: Path, open_suite: Open) -> None:
    """A configuration that pytest refuses is named as such."""
    (calc / "pytest.ini").write_text("[pytest]\naddopts = --no-such-option\n")
    report = open_suite(calc).run(calc)
    assert report.state is ReportState.NOTHING_COLLECTED
    assert "configuration" in report.reason
    assert "--no-such-option" in report.output


def test_an_endless_test_is_ended_and_the_others_still_run(calc: Path, open_suite: Open) -> None:
    """It fails at a third of the time that is left, even when it catches exceptions."""
    (calc / "calc.py").write_text(CALC.replace("total -= 1", "\n".join(ENDLESS)))
    report = open_suite(calc, wall_s=24.0).run(calc)
    assert (report.state, report.failing) == (ReportState.COMPLETE, (ADD,)), report
    failure = report.result(ADD)
    assert failure is not None
    assert "took over a third of the time" in failure.message
    assert failure.frames[-1].path == "calc.py"


ENDLESS = [
    "while True:",
    "            try:",
    "                total -= 1",
    "            except Exception:",
    "                pass",
]


def test_a_run_that_cannot_be_ended_from_inside_is_a_timeout(calc: Path, open_suite: Open) -> None:
    """The whole process is ended at its limit; the test that ran is named."""
    (calc / "calc.py").write_text(CALC.replace("total -= 1", "sum(range(10**12))"))
    report = open_suite(calc, wall_s=4.0).run(calc)
    assert report.state is ReportState.TIMEOUT
    assert ADD in report.reason


def test_a_run_that_computes_too_long_is_a_timeout(
    calc: Path, plan: SuitePlan, processes: Processes, tmp_path: Path
) -> None:
    """Which limit it was is told, with the setting that it follows."""
    (calc / "calc.py").write_text(CALC.replace("total -= 1", "sum(range(10**12))"))
    limits = Limits(wall_s=60.0, cpu_s=2)
    suite = PytestSuite(plan, processes, original=calc, scratch=tmp_path, limits=limits)
    report = suite.run(calc)
    assert report.state is ReportState.TIMEOUT
    assert "processor time of 2 s (it follows `[test] timeout_s`)" in report.reason
    assert ADD in report.reason


def test_an_interpreter_without_pytest_is_named(
    calc: Path, open_suite: Open, plan: SuitePlan, tmp_path: Path
) -> None:
    """A missing runner is a state of its own, with the mend."""
    venv.create(tmp_path / "empty", with_pip=False, symlinks=True)
    used = replace(
        plan,
        python=tmp_path / "empty" / "bin" / "python",
        reads=(*plan.reads, tmp_path / "empty"),
    )
    report = open_suite(calc, used=used).run(calc)
    assert report.state is ReportState.TOOL_MISSING
    assert "[test] python" in report.reason


def test_the_tree_is_left_without_caches(calc: Path, open_suite: Open) -> None:
    """A run writes no bytecode, no cache directory, nothing of its own."""
    open_suite(calc).run(calc)
    names = {p.relative_to(calc).as_posix() for p in calc.rglob("*")}
    assert names == {"calc.py", "tests", "tests/test_calc.py"}
    assert (calc / "tests" / "test_calc.py").read_text() == TEST_CALC


def test_tests_that_start_python_get_the_tree_under_test(
    write: Write, open_suite: Open, plan: SuitePlan
) -> None:
    """The import path and the environment hold in child processes too."""
    root = write(
        {
            "src/pkg/__init__.py": "VALUE = 1\n",
            "tests/test_cli.py": (
                "import subprocess, sys\n"
                "def test_child():\n"
                "    code = 'import pkg, sys; print(pkg.VALUE, sys.flags.dont_write_bytecode)'\n"
                "    done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True)\n"
                "    assert done.stdout == '1 1\\n', done\n"
            ),
        }
    )
    report = open_suite(root).run(root)
    assert (
        report.state is ReportState.NOTHING_COLLECTED or report.failing
    )  # without the source root
    suite = open_suite(root, used=replace(plan, source_roots=("src",)))
    assert suite.run(root).passing == ("tests/test_cli.py::test_child",)


def test_a_project_may_turn_plugins_off(calc: Path, plan: SuitePlan, open_suite: Open) -> None:
    """Options of a plugin that is installed and turned off would be unknown to pytest."""
    (calc / "pytest.ini").write_text("[pytest]\naddopts = -p no:xdist\n")
    ours = replace(
        plan, python=Path(sys.executable), reads=(Path(sys.prefix), Path(sys.base_prefix))
    )
    report = open_suite(calc, used=ours).run(calc)
    assert (report.state, report.reason) == (ReportState.COMPLETE, "")
    assert report.collected == tuple(sorted(ALL))


@pytest.mark.parametrize("args", [("-x",), ("--maxfail=1",), ("-n", "2")])
def test_what_a_command_says_of_how_to_run_ends_no_run(
    calc: Path, plan: SuitePlan, open_suite: Open, args: tuple[str, ...]
) -> None:
    """Every test is run, in one process, as without it."""
    ours = replace(
        plan,
        python=Path(sys.executable),
        reads=(Path(sys.prefix), Path(sys.base_prefix)),
        args=args,
    )
    report = open_suite(calc, used=ours).run(calc)
    assert (report.state, report.reason) == (ReportState.COMPLETE, "")
    assert report.collected == tuple(sorted(ALL))


def test_a_commands_options_hold_for_named_tests_too(
    calc: Path, plan: SuitePlan, open_suite: Open
) -> None:
    """When all are run, when some are, and in trials; which of its words are places to look in, pytest says."""
    text = "from calc import add\n\n\ndef check_{}():\n    assert add(2, 3) == {}\n"
    (calc / "tests" / "test_named.py").write_text(text.format("add", 5) + text.format("more", -1))
    (calc / "tests" / "test_other.py").write_text(text.format("other", 5))
    args = ("-o", "python_functions=check_*", "tests/test_named.py", "--strict-markers")
    suite = open_suite(calc, used=replace(plan, args=args))
    add, more = (f"tests/test_named.py::check_{name}" for name in ("add", "more"))
    whole = suite.run(calc)
    assert (whole.state, whole.failing, whole.passing) == (ReportState.COMPLETE, (add,), (more,))
    assert suite.run(calc, [add]).failing == (add,)
    other = "tests/test_other.py::check_other"
    assert suite.run(calc, [other, more]).collected == (more, other)
    fixed = candidate("calc.py", CALC.replace("total -= 1", "total += 1"))
    with suite.worker(calc, [add]) as worker:
        assert worker.attempt(fixed).report.passing == (add,)
        assert worker.trace(add, ["calc.py"]).test_id == add


SETTINGS = {
    "failed first": "addopts = --ff",
    "last failed": "addopts = --lf --lfnf=none",
    "new first": "addopts = --nf",
    "stepwise": "addopts = --sw",
    "stepwise, skipping one": "addopts = --sw-skip --cache-clear",
    "a cache of its own": "addopts = --strict-config\ncache_dir = .mine\nfilterwarnings = error",
    "no cache": "addopts = --strict-config -p no:cacheprovider\nfilterwarnings = error",
}


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_of_the_cache_keep_no_test_from_running(
    write: Write, open_suite: Open, name: str
) -> None:
    """Whatever they choose, order and stop elsewhere: all run, in the order of the files, in a trial, too."""
    noting = "import conftest\ndef test_{0}(): conftest.NOTED.append('{0}'); assert 0\n"
    files = {f"test_{letter}.py": noting.format(letter) for letter in "abc"}
    root = write(
        {
            **files,
            "conftest.py": "NOTED = []\n",
            "calc.py": CALC,
            "test_d.py": "import calc, conftest\n"
            "def test_d(): assert conftest.NOTED == ['a', 'b', 'c'] or calc.add(2, 3) == 5\n",
            "pytest.ini": f"[pytest]\n{SETTINGS[name]}\n",
        }
    )
    for number, path in enumerate(sorted(files)):
        os.utime(root / path, (number, number))
    tests = tuple(f"test_{letter}.py::test_{letter}" for letter in "abcd")
    suite = open_suite(root)
    for _ in range(2):
        report = suite.run(root)
        assert (report.state, report.reason) == (ReportState.COMPLETE, "")
        assert report.collected == tests
        assert report.passing == tests[3:]
    with suite.worker(root, tests[3:]) as worker:
        assert isinstance(worker, ForkedWorker)
        for edit in (candidate("calc.py", FIXED), candidate("conftest.py", "NOTED = [*'abc']\n")):
            assert worker.attempt(edit).report.passing == tests[3:]
        assert (worker.ways["warm"], worker.ways["cold"]) == (1, 1)
    assert not (root / ".mine").exists()


def test_what_a_test_caches_is_gone_with_its_run(write: Write, open_suite: Open) -> None:
    """The fixture works, and no later run or trial reads what it wrote."""
    body = "    assert cache.get('a/b', None) is None\n    cache.set('a/b', 1)\n"
    root = write({"calc.py": CALC, "test_it.py": f"def test_it(cache):\n{body}"})
    suite = open_suite(root)
    for _ in range(2):
        assert suite.run(root).passing == ("test_it.py::test_it",)
    with suite.worker(root, ["test_it.py::test_it"]) as worker:
        for edit in ("calc.py", "new.txt", "calc.py", "new.txt"):
            trial = worker.attempt(candidate(edit, FIXED))
            assert trial.report.passing == ("test_it.py::test_it",), trial.report


RANDOMLY = """def pytest_addoption(parser):
    parser.addoption("--randomly-seed")
    parser.addoption("--randomly-dont-reorganize", action="store_true")

def pytest_collection_modifyitems(config, items):
    if not config.getoption("--randomly-dont-reorganize"):
        items.reverse()
"""
"""A plugin with the options and the name of pytest-randomly, and a chance that is the same each time."""


@pytest.mark.parametrize("settings", ["", "addopts = --randomly-seed=1"])
def test_what_shuffles_tests_is_turned_off_or_told_not_to(
    calc: Path, open_suite: Open, bare: Path, plan: SuitePlan, tmp_path: Path, settings: str
) -> None:
    """Its options in the settings would be unknown without it."""
    env = tmp_path / "env"
    shutil.copytree(bare, env, symlinks=True)
    site = next(env.glob("lib/python3*/site-packages"))
    (site / "pytest_randomly").mkdir()
    (site / "pytest_randomly" / "__init__.py").write_text(RANDOMLY)
    (site / "pytest_randomly-5.dist-info").mkdir()
    (site / "pytest_randomly-5.dist-info" / "METADATA").write_text("Name: pytest-randomly\n")
    entry = "[pytest11]\nrandomly = pytest_randomly\n"
    (site / "pytest_randomly-5.dist-info" / "entry_points.txt").write_text(entry)
    (calc / "pytest.ini").write_text(f"[pytest]\n{settings}\n")
    (calc / "test_order.py").write_text(
        "SEEN = []\ndef test_a(): SEEN.append(1)\ndef test_b(): assert SEEN\n"
    )
    used = replace(plan, python=env / "bin" / "python", reads=(env, *plan.reads))
    report = open_suite(calc, used=used).run(calc)
    assert (report.state, report.reason) == (ReportState.COMPLETE, ""), report.output
    assert report.failing == (ADD,)


def test_a_new_test_goes_through_no_link(open_suite: Open, calc: Path) -> None:
    """What is called `tests` and is no folder may be a link that leads out, so the test is written beside it."""
    suite = open_suite(calc)
    assert new_test_path("Add is wrong", ["calc.py"], suite) == "tests/test_add_is_wrong.py"
    assert new_test_path("Add is wrong", ["calc.py", "tests"], suite) == "test_add_is_wrong.py"
