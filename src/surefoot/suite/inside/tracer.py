"""Which lines of some files a test runs, and how values change on the way. Loaded inside the project's interpreter."""

from __future__ import annotations

import reprlib
import sys
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

ENTRIES = 60
HEAD = 15
LOOKS = 5_000
"""Executed lines after which values are no longer looked at; lines are recorded to the end."""


class TooLongError(BaseException):
    """Ends a traced test; not an `Exception`, so that code which catches those does not swallow it."""


class Tracer:
    """Records executed lines of `files` (absolute path to shown path) and the locals that change on them, shown `settled`."""

    def __init__(self, files: dict[str, str], settled: Callable[[object], str]) -> None:
        self._files = files
        self._settled = settled
        self._lines: dict[str, set[int]] = {shown: set() for shown in files.values()}
        self._values: list[str] = []
        self._tail: list[str] = []
        self._looks = 0
        self._repr = reprlib.Repr()
        self._repr.maxstring = self._repr.maxother = 60
        self._repr.maxlist = self._repr.maxtuple = self._repr.maxset = 8

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Trace every frame that is entered from now on."""
        threading.settrace(self._enter)
        sys.settrace(self._enter)

    def stop(self) -> None:
        """Trace no more."""
        sys.settrace(None)
        threading.settrace(None)

    def lines(self) -> dict[str, list[int]]:
        """Executed lines by file, in order of line."""
        return {path: sorted(found) for path, found in self._lines.items() if found}

    def values(self) -> list[str]:
        """The changes, the first and the last of them when there are many."""
        dropped = len(self._values) + len(self._tail) - ENTRIES
        if dropped <= 0:
            return self._values + self._tail
        tail = self._tail[-(ENTRIES - HEAD - 1) :]
        left_out = len(self._values) + len(self._tail) - HEAD - len(tail)
        return [*self._values[:HEAD], f"... {left_out} more ...", *tail]

    def _enter(self, frame: Any, event: str, _arg: Any) -> Any | None:
        shown = self._files.get(frame.f_code.co_filename)
        if shown is None or event != "call":
            return None
        frame.f_trace_opcodes = False
        return _Frame(self, shown, frame).see

    def ran(self, shown: str, line: int) -> None:
        """Note an executed line."""
        self._lines[shown].add(line)

    def note(self, entry: str) -> None:
        """Note a change of a value."""
        if len(self._values) < HEAD:
            self._values.append(entry)
            return
        self._tail.append(entry)
        if len(self._tail) > 100 * ENTRIES:
            # The middle goes; how much is not counted further, nobody reads that number.
            del self._tail[: 50 * ENTRIES]

    def looking(self) -> bool:
        """Whether values are still looked at."""
        self._looks += 1
        return self._looks <= LOOKS

    def show(self, value: Any) -> str:
        """A short text of a value; the project's own `__repr__` may break."""
        try:
            return self._settled(self._repr.repr(value)).replace("\n", " ")
        except Exception as problem:  # noqa: BLE001  # __repr__ of a half-built object
            return f"<{type(value).__name__}: repr failed with {type(problem).__name__}>"


class _Frame:
    """One call that is being followed."""

    __slots__ = ("_before", "_line", "_shown", "_tracer")

    def __init__(self, tracer: Tracer, shown: str, frame: Any) -> None:
        self._tracer = tracer
        self._shown = shown
        self._line = int(frame.f_lineno)
        self._before: dict[str, str] = {}
        arguments = self._changes(frame)
        if frame.f_code.co_name != "<module>":
            tracer.note(f"{shown}:{self._line} call {frame.f_code.co_name}({arguments})")

    def see(self, frame: Any, event: str, arg: Any) -> Any:
        tracer, place = self._tracer, f"{self._shown}:{self._line}"
        if event == "line":
            tracer.ran(self._shown, frame.f_lineno)
        if tracer.looking():
            changes = self._changes(frame)
            if changes:
                tracer.note(f"{place} {changes}")
            if event == "return" and arg is not None:
                tracer.note(f"{self._shown}:{frame.f_lineno} return {tracer.show(arg)}")
            elif event == "exception" and arg[0] is not StopIteration:
                error = f"{arg[0].__name__}: {tracer.show(arg[1])}"
                tracer.note(f"{self._shown}:{frame.f_lineno} raise {error}")
        self._line = frame.f_lineno
        return self.see

    def _changes(self, frame: Any) -> str:
        changed = []
        for name, value in list(frame.f_locals.items()):
            if name.startswith("__") or callable(value) or isinstance(value, type(sys)):
                continue
            text = self._tracer.show(value)
            if self._before.get(name) != text:
                self._before[name] = text
                changed.append(f"{name} = {text}")
        return ", ".join(changed)
