"""The trial worker: tries candidates in forks of a process that has already imported the project. Runs in its interpreter.

Two processes stand ready. The *supervisor* has pytest imported and nothing of the project; it owns the tree, writes a
candidate's files into it and takes them out again. The *warm* process, its child, has collected the tests with the
project imported. A candidate that only changes function bodies is tried in a fork of the warm process with the new code
swapped in (`hot_swap`); any other in a fork of the supervisor, which starts pytest afresh from the files. Either fork
is limited in time and ended with everything that it started.

Orders and answers are JSON, one a line, on standard input and on what was standard output. Python 3.8 syntax.
"""

from __future__ import annotations

import sys

if __name__ == "__main__" and sys.path and sys.path[0] == __file__.rpartition("/")[0]:
    del sys.path[0]  # our own modules must not be importable by the project

import contextlib
import gc
import importlib
import importlib.machinery
import json
import os
import shutil
import signal
import socket
import tempfile
import threading
import types
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Fields = dict[str, Any]
    Work = Callable[[Callable[..., None]], None]

PATIENCE = 30
"""How many times its limit a trial may take until its process is thought to be lost."""


def sibling(name: str) -> Any:
    """A module of ours beside this file, without making it importable by the project."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), name + ".py")
    loader = importlib.machinery.SourceFileLoader("surefoot_" + name, path)
    module = types.ModuleType(loader.name)
    module.__file__ = path
    loader.exec_module(module)
    return module


probe = sibling("probe_plugin")
hooks = probe.hooks
forks = sibling("forks")
hot_swap = sibling("hot_swap")
tracer = sibling("tracer")


def tried(work: Work, limit_s: float, *, close: tuple[int, ...], keep: tuple[int, ...]) -> Fields:
    """What `forks.in_fork` says."""
    answer: Fields = forks.in_fork(work, limit_s, close, keep, probe.starved_s)
    return answer


# --- the warm process ----------------------------------------------------------------------------


class Collected:
    """What ran of the project while the tests were collected."""

    def __init__(self, root: str) -> None:
        self._prefix = root + os.sep
        self._seen: dict[int, types.CodeType] = {}

    def start(self) -> None:
        """Watch every call from now on."""
        threading.settrace(self._call)
        sys.settrace(self._call)

    def stop(self) -> list[types.CodeType]:
        """The code that ran."""
        sys.settrace(None)
        threading.settrace(None)
        return [code for code in self._seen.values() if code.co_filename.startswith(self._prefix)]

    def _call(self, frame: Any, _event: str, _arg: Any) -> None:
        code = frame.f_code
        self._seen[id(code)] = code


class Warm:
    """Serves trials in forks of itself, inside pytest's run loop."""

    def __init__(self, order: Fields, line: Any) -> None:
        self._order = order
        self._line = line
        self._say: Callable[..., None] = lambda *_, **__: None

    def run(self) -> None:
        """Collect, then serve until the supervisor closes the line."""
        import pytest  # noqa: PLC0415

        root = self._order["root"]
        environ = dict(os.environ)
        plugin = hooks.Hooks()
        hooks.record_hooks(plugin, self._pass_on, root, {})
        hooks.whole_hooks(plugin)
        collected = Collected(root)

        @pytest.hookimpl(tryfirst=True)
        def pytest_runtestloop(session: Any) -> bool:
            ran = collected.stop()
            if session.testsfailed:
                self._send({"ready": False, "why": "some test file cannot be collected"})
                return True
            if threading.active_count() > 1:
                self._send(
                    {"ready": False, "why": "the project starts threads when it is imported"}
                )
                return True
            calm = environ == dict(os.environ)
            self._send({"ready": True, "preload": preloadable(root) if calm else []})
            self._serve(session, hot_swap.Image(root, ran))
            return True

        plugin.pytest_runtestloop = pytest_runtestloop
        files = sorted({test.partition("::")[0] for test in self._order["tests"]})
        # The message and the frames say it all; pytest's own traceback costs more than the test.
        named = probe.named_arguments(root, files, self._order["args"], plugin)
        arguments = [*named, "--tb=native"]
        sys.argv = ["pytest", *arguments]
        collected.start()
        code = pytest.main(arguments, plugins=[plugin])
        collected.stop()
        self._send({"ready": False, "why": f"pytest ended with {int(code)} before running tests"})

    def _pass_on(self, kind: str, **fields: Any) -> None:
        self._say(kind, **fields)

    def _send(self, answer: Fields) -> None:
        with contextlib.suppress(OSError):  # the supervisor is gone, and so are we
            self._line.sendall(json.dumps(answer).encode() + b"\n")

    def _serve(self, session: Any, image: Any) -> None:
        items = {item.nodeid: item for item in session.items}
        gc.collect()
        gc.freeze()
        stream = self._line.makefile("rb")
        for line in stream:
            request = json.loads(line)
            self._send(self._try(request, items, image))
        os._exit(0)

    def _try(self, request: Fields, items: dict[str, Any], image: Any) -> Fields:
        chosen = []
        for test in request["tests"]:
            found = [items[test]] if test in items else parameters_of(test, items)
            if not found:
                return {"cold": "a test that was not collected"}
            chosen += found

        def work(say: Callable[..., None]) -> None:
            self._say = say
            try:
                for path, old, new in request["sources"]:
                    image.swap(path, old, new)
            except (hot_swap.NotSwappableError, SyntaxError, ValueError) as refusal:
                say("cold", why=str(refusal))
                say("end", exit_code=0)
                return
            run_items(chosen, say, request)

        answer = tried(work, request["limit_s"], close=(self._line.fileno(),), keep=())
        cold = [r["why"] for r in answer["records"] if r.get("kind") == "cold"]
        return {"cold": cold[0]} if cold else answer


def parameters_of(function: str, items: dict[str, Any]) -> list[Any]:
    """All of a parametrised function that is asked for as a whole."""
    return [item for name, item in items.items() if name.startswith(f"{function}[")]


def run_items(items: list[Any], say: Callable[..., None], request: Fields) -> None:
    """Run items as pytest's own loop does, until one fails or to the end."""
    failed = False
    follow = start_tracer(request["trace"]) if "trace" in request else None
    for item, following in zip(items, [*items[1:], None]):
        before = item.session.testsfailed
        if follow is not None:
            follow.start()
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if follow is not None:
            follow.stop()
            say("trace", lines=follow.lines(), values=follow.values())
        failed = failed or item.session.testsfailed != before
        if failed and not request["keep_going"]:
            break
    say("end", exit_code=int(failed))


def start_tracer(trace: Fields) -> Any:
    """A tracer, and an end to the test that it follows: what it has seen by then is worth having."""

    def too_long(_signum: int, _frame: Any) -> None:
        raise tracer.TooLongError("the traced test was ended: it took too long")

    signal.signal(signal.SIGVTALRM, too_long)
    signal.setitimer(signal.ITIMER_VIRTUAL, trace["limit_s"], 1.0)
    return tracer.Tracer(trace["files"], hooks.settled)


def preloadable(root: str) -> list[str]:
    """Installed modules that the project imports and that pytest does not rewrite, in order of import."""
    rewritten = set()
    names = []
    for name, module in list(sys.modules.items()):
        loader = getattr(module, "__loader__", None)
        top = name.partition(".")[0]
        if type(loader).__name__ == "AssertionRewritingHook":
            rewritten.add(top)
        path = probe.file_of(module)
        if path is not None and not path.startswith(root + os.sep) and top != "surefoot":
            names.append(name)
    return [name for name in names if name.partition(".")[0] not in rewritten]


REHEARSAL = """
def test_rehearsal():
    assert [1, 2] == [1, 3]
"""


def rehearse() -> None:
    """Let pytest run once on a test of ours, so that it and its installed plugins are imported before any fork.

    They must be imported by pytest itself: it rewrites its plugins' assertions as they are imported.
    """
    import pytest  # noqa: PLC0415

    environ = dict(os.environ)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "test_rehearsal.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(REHEARSAL)
        sys.argv = ["pytest", path]
        pytest.main(probe.pytest_arguments(folder, [path], []))
    shutil.rmtree(probe.cache_dir(), ignore_errors=True)
    sys.modules.pop("test_rehearsal", None)
    os.environ.clear()
    os.environ.update(environ)


# --- the supervisor ------------------------------------------------------------------------------


class Supervisor:
    """Owns the tree and the two ways of trying a candidate."""

    def __init__(self, order: Fields, channel: int) -> None:
        self._order = order
        self._root = order["root"]
        self._channel = channel
        self._tree = forks.Tree(self._root, order["pristine"])
        self._warm: socket.socket | None = None
        self._warm_pid = 0
        self._pytest = order["runner"] == "pytest"
        self._why_cold = "" if order["warm"] else "no process was kept warm"

    def send(self, answer: Fields) -> None:
        """Answer on the channel."""
        line = json.dumps(answer).encode() + b"\n"
        while line:
            line = line[os.write(self._channel, line) :]

    def warm_up(self) -> None:
        """Start the warm process and wait until it has collected; without it everything is tried cold."""
        ours, theirs = socket.socketpair()
        pid = forks.fork()
        if pid == 0:
            ours.close()
            os.close(self._channel)
            try:
                forks.adopt_orphans()
                Warm(self._order, theirs).run()
            finally:
                os._exit(0)
        theirs.close()
        self._warm, self._warm_pid, self._lines = ours, pid, ours.makefile("rb")
        hello = self._hear(self._order["collect_s"])
        if hello is None or not hello["ready"]:
            self._cool((hello or {}).get("why", "collecting the tests did not end"))
            return
        for name in hello["preload"]:
            # Only saves time: what does not import here is imported, or reported, in the trial.
            with contextlib.suppress(BaseException):
                importlib.import_module(name)

    def _cool(self, why: str) -> None:
        self._why_cold = why
        if self._warm is not None:
            self._warm.close()
            self._warm = None
        self._warm_pid = 0
        forks.end_children(())

    def _hear(self, limit_s: float) -> Fields | None:
        assert self._warm is not None  # noqa: S101  # asked only while it runs
        self._warm.settimeout(limit_s)
        try:
            line = self._lines.readline()
        except OSError:
            return None
        answer: Fields | None = json.loads(line) if line.endswith(b"\n") else None
        return answer

    def attempt(self, request: Fields) -> Fields:
        """Try a candidate: warm when that is sure to give the verdict of a fresh process, else cold."""
        edits = request["edits"]
        try:
            sources = self._sources(edits)
            self._tree.write(edits)
            importlib.invalidate_caches()
            why = self._why_cold or "not only Python modules are changed"
            if self._warm is not None and sources is not None:
                ask = {**request, "sources": sources, "edits": []}
                self._warm.sendall(json.dumps(ask).encode() + b"\n")
                answer = self._hear(PATIENCE * request["limit_s"] + 60)
                if answer is None:
                    self._cool("the warm process ended")
                elif "cold" not in answer:
                    return {**answer, "way": "warm", "why": ""}
                why = self._why_cold or (answer or {}).get("cold", "")
            return {**self._cold(request), "way": "cold", "why": why}
        finally:
            self._tree.restore(edits)
            # What the tests of one trial have cached is nothing to the next.
            shutil.rmtree(probe.cache_dir(), ignore_errors=True)

    def _sources(self, edits: list[Fields]) -> list[tuple[str, str, str]] | None:
        """(path, old, new) of each edit, or None when one is not a change of an existing module."""
        sources = []
        for edit in edits:
            path = os.path.join(self._root, edit["path"])
            if edit["text"] is None or not path.endswith(".py") or not os.path.isfile(path):
                return None
            with open(path, encoding="utf-8", newline="") as file:
                sources.append((os.path.realpath(path), file.read(), edit["text"]))
        return sources

    def _cold(self, request: Fields) -> Fields:
        work = partial(self._run_pytest if self._pytest else self._run_unittest, request)
        close = (self._channel,) if self._warm is None else (self._channel, self._warm.fileno())
        keep = (self._warm_pid,) if self._warm is not None else ()
        limit_s = request["limit_s"] + self._order["start_s"]
        return tried(work, limit_s, close=close, keep=keep)

    def _run_unittest(self, request: Fields, say: Callable[..., None]) -> None:
        order = {**request, "root": self._root, "args": [], "controls": []}
        runner = sibling("unittest_runner")
        if "trace" in request:
            follow = start_tracer(request["trace"])
            code = runner.run(hooks, order, say, follow)
            say("trace", lines=follow.lines(), values=follow.values())
        else:
            code = runner.run(hooks, order, say)
        say("end", exit_code=code)

    def _run_pytest(self, request: Fields, say: Callable[..., None]) -> None:
        import pytest  # noqa: PLC0415

        plugin = hooks.Hooks()
        hooks.record_hooks(plugin, say, self._root, {})
        if "trace" in request:
            trace_hooks(plugin, request["trace"], say)
        hooks.whole_hooks(plugin)
        extra = self._order["args"]
        arguments = probe.named_arguments(self._root, request["tests"], extra, plugin)
        arguments += ["--tb=native"] if request["keep_going"] else ["--maxfail=1", "--tb=native"]
        sys.argv = ["pytest", *arguments]
        code = pytest.main(arguments, plugins=[plugin])
        say("end", exit_code=int(code))


def trace_hooks(plugin: Any, trace: Fields, say: Callable[..., None]) -> None:
    """Hooks that trace the test in a cold trial."""
    import pytest  # noqa: PLC0415

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call() -> Iterator[None]:
        follow = start_tracer(trace)
        follow.start()
        yield
        follow.stop()
        say("trace", lines=follow.lines(), values=follow.values())

    plugin.pytest_runtest_call = pytest_runtest_call


def main() -> None:
    """Serve requests until standard input ends."""
    lines = os.fdopen(os.dup(0), "rb")
    empty = os.open(os.devnull, os.O_RDWR)
    os.dup2(empty, 0)
    channel = os.dup(1)
    os.dup2(empty, 1)
    order: Fields = json.loads(lines.readline())
    supervisor = Supervisor(order, channel)
    if order["runner"] == "pytest":
        if not probe.load_pytest():
            supervisor.send({"tool_missing": "pytest"})
            os._exit(4)
        rehearse()
    probe.enter_tree(order["root"], order["source_roots"])
    forks.adopt_orphans()
    if order["warm"]:
        supervisor.warm_up()
    gc.freeze()
    supervisor.send({"ready": True})
    for line in lines:
        supervisor.send(supervisor.attempt(json.loads(line)))
    os._exit(0)


if __name__ == "__main__":
    main()
