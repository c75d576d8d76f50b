"""What lies in a worktree without being part of its tree: ignored paths that tests need, and submodules.

All of it is copied, never hard-linked: a write through a hard link would change the user's file. Where the file
system can share blocks (FICLONE), a copy costs next to nothing.
"""

import contextlib
import errno
import fcntl
import hashlib
import os
import shutil
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from surefoot.errors import UsageError
from surefoot.gitops.files import is_within, mended, parents, remove_tree
from surefoot.gitops.git import Git
from surefoot.gitops.objects import GITLINK, LINK, Entry, Objects
from surefoot.gitops.repository import Repository
from surefoot.vocabulary import TreeId

_FICLONE: Final = 0x40049409
_CANNOT_SHARE: Final = frozenset(
    {errno.EOPNOTSUPP, errno.ENOTTY, errno.EXDEV, errno.EINVAL, errno.EPERM, errno.ENOSYS}
)


class Carried:
    """Places the carried paths and the submodules of one tree, and puts them right again."""

    def __init__(
        self,
        repository: Repository,
        carry: Sequence[str],
        gitlinks: Mapping[str, str],
        scratch: Path,
    ) -> None:
        self._repository = repository
        self._carry = tuple(_relative(path) for path in carry)
        self._gitlinks = gitlinks
        self._scratch = scratch
        self._stamps: dict[str, str] = {}
        self.paths: frozenset[str] = frozenset((*self._carry, *gitlinks))

    @property
    def carry(self) -> tuple[str, ...]:
        """The paths that the caller named."""
        return self._carry

    def place(self, root: Path) -> None:
        """Put everything into the checkout at `root`, where none of it is yet."""
        for path in sorted(self.paths):
            self._place(root, path)

    def settle(self, root: Path) -> None:
        """Put right what was changed in the worktree since this was last called; the first call replaces all."""
        for path in sorted(self.paths):
            before = self._stamps.get(path)
            if before is None or before != _stamp(root / path):
                self._place(root, path)
                self._stamps[path] = _stamp(root / path)

    def _place(self, root: Path, path: str) -> None:
        source, target = self._repository.root / path, root / path
        with mended(f"carry {path!r} into the worktree"):
            if path in self._gitlinks:
                remove_tree(target)
                target.mkdir(parents=True)
                self._export(source, self._gitlinks[path], target)
            elif os.path.lexists(source):
                remove_tree(target)
                target.parent.mkdir(parents=True, exist_ok=True)
                # A link at the top is followed once: what it points to would lie outside the sandbox.
                copy_tree(source.resolve() if source.is_symlink() else source, target)
            elif not os.path.lexists(target):
                raise UsageError(
                    f"{path!r} is to be carried but does not exist; build it or drop it"
                )

    def _export(self, source: Path, commit: str, target: Path) -> None:
        """Write the files of a submodule's recorded commit, where the user's checkout has it."""
        git_dir = _git_dir_of(source)
        if git_dir is None:
            return
        git = Git(target, self._repository.env).bound(
            variables={"GIT_DIR": git_dir, "GIT_WORK_TREE": target},
            settings=("core.sparseCheckout=false",),
        )
        tree = git.run("rev-parse", "--verify", "--quiet", f"{commit}^{{tree}}", ok=None)
        if tree.exit_code != 0:
            return
        objects = Objects(git, self._scratch, len(commit))
        with objects.index() as indexed:
            indexed.run("read-tree", "--reset", "-u", tree.line)
        for path, entry in objects.listing(TreeId(tree.line)).items():
            below = target / path
            if entry.mode == GITLINK:
                self._export(source / path, entry.oid, below)
            elif entry.mode != LINK:
                below.chmod(stat.S_IMODE(below.stat().st_mode) & ~0o222)


def check_carry(carry: Sequence[str], listing: Mapping[str, Entry]) -> None:
    """Refuse a carried path that a tree holds something of: it could not be kept out of the trees.

    Raises:
        UsageError: It does, or it is not a path inside the repository.
    """
    folders = {_relative(path) for path in carry}
    above = {parent for folder in folders for parent in parents(folder)}
    for path, entry in listing.items():
        if is_within(path, folders) or (path in above and entry.mode != GITLINK):
            raise UsageError(f"{path!r} is tracked and cannot be carried; carry ignored paths only")


def _relative(path: str) -> str:
    clean = path.rstrip("/")
    if clean.startswith("/") or {"", ".", "..", ".git"} & set(clean.split("/")):
        raise UsageError(f"{path!r} cannot be carried; give a path inside the repository")
    return clean


def copy_tree(source: Path, target: Path) -> None:
    """Copy a file, link or folder with modes and times; sockets and the like are left out.

    So is what goes meanwhile: it is the user's, whose own programs write there, too.
    """
    mode = source.lstat().st_mode
    if stat.S_ISLNK(mode):
        target.symlink_to(source.readlink())
    elif stat.S_ISREG(mode):
        _copy_file(source, target)
    elif stat.S_ISDIR(mode):
        target.mkdir()
        for entry in list(os.scandir(source)):
            with contextlib.suppress(FileNotFoundError):
                copy_tree(Path(entry.path), target / entry.name)
        shutil.copystat(source, target)


def _copy_file(source: Path, target: Path) -> None:
    with source.open("rb") as reader, target.open("xb") as writer:
        try:
            fcntl.ioctl(writer.fileno(), _FICLONE, reader.fileno())
        except OSError as error:
            if error.errno not in _CANNOT_SHARE:
                raise
            shutil.copyfileobj(reader, writer, 1024 * 1024)
    shutil.copystat(source, target)


def _git_dir_of(checkout: Path) -> Path | None:
    """The git folder of a submodule's checkout, or None when it is not checked out."""
    pointer = checkout / ".git"
    if pointer.is_dir():
        return pointer
    with contextlib.suppress(OSError):
        kind, _, where = pointer.read_text(encoding="utf-8", errors="surrogateescape").partition(
            ":"
        )
        if kind == "gitdir":
            return (checkout / where.strip()).resolve()
    return None


def _stamp(path: Path) -> str:
    """Changes whenever anything at `path` is written, replaced, added or removed."""
    digest = hashlib.sha256()
    for name, found in _walk(path, ""):
        about = (found.st_mode, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
        digest.update(f"{name!r} {about}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def _walk(path: Path, name: str) -> Iterator[tuple[str, os.stat_result]]:
    try:
        found = path.lstat()
        names = sorted(e.name for e in path.iterdir()) if stat.S_ISDIR(found.st_mode) else []
    except OSError as error:
        if error.errno in {errno.ENOENT, errno.EACCES}:
            return
        raise
    yield name, found
    for below in names:
        yield from _walk(path / below, f"{name}/{below}")
