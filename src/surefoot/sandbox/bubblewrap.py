"""bubblewrap: a file system view, network, processes and IPC of the command's own."""

import base64
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from surefoot.sandbox import seccomp
from surefoot.sandbox.limits import Counting, prlimit
from surefoot.sandbox.view import SYSTEM, Enclosed, Mount, View, etc_files, interpreter
from surefoot.sandbox.warden import Placeholder, Request
from surefoot.values import Command, SandboxLevel

HOME = Path("/home/surefoot")
TMP = Path("/tmp")  # noqa: S108  # a directory of the command's own appears there
_SHARED_MEMORY_BYTES = 256 * 1024**2
_OWN_TASKS = 2
"""bwrap itself, and the first process of the namespace."""
_ARGS_FD, _FILTER_FD, _STATUS_FD = 3, 4, 5


class Bubblewrap:
    """The fence of one bubblewrap binary."""

    level = SandboxLevel.BUBBLEWRAP

    def __init__(self, binary: Path, limiter: Path, counting: Counting, session: Path) -> None:
        """`limiter` is prlimit; `session` a directory in which a copy of /etc is made.

        Raises:
            SandboxError: There is no system-call filter for this machine.
        """
        self.counting = counting
        self._binary, self._limiter = binary, limiter
        etc = session / "etc"
        _copy_etc(etc)
        fds = ("--seccomp", str(_FILTER_FD), "--json-status-fd", str(_STATUS_FD))
        self._options = (*_ISOLATION, *fds, *_system(etc))
        code = seccomp.program(seccomp.machine(), namespaces=True)
        self._filter = base64.b64encode(code).decode()

    def enclose(self, command: Command, view: View, own: Path) -> Enclosed:
        """The command with a file system, processes, network and IPC of its own."""
        options = [
            *self._options,
            *_environment(command),
            *_mounts(view, own),
            *("--remount-ro", "/", "--remount-ro", "/dev", "--chdir", str(view.cwd)),
        ]
        args = b"".join(os.fsencode(option) + b"\0" for option in options)
        limits = prlimit(command.limits, self.counting, program=self._limiter)
        most = command.limits.processes
        request = Request(
            argv=(str(self._binary), "--args", str(_ARGS_FD), "--", *limits, *command.argv),
            env={},
            cwd="/",
            namespaced=True,
            data=(base64.b64encode(args).decode(), self._filter),
            report=True,
            tasks=None if most is None or self.counting.by == "namespace" else most + _OWN_TASKS,
            placeholders=tuple(_placeholders(command, view)),
            purge=(str(own),),
        )
        return Enclosed(request=request)


_ISOLATION = (
    "--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
    "--hostname", "surefoot", "--die-with-parent", "--new-session", "--cap-drop", "ALL",
)  # fmt: skip


def _environment(command: Command) -> Iterator[str]:
    """Given to bwrap as options, so that nothing in it (LD_PRELOAD, say) acts outside the fence."""
    yield "--clearenv"
    for name, value in command.env.items():
        yield from ("--setenv", name, value)
    yield from ("--setenv", "HOME", str(HOME), "--setenv", "TMPDIR", str(TMP))


def _system(etc: Path) -> Iterator[str]:
    for path in (*SYSTEM, *interpreter()):
        if path.is_symlink():
            yield from ("--symlink", str(path.readlink()), str(path))
        elif path.exists():
            yield from ("--ro-bind", str(path), str(path))
    yield from ("--ro-bind", str(etc), "/etc")
    for path in etc_files():
        if path.is_dir():
            yield from ("--ro-bind", str(path), str(path))
    yield from ("--proc", "/proc", "--dev", "/dev")
    yield from ("--size", str(_SHARED_MEMORY_BYTES), "--tmpfs", "/dev/shm")  # noqa: S108
    yield from ("--dir", "/run", "--dir", "/var")


def _mounts(view: View, scratch: Path) -> Iterator[str]:
    own = [
        Mount(source=scratch / "home", where=HOME, writable=True),
        Mount(source=scratch / "tmp", where=TMP, writable=True),
        # an environment that lies in /tmp itself would vanish behind the command's own
        *(Mount(source=p, where=p, writable=False) for p in interpreter() if p.is_relative_to(TMP)),
    ]
    masks = [Mount(source=path, where=path, writable=False) for path in view.missing]
    # a path's parents come before it, and what was asked for comes after what is always there
    for mount in sorted((*own, *view.mounts, *masks), key=lambda each: len(each.where.parts)):
        yield from (
            "--bind" if mount.writable else "--ro-bind",
            str(mount.source),
            str(mount.where),
        )
    for path in _foreign_sockets(view):
        yield from ("--ro-bind", "/dev/null", str(path))


def _foreign_sockets(view: View) -> Iterator[Path]:
    """Sockets that somebody outside has bound inside the view; a read-only mount does not keep one from connecting."""
    table = Path("/proc/net/unix").read_text(encoding="utf-8", errors="surrogateescape")
    names = {name for line in table.splitlines()[1:] for name in line.split(maxsplit=7)[7:]}
    for name in sorted(name for name in names if name.startswith("/")):
        path = Path(os.path.realpath(name))
        for mount in view.mounts:
            if path.is_relative_to(mount.source) and path.exists():
                yield mount.where / path.relative_to(mount.source)


def _placeholders(command: Command, view: View) -> Iterator[Placeholder]:
    """What must exist on the host for something to be mounted on it."""
    for path in view.missing:
        yield Placeholder(path=str(path), kind="directory")
    for source, where in command.binds:
        host = view.on_host(where)
        if host is not None:
            for parent in reversed(host.parents):
                yield Placeholder(path=str(parent), kind="directory")
            yield Placeholder(path=str(host), kind="directory" if source.is_dir() else "file")


def _copy_etc(target: Path) -> None:
    """Copies of the files that programs need of /etc, and places for the directories: few mounts instead of many."""
    target.mkdir()
    for source in etc_files():
        copy = target / source.relative_to("/etc")
        copy.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            copy.mkdir(exist_ok=True)
        else:
            shutil.copyfile(source, copy)
