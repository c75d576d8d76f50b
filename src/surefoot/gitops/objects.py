"""Trees and blobs of the object store: what git knows without a worktree."""

import contextlib
import itertools
import shutil
import subprocess
import tempfile
import threading
import weakref
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import IO, Final, Literal, cast

from surefoot.errors import GitError
from surefoot.gitops.files import is_within, mended
from surefoot.gitops.git import Git, decode, encode
from surefoot.values import Diff, FileChange, TreeId

GITLINK: Final = "160000"
LINK: Final = "120000"
_DIFFS: Final = 4
"""Diffs that are remembered; a turn asks for its own and the run's in several places."""
_LISTINGS: Final = 16
"""Trees whose listing is remembered; a turn asks about its own, the head's and the base's again and again."""

_NO_ATTRIBUTES: Final = Path("/proc")
"""A folder in which git finds no attributes for any path."""
_BY_TREES: Final[Mapping[str, str | Path]] = {
    "GIT_WORK_TREE": _NO_ATTRIBUTES,
    "GIT_INDEX_FILE": _NO_ATTRIBUTES / "none",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
}
_PLAIN: Final = (
    "core.attributesFile=/dev/null",
    "core.quotePath=true",
    "diff.suppressBlankEmpty=false",
)
"""What a diff says follows from its two trees alone: it is derived again on another machine, and attributes could hide a
change from who has to judge it."""


_SHA1: Final = "[core]\nrepositoryformatversion = 0\n"
_SHA256: Final = "[core]\nrepositoryformatversion = 1\n[extensions]\nobjectFormat = sha256\n"
_SHORT: Final = 40
"""Length of an object id where they are of SHA-1."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One path of a tree."""

    mode: str
    """`100644`, `100755`, `120000` (symbolic link) or `160000` (submodule)."""
    oid: str


class Blobs:
    """Reads blobs through one `git cat-file --batch`, started at the first read. Thread-safe."""

    def __init__(self, git: Git) -> None:
        self._git = git
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def read(self, oid: str) -> bytes:
        """The blob's bytes; `GitError` when it is missing."""
        with self._lock:
            try:
                return _answer(self._started(), oid)
            except BaseException:
                # What it has still to say to this question would be taken for the answer to the next.
                self._stop()
                raise

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            self._process = subprocess.Popen(
                self._git.argv("cat-file", "--batch"),
                cwd=self._git.cwd,
                env=self._git.env,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # a ctrl-C at the terminal is Surefoot's to handle
            )
            weakref.finalize(self, _end, self._process)
        return self._process

    def close(self) -> None:
        """End the process; the next read starts another."""
        with self._lock:
            self._stop()

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            _end(process)


class Objects:
    """What can be asked of trees.

    `scratch` is a folder for index files that live for one call; `oid_length` is 40, or 64 in a SHA-256 repository.
    """

    def __init__(self, git: Git, scratch: Path, oid_length: int) -> None:
        self._git = git
        self._scratch = scratch
        self._oid_length = oid_length
        self._numbers = itertools.count()
        self._listings: OrderedDict[TreeId, Mapping[str, Entry]] = OrderedDict()
        self._diffs: OrderedDict[tuple[TreeId, TreeId], Diff] = OrderedDict()
        self._differ: Git | None = None
        self.blobs = Blobs(git)

    def _bare(self) -> Git:
        """Git in a folder of its own that has the repository's objects, and neither its settings nor its attributes."""
        if self._differ is None:
            with mended("make a scratch folder"):
                self._scratch.mkdir(parents=True, exist_ok=True)
                folder = Path(tempfile.mkdtemp(prefix="bare-", dir=self._scratch))
                weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
                for name in ("objects", "refs"):
                    (folder / name).mkdir()
                (folder / "HEAD").write_text("ref: refs/heads/none\n")
                (folder / "config").write_text(_SHA1 if self._oid_length == _SHORT else _SHA256)
            where = ("--path-format=absolute", "--git-path", "objects")
            objects = self._git.run("rev-parse", *where).line
            own: dict[str, str | Path] = {"GIT_DIR": folder, "GIT_OBJECT_DIRECTORY": objects}
            self._differ = self._git.bound(
                cwd=_NO_ATTRIBUTES, variables={**_BY_TREES, **own}, settings=_PLAIN
            )
        return self._differ

    def listing(self, tree: TreeId) -> Mapping[str, Entry]:
        """Every path of a tree, submodules included, in git's order."""
        if tree not in self._listings:
            fields = self._git.run("ls-tree", "-r", "-z", "--full-tree", tree).fields
            entries = (field.partition("\t") for field in fields)
            self._keep(
                tree,
                {path: Entry(about[:6], about.rpartition(" ")[2]) for about, _, path in entries},
            )
        self._listings.move_to_end(tree)
        return self._listings[tree]

    def _keep(self, tree: TreeId, listing: dict[str, Entry]) -> None:
        self._listings[tree] = MappingProxyType(listing)
        if len(self._listings) > _LISTINGS:
            self._listings.popitem(last=False)

    def gitlinks(self, tree: TreeId) -> dict[str, str]:
        """Commit of each submodule by its path."""
        return {p: e.oid for p, e in self.listing(tree).items() if e.mode == GITLINK}

    def files(self, tree: TreeId) -> tuple[str, ...]:
        """As `Workspace.files`; symbolic links are in it, submodules are not."""
        return tuple(sorted(p for p, e in self.listing(tree).items() if e.mode != GITLINK))

    def read(self, tree: TreeId, path: str) -> bytes | None:
        """As `Workspace.read`."""
        entry = self.listing(tree).get(path)
        if entry is None or entry.mode in {GITLINK, LINK}:
            return None
        return self.blobs.read(entry.oid)

    def diff(self, before: TreeId, after: TreeId) -> Diff:
        """As `Workspace.diff`; bytes of the patch that are not UTF-8 are replaced."""
        if before == after:
            return Diff(before=before, after=after, files=(), patch="")
        if (before, after) not in self._diffs:
            self._diffs[before, after] = self._diff(before, after)
            if len(self._diffs) > _DIFFS:
                self._diffs.popitem(last=False)
        return self._diffs[before, after]

    def _diff(self, before: TreeId, after: TreeId) -> Diff:
        shape = ("-r", "-z", "--raw", "--numstat", "--patch", "--full-index", "--no-renames")
        plain = ("--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=none")
        prefixes = ("--src-prefix=a/", "--dst-prefix=b/")
        output = self._bare().run("diff-tree", *shape, *plain, *prefixes, before, after).stdout
        files, patch, entries = _parse_diff(output)
        if before in self._listings and after not in self._listings:
            self._keep(after, _changed(self._listings[before], entries))
        return Diff(before=before, after=after, files=files, patch=patch.decode("utf-8", "replace"))

    def changed(self, before: TreeId, after: TreeId) -> dict[str, str]:
        """Status (`A`, `M`, `D`, `T`) of each path that differs."""
        options = ("-r", "-z", "--no-renames", "--name-status", "--ignore-submodules=none")
        fields = iter(self._git.run("diff-tree", *options, before, after).fields)
        return {path: status for status, path in zip(fields, fields, strict=True)}

    def overlay(self, tree: TreeId, source: TreeId, paths: Sequence[str]) -> TreeId:
        """As `Workspace.overlay`; a path that is a folder stands for all that is in it."""
        wanted = frozenset(paths)
        before, after = self.listing(tree), self.listing(source)
        differing = {path for path, _ in before.items() ^ after.items()}
        entries = {path: after.get(path) for path in differing if is_within(path, wanted)}
        if not entries:
            return tree
        with self.index() as git:
            git.run("read-tree", tree)
            return self.put_entries(git, entries)

    def put_entries(self, git: Git, entries: Mapping[str, Entry | None]) -> TreeId:
        """Set entries (None: remove) in the index that `git` is bound to, and write its tree."""
        # What goes, goes first: a folder may become a file.
        ordered = sorted(entries.items(), key=lambda item: item[1] is not None)
        lines = [b"%b\t%b\0" % (self._about(entry), encode(path)) for path, entry in ordered]
        git.run("update-index", "--replace", "-z", "--index-info", stdin=b"".join(lines))
        return TreeId(git.run("write-tree").line)

    def _about(self, entry: Entry | None) -> bytes:
        if entry is None:
            return b"0 " + b"0" * self._oid_length
        return f"{entry.mode} {entry.oid}".encode()

    @contextlib.contextmanager
    def index(self) -> Iterator[Git]:
        """Git bound to an index file of its own that is gone afterwards."""
        path = self._scratch / f"index-{next(self._numbers)}"
        try:
            yield self._git.bound(variables={"GIT_INDEX_FILE": path})
        finally:
            path.unlink(missing_ok=True)


def _answer(process: subprocess.Popen[bytes], oid: str) -> bytes:
    stdin, stdout = cast("IO[bytes]", process.stdin), cast("IO[bytes]", process.stdout)
    with contextlib.suppress(BrokenPipeError):  # then the answer is empty
        stdin.write(f"{oid}\n".encode())
        stdin.flush()
    command = ("git", "cat-file", "--batch")
    told = stdout.readline()
    words = told.split()
    if len(words) != 3 or words[0] != oid.encode():  # noqa: PLR2004  # <oid> <type> <size>
        raise GitError(command, 1, decode(told) or "it ended")
    size = int(words[2])
    data = stdout.read(size + 1)
    if len(data) <= size:
        raise GitError(command, 1, f"it ended after {len(data)} of {size} bytes of {oid}")
    return data[:-1]


def _end(process: subprocess.Popen[bytes]) -> None:
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(BrokenPipeError):
                pipe.close()
    process.wait()


def _changed(listing: Mapping[str, Entry], entries: Mapping[str, Entry | None]) -> dict[str, Entry]:
    """A listing with what a diff says of some paths, in git's order: by the bytes of the path."""
    found = {p: e for p, e in {**listing, **entries}.items() if e is not None}
    if found.keys() <= listing.keys():
        return found
    return dict(sorted(found.items(), key=lambda item: encode(item[0])))


def _parse_diff(
    output: bytes,
) -> tuple[tuple[FileChange, ...], bytes, dict[str, Entry | None]]:
    """Read `--raw --numstat --patch -z`: raw records, number records, an empty one, the patch as it is.

    Beside changes and patch, what stands at each path afterwards.
    """
    statuses: dict[str, str] = {}
    entries: dict[str, Entry | None] = {}
    counts: dict[str, tuple[int, int]] = {}
    at = 0
    while output.startswith(b":", at):
        about, at = _field(output, at)
        name, at = _field(output, at)
        _, mode, _, oid, status = about.decode().split(" ")
        statuses[decode(name)] = status
        entries[decode(name)] = None if status == "D" else Entry(mode, oid)
    while at < len(output) and not output.startswith(b"\0", at):
        record, at = _field(output, at)
        added, removed, name = record.split(b"\t", 2)
        counts[decode(name)] = (_count(added), _count(removed))
    changes = tuple(
        FileChange(
            path=path,
            status=cast('Literal["A", "M", "D", "T"]', status),
            added=counts.get(path, (0, 0))[0],
            removed=counts.get(path, (0, 0))[1],
        )
        for path, status in sorted(statuses.items())
    )
    return changes, output[at + 1 :], entries


def _field(output: bytes, at: int) -> tuple[bytes, int]:
    end = output.index(b"\0", at)
    return output[at:end], end + 1


def _count(number: bytes) -> int:
    return 0 if number == b"-" else int(number)
