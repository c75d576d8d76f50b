"""Who may use a run's worktree, and where a run's things lie on disk.

    <home>/<run id>            the worktree
    <home>/.leases/<run id>    its lease: locked by the process that uses it
    <home>/.scratch/<run id>/  checkouts for a moment, and files on their way into the worktree
    <home>/.accept/<run id>/   where `accept` runs the user's hooks; it has a lease of its own

A lease is an flock. Git commands that write for the run inherit the descriptor, so a lease that can be taken proves
that neither the last holder nor a git command that outlived it is still at work: whatever lock file lies there is
stale. The process id and its start time name the holder, and guard where a file system ignores flock.
"""

import contextlib
import fcntl
import json
import os
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from surefoot.errors import UsageError
from surefoot.gitops.files import mended, remove_tree
from surefoot.gitops.refs import BRANCHES, checked
from surefoot.vocabulary import RunId

ORPHANS_S: Final = 30.0
"""How long to wait for the git commands of a holder that died."""
_ENDED: Final = (b"Z", b"X")
"""States of a process that only waits for its parent to ask (proc(5))."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """The folder that holds the worktrees of this user's runs, outside every checkout."""

    root: Path

    def worktree(self, run_id: RunId) -> Path:
        """Where a run works."""
        return self.root / checked(run_id)

    def lease(self, run_id: RunId) -> Path:
        """Its lease file."""
        return self.root / ".leases" / checked(run_id)

    def scratch(self, run_id: RunId) -> Path:
        """Its folder for things that do not last."""
        return self.root / ".scratch" / checked(run_id)

    def accept_lease(self, run_id: RunId) -> Path:
        """The lease of the one process that accepts a run; the run itself may be open there."""
        return self.root / ".leases" / f"{checked(run_id)}@accept"

    @property
    def accepting(self) -> Path:
        """The folders of those processes."""
        return self.root / ".accept"

    def accept(self, run_id: RunId) -> Path:
        """Its folder."""
        return self.accepting / checked(run_id)

    def run_ids(self) -> frozenset[RunId]:
        """Runs that have left anything here, of whatever repository."""
        folders = (self.root, *(self.root / name for name in (".leases", ".scratch", ".accept")))
        names = {e.name for f in folders if f.is_dir() for e in f.iterdir()}
        return frozenset(
            RunId(name.removesuffix("@accept")) for name in names if not name.startswith(".")
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """What a lease file says."""

    repository: str
    """Common git folder of the repository that the run belongs to."""
    pid: int
    started: int
    """Start of that process, in clock ticks since boot; tells a reused id apart."""

    @property
    def alive(self) -> bool:
        """Whether the process that took the lease still runs."""
        return self.pid > 0 and _started(self.pid) == self.started


class Lease:
    """The right to use one run's worktree, held by this process until `release`."""

    __slots__ = ("_path", "fd")

    def __init__(self, path: Path, fd: int) -> None:
        self._path = path
        self.fd = fd

    @classmethod
    def take(cls, path: Path, run_id: RunId, common_dir: Path) -> "Lease":
        """Take the lease at `path`, after the git commands of a dead holder have ended.

        Raises:
            UsageError: Another process, or another part of this one, holds it, or the run is another repository's.
        """
        lease = cls.attempt(path, common_dir)
        if lease is not None:
            return lease
        note = read_note(path)
        if note is not None and note.repository != str(common_dir):
            raise UsageError(
                f"run {run_id} belongs to {note.repository!r}, not to {str(common_dir)!r}; name that repository"
            )
        if note is not None and note.pid == os.getpid():
            raise UsageError(f"run {run_id} is open in this process; close its workspace first")
        holder = f"process {note.pid}" if note is not None and note.alive else "another process"
        raise UsageError(
            f"run {run_id} is in use by {holder}; wait until it has ended, or end it, and try again"
        )

    @classmethod
    def attempt(cls, path: Path, common_dir: Path) -> "Lease | None":
        """As `take`, with None where that raises."""
        with mended("take a lease"):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            fd = _locked(path)
        if fd is None:
            return None
        note = read_note(path)
        mine = note is None or note.repository == str(common_dir)
        if not mine or (note is not None and note.pid != os.getpid() and note.alive):
            os.close(fd)
            return None
        lease = cls(path, fd)
        lease._write(str(common_dir), os.getpid())
        return lease

    def release(self) -> None:
        """Let go; the file stays and says whose run it is. A second call does nothing."""
        if self.fd >= 0:
            note = _parse(os.pread(self.fd, 65536, 0))
            if note is not None:
                self._write(note.repository, 0)
            self._close()

    def discard(self) -> None:
        """Let go and remove the file: the run has nothing left on disk."""
        if self.fd >= 0:
            self._path.unlink(missing_ok=True)
            self._close()

    def _close(self) -> None:
        fd, self.fd = self.fd, -1
        os.close(fd)

    def _write(self, repository: str, pid: int) -> None:
        started = _started(pid) if pid else 0
        note = {"version": 1, "repository": repository, "pid": pid, "started": started}
        data = json.dumps(note).encode()
        with mended("write a lease"):
            os.pwrite(self.fd, data, 0)
            os.ftruncate(self.fd, len(data))


def process_mark() -> str:
    """This process: its id and its start, which tell it from a later one of the same id."""
    return f"{os.getpid()}:{_started(os.getpid())}"


def is_alive(mark: str) -> bool:
    """Whether the process of a mark still runs, on this machine."""
    pid, _, started = mark.partition(":")
    return pid.isdecimal() and started.isdecimal() and _started(int(pid)) == int(started) != 0


def read_note(path: Path) -> Note | None:
    """What a lease file says, or None when there is none or it was torn by a kill."""
    try:
        return _parse(path.read_bytes())
    except OSError:
        return None


def is_worktree(checkout: Path, branch: str) -> bool:
    """Whether a checkout that is on a branch (full name) is where a run works: its lease lies beside it, in whatever home."""
    leases = checkout.parent / ".leases"
    return branch == f"{BRANCHES}{checkout.name}" and (leases / checkout.name).exists()


def clear_scratch(home: Home, run_id: RunId) -> None:
    """Remove what checkouts for a moment have left; the caller holds the lease."""
    remove_tree(home.scratch(run_id))


def _parse(data: bytes) -> Note | None:
    try:
        note = json.loads(data)
        return Note(repository=note["repository"], pid=note["pid"], started=note["started"])
    except (ValueError, KeyError, TypeError):
        return None


def _locked(path: Path) -> int | None:
    """A locked descriptor of the file that lies at `path` now, or None when somebody else has it."""
    while True:
        note = read_note(path)
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        if not _lock(fd, wait=note is not None and not note.alive):
            os.close(fd)
            return None
        with contextlib.suppress(FileNotFoundError):
            if os.fstat(fd).st_ino == path.stat().st_ino:
                return fd
        os.close(fd)  # somebody removed the file between open and lock


def _lock(fd: int, *, wait: bool) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        if not wait:
            return False
    else:
        return True
    # The holder is dead, so only git commands that it had started keep the lock, and they end by themselves.
    waiter = threading.Thread(target=fcntl.flock, args=(fd, fcntl.LOCK_EX), daemon=True)
    waiter.start()
    waiter.join(ORPHANS_S)
    return not waiter.is_alive()


def _started(pid: int) -> int:
    """Field 22 of /proc/<pid>/stat; 0 when there is no such process, or it has ended and its parent has not asked how."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return 0
    state, *fields = stat.rpartition(b")")[2].split()  # from field 3 on
    return 0 if state in _ENDED else int(fields[18])
