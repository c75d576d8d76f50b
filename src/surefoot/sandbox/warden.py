"""The warden: a helper process that starts commands, ends their process trees and cleans up after them.

It runs as a script in an isolated interpreter, so it is one file and imports nothing of ours. When Surefoot is gone, also by SIGKILL,
its socket reads as closed, and the warden ends what still runs. It is a child subreaper: no process leaves its tree by
forking twice or by starting a session. It answers for a command only when every process of that command is reaped.

A command that brings a process namespace of its own (bubblewrap) is a child of the warden, which adopts and ends what
it leaves. Without one, orphans of two commands could not be told apart, so such a command gets a keeper: a fork of the
warden that has this command only, and whose report is the answer.
"""

import base64
import ctypes
import errno
import fcntl
import json
import os
import select
import shutil
import signal
import socket
import sys
import threading
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, Literal

_LIBC: Final = ctypes.CDLL(None, use_errno=True)
_PR_SET_SECCOMP, _PR_CAPBSET_DROP = 22, 24
_PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS, _PR_CAP_AMBIENT = 36, 38, 47
_CAP_AMBIENT_CLEAR_ALL: Final = 4
_SECCOMP_MODE_FILTER: Final = 2
_LANDLOCK_RESTRICT_SELF: Final = 446

_HIGH_FD: Final = 64
"""Descriptors are moved above this one before they take their places, so that no place is taken twice."""
_TICK_S: Final = 0.005
"""How long to wait for a killed process before looking for further ones."""
_WATCH_S: Final = 0.1
"""How often a tree is counted."""
_KEEPER_TASKS: Final = 2
"""A keeper, and the thread in which it puts up a fence. A group lets the tree have the places that they leave."""


# --- what is asked and answered ------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Placeholder:
    """Something that must exist while a command runs. What was there before is left alone."""

    path: str
    kind: Literal["directory", "file", "link"]
    target: str = ""
    """Of a link."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What to start. Descriptors come beside it: control, stdin, stdout, stderr, and a rule set where there is one."""

    argv: tuple[str, ...]
    env: dict[str, str]
    cwd: str
    namespaced: bool = False
    """Whether the program puts all that it starts into a process namespace of its own, and so needs no keeper."""
    data: tuple[str, ...] = ()
    """Base64 contents of files that appear as descriptors 3, 4, …"""
    report: bool = False
    """Whether the next descriptor after those is the writing end of a pipe whose contents go into the verdict."""
    seccomp: str = ""
    """Base64 of a filter; the program starts under it and the rule set that came along, with no capability."""
    tasks: int | None = None
    """Most processes and threads of the tree, where the warden holds it to that."""
    placeholders: tuple[Placeholder, ...] = ()
    purge: tuple[str, ...] = ()
    """Paths that may not exist when the command has ended."""

    def encode(self) -> bytes:
        """As JSON."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def decode(cls, text: str) -> "Request":
        """From JSON."""
        fields = json.loads(text)
        for name in ("argv", "data", "purge"):
            fields[name] = tuple(fields[name])
        fields["placeholders"] = tuple(Placeholder(**item) for item in fields["placeholders"])
        return cls(**fields)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """How the tree ended; sent once, when nothing of it is left."""

    code: int | None = None
    signal: int | None = None
    report: str = ""
    crowded: bool = False
    """There were more processes than allowed."""
    error: str = ""
    """Why the command was not started or not cleaned up, when that is so."""

    def encode(self) -> bytes:
        """As JSON."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def decode(cls, text: str) -> "Verdict":
        """From JSON."""
        return cls(**json.loads(text))


# --- one command ---------------------------------------------------------------------------------


class _Job:
    """One command, or the keeper of one: its main process, and the socket on which Surefoot waits."""

    def __init__(self, request: Request, control: socket.socket) -> None:
        self.request = request
        self.control = control
        self.pid = 0
        self.pidfd = -1
        self.lifeline: socket.socket | None = None
        """To the keeper, when there is one."""
        self.crowded = False
        self.held: list[Placeholder] = []
        self._report_fd = -1

    def start(self, fds: Sequence[int]) -> None:
        """Start the command on stdin, stdout, stderr and, behind a fence of the warden's making, a rule set.

        Raises:
            OSError: It could not be started.
            ValueError: It cannot be asked for, e.g. a null byte in an argument.
        """
        self._report_fd, report = os.pipe()
        try:
            if self.request.seccomp:
                self.pid = _spawn_fenced(self.request, (*fds[:3], report), fds[3:])
            else:
                self.pid = _spawn(self.request, (*fds, report))
        except (OSError, ValueError):
            os.close(self._report_fd)
            raise
        finally:
            os.close(report)
        self.pidfd = os.pidfd_open(self.pid)

    def keep(self, pid: int, report_fd: int, lifeline: socket.socket) -> None:
        """From now on stand for a keeper."""
        self.pid, self.pidfd = pid, os.pidfd_open(pid)
        self._report_fd, self.lifeline = report_fd, lifeline

    def finish(self, status: int) -> Verdict:
        """How it ended, now that every process of it is gone."""
        os.close(self.pidfd)
        report = _read_all(self._report_fd)
        if self.lifeline is not None:
            self.lifeline.close()
            gone = (
                "the process that watches over a sandboxed command was killed; see the system log"
            )
            return Verdict.decode(report) if report else Verdict(error=gone)
        code = os.waitstatus_to_exitcode(status)
        return Verdict(
            code=code if code >= 0 else None,
            signal=-code if code < 0 else None,
            report=report,
            crowded=self.crowded,
        )

    def is_over(self, ready: frozenset[int]) -> bool:
        """Whether its main process has ended, Surefoot wants it to end, or there are too many processes."""
        if self.pidfd in ready:
            return True
        if self.lifeline is not None:  # the keeper listens and counts
            return False
        return self.control.fileno() in ready or self._is_crowded()

    @property
    def is_watched(self) -> bool:
        """Whether this process counts the tree from time to time."""
        return self.lifeline is None and self.request.tasks is not None

    def _is_crowded(self) -> bool:
        if self.request.tasks is not None:
            # in a keeper all children belong to its command; what a namespace adopts stays below its main process
            roots = {self.pid} if self.request.namespaced else _children(os.getpid())
            self.crowded = _with_descendants(roots)[1] > self.request.tasks + _KEEPER_TASKS
        return self.crowded


def _keep(job: _Job, fds: Sequence[int], lifeline: socket.socket) -> Verdict:
    """Be the keeper of one command, until it has ended, Surefoot says so, or the warden is gone."""
    _prctl(_PR_SET_CHILD_SUBREAPER)
    _prctl(_PR_SET_NO_NEW_PRIVS)  # a set-user-id program could not be killed
    try:
        os.chdir(job.request.cwd)
        job.start(fds)
    except (OSError, ValueError) as error:
        return Verdict(error=f"the command could not be started: {error}")
    for fd in fds:
        os.close(fd)
    ready = frozenset[int]()
    while not (lifeline.fileno() in ready or job.is_over(ready)):
        ready = _wait([job], lifeline)
    return job.finish(_end_tree(job.pid, frozenset()))


# --- all commands --------------------------------------------------------------------------------


class _Warden:
    def __init__(self, channel: socket.socket, group: Path | None) -> None:
        """`group` is one that counts tasks, and that this process is in."""
        self._channel = channel
        self._group = group
        self._jobs: list[_Job] = []
        self._held: Counter[Placeholder] = Counter()

    def serve(self) -> None:
        """Do what the channel asks, until it is closed; then end everything."""
        _prctl(_PR_SET_CHILD_SUBREAPER)
        signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGCHLD,))
        os.umask(0o022)
        is_open = True
        while is_open:
            ready = _wait(self._jobs, self._channel)
            for job in tuple(self._jobs):
                if job.is_over(ready):
                    self._end(job)
            if self._channel.fileno() in ready:
                is_open = self._accept()
        for job in tuple(self._jobs):
            if job.lifeline is not None:
                job.lifeline.close()
                select.select([job.pidfd], [], [])
            self._end(job)

    def _accept(self) -> bool:
        """Take one request; false when there is none, because Surefoot is gone."""
        message, received, _, _ = socket.recv_fds(self._channel, 1, 6, socket.MSG_CMSG_CLOEXEC)
        if not message:
            return False
        request_fd, control_fd, *fds = [_move_up(fd) for fd in received]
        for fd in received:
            os.close(fd)
        job = _Job(Request.decode(_read_all(request_fd)), socket.socket(fileno=control_fd))
        try:
            self._hold(job)
            self._allow([*self._jobs, job])
            if job.request.namespaced:
                job.start(fds)
            else:
                self._fork_keeper(job, fds)
        except (OSError, ValueError) as error:
            self._answer(job, Verdict(error=f"the command could not be started: {error}"))
        else:
            self._jobs.append(job)
        for fd in fds:
            os.close(fd)
        return True

    def _fork_keeper(self, job: _Job, fds: Sequence[int]) -> None:
        near, far = socket.socketpair()
        report_fd, report = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                near.close()
                self._channel.close()
                for other in self._jobs:
                    other.control.close()
                    if other.lifeline is not None:
                        other.lifeline.close()
                os.write(report, _keep(job, fds, far).encode())
            finally:
                os._exit(0)  # a keeper never returns into the warden's code
        far.close()
        os.close(report)
        job.keep(pid, report_fd, near)

    def _end(self, job: _Job) -> None:
        self._jobs.remove(job)
        self._allow(self._jobs)
        status = _end_tree(job.pid, frozenset(other.pid for other in self._jobs))
        self._answer(job, job.finish(status))

    def _answer(self, job: _Job, verdict: Verdict) -> None:
        """Clean up after a command, then say how it ended."""
        try:
            self._release(job)
            for path in job.request.purge:
                _remove(Path(path))
        except OSError as error:
            verdict = Verdict(error=f"what a command left could not be removed: {error}")
        with job.control, suppress(OSError):  # Surefoot may be gone, and nobody wants to know
            job.control.sendall(verdict.encode())

    def _allow(self, jobs: Sequence[_Job]) -> None:
        """Let the group have as many tasks as all jobs together may; what each has is counted from time to time.

        One group for all, because moving a process into a group takes the kernel longer than all the rest.
        """
        if self._group is not None:
            limits = [job.request.tasks for job in jobs]
            most = sum(limit + _KEEPER_TASKS for limit in limits if limit is not None) + 1
            (self._group / "pids.max").write_text("max" if None in limits else str(most))

    def _hold(self, job: _Job) -> None:
        for item in job.request.placeholders:
            path = Path(item.path)
            if not self._held[item]:
                if os.path.lexists(path):
                    continue  # it is not ours, so it stays
                match item.kind:
                    case "directory":
                        path.mkdir()
                    case "file":
                        path.touch(exist_ok=False)
                    case "link":
                        path.symlink_to(item.target)
            self._held[item] += 1
            job.held.append(item)

    def _release(self, job: _Job) -> None:
        while job.held:
            item = job.held.pop()
            self._held[item] -= 1
            if not self._held[item]:
                with suppress(OSError):  # somebody has made it their own
                    _remove_placeholder(item)


def _remove_placeholder(item: Placeholder) -> None:
    path = Path(item.path)
    match item.kind:
        case "directory":
            path.rmdir()
        case "file":
            if path.stat().st_size == 0:
                path.unlink()
        case "link":
            if str(path.readlink()) == item.target:
                path.unlink()


def _wait(jobs: Sequence[_Job], other: socket.socket) -> frozenset[int]:
    """The descriptors that are ready: `other`, process descriptors, and Surefoot's words to commands."""
    poll = select.poll()
    poll.register(other, select.POLLIN)
    for job in jobs:
        poll.register(job.pidfd, select.POLLIN)
        if job.lifeline is None:
            poll.register(job.control, select.POLLIN)
    watching = any(job.is_watched for job in jobs)
    return frozenset(fd for fd, _ in poll.poll(_WATCH_S * 1000 if watching else None))


# --- process trees -------------------------------------------------------------------------------


def _end_tree(main: int, others: frozenset[int]) -> int:
    """Kill and reap every child but `others`, and all below; the wait status of `main`.

    Children that nobody accounts for are orphans of `main`'s tree, or of a keeper that was killed. All are stopped
    before any is killed, so that a tree that forks as fast as it dies comes to a stand first.
    """
    status = 0
    patience = True
    while True:
        # Looked up twice, because the kernel's list may pass over a child while another is taken off it.
        children = (_children(os.getpid()) | _children(os.getpid())) - others
        for pid in children:
            reaped, its_status = os.waitpid(pid, os.WNOHANG)
            if reaped == main:
                status = its_status
            if reaped:
                children = children - {reaped}
        if not children:
            return status
        if patience:  # the first process of a namespace dies a moment after its last, by itself
            patience = False
            _await_death(children)
            continue
        stopped: set[int] = set()
        while fresh := _with_descendants(children)[0] - stopped:
            _signal_all(fresh, signal.SIGSTOP)
            stopped |= fresh
            children = _children(os.getpid()) - others
        _signal_all(stopped, signal.SIGKILL)
        signal.sigtimedwait((signal.SIGCHLD,), _TICK_S)


def _await_death(children: set[int]) -> None:
    """Wait for one of them to die, or for a tick."""
    poll = select.poll()
    fds = [os.pidfd_open(pid) for pid in children]
    for fd in fds:
        poll.register(fd, select.POLLIN)
    poll.poll(_TICK_S * 1000)
    for fd in fds:
        os.close(fd)


def _children(pid: int) -> set[int]:
    found: set[int] = set()
    for task in _tasks(pid):
        with suppress(OSError):
            fd = os.open(f"/proc/{pid}/task/{task}/children", os.O_RDONLY | os.O_CLOEXEC)
            found.update(int(child) for child in _read_all(fd).split())
    return found


def _tasks(pid: int) -> list[str]:
    with suppress(OSError):  # ended meanwhile
        return os.listdir(f"/proc/{pid}/task")  # noqa: PTH208  # half the time, and it is asked often
    return []


def _with_descendants(roots: set[int]) -> tuple[set[int], int]:
    """The processes at and below `roots`, and how many tasks (processes and threads) they have."""
    found: set[int] = set()
    tasks = 0
    unseen = set(roots)
    while unseen:
        pid = unseen.pop()
        found.add(pid)
        tasks += len(_tasks(pid))
        unseen |= _children(pid) - found
    return found, tasks


def _signal_all(pids: set[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


# --- starting ------------------------------------------------------------------------------------


def _spawn(request: Request, fds: Sequence[int]) -> int:
    """Start the program, which takes over the calling thread's fence, without a copy of this process."""
    *standard, report = fds
    data = [_file(base64.b64decode(text)) for text in request.data]
    wanted = [_move_up(fd) for fd in (*standard, *data, *([report] if request.report else []))]
    try:
        return os.posix_spawn(
            request.argv[0],
            request.argv,
            request.env,
            file_actions=[(os.POSIX_SPAWN_DUP2, fd, place) for place, fd in enumerate(wanted)],
            setsid=True,
            setsigmask=(),
            setsigdef=(signal.SIGPIPE, signal.SIGXFSZ),  # the interpreter ignores these
        )
    finally:
        for fd in (*data, *wanted):
            os.close(fd)


def _spawn_fenced(request: Request, fds: Sequence[int], rulesets: Sequence[int]) -> int:
    """As `_spawn`, behind Landlock and seccomp.

    Both hold for one thread and what it starts, so a thread that then ends leaves the keeper free to kill the tree.
    """
    pids: list[int] = []
    errors: list[Exception] = []

    def launch() -> None:
        try:
            _enter_fence(request, rulesets)
            pids.append(_spawn(request, fds))
        except (OSError, ValueError) as error:
            errors.append(error)

    thread = threading.Thread(target=launch)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return pids[0]


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_char_p))


def _enter_fence(request: Request, rulesets: Sequence[int]) -> None:
    """Give up, for the calling thread and what it starts, what the command may not have; there is no way back.

    Raises:
        OSError: The kernel refused a part.
    """
    capability = 0  # what is not in the bounding set is gone when the program starts
    while _LIBC.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0) == 0:
        capability += 1
    _LIBC.prctl(_PR_CAP_AMBIENT, _CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    for fd in rulesets:
        _check(_LIBC.syscall(_LANDLOCK_RESTRICT_SELF, fd, 0), "landlock_restrict_self")
    code = base64.b64decode(request.seccomp)
    program = _Program(len(code) // 8, code)
    answer = _LIBC.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0)
    _check(answer, "seccomp")


def _prctl(option: int) -> None:
    _check(_LIBC.prctl(option, 1, 0, 0, 0), f"prctl {option}")


def _check(answer: int, what: str) -> None:
    if answer != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


# --- files ---------------------------------------------------------------------------------------


def _file(contents: bytes) -> int:
    fd = os.memfd_create("surefoot", os.MFD_CLOEXEC)
    os.write(fd, contents)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def _move_up(fd: int) -> int:
    return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _HIGH_FD)


def _read_all(fd: int) -> str:
    if fd < 0:
        return ""
    with os.fdopen(fd, "rb") as stream:
        return stream.read().decode("utf-8", "replace")


def _remove(path: Path) -> None:
    """Remove a path and all below it, whatever a command made of it.

    Raises:
        OSError: It is still there.
    """
    if path.is_symlink() or not path.is_dir():
        path.unlink(missing_ok=True)
        return
    with suppress(
        OSError
    ):  # most commands leave their directories empty, and this is the quick way
        for entry in path.iterdir():
            entry.rmdir()
        path.rmdir()
        return
    with suppress(RecursionError):
        shutil.rmtree(path, ignore_errors=True)
    if os.path.lexists(path):
        # `rm` copes with any depth, `chmod` with directories that nobody may enter
        for command in (("chmod", "-R", "u+rwX"), ("rm", "-rf")):
            argv = (*command, "--", str(path))
            os.waitpid(os.posix_spawnp(argv[0], argv, {"PATH": os.defpath}), 0)
    if os.path.lexists(path):
        raise FileExistsError(errno.EEXIST, "it is still there", str(path))


def _main(channel_fd: str, scratch: str, group: str, home: str) -> None:
    """Serve in a new group below `group`, when that is not empty; then go back to `home`, and remove group and scratch."""
    channel = socket.socket(fileno=int(channel_fd))
    channel.set_inheritable(False)  # a command that had it could have anything started
    own = Path(group, f"surefoot-{os.getpid()}") if group else None
    try:
        if own is not None:
            own.mkdir()
            (own / "cgroup.procs").write_text("0")
        _Warden(channel, own).serve()
    finally:
        _remove(Path(scratch))
        if own is not None:
            Path(home, "cgroup.procs").write_text("0")
            _remove_group(own)


def _remove_group(group: Path) -> None:
    while True:
        try:
            group.rmdir()
        except OSError as error:
            if error.errno != errno.EBUSY:
                raise
            # the last task is dead, but not yet taken off the group
            signal.sigtimedwait((signal.SIGCHLD,), _TICK_S)
        else:
            return


if __name__ == "__main__":
    _main(*sys.argv[1:])
