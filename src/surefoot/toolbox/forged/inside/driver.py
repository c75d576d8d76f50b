"""Calls one function of one forged tool and says what came of it, as one JSON line.

What the function opens is noted by an audit hook, so that the origin of a result is what was read, not what was
declared; starting a program, a network connection and foreign code are refused, because they would get around that.
"""

import inspect
import json
import os
import sys
import sysconfig
import types
from typing import Any
from urllib.parse import unquote

_REFUSED = (
    "subprocess.Popen",
    "os.exec",
    "os.fork",
    "os.forkpty",
    "os.posix_spawn",
    "os.spawn",
    "os.system",
    "pty.spawn",
    "socket.bind",
    "socket.connect",
    "socket.getaddrinfo",
    "ctypes.dlopen",
    "ctypes.dlsym",
)
_MOST_OPENED = 200
_MOST_STATE = 65_536
_KEY = 100


class WrongBoundary(Exception):  # noqa: N818  # the name that tools raise by
    """Raised by a tool that was asked for what is another tool's."""


class State:
    """What a tool keeps from call to call, by named keys; each read and write is noted."""

    def __init__(self, kept: dict[str, Any]) -> None:
        self._kept = kept
        self.read: set[str] = set()
        self.written: dict[str, Any] = {}

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a key."""
        self.read.add(_named(key))
        return self.written.get(key, self._kept.get(key, default))

    def set(self, key: str, value: Any) -> None:
        """Keep a value that JSON can say."""
        self.written[_named(key)] = plain(value)
        if len(json.dumps({**self._kept, **self.written})) > _MOST_STATE:
            raise ValueError(f"the state would be larger than {_MOST_STATE} characters; keep less")


def plain(value: Any) -> Any:
    """The value as JSON says it; a name that is no text, from a folder say, has halves of surrogate pairs, which it cannot."""
    text = json.dumps(value, allow_nan=False, ensure_ascii=False)
    text.encode()
    return json.loads(text)


def _named(key: Any) -> str:
    if not isinstance(key, str) or not 0 < len(key) <= _KEY:
        raise TypeError(f"a state key is a string of 1 to {_KEY} characters, not {key!r}")
    key.encode()
    return key


class Watch:
    """Notes which files are opened below the root, and outside of what Python itself needs."""

    def __init__(self, root: str) -> None:
        self._root = os.path.realpath(root) + "/"
        paths = {*sysconfig.get_paths().values(), sys.prefix, sys.base_prefix}
        own = [os.path.realpath(path) + "/" for path in paths]
        scratch = [os.environ.get(name) for name in ("HOME", "TMPDIR")]
        own += [os.path.realpath(path) + "/" for path in scratch if path]
        self._own = (*own, "/dev/null", "/usr/share/zoneinfo/", "/etc/localtime")
        self.opened: set[str] = set()
        self.on = False

    def __call__(self, event: str, args: tuple[Any, ...]) -> None:
        """The audit hook."""
        if not self.on:
            return
        if event in _REFUSED:
            raise PermissionError(f"a forged tool must not use {event}")
        if event == "sqlite3.connect":
            event, args = "open", (_database(os.fsdecode(args[0])),)
        if event == "open" and isinstance(args[0], (str, bytes, os.PathLike)):
            path = os.path.realpath(os.fsdecode(args[0]))
            if path.startswith(self._root):
                path = path[len(self._root) :]
            elif path.startswith(self._own):
                return
            if len(self.opened) <= _MOST_OPENED:
                self.opened.add(path)


def _database(name: str) -> str | None:
    """The file that SQLite opens by a name, which is not told as opened; None for a database in memory."""
    if name.startswith("file:"):
        place = name.removeprefix("file:").partition("?")[0].partition("#")[0]
        name = unquote("/" + place[2:].partition("/")[2] if place.startswith("//") else place)
    return None if name in ("", ":memory:") else name


def main() -> None:
    """Read the call from standard input, make it, and say what came of it."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    asked = json.load(sys.stdin)
    watch, state = Watch(os.getcwd()), State(asked["state"])
    sys.addaudithook(watch)
    said = call(asked, state, watch)
    watch.on = False
    said["reads"], said["writes"] = sorted(state.read), state.written
    said["opened"] = sorted(watch.opened)
    out.write(json.dumps(said))
    out.close()


def call(asked: dict[str, Any], state: State, watch: Watch) -> dict[str, Any]:
    """The outcome of the function."""
    module = types.ModuleType("tool")
    module.__dict__["WrongBoundary"] = WrongBoundary
    sys.modules["tool"] = module
    try:
        code = compile(asked["source"], "tool.py", "exec")
        watch.on = True
        exec(code, module.__dict__)  # noqa: S102  # this is what the sandbox is for
        function = getattr(module, asked["method"])
        arguments = asked["arguments"]
        if "state" in inspect.signature(function).parameters:
            arguments = {**arguments, "state": state}
        return {"ok": True, "result": plain(function(**arguments))}
    except WrongBoundary as error:
        return {"ok": False, "wrong_boundary": True, "error": str(error)}
    except BaseException as error:  # noqa: BLE001  # whatever the tool does ends here, SystemExit too
        return {"ok": False, "error": f"{type(error).__name__}: {error}{_place(error)}"}


def _place(error: BaseException) -> str:
    lines: list[int] = []
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "tool.py":
            lines.append(trace.tb_lineno)
        trace = trace.tb_next
    return f" (line {lines[-1]})" if lines else ""


main()
