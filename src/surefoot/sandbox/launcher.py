"""Surefoot's end of the warden: starting commands and hearing how their trees ended."""

import os
import socket
import subprocess
import sys
import threading
import weakref
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from surefoot.errors import SandboxError
from surefoot.sandbox.limits import Counting
from surefoot.sandbox.warden import Request, Verdict

_LARGEST = 1 << 20
_WARDEN = Path(__file__).with_name("warden.py")


class Spawned:
    """A command on its way. Owns the near ends of its pipes and of its control socket."""

    def __init__(self, stdin: int, stdout: int, stderr: int, control: socket.socket) -> None:
        self.stdin, self.stdout, self.stderr = stdin, stdout, stderr
        self.control = control
        self._open = {stdin, stdout, stderr}

    def end(self) -> None:
        """Ask for the end of the tree; the verdict follows on `control`."""
        with suppress(OSError):  # all has been said
            self.control.send(b"end", socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)

    def verdict(self) -> Verdict:
        """The warden's word, when `control` is readable.

        Raises:
            SandboxError: The warden is gone, or it could not start the command or clean up after it.
        """
        try:
            text = self.control.recv(_LARGEST)
        except (
            ConnectionResetError
        ):  # it did not wait for our last word; its own comes after the error
            text = self.control.recv(_LARGEST)
        if not text:
            raise SandboxError(
                "the sandbox's helper process was killed; see the system log for the reason"
            )
        verdict = Verdict.decode(text.decode())
        if verdict.error:
            raise SandboxError(verdict.error)
        return verdict

    def is_open(self, fd: int) -> bool:
        """Whether one of the three pipes is still open."""
        return fd in self._open

    def close(self, fd: int) -> None:
        """Close one of the three pipes; a second time does nothing."""
        if fd in self._open:
            self._open.remove(fd)
            os.close(fd)

    def close_all(self) -> None:
        """Let go of everything. A tree that still runs is ended, because its control socket closes."""
        for fd in tuple(self._open):
            self.close(fd)
        self.control.close()


class Launcher:
    """Owns one warden, which boots while Surefoot does other things. Thread-safe."""

    def __init__(self, scratch: Path, counting: Counting) -> None:
        """`scratch` is removed when the warden ends, for whatever reason Surefoot ended."""
        self._lock = threading.Lock()
        self._channel, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        groups = (str(counting.group or ""), str(counting.home or ""))
        with far:
            process = subprocess.Popen(
                [
                    sys.executable,
                    "-I",
                    "-S",
                    str(_WARDEN),
                    str(far.fileno()),
                    str(scratch),
                    *groups,
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={},
                cwd="/",
                pass_fds=(far.fileno(),),
                start_new_session=True,  # a ctrl-C at the terminal is Surefoot's to handle
            )
        self._finalize = weakref.finalize(self, _dismiss, self._channel, process)

    def spawn(self, request: Request, rulesets: Sequence[int] = ()) -> Spawned:
        """Start a command; does not wait for it.

        Raises:
            SandboxError: The warden is gone.
        """
        stdin, give = os.pipe()
        take_out, stdout = os.pipe()
        take_err, stderr = os.pipe()
        near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        text = os.memfd_create("request", os.MFD_CLOEXEC)
        spawned = Spawned(give, take_out, take_err, near)
        try:
            with os.fdopen(os.dup(text), "wb") as stream:
                stream.write(request.encode())
            os.lseek(text, 0, os.SEEK_SET)
            fds = [text, far.fileno(), stdin, stdout, stderr, *rulesets]
            with self._lock:
                socket.send_fds(self._channel, [b"1"], fds, socket.MSG_NOSIGNAL)
        except OSError as error:
            spawned.close_all()
            raise SandboxError(
                f"the sandbox's helper process cannot be reached ({error.strerror}); run the command again"
            ) from error
        finally:
            far.close()
            for fd in (text, stdin, stdout, stderr):
                os.close(fd)
        return spawned

    def close(self) -> None:
        """End the warden, and with it whatever still runs. Happens by itself when this object goes."""
        self._finalize()


def _dismiss(channel: socket.socket, process: subprocess.Popen[bytes]) -> None:
    channel.close()
    process.wait()
