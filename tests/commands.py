"""Surefoot's command line in a process of its own, as `python -m surefoot` is, without the second that its imports take.

A process that has imported them forks one for each command. Where that would not be the same a new interpreter is started:
one with other settings of Python's own, one beside another, and under coverage, which counts at an interpreter's start.
"""

import atexit
import functools
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.nursery import MOST

_SETTLED = ("PYTHON", "LC_", "LANG", "COVERAGE")
"""How variables begin that an interpreter reads at its start."""
_ONE_AT_A_TIME = threading.Lock()


def surefoot(
    *args: str, cwd: Path, env: Mapping[str, str], stdin: str = "", timeout: float | None = None
) -> subprocess.CompletedProcess[str]:
    """Do a command to its end; `env` is all of its environment, `timeout` in seconds, None for however long it takes."""
    settled = all(
        env.get(n) == os.environ.get(n) for n in {*env, *os.environ} if n.startswith(_SETTLED)
    )
    alike = settled and len(_message(args, cwd, env)) <= MOST and "coverage" not in sys.modules
    if alike and _ONE_AT_A_TIME.acquire(blocking=False):
        try:
            return forked(*args, cwd=cwd, env=env, stdin=stdin, timeout=timeout)
        finally:
            _ONE_AT_A_TIME.release()
    return started(*args, cwd=cwd, env=env, stdin=stdin, timeout=timeout)


def started(
    *args: str, cwd: Path, env: Mapping[str, str], stdin: str = "", timeout: float | None = None
) -> subprocess.CompletedProcess[str]:
    """The same by an interpreter of its own."""
    return subprocess.run(
        [sys.executable, "-m", "surefoot", *args],
        cwd=cwd,
        env=env,
        input=stdin,
        text=True,
        capture_output=True,
        timeout=timeout,
        check=False,
    )


def forked(
    *args: str, cwd: Path, env: Mapping[str, str], stdin: str = "", timeout: float | None = None
) -> subprocess.CompletedProcess[str]:
    """The same by a fork, one at a time."""
    orders = _nursery(os.getpid())
    with (
        tempfile.TemporaryFile("w+") as given,
        tempfile.TemporaryFile("w+") as out,
        tempfile.TemporaryFile("w+") as err,
    ):
        given.write(stdin)
        given.seek(0)
        streams = [stream.fileno() for stream in (given, out, err)]
        socket.send_fds(orders, [_message(args, cwd, env)], streams)
        orders.settimeout(60)
        child = int(orders.recv(100))
        orders.settimeout(timeout)
        try:
            code = int(orders.recv(100))
        except TimeoutError:
            os.kill(child, signal.SIGKILL)
            orders.settimeout(None)
            orders.recv(100)
            raise subprocess.TimeoutExpired(["surefoot", *args], timeout or 0) from None
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(["surefoot", *args], code, out.read(), err.read())


def _message(args: Sequence[str], cwd: Path, env: Mapping[str, str]) -> bytes:
    return json.dumps({"args": args, "cwd": str(cwd), "env": dict(env)}).encode()


@functools.cache
def _nursery(_pid: int) -> socket.socket:
    """Of this very process; it ends with it."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    path = Path(__file__).with_name("nursery.py")
    nursery = subprocess.Popen(
        [sys.executable, str(path), str(theirs.fileno())],
        pass_fds=[theirs.fileno()],
        stdin=subprocess.DEVNULL,
    )
    theirs.close()

    def leave() -> None:
        ours.close()
        nursery.wait()

    atexit.register(leave)
    return ours
