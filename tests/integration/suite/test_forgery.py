"""Product code that lies about its tests never gets a complete report with a pass.

Each forgery is put into the product module of a project whose `test_add` fails, and runs without the static rule.
"""

from pathlib import Path

import pytest
from tests.integration.suite.conftest import ADD, CALC, CLAMP, Open

from surefoot.suite import is_control_path, suspicious
from surefoot.values import ReportState

PATCH_OUTCOME = """
import _pytest.reports
original = _pytest.reports.TestReport.from_item_and_call.__func__
def forged(cls, item, call):
    report = original(cls, item, call)
    report.outcome, report.longrepr = "passed", None
    return report
_pytest.reports.TestReport.from_item_and_call = classmethod(forged)
"""
SWALLOW_ONE = """
import _pytest.runner
original = _pytest.runner.CallInfo.from_call.__func__
def forged(cls, func, when, reraise=None):
    call = original(cls, func, when, reraise)
    if when == "call" and call.excinfo and "add(2, 3)" in str(call.excinfo.value):
        call.excinfo, call._result = None, None
    return call
_pytest.runner.CallInfo.from_call = classmethod(forged)
"""
MAKEREPORT = """
import gc, _pytest.config
class Liar:
    def pytest_runtest_logreport(self, report): report.outcome = "passed"
    def pytest_runtest_makereport(self, item, call):
        from _pytest.reports import TestReport
        if item.name == "test_add": call.excinfo = None
        return TestReport.from_item_and_call(item, call)
for thing in gc.get_objects():
    if isinstance(thing, _pytest.config.PytestPluginManager) and not thing.hasplugin("liar"):
        thing.register(Liar(), "liar")
"""
MARSHAL_BODY = """
import _pytest.python
def nothing(pyfuncitem): return True
_pytest.python.pytest_pyfunc_call.__code__ = nothing.__code__
"""
HOOK_CALLS = """
import pluggy._callers, pluggy._hooks, gc
from _pytest.config import PytestPluginManager
for thing in gc.get_objects():
    if isinstance(thing, PytestPluginManager):
        inner = thing._inner_hookexec
        def quiet(name, methods, kwargs, first, inner=inner):
            return True if name == "pytest_pyfunc_call" else inner(name, methods, kwargs, first)
        thing._inner_hookexec = quiet
"""
UNREGISTER = """
import gc
from _pytest.config import PytestPluginManager
for thing in gc.get_objects():
    if isinstance(thing, PytestPluginManager):
        for plugin in list(thing.get_plugins()):
            if type(plugin).__name__ == "Hooks": thing.unregister(plugin)
"""
WRITE_REPORT = """
import os
def add(a, b):
    record = {"kind": "test", "n": 5, "id": "THE_ID", "outcome": "passed", "wall_s": 0.1,
              "witness": "returned", "message": "", "detail": "", "frames": []}
    for fd in range(3, 64):
        try: os.write(fd, b"0" * 32 + b" " + ascii(record).encode() + b"\\n")
        except OSError: pass
    return 5
""".replace("THE_ID", ADD)
CLOSE_REPORT = """
import os
def add(a, b):
    for fd in range(3, 64):
        try: os.close(fd)
        except OSError: pass
    os._exit(0)
"""
PATCH_ENCODING = """
import builtins, json, os, hashlib
real = os.write
os.write = lambda fd, data: real(fd, data.replace(b"'failed'", b"'passed'"))
builtins.ascii = lambda value: repr(value).replace("failed", "passed")
json.dumps = lambda value, **k: "{}"
json.JSONEncoder.encode = lambda self, value: "{}"
hashlib.blake2b = hashlib.md5
"""
AT_EXIT = "import atexit, os; atexit.register(os._exit, 0)"
FORK = """
import os
def add(a, b):
    if os.fork(): os._exit(0)
    return a + b
"""
REPLACE_TEST = """
import sys
def clamp(x):
    for name, module in list(sys.modules.items()):
        test = getattr(module, "test_add", None)
        if test is not None: test.__code__ = (lambda: None).__code__
    return min(x, LIMIT)
"""
REPLACE_FROM_FIRST = """
import sys
def clamp(x):
    import gc, pytest
    for thing in gc.get_objects():
        if isinstance(thing, pytest.Function) and thing.name == "test_add": thing.obj = lambda: None
    return min(x, LIMIT)
"""
NO_ASSERT = """
import unittest, _pytest.assertion.rewrite as rewrite
import ast
rewrite.AssertionRewriter.visit_Assert = lambda self, node: [ast.Pass()]
unittest.TestCase.assertEqual = lambda *a, **k: None
"""
RAISES = "import pytest\npytest.raises = lambda *a, **k: __import__('contextlib').nullcontext()"
OWN_EXIT = "import pytest\ndef add(a, b): pytest.exit('done', returncode=0)"
SKIP = "import pytest\ndef add(a, b): pytest.skip('not today')"
XFAIL = "import pytest\ndef add(a, b): pytest.xfail('as expected')"
CONTROL_C = "def add(a, b): raise KeyboardInterrupt"
KILL = "import os\ndef add(a, b): os.kill(os.getpid(), 9)"
KILL_PARENT = "import os\ndef add(a, b): os.kill(os.getppid(), 9)"
EXEC = "import os\ndef add(a, b): os.execv('/bin/true', ['true'])"
SESSION = """
import gc
def add(a, b):
    from _pytest.main import Session
    for thing in gc.get_objects():
        if isinstance(thing, Session): thing.items[:] = []; thing.testsfailed = 0; thing.shouldstop = "ok"
    return a + b
"""
PATCH_THE_PROBE = """
import operator


def add(a, b):
    _remember()
    return a - b


def _remember():
    try:
        raise ValueError
    except ValueError as error:
        place = operator.attrgetter("tb_" + "frame")(error.__traceback__)
    while place is not None:
        seen = operator.attrgetter("f_" + "locals")(place).get("phases")
        if seen is not None:
            _settle(type(seen))
            return
        place = operator.attrgetter("f_" + "back")(place)


def _settle(kind):
    if kind.add.__name__ != "add":
        return
    usual = kind.add

    def noted(self, info, report, root):
        if "test_add" in report.nodeid:
            self.call_outcome, self.witness = "passed", "returned"
            return
        usual(self, info, report, root)

    kind.add = noted
"""
CHANGE_THE_NOTES = """
import operator
read = lambda thing, first, last: getattr(thing, first + last, {})
class Kind:
    def add(self, *_): pass
def add(a, b):
    try:
        raise ValueError
    except ValueError as error:
        place = read(error.__traceback__, "tb_", "frame")
    while place is not None:
        for step in read(place, "f_", "locals").get("teardowns", ()):
            inner = read(read(step, "gi_", "frame"), "f_", "locals").get("teardown", step)
            seen = read(read(inner, "gi_", "frame"), "f_", "locals")
            if "now" in seen and "phases" in seen:
                seen["now"][seen["item"].nodeid] = Kind()
                seen["phases"].call_outcome, seen["phases"].witness = "passed", "returned"
        place = read(place, "f_", "back")
    return a - b
"""

FORGERIES = {
    "exits with 0 when imported": "import os; os._exit(0)",
    "exits with 0 when called": "import os\ndef add(a, b): os._exit(0)",
    "raises SystemExit(0) when imported": "import sys; sys.exit(0)",
    "raises SystemExit(0) when called": "import sys\ndef add(a, b): sys.exit(0)",
    "ends the session with 0": OWN_EXIT,
    "skips": SKIP,
    "expects its failure": XFAIL,
    "interrupts": CONTROL_C,
    "kills the runner": KILL,
    "kills the parent": KILL_PARENT,
    "becomes another program": EXEC,
    "forks and goes on in the child": FORK,
    "ends the process at exit": AT_EXIT,
    "makes every report a pass": PATCH_OUTCOME,
    "swallows one failure": SWALLOW_ONE,
    "registers a plugin that lies": MAKEREPORT,
    "gives pytest's call another body": MARSHAL_BODY,
    "does not call test functions": HOOK_CALLS,
    "unregisters the probe": UNREGISTER,
    "writes the report": WRITE_REPORT,
    "closes the report": CLOSE_REPORT,
    "patches what the report is written with": PATCH_ENCODING,
    "gives the test another body": REPLACE_TEST,
    "gives the item another function": REPLACE_FROM_FIRST,
    "takes the assertions out": NO_ASSERT,
    "makes pytest.raises pass": RAISES,
    "empties the session": SESSION,
    "patches what the probe notes": PATCH_THE_PROBE,
    "changes what the probe noted": CHANGE_THE_NOTES,
}
HARMLESS = {
    "kills the parent",
    "raises SystemExit(0) when called",
    "skips",
    "expects its failure",
    "ends the process at exit",
    "patches what the report is written with",
}
"""Forgeries without effect: the report is complete, and the test is not among those that passed."""
NOT_BY_TEXT = {
    "changes what the probe noted",
    "raises SystemExit(0) when imported",
    "raises SystemExit(0) when called",
    "interrupts",
    "writes the report",
}
"""Forgeries of names that much honest code uses; the run notices them."""


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forgery_never_completes_with_a_pass(forgery: str, calc: Path, open_suite: Open) -> None:
    """A report on a lying product is not complete, and says why; or it says that the test did not pass."""
    (calc / "calc.py").write_text(f"{CALC}\n{FORGERIES[forgery]}\n")
    report = open_suite(calc).run(calc, [*CLAMP, ADD])
    if forgery in HARMLESS:
        assert report.state is ReportState.COMPLETE
        assert ADD not in report.passing
    else:
        assert report.state is not ReportState.COMPLETE, report
        assert report.reason


@pytest.mark.parametrize("forgery", sorted(FORGERIES.keys() - NOT_BY_TEXT))
def test_the_static_rule_names_each_forgery(forgery: str) -> None:
    """A change that adds the forgery is told apart from its text alone."""
    assert suspicious(CALC, f"{CALC}\n{FORGERIES[forgery]}\n")


EASIER = """
from pathlib import Path
for path in Path(__file__).parent.rglob("test_calc.py"):
    usual = path.read_text()
    path.write_text("def test_add(): pass\\n")
"""
PUT_BACK = """
import atexit
atexit.register(path.write_text, usual)
"""


@pytest.mark.parametrize("more", ["", PUT_BACK], ids=["left", "put back"])
def test_tests_that_are_written_while_they_run_are_not_believed(
    calc: Path, open_suite: Open, more: str
) -> None:
    """The product is imported by the first test file, and has the next one say what it likes."""
    (calc / "tests" / "test_a.py").write_text("import calc\n\n\ndef test_a():\n    pass\n")
    (calc / "calc.py").write_text(f"{CALC}\n{EASIER}{more}")
    report = open_suite(calc).run(calc)
    assert report.state is ReportState.FORGED
    assert report.reason == "tests/test_calc.py was changed while the tests ran"


LATE = """
from pathlib import Path
late = Path(__file__).parent / "tests" / "late" / ("conf" + "test.py")
late.write_text(
    "def pytest_collection_modifyitems(items):\\n"
    "    for i in items:\\n"
    "        i.parent.obj.test_b = i.obj = lambda: None\\n"
)
"""


def test_a_conftest_that_is_made_while_they_run_is_not_believed(
    calc: Path, open_suite: Open
) -> None:
    """Pytest reads it when it comes to its folder, and it may take the tests there for others."""
    (calc / "tests" / "late").mkdir()
    for test, body in (("test_a.py", "pass"), ("late/test_b.py", "assert False")):
        name = Path(test).stem
        (calc / "tests" / test).write_text(f"import calc\n\n\ndef {name}():\n    {body}\n")
    suite = open_suite(calc)
    assert "tests/late/test_b.py::test_b" in suite.run(calc).failing
    (calc / "calc.py").write_text(f"{CALC}\n{LATE}")
    report = suite.run(calc)
    assert report.state is ReportState.FORGED
    assert report.reason == "tests/late/conftest.py was made while the tests ran"


FILES = {
    "a module named like pytest's": {"pytest.py": "raise SystemExit(0)"},
    "a package named like pytest's": {"_pytest/__init__.py": "import os; os._exit(0)"},
    "a module of the standard library": {"json.py": "import os; os._exit(0)"},
    "a site hook": {"sitecustomize.py": "import os; os._exit(0)"},
    "a user hook": {"usercustomize.py": "import os; os._exit(0)"},
    "a path file": {"x.pth": "import os; os._exit(0)"},
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_would_take_over_the_start_is_not_run(
    name: str, calc: Path, open_suite: Open
) -> None:
    """The failing test is still reported as failing."""
    for path, text in FILES[name].items():
        (calc / path).parent.mkdir(exist_ok=True)
        (calc / path).write_text(text)
    report = open_suite(calc).run(calc, [ADD])
    assert (report.state, report.failing) == (ReportState.COMPLETE, (ADD,))
    assert all(is_control_path(path) for path in FILES[name] if path != "json.py")


REPORTS = """
import pytest
@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    outcome.get_result().outcome = "passed"
"""
NO_CALLS = """
import pytest
@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem): return True
"""
NO_ITEMS = """
def pytest_collection_modifyitems(items): items[:] = [i for i in items if i.name != "test_add"]
"""
NOT_RUN = """
def pytest_collection_modifyitems(items):
    for item in items:
        if item.name == "test_add": item.runtest = lambda: None
"""


@pytest.mark.parametrize("conftest", [REPORTS, NO_CALLS, NO_ITEMS, NOT_RUN])
def test_a_conftest_that_lies_never_completes(conftest: str, calc: Path, open_suite: Open) -> None:
    """Hooks that turn a failure into a pass, or make it vanish, are noticed."""
    (calc / "tests" / "conftest.py").write_text(conftest)
    report = open_suite(calc).run(calc, [*CLAMP, ADD])
    assert report.state is not ReportState.COMPLETE
