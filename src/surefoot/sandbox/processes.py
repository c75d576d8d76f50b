"""The `Processes` port over a fence."""

import threading
import time
from collections.abc import Iterable
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Protocol

from surefoot.errors import SandboxError
from surefoot.sandbox import landlock
from surefoot.sandbox.conversation import Conversation, Kept, Lines
from surefoot.sandbox.launcher import Launcher
from surefoot.sandbox.limits import Counting
from surefoot.sandbox.view import Enclosed, Surveyor, View
from surefoot.values import Command, ProcessResult, SandboxLevel


class Fence(Protocol):
    """One kind of fence."""

    @property
    def level(self) -> SandboxLevel:
        """Which kind."""
        ...

    @property
    def counting(self) -> Counting:
        """How it counts processes."""
        ...

    def enclose(self, command: Command, view: View, own: Path) -> Enclosed:
        """Put a command behind it; `own` is a directory of this command with `home` and `tmp` in it."""
        ...


class FencedProcesses:
    """Runs commands behind one kind of fence. Thread-safe; implements `Processes`."""

    def __init__(self, fence: Fence, session: Path) -> None:
        """`session` is a directory of this object's own; it is removed in the end, however Surefoot ends."""
        self._fence = fence
        self._session = session
        self._launcher = Launcher(session, fence.counting)
        self._surveyor = Surveyor()
        self._numbers = count(1)

    @property
    def level(self) -> SandboxLevel:
        """What encloses the commands."""
        return self._fence.level

    def run(self, command: Command) -> ProcessResult:
        """Run to the end, or to a limit; nothing of its process tree survives.

        A program that does not exist ends with exit code 127, one that cannot be executed with 126.

        Raises:
            SandboxError: The command cannot be enclosed, or it replaced a repository's records.
        """
        stdout = Kept(command.limits.output_bytes)
        conversation, records = self._begin(command, stdout)
        conversation.feed(command.stdin, last=True)
        result = conversation.converse()
        records.check()
        return result

    def start(self, command: Command) -> "FencedWorker":
        """Start a worker; `limits.wall_s` bounds its whole life, `stdin` is what it hears first. Raises as `run`."""
        lines = Lines(command.limits.output_bytes)
        conversation, records = self._begin(command, lines)
        conversation.feed(command.stdin)
        return FencedWorker(conversation, lines, records)

    def close(self) -> None:
        """End all commands and remove what they used; happens by itself when this object goes."""
        self._launcher.close()

    def _begin(self, command: Command, stdout: Kept) -> tuple[Conversation, "_Records"]:
        started = time.monotonic()
        view = self._surveyor.look(command)
        records = _Records(view.nested)
        scratch = self._session / str(next(self._numbers))
        try:
            for path in (scratch, scratch / "home", scratch / "tmp"):
                path.mkdir(mode=0o700)
        except OSError as error:
            raise SandboxError(
                f"no scratch directory for a command can be made: {error}; if its parent is gone, the sandbox was closed"
            ) from error
        enclosed = self._fence.enclose(command, view, scratch)
        with ExitStack() as stack:
            rulesets = []
            if enclosed.grants is not None:
                rulesets.append(stack.enter_context(landlock.ruleset(enclosed.grants)))
            spawned = self._launcher.spawn(enclosed.request, rulesets)
        return Conversation(spawned, command.limits, stdout, started=started), records


class FencedWorker:
    """A worker behind the fence; implements `RunningProcess`. What goes wrong with it is raised by `stop`."""

    def __init__(self, conversation: Conversation, lines: Lines, records: "_Records") -> None:
        self._conversation = conversation
        self._lines = lines
        self._records = records
        self._result: ProcessResult | None = None
        self._error: SandboxError | None = None
        self._thread = threading.Thread(target=self._converse, daemon=True, name="surefoot-worker")
        self._thread.start()

    def send(self, line: bytes) -> None:
        """Queue one line for its standard input; one that it does not live to read is lost."""
        self._conversation.feed(line + b"\n")

    def receive(self, timeout_s: float) -> bytes | None:
        """The next line of its standard output; None when it ended or the time is up."""
        return self._lines.next(timeout_s)

    def stop(self) -> ProcessResult:
        """End the whole process tree and say how it ended, with what nobody received as its output.

        Raises:
            SandboxError: As `Processes.run`.
        """
        self._conversation.end()
        self._thread.join()
        if self._result is None:
            raise self._error or SandboxError(
                "the thread that looks after a worker was ended from outside"
            )
        return self._result

    def _converse(self) -> None:
        try:
            result = self._conversation.converse()
            self._records.check()
            self._result = result
        except SandboxError as error:
            self._error = error
        finally:
            self._lines.close()


class _Records:
    """The records (`.git`) of repositories inside a writable path: read-only, but their parents can be moved away."""

    def __init__(self, paths: Iterable[Path]) -> None:
        self._before = {path: _identity(path) for path in paths}

    def check(self) -> None:
        """Raise `SandboxError` when one of them is not what it was."""
        for path, before in self._before.items():
            if _identity(path) != before:
                raise SandboxError(
                    f"a command moved away or replaced {path}, which is a repository's records; "
                    "do not use git in there before you have looked at it"
                )


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.lstat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
