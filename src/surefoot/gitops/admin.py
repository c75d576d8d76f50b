"""Linked worktrees as git keeps them: a folder, and an entry under `worktrees/` of the common git folder."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from surefoot.errors import GitError
from surefoot.gitops.files import mended, remove_tree
from surefoot.gitops.git import Git, decode


@dataclass(frozen=True, slots=True, kw_only=True)
class Worktree:
    """One linked worktree of ours."""

    path: Path
    git_dir: Path
    """Its entry under `worktrees/`."""

    @property
    def pointer(self) -> bytes:
        """What its `.git` file must say."""
        return b"gitdir: %b\n" % bytes(self.git_dir)


def entries(common_dir: Path) -> dict[Path, Path]:
    """Every linked worktree that git knows: its entry, and the folder that the entry names."""
    found: dict[Path, Path] = {}
    folder = common_dir / "worktrees"
    for entry in sorted(folder.iterdir()) if folder.is_dir() else ():
        with contextlib.suppress(OSError):  # half made, or just gone
            named = decode((entry / "gitdir").read_bytes().removesuffix(b"\n"))
            found[entry] = Path(os.path.normpath(entry / named)).parent
    return found


def begun(common_dir: Path, name: str) -> Path | None:
    """The entry of a worktree folder of that name, when git was ended before the entry said where the folder is."""
    entry = common_dir / "worktrees" / name
    return entry if entry.is_dir() and not (entry / "gitdir").exists() else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkout:
    """A worktree with a branch checked out, the user's main one included."""

    path: Path
    git_dir: Path
    branch: str
    """Full name."""


def checkouts(git: Git, common_dir: Path) -> tuple[Checkout, ...]:
    """Every worktree of the repository that has a branch checked out."""
    git_dirs = {folder: entry for entry, folder in entries(common_dir).items()}
    found: list[Checkout] = []
    path, git_dir = Path(), common_dir
    first = True  # git lists the main one first, and may not know its folder
    for field in git.run("worktree", "list", "--porcelain", "-z").fields:
        kind, _, value = field.partition(" ")
        if kind == "worktree":
            # As the entry names it, which may be by a path relative to it; all entries lie side by side.
            path = Path(os.path.normpath(common_dir / "worktrees" / "entry" / value))
            git_dir = common_dir if first else git_dirs.get(path, path)
            first = False
        elif kind == "branch":
            found.append(Checkout(path=path, git_dir=git_dir, branch=value))
    return tuple(found)


def make(git: Git, common_dir: Path, path: Path, *commit: str) -> Worktree:
    """Add a worktree without its files, on a branch, or detached with `("--detach", commit)`."""
    drop(common_dir, path)
    with _alone(common_dir):
        git.run("worktree", "add", "--no-checkout", "--force", str(path), *commit)
    for entry, folder in entries(common_dir).items():
        if folder == path:
            # Git copies the sparse checkout of the user's worktree into the new one.
            (entry / "config.worktree").unlink(missing_ok=True)
            (entry / "info" / "sparse-checkout").unlink(missing_ok=True)
            return Worktree(path=path, git_dir=entry)
    raise GitError(("git", "worktree", "add"), 0, f"no entry for {str(path)!r} was made")


@contextlib.contextmanager
def _alone(common_dir: Path) -> Iterator[None]:
    """One at a time: git reads every entry when it adds one, and fails on that of another git which is not written yet.

    The lock is on the folder itself, so that it leaves nothing in it and ends with whoever holds it.
    """
    folder = os.open(common_dir, os.O_RDONLY | os.O_DIRECTORY)
    try:
        # Some file systems lock no folders; git's own checks are all there is then.
        with contextlib.suppress(OSError):
            fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def is_on(entry: Path, branch: str) -> bool:
    """Whether a worktree entry has a branch (full name) checked out."""
    try:
        return decode((entry / "HEAD").read_bytes()).strip() == f"ref: {branch}"
    except OSError:
        return False


def sound(common_dir: Path, path: Path, branch: str) -> Worktree | None:
    """The worktree at `path`, when folder and entry point to each other and it is on `branch`."""
    for entry, folder in entries(common_dir).items():
        if folder == path:
            worktree = Worktree(path=path, git_dir=entry)
            with contextlib.suppress(OSError):
                linked = (path / ".git").read_bytes() == worktree.pointer
                whole = (entry / "commondir").is_file() and not (entry / "locked").exists()
                return worktree if is_on(entry, branch) and linked and whole else None
    return None


def drop(common_dir: Path, path: Path) -> bool:
    """Remove the folder and its entry, whatever is left of them; whether there was anything."""
    existed = path.exists()
    remove_tree(path)
    for entry, folder in entries(common_dir).items():
        if folder == path:
            drop_entry(entry)
            existed = True
    return existed


def drop_begun(common_dir: Path, name: str) -> bool:
    """Remove what `begun` finds, which git itself never does; the caller holds the lease that git had, too."""
    entry = begun(common_dir, name)
    if entry is not None:
        drop_entry(entry)
    return entry is not None


def drop_entry(entry: Path) -> None:
    """Remove one entry, and `worktrees/` when it was the last, as git does."""
    remove_tree(entry)
    with contextlib.suppress(OSError):
        entry.parent.rmdir()


def unlock(worktree: Worktree) -> None:
    """Remove lock files in its entry; the caller holds the lease, so whoever made them is dead."""
    with mended("remove a stale lock"):
        for lock in worktree.git_dir.glob("*.lock"):
            lock.unlink(missing_ok=True)
