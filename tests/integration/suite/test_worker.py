"""The trial worker tries candidates one after the other, and none leaves a trace for the next."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from tests.integration.suite.conftest import (
    ADD,
    CALC,
    CLAMP,
    METHOD,
    TEST_CALC,
    Open,
    candidate,
)

from surefoot.execute.repair.candidates import UNCHANGED
from surefoot.execute.repair.evidence import Evidence, Probing, Witnesses, probe_for
from surefoot.execute.repair.examples import Example
from surefoot.execute.repair.ground import Files
from surefoot.execute.repair.localise import Suspect
from surefoot.execute.repair.probe import Probe, probe_of, words_of
from surefoot.execute.repair.trials import PASSED, Tried
from surefoot.execute.source import parse, units
from surefoot.kernel.ports import Processes, TrialWorker
from surefoot.suite import PytestSuite, SuitePlan
from surefoot.suite.worker import ForkedWorker
from surefoot.values import Candidate, Digest, FileEdit, Limits, ReportState

FIXED = CALC.replace("total -= 1", "total += 1")


@pytest.fixture(scope="module")
def worker(
    tmp_path_factory: pytest.TempPathFactory, plan: SuitePlan, processes: Processes
) -> Iterator[ForkedWorker]:
    """One worker for many tests, as it is for many candidates."""
    home = tmp_path_factory.mktemp("worker")
    root = home / "project"
    (root / "tests").mkdir(parents=True)
    (root / "calc.py").write_text(CALC)
    (root / "tests" / "test_calc.py").write_text(TEST_CALC)
    suite = PytestSuite(plan, processes, original=root, scratch=home, limits=Limits())
    with suite.worker(root, [ADD]) as opened:
        assert isinstance(opened, ForkedWorker)
        yield opened


def test_a_fix_passes_and_a_wrong_idea_fails_with_its_reason(worker: ForkedWorker) -> None:
    """The report says what the test said, with frames and values."""
    wrong = worker.attempt(candidate("calc.py", CALC.replace("total -= 1", "total += 2")))
    assert (wrong.report.state, wrong.report.failing) == (ReportState.COMPLETE, (ADD,))
    result = wrong.report.results[0]
    assert result.message.startswith("AssertionError: assert 8 == 5")
    assert result.frames[-1].path == "tests/test_calc.py"
    right = worker.attempt(candidate("calc.py", FIXED))
    assert (right.report.state, right.report.passing) == (ReportState.COMPLETE, (ADD,))
    assert right.wall_s == right.report.wall_s > 0


def test_other_tests_can_be_asked_and_the_first_failure_ends_the_trial(
    worker: ForkedWorker,
) -> None:
    """Tests of the opened files run warm; those after a failure are not run."""
    wider = [METHOD, ADD, *CLAMP]
    cold = worker.ways["cold"]
    assert worker.attempt(candidate("calc.py", FIXED), wider).report.passing == tuple(sorted(wider))
    report = worker.attempt(candidate("calc.py", CALC), wider).report
    assert (report.passing, report.failing) == ((METHOD,), (ADD,))
    assert worker.ways["cold"] == cold


def test_a_parametrised_function_can_be_asked_for_as_a_whole(worker: ForkedWorker) -> None:
    """Its ids need not be known; a function that is not there is no answer."""
    (function,) = {test.partition("[")[0] for test in CLAMP}
    cold = worker.ways["cold"]
    report = worker.attempt(candidate("calc.py", CALC), [function]).report
    assert (report.state, report.passing) == (ReportState.COMPLETE, tuple(sorted(CLAMP)))
    assert worker.ways["cold"] == cold
    nothing = worker.attempt(candidate("calc.py", CALC), [f"{function}_too"]).report
    assert nothing.state is not ReportState.COMPLETE


def test_an_endless_loop_costs_its_limit_and_the_next_trial_works(worker: ForkedWorker) -> None:
    """A loop that catches everything, and one in C, end as timeouts at the trial's own limit; the worker is as good as before."""
    given_up_s = 120  # a worker that does not answer is given up after this, at the earliest
    for body in ("while True:\n            pass", "sum(range(10**13))"):
        trial = worker.attempt(candidate("calc.py", CALC.replace("total -= 1", body)))
        assert trial.report.state is ReportState.TIMEOUT
        assert trial.wall_s < given_up_s
    assert worker.attempt(candidate("calc.py", FIXED)).report.passing == (ADD,)


@pytest.mark.parametrize(
    "body",
    ["__import__('os')._exit(0)", "__import__('os').kill(0, 9)", "__import__('os').close(1)"],
)
def test_a_candidate_that_ends_its_process_crashes_alone(body: str, worker: ForkedWorker) -> None:
    """The trial is a crash or a failure; the worker goes on."""
    report = worker.attempt(candidate("calc.py", CALC.replace("total -= 1", body))).report
    assert report.state is not ReportState.COMPLETE or report.failing == (ADD,)
    assert worker.attempt(candidate("calc.py", FIXED)).report.passing == (ADD,)


STRAY = """
import subprocess, sys
def add(a, b):
    import os, time
    if not os.fork():
        os.setsid()
        time.sleep(1000)
    code = "import os, time; os.setsid(); open('mark', 'w').write('x'); time.sleep(1000)"
    subprocess.Popen([sys.executable, "-c", code])
    while not os.path.exists("mark") or not open("mark").read(): pass
    return a + b
"""


def test_processes_that_a_candidate_starts_are_ended(calc: Path, open_suite: Open) -> None:
    """Also those that left its session; a test of the next trial finds none of them."""
    (calc / "tests" / "test_stray.py").write_text(
        "import glob\n"
        "def text(path):\n"
        "    try: return open(path).read()\n"
        "    except OSError: return ''\n"
        "def test_alone():\n"
        "    assert not [p for p in glob.glob('/proc/*/cmdline') if 'sleep(1000)' in text(p)]\n"
    )
    with open_suite(calc).worker(calc, [ADD, "tests/test_stray.py::test_alone"]) as worker:
        trial = worker.attempt(candidate("calc.py", CALC + STRAY), [ADD])
        assert trial.report.passing == (ADD,), trial
        alone = worker.attempt(candidate("calc.py", FIXED), ["tests/test_stray.py::test_alone"])
    assert alone.report.passing == ("tests/test_stray.py::test_alone",), alone


def test_the_tree_is_the_same_before_and_after(calc: Path, open_suite: Open) -> None:
    """Neither the given tree nor the next trial sees what a candidate or its tests wrote."""
    (calc / "tests" / "test_files.py").write_text(
        "import os, pathlib\n"
        "def test_writes():\n"
        "    seen = sorted(str(p) for p in pathlib.Path().rglob('*.txt'))\n"
        "    pathlib.Path('deep/er').mkdir(parents=True)\n"
        "    pathlib.Path('deep/er/left.txt').write_text('x')\n"
        "    pathlib.Path('data.txt').write_text('changed')\n"
        "    assert seen == ['data.txt']\n"
        "    os.unlink('calc.py')\n"
    )
    (calc / "data.txt").write_text("given")
    before = {p: p.read_bytes() for p in calc.rglob("*") if p.is_file()}
    test = "tests/test_files.py::test_writes"
    with open_suite(calc).worker(calc, [test]) as worker:
        for _ in range(3):
            assert worker.attempt(candidate("calc.py", FIXED)).report.passing == (test,)
    assert {p: p.read_bytes() for p in calc.rglob("*") if p.is_file()} == before


@pytest.mark.parametrize("path", ["calc.py", "new.txt"])
def test_folders_are_the_same_before_and_after(calc: Path, open_suite: Open, path: str) -> None:
    """Empty ones, and one in the place of a file or the other way round; warm and cold."""
    (calc / "tests" / "test_folders.py").write_text(
        "import os, shutil\n"
        "def test_folders():\n"
        "    seen = sorted(e.name for e in os.scandir() if e.is_dir() and e.name[0] not in '.t')\n"
        "    os.makedirs('out/deep')\n"
        "    os.rmdir('empty')\n"
        "    os.unlink('file')\n"
        "    os.makedirs('file/deep')\n"
        "    shutil.rmtree('folder')\n"
        "    open('folder', 'w').close()\n"
        "    assert seen == ['empty', 'folder']\n"
    )
    (calc / "empty").mkdir()
    (calc / "folder").mkdir()
    for file in ("file", "folder/file"):
        (calc / file).write_text("given")
    test = "tests/test_folders.py::test_folders"
    with open_suite(calc).worker(calc, [test]) as worker:
        for _ in range(3):
            report = worker.attempt(candidate(path, FIXED)).report
            assert report.passing == (test,), report


def test_a_package_is_copied_whatever_it_is_called(
    calc: Path, open_suite: Open, plan: SuitePlan, tmp_path: Path
) -> None:
    """An environment is not, whatever it is called; a carried folder is mounted from the checkout."""
    names = ("venv", ".venv", "node_modules", ".tox", ".nox")
    checkout = tmp_path / "checkout"
    for place in [calc / "tool" / name for name in names] + [checkout / "node_modules"]:
        place.mkdir(parents=True)
        (place / "mark.txt").write_text(place.parent.name)
    (calc / "env" / "bin").mkdir(parents=True)
    (calc / "env" / "pyvenv.cfg").write_text("")
    (calc / "node_modules").mkdir()
    (calc / "tests" / "test_tree.py").write_text(
        "from pathlib import Path\n"
        "def test_tree():\n"
        f"    for name in {names}:\n"
        "        assert Path('tool', name, 'mark.txt').read_text() == 'tool'\n"
        "    assert not Path('env').exists()\n"
        "    assert Path('node_modules', 'mark.txt').read_text() == 'checkout'\n"
    )
    suite = open_suite(checkout, used=replace(plan, carry=("node_modules",)))
    test = "tests/test_tree.py::test_tree"
    with suite.worker(calc, [test]) as worker:
        trial = worker.attempt(candidate("calc.py", FIXED))
    assert trial.report.passing == (test,), trial.report


def test_files_that_are_new_gone_or_not_python_are_tried_cold(calc: Path, open_suite: Open) -> None:
    """A fresh start of pytest sees every kind of edit."""
    (calc / "calc.py").write_text(
        CALC.replace("LIMIT = 10", "LIMIT = int(open('limit.txt').read())")
    )
    (calc / "limit.txt").write_text("30")
    edits = {
        "data": FileEdit(path="limit.txt", text="10"),
        "gone": FileEdit(path="calc.py", text=None),
        "new": FileEdit(path="calc/__init__.py", text=FIXED),
    }
    with open_suite(calc).worker(calc, CLAMP) as worker:
        assert isinstance(worker, ForkedWorker)
        states = {}
        for name, edit in edits.items():
            tried = Candidate(
                candidate_id=Digest("1"), generator="t", edits=(edit,), description=""
            )
            report = worker.attempt(tried).report
            states[name] = (report.state, len(report.passing))
        assert worker.ways["warm"] <= 1
    assert states == {
        "data": (ReportState.COMPLETE, 2),
        "gone": (ReportState.COLLECTION_ERROR, 0),
        "new": (ReportState.COMPLETE, 2),
    }


@pytest.mark.parametrize("path", ["../calc.py", "/etc/passwd", ".git/hooks/x", "a/../../b.py"])
def test_a_candidate_outside_the_tree_is_not_tried(path: str, worker: ForkedWorker) -> None:
    """Its report is not complete and names the path."""
    report = worker.attempt(candidate(path, "x")).report
    assert report.state is ReportState.UNPARSABLE
    assert path in report.reason


def test_a_project_that_cannot_be_imported_can_be_mended(calc: Path, open_suite: Open) -> None:
    """Without a warm process every candidate is tried cold."""
    (calc / "calc.py").write_text("def add(:\n")
    with open_suite(calc).worker(calc, [ADD]) as worker:
        assert isinstance(worker, ForkedWorker)
        broken = worker.attempt(candidate("calc.py", "def add(a):\n"))
        assert broken.report.state is ReportState.COLLECTION_ERROR
        assert worker.attempt(candidate("calc.py", FIXED)).report.passing == (ADD,)
        assert "collected" in worker.last_why


def test_a_project_that_starts_threads_is_tried_cold(calc: Path, open_suite: Open) -> None:
    """A fork of a process with threads would lack them."""
    threaded = (
        CALC
        + "import threading, time\nthreading.Thread(target=time.sleep, args=(9,), daemon=True).start()\n"
    )
    (calc / "calc.py").write_text(threaded)
    with open_suite(calc).worker(calc, [ADD]) as worker:
        assert isinstance(worker, ForkedWorker)
        fixed = threaded.replace("total -= 1", "total += 1")
        assert worker.attempt(candidate("calc.py", fixed)).report.passing == (ADD,)
        assert "threads" in worker.last_why


def test_a_worker_that_died_is_started_again(worker: ForkedWorker) -> None:
    """The trial that it died in, or after, costs one crash at most."""
    assert worker.attempt(candidate("calc.py", FIXED)).report.passing == (ADD,)
    running = worker._running
    assert running is not None
    running.stop()
    worker.attempt(candidate("calc.py", FIXED))
    assert worker.attempt(candidate("calc.py", FIXED)).report.passing == (ADD,)


def test_a_trace_shows_lines_and_values_of_the_unchanged_code(worker: ForkedWorker) -> None:
    """Only lines inside functions that the test ran; values in the order in which they came about."""
    seen = worker.trace(ADD, ["calc.py"])
    assert (seen.test_id, seen.passed) == (ADD, False)
    assert seen.lines == {"calc.py": (8, 9, 10, 11)}
    assert seen.values == (
        "calc.py:6 call add(a = 2, b = 3)",
        "calc.py:8 total = 2",
        "calc.py:9 _ = 0",
        "calc.py:10 total = 1",
        "calc.py:9 _ = 1",
        "calc.py:10 total = 0",
        "calc.py:9 _ = 2",
        "calc.py:10 total = -1",
        "calc.py:11 return -1",
    )


def test_a_long_trace_keeps_its_ends(calc: Path, open_suite: Open) -> None:
    """At most 60 entries: the first, how many are left out, the last."""
    (calc / "tests" / "test_long.py").write_text(
        "from calc import add\ndef test_long(): assert add(0, 500) == 500\n"
    )
    test = "tests/test_long.py::test_long"
    with open_suite(calc).worker(calc, [test]) as worker:
        values = worker.trace(test, ["calc.py"]).values
    assert len(values) == 60
    assert values[0] == "calc.py:6 call add(a = 0, b = 500)"
    assert values[-1] == "calc.py:11 return -500"
    assert [v for v in values if "more" in v]


def test_a_trace_of_an_exception_shows_where_it_rose(calc: Path, open_suite: Open) -> None:
    """Also in a test that is not among those that the worker was opened with."""
    (calc / "calc.py").write_text(CALC.replace("total = a", "total = a / (a - 2)"))
    with open_suite(calc).worker(calc, [METHOD]) as worker:
        seen = worker.trace(ADD, ["calc.py"])
    assert not seen.passed
    assert "calc.py:8 raise ZeroDivisionError: ZeroDivisionError('division by zero')" in seen.values


def test_a_trace_of_an_endless_loop_is_what_ran_until_the_limit(
    calc: Path, open_suite: Open
) -> None:
    """The lines of the loop are known although the test never ends."""
    (calc / "calc.py").write_text(
        CALC.replace("total -= 1", "while total:\n            total -= 1 - 1")
    )
    suite = open_suite(calc)
    suite._known_s[ADD] = 0.01
    with suite.worker(calc, [ADD]) as worker:
        seen = worker.trace(ADD, ["calc.py"])
    assert not seen.passed
    assert seen.lines["calc.py"][-2:] == (10, 11)


def test_tests_of_unknown_length_are_measured_to_the_last(calc: Path, open_suite: Open) -> None:
    """A failure before a slow test does not shorten the limit of the trial in which it passes."""
    (calc / "tests" / "test_slow.py").write_text(
        "import time\n"
        "def test_slow():\n"
        "    end = time.process_time() + 1.1\n"
        "    while time.process_time() < end: pass\n"
    )
    slow = "tests/test_slow.py::test_slow"
    with open_suite(calc).worker(calc, [ADD, slow]) as worker:
        assert worker.attempt(candidate("calc.py", FIXED)).report.passing == (ADD, slow)


def test_a_probe_meets_candidates_warm(
    tmp_path: Path, plan: SuitePlan, processes: Processes
) -> None:
    """A probe has its module imported when the tests are collected, so that a candidate need not start afresh."""
    root = tmp_path / "project"
    (root / "tests").mkdir(parents=True)
    (root / "calc.py").write_text(CALC)
    call = Example(call="add(2, 3)", expected="5", origin="test")
    probe = probe_of(
        "calc", "add", "tests/test_calc.py", inputs=(), checked=((call, (2, 3)),), examples=()
    )
    (root / probe.path).write_text(probe.text)
    suite = PytestSuite(plan, processes, original=root, scratch=tmp_path, limits=Limits())
    test = probe.test("checked")
    with suite.worker(root, probe.tests) as opened:
        assert isinstance(opened, ForkedWorker)
        words = words_of(opened.attempt(candidate("calc.py", FIXED), (test,)).report.result(test))
        assert (words, opened.ways["cold"], opened.last_why) == (("=35",), 0, "")


ODD = """\
def odd(text):
    if not text:
        return None
    return len(text) % 2 == 0


def first(text):
    return text[0]
"""
TEST_ODD = """\
from odd import first, odd


def test_odd():
    assert odd("abc")
    assert first("bcd") == "b"
"""


@contextmanager
def probed(
    tmp_path: Path,
    plan: SuitePlan,
    processes: Processes,
    product: tuple[str, str],
    tests: tuple[str, str],
    count: int = 32,
) -> Iterator[tuple[Probing, dict[str, Suspect]]]:
    """Probes of all functions of a file, by the calls in its tests; the first one fails."""
    root = tmp_path / "project"
    suite = PytestSuite(plan, processes, original=root, scratch=tmp_path, limits=Limits())
    (root / "tests").mkdir(parents=True)
    (root / product[0]).write_text(product[1])
    (root / tests[0]).write_text(tests[1])
    source, test = parse(*product), parse(*tests)
    assert source is not None
    assert test is not None
    files = Files(
        product={product[0]: source}, tests={tests[0]: test}, paths=(product[0], tests[0])
    )
    suspects = {
        unit.name: Suspect(path=product[0], unit=unit, score=1.0, lines={})
        for unit in units(source)
    }
    failing = (f"{tests[0]}::{units(test)[0].name}",)
    probes = {
        s.key: probe
        for s in suspects.values()
        if (probe := probe_for(s, files, "", failing=failing, seed=1, count=count)) is not None
    }
    with ExitStack() as stack:

        def open_worker(probe: Probe) -> TrialWorker:
            (root / probe.path).write_text(probe.text)
            return stack.enter_context(suite.worker(root, probe.tests))

        worker = stack.enter_context(suite.worker(root, failing))
        seen = worker.attempt(UNCHANGED).report.results
        yield Probing(probes, open_worker, seen), suspects


def test_what_no_test_leaves_empty_is_left_empty_where_the_code_answers_it(
    tmp_path: Path, plan: SuitePlan, processes: Processes
) -> None:
    """A candidate that gives up what the code says of an empty text is told from one that keeps it; a text that raises is none."""
    tests = ("tests/test_odd.py", TEST_ODD)
    with probed(tmp_path, plan, processes, ("odd.py", ODD), tests) as (probing, suspects):
        kept = candidate("odd.py", ODD.replace("== 0", "== 1"))
        lost = candidate("odd.py", ODD.replace("== 0", "== 1").replace("not text", "text is None"))
        words = [probing.behaviour(c, suspects["odd"])[0] for c in (kept, lost)]
        assert words[0] is not None
        assert words[1] is not None
        differs = [one != other for one, other in zip(*words, strict=True)]
        assert differs == [*[False] * (len(differs) - 2), True, False]  # the empty text alone
        hasty = candidate("odd.py", ODD.replace("== 0", "== 1 and text[1]"))
        failed, _ = probing.behaviour(hasty, suspects["odd"])
        assert probing.lost(failed, suspects["odd"], ())
        assert not probing.lost(failed, suspects["odd"], {"IndexError"})
        picky = candidate("odd.py", ODD.replace("== 0", "== 1 and int(text)"))
        assert not probing.lost(probing.behaviour(picky, suspects["odd"])[0], suspects["odd"], ())
        forged = 'raise GeneratorExit("SUREFOOT-PROBE 00000000 END")'
        short = candidate("odd.py", ODD.replace("return len(text) % 2 == 0", forged))
        told, _ = probing.behaviour(short, suspects["odd"])
        assert told is not None
        # What an exception says is no word of the probe's.
        assert ("00000000" in told, "!GeneratorExit" in told) == (False, True)
        assert not any(probing.lost(w, suspects["odd"], ()) for w in words)
        mild = candidate("odd.py", ODD.replace("text[0]", "text[:1]"))
        same = candidate("odd.py", ODD)
        (one, apart), (other, beside) = (
            probing.behaviour(c, suspects["first"]) for c in (mild, same)
        )
        assert one == other
        assert apart != beside  # nobody answered the empty text before


ALONE = """\
def alone(text):
    return False
"""
TEST_ALONE = """\
from alone import alone


def test_alone():
    assert alone("apple pi e") == True
    assert alone("apple pi e ") == False
    assert alone("apple pie") == False
    assert alone("") == False
"""


@pytest.mark.parametrize(("call", "lost"), [('alone("")', True), ('alone("apple")', False)])
def test_texts_beside_an_empty_one_are_of_no_form(
    tmp_path: Path, plan: SuitePlan, processes: Processes, call: str, *, lost: bool
) -> None:
    """Whoever gives the empty text may give one letter, too; of code that answers all texts alike this is all that tells."""
    tests = ("tests/test_alone.py", TEST_ALONE.replace('alone("")', call))
    product = ("alone.py", ALONE)
    with probed(tmp_path, plan, processes, product, tests, count=192) as (probing, suspects):
        hasty, right, strict = (
            candidate("alone.py", ALONE.replace("False", f"text[-1:].isalpha() and {rest}"))
            for rest in ("text[-2] == ' '", "text[-2:-1] == ' '", "{' ': 1}[text[-2:-1]] > 0")
        )
        shares = [
            probing.lost(probing.behaviour(c, suspects["alone"])[0], suspects["alone"], ())
            for c in (hasty, right, strict)
        ]
        assert [share > 0 for share in shares] == [lost, False, False]


LINES = """\
import os
import time


def lines(path):
    with open(path) as file:
        return len(file.readlines()) - 1


def slow(n):
    end = time.process_time() + 0.3
    while time.process_time() < end:
        pass
    return n * 3


def rate(n):
    return n * int(os.environ.get("RATE", "7")) + 1


def last(numbers):
    return numbers[len(numbers)]
"""


ELSEWHERE = """\
def test_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").write_text("x" + chr(10))
    assert lines("a") == 1
"""
RATE = """\
def test_it(monkeypatch):
    monkeypatch.setenv("RATE", "2")
    assert rate(3) == 6
"""


@pytest.mark.parametrize(
    ("test", "name", "is_seen"),
    [
        (ELSEWHERE, "lines", False),
        ("def test_it():\n    assert slow(3) == 6\n", "slow", False),
        (RATE, "rate", False),
        ("def test_it():\n    assert rate(3) == 21\n    assert rate(4) == 28\n", "rate", True),
        ("def test_it():\n    assert last([2, 3]) == 3\n", "last", True),
    ],
    ids=["folder", "time", "environment", "value", "exception"],
)
def test_a_gauge_is_of_use_where_the_tests_saw_what_it_shows(
    tmp_path: Path, plan: SuitePlan, processes: Processes, test: str, name: str, *, is_seen: bool
) -> None:
    """A call out of its test lacks what that made, and its time: what mends it would look no better than the unchanged code."""
    tests = ("tests/test_lines.py", f"from lines import {name}\n\n\n{test}")
    with probed(tmp_path, plan, processes, ("lines.py", LINES), tests) as (probing, suspects):
        assert (probing.gauge(suspects[name]) is not None) == is_seen


CART = """\
class Cart:
    def __init__(self, prices):
        self.prices = prices

    def total(self):
        return len(self.prices)
"""
TEST_CART = """\
import pytest

from cart import Cart

OPEN = {}


@pytest.fixture(autouse=True)
def cart():
    OPEN["cart"] = Cart([2, 3])
    yield
    OPEN.clear()


def test_sum():
    assert OPEN["cart"].total() == 5


def test_number():
    assert OPEN["cart"].total() > 1
"""


def test_a_story_that_the_unchanged_code_cannot_tell_is_none_that_is_kept(
    tmp_path: Path, plan: SuitePlan, processes: Processes
) -> None:
    """What a fixture makes is missing there: it breaks off alike for every candidate, and none of them is steady for it."""
    tests = ("tests/test_cart.py", TEST_CART)
    with probed(tmp_path, plan, processes, ("cart.py", CART), tests) as (probing, suspects):
        total = suspects["total"]
        wrong = candidate("cart.py", CART.replace("len(self.prices)", "self.prices"))
        words, _ = probing.behaviour(wrong, total)
        assert {*(words or ())} == {"!_Broken"}
        assert probing.kept(words, total) is None
        apart = TEST_CART.replace("def test_number():", "def test_number():\n    cart = Cart([4])")
        steady = (tests[0], apart.replace('OPEN["cart"].total() > 1', "cart.total() == 1"))
    with probed(tmp_path / "steady", plan, processes, ("cart.py", CART), steady) as (
        probing,
        suspects,
    ):
        same, _ = probing.behaviour(UNCHANGED, suspects["total"])
        other, _ = probing.behaviour(wrong, suspects["total"])
        assert probing.kept(same, suspects["total"]) == 1.0
        assert probing.kept(other, suspects["total"]) == 0.0


def test_a_part_of_an_answer_that_could_not_be_compared_is_a_rival(worker: ForkedWorker) -> None:
    """Nothing tells that it does the same, so that it does not speak for the answer by being a smaller one."""
    source, test = parse("calc.py", CALC), parse("tests/test_calc.py", TEST_CALC)
    assert source is not None
    assert test is not None
    suspect = Suspect(path="calc.py", unit=units(source)[0], score=1.0, lines={})
    files = Files(
        product={"calc.py": source},
        tests={"tests/test_calc.py": test},
        paths=("calc.py", "tests/test_calc.py"),
    )
    probing = Probing({}, lambda probe: worker)
    witnesses = Witnesses(probing=probing, worker=worker, failing=(ADD,), neighbours=())
    evidence = Evidence(files, [suspect], witnesses)
    whole, part = (
        Tried(candidate=candidate("calc.py", text), passed=True, fixed=1, near=1.0, message=PASSED)
        for text in (FIXED + "\nMORE = 1\n", FIXED)
    )
    evidence.add(whole, suspect, sampled=True)
    evidence.add_part(part, suspect, whole)
    assert [p.words for p in evidence.passing] == [None, None]
    assert [p.edited for p in evidence.passing] == [False, True]


ALTERNATE = """\
def alternate(numbers):
    left, given = list(numbers), []
    while left:
        given.append(min(left))
        left.remove(min(left))
        given.append(max(left))
        left.remove(max(left))
    return given
"""
TEST_ALTERNATE = """\
from alternate import alternate


def test_alternate():
    assert alternate([5]) == [5]
    assert alternate([1, 2, 3, 4]) == [1, 4, 2, 3]
    assert alternate([9, 7, 8, 6, 5, 1]) == [1, 9, 5, 8, 6, 7]
"""


def test_what_mends_an_input_of_a_test_and_not_its_fault_is_told(
    tmp_path: Path, plan: SuitePlan, processes: Processes
) -> None:
    """A list of one item has `max()` fail, as every list of odd length does: a guard for one item leaves the others as they are."""
    tests = ("tests/test_alternate.py", TEST_ALTERNATE)
    with probed(tmp_path, plan, processes, ("alternate.py", ALTERNATE), tests) as (
        probing,
        suspects,
    ):
        one = suspects["alternate"]
        again = "        given.append(max"
        guard = ALTERNATE.replace(
            "    left,", "    if len(numbers) < 2:\n        return numbers\n    left,"
        )
        right = ALTERNATE.replace(again, "        if not left:\n            break\n" + again)
        words = [
            probing.behaviour(c, one)[0]
            for c in (UNCHANGED, candidate("alternate.py", guard), candidate("alternate.py", right))
        ]
        assert [probing.lost(w, one, ()) > 0 for w in words] == [True, True, False]
        assert not probing.lost(words[1], one, {"ValueError"})


def test_code_that_gives_the_same_whatever_it_is_given_excuses_nobody(
    tmp_path: Path, plan: SuitePlan, processes: Processes
) -> None:
    """As of what is to be written yet, an answer is due to lists like the known ones, of odd length too, and none to one that is empty."""
    tests = ("tests/test_alternate.py", TEST_ALTERNATE)
    idle = "def alternate(numbers):\n    return []\n"
    right = ALTERNATE.replace(
        "        given.append(max",
        "        if not left:\n            break\n        given.append(max",
    )
    needs = right.replace("    left,", "    least = numbers[0]\n    left,")
    with probed(tmp_path, plan, processes, ("alternate.py", idle), tests) as (probing, suspects):
        one = suspects["alternate"]
        lost = [
            probing.lost(probing.behaviour(candidate("alternate.py", text), one)[0], one, ())
            for text in (ALTERNATE, needs, right)
        ]
        assert [share > 0 for share in lost] == [True, False, False]


STRANGE = """\
def strange(numbers):
    return sorted(numbers)


def largest(numbers, k):
    return sorted(numbers)[-k:]


def highest(numbers, k):
    raise NotImplementedError
"""
UNWRITTEN = "raise NotImplementedError"
BY_TURNS = """\
def strange(numbers):
    left, given = list(numbers), []
    while left:
        for take in (min, max):
            given.append(take(left))
            left.remove(given[-1])
    return given
"""
TEST_STRANGE = """\
from strange import highest, largest, strange


def test_strange():
    assert strange([1, 2, 3, 4]) == [1, 4, 2, 3]
    assert strange([5, 5]) == [5, 5]
    assert strange([9, 7, 8, 6, 5, 1]) == [1, 9, 5, 8, 6, 7]
    assert largest([3, 1, 2], 2) == [2, 3]
    assert largest([4, 4], 1) == [4]
    assert largest([5, 1, 7, 6], 3) == [5, 6, 7]
    assert highest([3, 1, 2], 2) == [2, 3]
    assert highest([4, 4], 1) == [4]
    assert highest([5, 1, 7, 6], 3) == [5, 6, 7]
"""


def test_lists_on_which_a_candidate_breaks_or_gives_what_it_was_not_given_are_told(
    tmp_path: Path, plan: SuitePlan, processes: Processes
) -> None:
    """All known lists have an even length: what raises on others has lost something, and what leaves an item out is unlike all known results.

    So is what gives items where none are asked for, which nobody does in the tests, also of a function without a body.
    """
    tests = ("tests/test_strange.py", TEST_STRANGE)
    with probed(tmp_path, plan, processes, ("strange.py", STRANGE), tests) as (probing, suspects):
        strange = suspects["strange"]
        breaks = candidate("strange.py", BY_TURNS)
        short = candidate("strange.py", BY_TURNS.replace("while left:", "while left[1:]:"))
        right = candidate("strange.py", BY_TURNS.replace("(min, max)", "(min, max)[: len(left)]"))
        lost = [
            probing.lost(probing.behaviour(c, strange)[0], strange, ())
            for c in (breaks, short, right)
        ]
        assert [share > 0 for share in lost] == [True, False, False]
        meant, _ = probing.behaviour(breaks, strange)
        assert not probing.lost(meant, strange, {"ValueError"})
        unlike = [probing.unlike(c, strange) for c in (breaks, short, right)]
        assert unlike == [None, "has as many items as argument 1", None]
        none = candidate("strange.py", STRANGE.replace("[-k:]", "[len(numbers) - k :]"))
        unlike = [probing.unlike(c, suspects["largest"]) for c in (UNCHANGED, none)]
        assert unlike == ["has argument 2 items", None]
        bodies = ("sorted(numbers)[-k:]", "sorted(numbers)[len(numbers) - k :]")
        written = [
            candidate("strange.py", STRANGE.replace(UNWRITTEN, f"return {b}")) for b in bodies
        ]
        unlike = [probing.unlike(c, suspects["highest"]) for c in written]
        assert unlike == ["has argument 2 items", None]


ENDS = """\
def ends(numbers):
    \"\"\"The least and the greatest, in order.\"\"\"
    return (max(numbers), min(numbers))
"""
TEST_ENDS = """\
from ends import ends


def test_ends():
    assert ends([1, 4, 2, 3]) == (1, 4)
    assert ends([5, 9, 7]) == (5, 9)
"""


def test_what_does_not_rise_where_all_known_results_do_is_told(
    tmp_path: Path, plan: SuitePlan, processes: Processes
) -> None:
    """Two results are few, and the docstring speaks of the same: that the first two are meant is what the tests leave open."""
    tests = ("tests/test_ends.py", TEST_ENDS)
    with probed(tmp_path, plan, processes, ("ends.py", ENDS), tests) as (probing, suspects):
        bodies = ("tuple(numbers[:2])", "(min(numbers), max(numbers))")
        given = [
            candidate("ends.py", ENDS.replace("(max(numbers), min(numbers))", b)) for b in bodies
        ]
        unlike = [probing.unlike(c, suspects["ends"]) for c in given]
        assert unlike == ["is in rising order", None]


SHARES = """\
def share(people):
    return people
"""
TEST_SHARES = """\
from shares import share


def test_share():
    assert share(5) == 2
    assert share(2) == 5
    assert share(10) == 1
"""


def test_what_answers_give_for_zero_tells_them_apart_and_parts_no_behaviours(
    tmp_path: Path, plan: SuitePlan, processes: Processes
) -> None:
    """No test gives 0, and perhaps nobody does: both do the same, and what most answers give for it is heard all the same."""
    tests = ("tests/test_shares.py", TEST_SHARES)
    with probed(tmp_path, plan, processes, ("shares.py", SHARES), tests) as (probing, suspects):
        share = suspects["share"]
        of_one, of_none = (
            candidate("shares.py", SHARES.replace("return people", f"return {text}"))
            for text in ("10 // (people or 1)", "10 // people if people else 0")
        )
        assert probing.behaviour(of_one, share) == probing.behaviour(of_none, share)
        assert probing.strange(of_one, share) != probing.strange(of_none, share)


def test_a_file_with_a_byte_order_mark_is_tried_warm(calc: Path, open_suite: Open) -> None:
    """An import drops the mark, which is no code of a candidate either."""
    (calc / "calc.py").write_text("\ufeff" + CALC)
    with open_suite(calc).worker(calc, [ADD]) as worker:
        assert isinstance(worker, ForkedWorker)
        trial = worker.attempt(candidate("calc.py", "\ufeff" + FIXED), [ADD])
        assert trial.report.passing == (ADD,), trial
        assert worker.ways["cold"] == 0
