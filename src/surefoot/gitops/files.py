"""Files of a worktree: edits that cannot leave it, removal that always works, sweeping what a tree does not hold."""

import contextlib
import itertools
import os
import stat
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from surefoot.errors import EnvironmentBrokenError, UsageError

if TYPE_CHECKING:  # looking at a repository, which needs this module too, edits nothing
    from surefoot.values import FileEdit

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_OWNER: Final = 0o700


@contextlib.contextmanager
def mended(doing: str) -> Iterator[None]:
    """Turn an `OSError` of the block into one sentence with the mend."""
    try:
        yield
    except OSError as error:
        where = "" if error.filename is None else f" ({error.filename!r})"
        raise EnvironmentBrokenError(
            f"cannot {doing}: {error.strerror}{where}; free space or make the place writable, and try again"
        ) from error


def parents(path: str) -> tuple[str, ...]:
    """The folders above a path, outermost first: `a/b/c` has `a` and `a/b`."""
    return tuple(itertools.accumulate(path.split("/")[:-1], "{}/{}".format))


def is_within(path: str, folders: Collection[str]) -> bool:
    """Whether a path is one of the folders or below one."""
    return path in folders or any(parent in folders for parent in parents(path))


# --- edits ---------------------------------------------------------------------------------------


def apply_edits(
    root: Path, edits: "Sequence[FileEdit]", *, staging: Path, sealed: Collection[str]
) -> None:
    """Write edits below `root`, each file at once, after all of them were found to be allowed.

    `staging` is a folder on the same file system. `sealed` are folders that no tree can hold, e.g. a submodule.

    Raises:
        UsageError: A path is refused; nothing was written.
    """
    written = {edit.path for edit in edits if edit.text is not None}
    for edit in edits:
        _check(root, edit, sealed)
        above = written.intersection(parents(edit.path))
        if edit.path in written and above:
            raise _refused(edit.path, f"another edit writes the file {min(above)!r} above it")
    with mended("write an edit"):
        for edit in edits:
            if edit.text is None:
                _delete(root, edit.path)
        for number, edit in enumerate(edits):
            if edit.text is not None:
                _write(root, edit.path, edit.text, staging / f"edit-{number}")


def _check(root: Path, edit: "FileEdit", sealed: Collection[str]) -> None:
    parts = edit.path.split("/")
    if edit.path.startswith("/") or "\0" in edit.path or {"", ".", ".."} & set(parts):
        raise _refused(edit.path, "it does not name a file inside the worktree")
    if any(part.lower().rstrip(" .") in {".git", "git~1"} for part in parts):
        raise _refused(edit.path, "it lies in git's own folder")
    if is_within(edit.path, sealed):
        raise _refused(edit.path, "it lies in a folder that is carried in and never committed")
    try:
        if edit.text is not None:
            edit.text.encode("utf-8", "surrogateescape")
        _check_place(root, edit)
    except (OSError, UnicodeEncodeError) as error:
        raise _refused(edit.path, str(error)) from error


def _check_place(root: Path, edit: "FileEdit") -> None:
    for parent in parents(edit.path):
        mode = _mode(root / parent)
        if mode is None:
            return
        if stat.S_ISLNK(mode):
            raise _refused(edit.path, f"{parent!r} is a symbolic link")
        if not stat.S_ISDIR(mode):
            raise _refused(edit.path, f"{parent!r} is not a folder")
    mode = _mode(root / edit.path)
    if mode is None or stat.S_ISREG(mode):
        return
    if not stat.S_ISLNK(mode):
        raise _refused(edit.path, "something that is not a file is in its place")
    if edit.text is not None:
        raise _refused(edit.path, "it is a symbolic link; name the file that it points to")


def _refused(path: str, why: str) -> UsageError:
    return UsageError(
        f"the edit of {path!r} is refused: {why}; give a path relative to the repository"
    )


def _mode(path: Path) -> int | None:
    try:
        return path.lstat().st_mode
    except FileNotFoundError:
        return None


def _folder(root: Path, path: str, *, create: bool) -> int:
    """A descriptor of the folder that holds `path`; no link is followed on the way."""
    fd = os.open(root, _FOLDER)
    for name in path.split("/")[:-1]:
        try:
            if create:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(name, dir_fd=fd)
            below = os.open(name, _FOLDER, dir_fd=fd)
        finally:
            os.close(fd)
        fd = below
    return fd


def _write(root: Path, path: str, text: str, staged: Path) -> None:
    name = path.rpartition("/")[2]
    folder = _folder(root, path, create=True)
    try:
        fd = os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        with open(fd, "wb") as file:  # noqa: PTH123  # a descriptor has no path
            with contextlib.suppress(FileNotFoundError):
                old = os.stat(name, dir_fd=folder, follow_symlinks=False)
                os.fchmod(fd, stat.S_IMODE(old.st_mode))
            file.write(text.encode("utf-8", "surrogateescape"))
        os.rename(staged, name, dst_dir_fd=folder)
    finally:
        os.close(folder)
        staged.unlink(missing_ok=True)


def _delete(root: Path, path: str) -> None:
    try:
        folder = _folder(root, path, create=False)
    except FileNotFoundError:
        return
    try:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path.rpartition("/")[2], dir_fd=folder)
    finally:
        os.close(folder)
    for parent in reversed(parents(path)):
        # Git has no empty folders; one that stayed would still be a namespace package.
        try:
            (root / parent).rmdir()
        except OSError:
            return


# --- whole folders -------------------------------------------------------------------------------


def remove_tree(path: Path) -> None:
    """Remove whatever lies at `path`, read-only folders included; nothing there is fine. Follows no link.

    Folders are moved up before they are emptied, so that one nested thousands deep, which no path can name, goes too.
    """
    with mended(f"remove {str(path)!r}"), contextlib.suppress(FileNotFoundError):
        if not stat.S_ISDIR(path.lstat().st_mode):
            path.unlink()
            return
        path.chmod(_OWNER)
        names = itertools.count()
        pending = [path]
        while pending:
            folder = pending.pop()
            for name in _emptied_of_files(folder):
                below = folder / name
                below.chmod(_OWNER)
                if folder != path:
                    unused = (path / str(number) for number in names)
                    below = below.rename(next(p for p in unused if not os.path.lexists(p)))
                pending.append(below)
            if folder != path:
                folder.rmdir()
        path.rmdir()


def _emptied_of_files(folder: Path) -> list[str]:
    """Remove all but the folders in a folder; their names."""
    fd = os.open(folder, _FOLDER)
    try:
        with os.scandir(fd) as entries:
            found = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
        for name, is_folder in found:
            if not is_folder:
                os.unlink(name, dir_fd=fd)
    finally:
        os.close(fd)
    return [name for name, is_folder in found if is_folder]


def sweep(root: Path, modes: Mapping[str, str], kept: Collection[str]) -> None:
    """Remove all below `root` that a tree with these git modes by path does not hold.

    A file where the tree has a link goes too, and so on, so that git never writes through what a turn has left.
    `.git` at the root and the folders `kept` stay as they are.
    """
    folders = {parent for path in (*modes, *kept) for parent in parents(path)}
    pending = [""]
    with mended("put the worktree back"):
        while pending:
            prefix = pending.pop()
            here = root / prefix
            mode = stat.S_IMODE(here.stat().st_mode)
            if mode & _OWNER != _OWNER:
                here.chmod(mode | _OWNER)
            for entry in list(os.scandir(here)):
                path = f"{prefix}{entry.name}"
                if path == ".git" or (path in kept and entry.is_dir(follow_symlinks=False)):
                    continue
                if path in folders and entry.is_dir(follow_symlinks=False):
                    pending.append(f"{path}/")
                elif not _fits(entry, modes.get(path)):
                    remove_tree(Path(entry.path))


def _fits(entry: os.DirEntry[str], mode: str | None) -> bool:
    if mode is None:
        return False
    if mode == "120000":
        return entry.is_symlink()
    return entry.is_file(follow_symlinks=False)
