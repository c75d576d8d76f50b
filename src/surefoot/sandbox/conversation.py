"""Feeding and draining one command until nothing of its process tree is left."""

import json
import os
import select
import selectors
import signal
import threading
import time
from collections import deque
from contextlib import suppress
from typing import Final

from surefoot.errors import SandboxError
from surefoot.sandbox.launcher import Spawned
from surefoot.sandbox.warden import Verdict
from surefoot.values import Limits, ProcessResult

_CHUNK: Final = 1 << 16
_CHUNKS: Final = 16
"""1 MiB together, which is what a pipe can hold at most."""
_LAST_WORD_S: Final = 30.0
"""How long a killed tree may take to die, which is the kernel's work, before it counts as stuck."""
_SIGNALLED: Final = 128
"""bwrap, as a shell, turns the end by signal n into exit code 128 + n."""


class Kept:
    """The first `limit` bytes of a stream."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._data = bytearray()
        self.truncated = False

    def add(self, data: bytes) -> None:
        """Keep what still fits."""
        room = self._limit - len(self._data)
        self._data += data[:room]
        self.truncated = self.truncated or len(data) > room

    def take(self) -> bytes:
        """All that was kept."""
        return bytes(self._data)


class Lines(Kept):
    """The lines of a stream that nobody has taken yet, `limit` bytes of them at most. Thread-safe.

    When they are more, that line and all after it are dropped, so that what a late reader finds has no holes.
    """

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self._lines: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._changed = threading.Condition()
        self._is_over = False

    def add(self, data: bytes) -> None:
        """Split into lines, and keep those that still fit."""
        with self._changed:
            *whole, self._data = (self._data + data).split(b"\n")
            for line in whole:
                self.truncated = self.truncated or self._waiting_bytes + len(line) > self._limit
                if not self.truncated:
                    self._lines.append(bytes(line))
                    self._waiting_bytes += len(line)
            self.truncated = self.truncated or len(self._data) > self._limit
            if self.truncated:
                self._data.clear()
            self._changed.notify_all()

    def take(self) -> bytes:
        """All lines that nobody has taken, and what came after the last of them."""
        with self._changed:
            return b"".join(line + b"\n" for line in self._lines) + bytes(self._data)

    def close(self) -> None:
        """Nothing more comes."""
        with self._changed:
            self._is_over = True
            self._changed.notify_all()

    def next(self, timeout_s: float) -> bytes | None:
        """The oldest line, or None when there is none until the stream ends or the time is up."""
        with self._changed:
            self._changed.wait_for(lambda: self._lines or self._is_over, timeout_s)
            if not self._lines:
                return None
            line = self._lines.popleft()
            self._waiting_bytes -= len(line)
            return line


class Conversation:
    """One command from its start to its end. `converse` runs in one thread; the rest may be called from any."""

    def __init__(self, spawned: Spawned, limits: Limits, stdout: Kept, *, started: float) -> None:
        """`started` is the monotonic second at which the wall clock of the command began."""
        self._spawned = spawned
        self._limits = limits
        self._stdout, self._stderr = stdout, Kept(limits.output_bytes)
        self._started = started
        self._deadline = started + limits.wall_s
        self._lock = threading.Lock()
        self._input = bytearray()
        self._input_ends = False
        self._ending = False
        self._is_stopping = False
        self._timed_out = False
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)

    def feed(self, data: bytes, *, last: bool = False) -> None:
        """Queue bytes for standard input; after the last ones it reads as ended."""
        with self._lock:
            self._input += data
            self._input_ends = self._input_ends or last
            self._poke()

    def end(self) -> None:
        """Ask for the end of the process tree."""
        with self._lock:
            self._ending = True
            self._poke()

    def converse(self) -> ProcessResult:
        """Drive the command to its end.

        Raises:
            SandboxError: It could not be started, or its end could not be brought about.
        """
        verdict: Verdict | None = None
        try:
            with selectors.DefaultSelector() as selector:
                for fd in (self._spawned.stdout, self._spawned.stderr):
                    os.set_blocking(fd, False)
                    selector.register(fd, selectors.EVENT_READ)
                os.set_blocking(self._spawned.stdin, False)
                selector.register(self._spawned.control, selectors.EVENT_READ)
                selector.register(self._wake, selectors.EVENT_READ)
                self._drive(selector)
            verdict = self._spawned.verdict()
            self._drain(self._spawned.stdout)
            self._drain(self._spawned.stderr)
        finally:
            if verdict is None:  # ctrl-C, say: nothing of the tree may live on while it is handled
                self._spawned.end()
                select.select([self._spawned.control], [], [], _LAST_WORD_S)
            self._spawned.close_all()
            with self._lock:
                os.close(self._wake)
                self._wake = -1
        return self._result(verdict)

    def _drive(self, selector: selectors.BaseSelector) -> None:
        """Move bytes until the warden has spoken."""
        self._offer_input(selector)
        while True:
            left = self._deadline - time.monotonic()
            if left <= 0 and self._is_stopping:
                raise SandboxError(
                    f"a command's processes could not be killed within {_LAST_WORD_S:g} s; "
                    "they hang in the kernel, probably on a file system that does not answer"
                )
            if left <= 0:
                self._timed_out = True
                self._stop()
                continue
            for key, _ in selector.select(left):
                if key.fd == self._spawned.control.fileno():
                    return
                if key.fd == self._wake:
                    self._heed(selector)
                elif key.fd == self._spawned.stdin:
                    self._offer_input(selector)
                elif not self._drain(key.fd):
                    selector.unregister(key.fd)

    def _heed(self, selector: selectors.BaseSelector) -> None:
        with suppress(BlockingIOError):
            os.eventfd_read(self._wake)
        if self._ending and not self._is_stopping:
            self._stop()
        self._offer_input(selector)

    def _stop(self) -> None:
        self._spawned.end()
        self._is_stopping = True
        self._deadline = time.monotonic() + _LAST_WORD_S

    def _offer_input(self, selector: selectors.BaseSelector) -> None:
        """Write what standard input takes, and look out for when it takes more."""
        fd = self._spawned.stdin
        if not self._spawned.is_open(fd):
            return
        registered = fd in selector.get_map()
        with self._lock:
            try:
                if self._input:
                    del self._input[: os.write(fd, self._input[:_CHUNK])]
            except BlockingIOError:
                pass
            except BrokenPipeError:  # it does not want to hear any more
                self._input_ends = True
                self._input.clear()
            pending, is_over = bool(self._input), self._input_ends and not self._input
        if registered and not pending:
            selector.unregister(fd)
        if is_over:
            self._spawned.close(fd)
        elif pending and not registered:
            selector.register(fd, selectors.EVENT_WRITE)

    def _drain(self, fd: int) -> bool:
        """Read what there is, but not without end from somebody who writes without end; false at the end of the stream."""
        kept = self._stdout if fd == self._spawned.stdout else self._stderr
        for _ in range(_CHUNKS):
            try:
                data = os.read(fd, _CHUNK)
            except BlockingIOError:
                return True
            if not data:
                return False
            kept.add(data)
        return True

    def _poke(self) -> None:
        if self._wake >= 0:
            os.eventfd_write(self._wake, 1)

    def _result(self, verdict: Verdict) -> ProcessResult:
        ours = self._timed_out or self._ending or verdict.crowded
        code, number = _ending(verdict, self._stderr.take(), ours=ours)
        if verdict.crowded:
            self._stderr.add(f"\nended: more than {self._limits.processes} processes\n".encode())
        if ours:
            code, number = (None, signal.SIGKILL) if number is None else (None, number)
        return ProcessResult(
            exit_code=code,
            signal=None if number is None else int(number),
            stdout=self._stdout.take(),
            stderr=self._stderr.take(),
            wall_s=time.monotonic() - self._started,
            timed_out=self._timed_out,
            truncated=self._stdout.truncated or self._stderr.truncated,
        )


def _ending(verdict: Verdict, stderr: bytes, *, ours: bool) -> tuple[int | None, int | None]:
    """Exit code and signal of the command; without both when we ended it (`ours`) before its fence was up.

    Raises:
        SandboxError: bwrap could not put up the fence.
    """
    if not verdict.report:
        return verdict.code, verdict.signal
    documents = [json.loads(line) for line in verdict.report.splitlines()]
    codes = [document["exit-code"] for document in documents if "exit-code" in document]
    if not codes:
        if ours or verdict.signal is not None:
            return None, verdict.signal
        said = stderr.decode("utf-8", "replace").strip()
        raise SandboxError(f"bubblewrap could not put up the fence: {said}")
    code = codes[0]
    if _SIGNALLED < code <= _SIGNALLED + signal.NSIG:
        return None, code - _SIGNALLED
    return code, None
