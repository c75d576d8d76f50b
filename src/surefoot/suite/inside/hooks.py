"""What the probe and the trial worker have pytest tell them. Python 3.8 syntax.

Each `*_hooks` function puts hook functions onto a plugin object. Their state is in their closures, and what they need
of other modules is captured when they are made, before any code of the project runs.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import time
import types
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Say = Callable[..., None]
    Fields = dict[str, Any]

OURS = os.path.dirname(os.path.abspath(__file__))
DETAIL = 8_000
MESSAGE = 600
FRAMES = 50
ADDRESS = re.compile(r"(?i) at 0x[0-9a-f]+")
STEPWISE = ("stepwise", "stepwise_skip", "stepwise_reset")
WATCHED = ("_pytest", "pluggy", "pytest", "unittest")


def plain(text: object, limit: int) -> str:
    """`text` as an exact `str` of at most `limit` characters, middle cut out."""
    whole = str(text).encode("utf-8", "replace").decode("utf-8", "replace")
    if len(whole) <= limit:
        return whole
    head = limit // 4
    return whole[:head] + "\n[...]\n" + whole[len(whole) - (limit - head - 7) :]


def settled(text: object) -> str:
    """`text` without the addresses of objects, which are others in each process and say nothing."""
    return ADDRESS.sub(" at 0x...", str(text))


# --- what one test did ---------------------------------------------------------------------------


def frames_of(traceback: Any, root: str) -> list[tuple[str, int, str]]:
    """(path, line, function) of a traceback, outermost first, without the runner's own frames."""
    frames = []
    while traceback is not None:
        code = traceback.tb_frame.f_code
        path = os.path.abspath(code.co_filename)
        parts = path.split(os.sep)
        if (
            os.path.dirname(path) != OURS
            and not {"_pytest", "pluggy"} & set(parts)
            and "unittest" not in parts
        ):
            if path.startswith(root + os.sep):
                path = path[len(root) + 1 :].replace(os.sep, "/")
            frames.append((path, int(traceback.tb_lineno), str(code.co_name)))
        traceback = traceback.tb_next
    return frames[:10] + frames[10:][-(FRAMES - 10) :]


def describe(excinfo: Any, report: Any, root: str) -> Fields:
    """Message, detail and frames of one failed phase."""
    if excinfo is None:
        text = str(getattr(report, "longreprtext", "") or report.longrepr)
        last = [line for line in text.splitlines() if line.strip()][-2:]
        return {
            "message": plain(settled("\n".join(last)), MESSAGE),
            "detail": plain(settled(text), DETAIL),
            "frames": [],
        }
    error = excinfo.value
    cause = getattr(error, "__cause__", None)
    if type(error).__name__ == "CollectError" and cause is not None:
        error = cause
    try:
        message = "".join(_exception_only(error)).strip()
    except Exception as problem:  # noqa: BLE001  # the project's own __str__ ran
        message = f"{type(error).__name__} (its text cannot be shown: {type(problem).__name__})"
    text = str(getattr(report, "longreprtext", "") or report.longrepr)
    return {
        "message": plain(settled(message), MESSAGE),
        "detail": plain(settled(text), DETAIL),
        "frames": frames_of(error.__traceback__, root),
    }


def _exception_only(error: BaseException) -> list[str]:
    import traceback  # noqa: PLC0415  # only failures need it

    lines = traceback.format_exception_only(type(error), error)
    # pytest's rewritten assertions carry "assert 3 == 4\n +  where 3 = f()": the values are the message.
    return lines[-1:] if isinstance(error, SyntaxError) else lines


class Phases:
    """What has been seen of the test that runs now."""

    __slots__ = ("call_outcome", "info", "outcome", "reason", "wall_s", "witness")

    def __init__(self, witness: str) -> None:
        self.outcome = ""
        self.call_outcome = ""
        self.reason = ""
        self.info: Fields = {}
        self.wall_s = 0.0
        self.witness = witness

    def add(self, excinfo: Any, report: Any, root: str) -> None:
        """Take in one phase; the worst one wins, a failure of the test itself before one around it."""
        self.wall_s += float(report.duration)
        if report.outcome == "failed":
            if self.outcome not in ("failed", "error"):
                self.outcome = "failed" if report.when == "call" else "error"
                self.info = describe(excinfo, report, root)
        elif report.when == "call" or report.outcome == "skipped":
            expected = hasattr(report, "wasxfail")
            if report.outcome == "skipped":
                self.call_outcome = "xfailed" if expected else "skipped"
                self.reason = _skip_reason(report)
            elif report.outcome == "passed":
                self.call_outcome = "xpassed" if expected else "passed"

    @property
    def final(self) -> str:
        """The test's outcome; a test of which no call was seen has none and counts as an error."""
        return self.outcome or self.call_outcome or "error"

    def fields(self, test_id: str) -> Fields:
        """As a record."""
        nothing = {"message": plain(self.reason, MESSAGE), "detail": "", "frames": []}
        return {
            "id": test_id,
            "outcome": self.final,
            "wall_s": self.wall_s,
            "witness": self.witness,
            **(self.info or nothing),
        }


def _skip_reason(report: Any) -> str:
    where = getattr(report, "longrepr", None)
    return settled(where[2]) if isinstance(where, tuple) and len(where) == 3 else ""  # noqa: PLR2004


# --- the pytest plugin ---------------------------------------------------------------------------


class Hooks:
    """A plugin object that holds nothing but hook functions; their state is in their closures."""


def record_hooks(hooks: Hooks, say: Say, root: str, now: dict[str, Phases]) -> None:
    """Hooks that say what was collected and what each test did."""
    import pytest  # noqa: PLC0415  # the worker and the unittest runner import this file without it

    causes: dict[str, Any] = {}

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(item: Any) -> Iterator[None]:
        say("start", id=plain(item.nodeid, MESSAGE))
        phases = now[item.nodeid] = Phases("not-called" if must_call(item) else "none")
        yield
        del now[item.nodeid]
        say("test", **phases.fields(plain(item.nodeid, 4 * MESSAGE)))

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(item: Any, call: Any) -> Iterator[None]:
        outcome: Any = yield
        report = outcome.get_result()
        if report.outcome == "failed":
            # At once, so that what is said of the test afterwards cannot be better.
            say("failed", id=plain(item.nodeid, 4 * MESSAGE))
        now[item.nodeid].add(call.excinfo, report, root)

    def pytest_exception_interact(node: Any, call: Any) -> None:
        causes[node.nodeid] = call.excinfo

    def pytest_collectreport(report: Any) -> None:
        if report.outcome == "failed":
            info = describe(causes.pop(report.nodeid, None), report, root)
            say("collect-error", id=plain(report.nodeid or ".", 4 * MESSAGE), **info)
        elif report.outcome == "skipped":
            reason = plain(_skip_reason(report), MESSAGE)
            say("collect-skip", id=plain(report.nodeid, 4 * MESSAGE), message=reason)

    def pytest_internalerror(excrepr: Any) -> None:
        say("internal-error", message=plain(settled(excrepr), DETAIL))

    for function in (
        pytest_runtest_protocol,
        pytest_runtest_makereport,
        pytest_exception_interact,
        pytest_collectreport,
        pytest_internalerror,
    ):
        setattr(hooks, function.__name__, function)


def whole_hooks(hooks: Hooks) -> None:
    """Hooks that have every collected test run in its order, also where settings say `--lf`, `--ff`, `--nf` or `--sw`.

    With an empty cache these choose, order and stop, too: `--lfnf=none`, the newest files first, the first failure.
    """
    import pytest  # noqa: PLC0415

    @pytest.hookimpl(tryfirst=True)
    def pytest_cmdline_main(config: Any) -> None:
        # Before anything is configured, and after all options are read.
        for name in ("lf", "failedfirst", "newfirst", *STEPWISE):
            if hasattr(config.option, name):
                setattr(config.option, name, False)

    hooks.pytest_cmdline_main = pytest_cmdline_main  # type: ignore[attr-defined]


def named_hooks(hooks: Hooks, tests: list[str]) -> None:
    """Have pytest collect these tests, or files, in place of those that its command line names."""
    import pytest  # noqa: PLC0415

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(config: Any) -> None:
        config.args = list(tests)

    hooks.pytest_configure = pytest_configure  # type: ignore[attr-defined]


def time_hooks(hooks: Hooks, wall_s: float, starved_s: Callable[[str], float]) -> None:
    """Hooks that end a test which runs on and on, so that the others still get their turn."""
    import pytest  # noqa: PLC0415

    clock, itimer, real = time.monotonic, signal.setitimer, signal.ITIMER_REAL
    deadline = clock() + wall_s

    started, limit = 0.0, 0.0

    def too_long(_signum: int, _frame: Any) -> None:
        if clock() - starved_s("self") - started >= limit:
            why = "the test was ended: it took over a third of the time that was left"
            raise pytest.fail.Exception(why)

    def timed() -> Iterator[None]:
        nonlocal started, limit
        started, limit = clock() - starved_s("self"), max(1.0, (deadline - clock()) / 3)
        signal.signal(signal.SIGALRM, too_long)
        # Repeats, in case the code under test swallows the first one, or was kept waiting by a busy machine.
        itimer(real, limit, 1.0)
        try:
            yield
        finally:
            itimer(real, 0.0)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_setup() -> Iterator[None]:
        yield from timed()

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_teardown() -> Iterator[None]:
        yield from timed()

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_call() -> Iterator[None]:
        yield from timed()

    for function in (pytest_runtest_setup, pytest_runtest_call, pytest_runtest_teardown):
        setattr(hooks, function.__name__, function)


def witness_hooks(hooks: Hooks, now: dict[str, Phases], say: Say) -> None:
    """Hooks that see for themselves which function a test called and how it ended."""
    import pytest  # noqa: PLC0415

    codes: dict[str, object] = {}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(session: Any) -> None:
        for item in session.items:
            codes[item.nodeid] = code_of(function_of(item))

    def watching(item: Any) -> Iterator[None]:
        original = item.obj
        if not is_sync(original):
            yield
            return
        if is_replaced(code_of(original), codes.get(item.nodeid)):
            say("tampered", name="the function of " + plain(item.nodeid, MESSAGE))
        item.obj = watched(original, now[item.nodeid])
        yield
        item.obj = original

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_runtest_call(item: Any) -> Iterator[None]:
        # unittest's methods do not come by `pytest_pyfunc_call`.
        if hasattr(type(item), "addFailure"):
            yield from watching(item)
        else:
            yield

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_pyfunc_call(pyfuncitem: Any) -> Iterator[None]:
        yield from watching(pyfuncitem)

    for function in (pytest_collection_finish, pytest_runtest_call, pytest_pyfunc_call):
        setattr(hooks, function.__name__, function)


def is_replaced(code: Any, collected: Any) -> bool:
    """Whether a test has another function than it was collected with, and not from who may wrap it."""
    path = str(getattr(code, "co_filename", ""))
    wrapped = "site-packages" in path.split(os.sep) or path.endswith("conftest.py")
    return code is not collected and collected is not None and not wrapped


def function_of(item: Any) -> Any:
    """The function of a test item as its module or class has it; None for other items."""
    owner = getattr(getattr(item, "parent", None), "obj", None)
    return getattr(owner, getattr(item, "originalname", None) or item.name, None)


def must_call(item: Any) -> bool:
    """Whether pytest itself, not a plugin, will call this item's function, so that the witness must see it."""
    import pytest  # noqa: PLC0415

    runs = getattr(type(item).runtest, "__module__", "")
    ours = isinstance(item, pytest.Function) and runs.startswith("_pytest.")
    return ours and is_sync(function_of(item))


def code_of(function: Any) -> Any:
    """The code of a function or method; None for other callables."""
    return getattr(getattr(function, "__func__", function), "__code__", None)


def is_sync(function: Any) -> bool:
    """Whether calling the function runs it to its end."""
    import inspect  # noqa: PLC0415

    inner = getattr(getattr(function, "hypothesis", None), "inner_test", function)
    return not any(
        kind(f)
        for f in (function, inner)
        for kind in (
            inspect.iscoroutinefunction,
            inspect.isasyncgenfunction,
            inspect.isgeneratorfunction,
        )
    )


def watched(function: Any, phases: Phases) -> Any:
    """`function`, noting whether it returned or raised."""

    def call(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        phases.witness = "raised"
        result = function(*args, **kwargs)
        phases.witness = "returned"
        return result

    # What decorators left on the function, e.g. that it is expected to fail.
    call.__dict__.update(getattr(function, "__dict__", {}))
    return call


# --- control tests -------------------------------------------------------------------------------


def _passes() -> None:
    """A control that must pass."""


def _fails() -> None:
    """A control that must fail."""
    raise AssertionError("control: this test must fail")


def control_hooks(hooks: Hooks, names: list[tuple[str, str]], say: Say) -> None:
    """Hooks that run control tests first and last, inside the first and last test file, under random names."""
    import pytest  # noqa: PLC0415

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtestloop(session: Any) -> Iterator[None]:
        items = session.items
        say("collected", ids=[plain(i.nodeid, 4 * MESSAGE) for i in items])
        if items:
            half = len(names) // 2
            first = [_control(items[0], *name) for name in names[:half]]
            last = [_control(items[-1], *name) for name in names[half:]]
            session.items[:] = first + items + last
            session.testscollected += len(first) + len(last)
        yield

    hooks.pytest_runtestloop = pytest_runtestloop  # type: ignore[attr-defined]


def _control(neighbour: Any, name: str, outcome: str) -> Any:
    import pytest  # noqa: PLC0415
    from _pytest.fixtures import FuncFixtureInfo  # noqa: PLC0415

    parent = neighbour.getparent(pytest.Module)
    if parent is None or isinstance(neighbour, pytest.DoctestItem):
        parent = pytest.Module.from_parent(neighbour.session, path=neighbour.path)
        parent._obj = types.ModuleType("controls")  # noqa: SLF001
    # Without fixtures: a broken autouse fixture of the project is not our control's business.
    nothing = FuncFixtureInfo((), (), [], {})
    body = _fails if outcome == "failed" else _passes
    item: Any = pytest.Function.from_parent(parent, name=name, callobj=body, fixtureinfo=nothing)
    # What is printed about it holds its name, so that it can be taken out of what people read.
    item.repr_failure = item._repr_failure_py = lambda *_, **__: name  # noqa: SLF001
    if outcome == "error":
        item.setup = _fails
    return item


# --- the runner's own code, and ours -------------------------------------------------------------


def _watched_names() -> dict[str, dict[str, Any]]:
    """The names of each module of the runner, and of this one, which is not among the modules that can be imported."""
    runner = {n: m for n, m in list(sys.modules.items()) if n.partition(".")[0] in WATCHED}
    return {**{name: vars(module) for name, module in runner.items()}, __name__: globals()}


def snapshot() -> dict[tuple[str, str, str], tuple[Any, Any]]:
    """Every function of the runner's modules and of this one with its code, by module, class and name."""
    seen: dict[tuple[str, str, str], tuple[Any, Any]] = {}
    for name, names in _watched_names().items():
        for key, value in list(names.items()):
            if isinstance(value, types.FunctionType):
                seen[name, "", key] = (value, value.__code__)
            elif isinstance(value, type) and value.__module__ == name:
                for inner, attribute in list(vars(value).items()):
                    function = _function(attribute)
                    if function is not None:
                        seen[name, key, inner] = (attribute, function.__code__)
    return seen


def _function(attribute: Any) -> Any:
    function = getattr(attribute, "__func__", getattr(attribute, "fget", attribute))
    return function if isinstance(function, types.FunctionType) else None


def tampered(before: dict[tuple[str, str, str], tuple[Any, Any]], root: str) -> list[str]:
    """Functions of `before` that the tree under test replaced; what installed plugins replace is theirs to do."""
    found = []
    modules = _watched_names()
    for (module, cls, name), (attribute, code) in before.items():
        space = modules.get(module, {})
        if cls:
            space = vars(space[cls]) if isinstance(space.get(cls), type) else {}
        now = space.get(name)
        function = _function(now)
        if now is attribute and function.__code__ is code:
            continue
        if function is None or _is_product(function.__code__.co_filename, root):
            found.append(".".join(part for part in (module, cls, name) if part))
    return found


def _is_product(filename: str, root: str) -> bool:
    path = os.path.abspath(filename)
    parts = path[len(root) :].split(os.sep)
    helper = {"tests", "test", "conftest.py"} & set(parts) or parts[-1].startswith("test_")
    inside = path.startswith(root + os.sep) and "site-packages" not in parts
    return not os.path.isfile(path) or (inside and not helper)


def tamper_hooks(hooks: Hooks, say: Say, root: str) -> None:
    """Hooks that look at the runner's code and at ours between tests, for at most a twentieth of the time, and at the end."""
    import pytest  # noqa: PLC0415

    before = snapshot()
    clock, found = time.monotonic, set()
    opened = clock()
    spent = 0.0

    def look() -> None:
        nonlocal spent
        started = clock()
        for name in tampered(before, root):
            if name not in found:
                found.add(name)
                say("tampered", name=name)
        spent += clock() - started

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logfinish() -> None:
        if spent <= (clock() - opened) / 20:
            look()

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish() -> None:
        look()

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish() -> None:
        look()

    for function in (pytest_runtest_logfinish, pytest_collection_finish, pytest_sessionfinish):
        setattr(hooks, function.__name__, function)
