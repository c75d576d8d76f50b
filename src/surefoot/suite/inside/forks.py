"""Work in forks that are limited and leave nothing behind, on a tree that is put back. Python 3.8 syntax."""

from __future__ import annotations

import contextlib
import json
import math
import os
import resource
import select
import shutil
import signal
import sys
import time
import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    Fields = dict[str, Any]
    Work = Callable[[Callable[..., None]], None]

SCANNED = 2_000
"""Files in a tree up to which it is searched for what tests left behind."""


def adopt_orphans() -> None:
    """Make this process the parent of what its children leave behind, so that it can be ended."""
    with contextlib.suppress(ImportError, OSError, AttributeError):
        import ctypes  # noqa: PLC0415  # some interpreters are built without it

        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER


def end_children(keep: tuple[int, ...]) -> None:
    """Kill and reap every child, and what becomes a child by that, but those in `keep`."""
    me = os.getpid()
    for _ in range(1_000):
        try:
            with open(f"/proc/{me}/task/{me}/children", encoding="ascii") as listing:
                children = [int(pid) for pid in listing.read().split()]
        except OSError:
            return
        children = [pid for pid in children if pid not in keep]
        if not children:
            return
        for pid in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)


def fork() -> int:
    """Fork, without the warning that a process with threads gets; single-threadedness is checked elsewhere."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return os.fork()


def in_fork(
    work: Work,
    limit_s: float,
    close: tuple[int, ...],
    keep: tuple[int, ...],
    starved_s: Callable[[str], float],
) -> Fields:
    """Do `work` in a fork; its records, how it ended and how long it took.

    The limit is on processor time, and three times that on time asleep: a busy machine gives the same verdict.
    """
    started = time.monotonic()
    sys.stdout.flush()
    sys.stderr.flush()
    reader, writer = os.pipe()
    pid = fork()
    if pid == 0:
        os.close(reader)
        for descriptor in close:
            os.close(descriptor)
        _child(work, writer, limit_s)
    os.close(writer)
    data, in_time = _read_all(reader, lambda: started + 3 * limit_s + starved_s(str(pid)))
    os.close(reader)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    status = os.waitpid(pid, 0)[1]
    end_children(keep)
    records = []
    for line in data.split(b"\n")[:-1]:
        with contextlib.suppress(
            ValueError
        ):  # the project wrote into our pipe: no record, no result
            records.append(json.loads(line))
    ended = any(record.get("kind") == "end" for record in records)
    spent = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU
    state = "complete" if ended else "crashed" if in_time and not spent else "timeout"
    wall_s = time.monotonic() - started
    return {"state": state, "status": status, "records": records, "wall_s": wall_s}


def _child(work: Work, writer: int, limit_s: float) -> None:
    os.setpgid(0, 0)
    # Seconds are whole here, and a fork starts at none.
    seconds = math.ceil(limit_s)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    owner = os.getpid()

    def say(kind: str, **fields: Any) -> None:
        if os.getpid() == owner:
            line = json.dumps({"kind": kind, **fields}).encode() + b"\n"
            while line:
                line = line[os.write(writer, line) :]

    try:
        work(say)
    finally:
        os._exit(0)


def _read_all(reader: int, deadline: Callable[[], float]) -> tuple[bytes, bool]:
    pieces: list[bytes] = []
    while True:
        left = deadline() - time.monotonic()
        if left <= 0:
            return b"".join(pieces), False
        if not select.select([reader], [], [], left)[0]:
            continue
        piece = os.read(reader, 1 << 20)
        if not piece:
            return b"".join(pieces), True
        pieces.append(piece)
        # The record of the end is the last one; a descendant may hold the pipe open.
        if b'"kind": "end"' in piece and piece.endswith(b"\n"):
            return b"".join(pieces), True


# --- the tree ------------------------------------------------------------------------------------


class Tree:
    """The worker's copy of the project, and how it gets back to what it was."""

    def __init__(self, root: str, pristine: str) -> None:
        self._root = root
        self._pristine = pristine
        self._before, self._folders = self._scan()
        if len(self._before) > SCANNED:
            self._before = {}

    def _scan(self) -> tuple[dict[str, tuple[int, int]], set[str]]:
        """Each file with its time and its size, and the folders, empty ones included."""
        files: dict[str, tuple[int, int]] = {}
        folders = {self._root}
        stack = [self._root]
        while stack:
            with os.scandir(stack.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        folders.add(entry.path)
                        stack.append(entry.path)
                    else:
                        stat = entry.stat(follow_symlinks=False)
                        files[entry.path] = (stat.st_mtime_ns, stat.st_size)
        return files, folders

    def write(self, edits: list[Fields]) -> None:
        """Put a candidate's files in place."""
        for edit in edits:
            path = os.path.join(self._root, edit["path"])
            if edit["text"] is None:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(path)
                continue
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8", newline="") as file:
                file.write(edit["text"])

    def restore(self, edits: list[Fields]) -> None:
        """Take the candidate's files and what its tests wrote out again."""
        changed = {os.path.join(self._root, edit["path"]) for edit in edits}
        folders = self._folders
        if self._before:
            now, folders = self._scan()
            changed.update(p for p, stat in now.items() if self._before.get(p) != stat)
            changed.update(p for p in self._before if p not in now)
        for path in changed:
            # A folder may be in a file's place, which goes next, or a file in that of its folder.
            with contextlib.suppress(FileNotFoundError, IsADirectoryError, NotADirectoryError):
                os.unlink(path)
        for folder in sorted(folders - self._folders, reverse=True):
            os.rmdir(folder)
        for folder in self._folders - folders:
            os.makedirs(folder, exist_ok=True)
        for path in changed:
            source = os.path.join(self._pristine, os.path.relpath(path, self._root))
            if os.path.islink(source) or os.path.isfile(source):
                os.makedirs(os.path.dirname(path), exist_ok=True)
                shutil.copy2(source, path, follow_symlinks=False)
            else:
                self._drop_empty(os.path.dirname(path))

    def _drop_empty(self, folder: str) -> None:
        while folder.startswith(self._root + os.sep):
            source = os.path.join(self._pristine, os.path.relpath(folder, self._root))
            if os.path.isdir(source):
                return
            try:
                os.rmdir(folder)
            except OSError:
                return
            folder = os.path.dirname(folder)
