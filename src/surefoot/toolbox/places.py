"""Paths that a model gives: inside the worktree, not in git's own folder, not through a link that leads out."""

import os
import stat
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Final

from surefoot.errors import UsageError
from surefoot.toolbox.bounds import named

MAX_BYTES: Final = 4 * 1024**2
"""A larger file is data that no model reads or edits as a whole."""
_BINARY_BYTES: Final = 8_000
"""Git looks for a zero byte in as many."""
_WALKED: Final = 10_000
"""Files among which a similar name is looked for."""
_GIT: Final = frozenset({".git", "git~1"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A path that may be looked at; nothing need be there."""

    root: Path
    path: str
    """Relative to the worktree, without `.`; empty for the worktree itself."""
    mode: int | None
    """Of what is there, links followed; None when nothing is."""

    @property
    def where(self) -> Path:
        """On the machine."""
        return self.root / self.path

    @property
    def is_folder(self) -> bool:
        """Whether a directory is there."""
        return self.mode is not None and stat.S_ISDIR(self.mode)


def locate(root: Path, given: str) -> Place:
    """The place of a path, which may be absolute where it lies in the worktree.

    Raises:
        UsageError: It is not one that a tool may look at.
    """
    if "\0" in given:
        raise _refused(given, "it holds a zero byte")
    tops = (f"{root}/", f"{root.resolve()}/")
    top = next((top for top in tops if f"{given}/".startswith(top)), "")
    if given.startswith("/") and not top:
        raise _refused(given, "it lies outside the repository")
    parts = [part for part in given[len(top) :].split("/") if part not in {"", "."}]
    if ".." in parts:
        raise _refused(given, "it has `..` in it")
    path = "/".join(parts)
    real = Path(os.path.realpath(root / path))
    if not real.is_relative_to(os.path.realpath(root)):
        raise _refused(given, "it leads out of the repository through a symbolic link")
    beyond = real.relative_to(os.path.realpath(root)).parts
    if any(part.lower().rstrip(" .") in _GIT for part in (*parts, *beyond)):
        raise _refused(given, "it lies in git's own folder")
    return Place(root=root, path=path, mode=_mode(root / path, given))


def existing(root: Path, given: str) -> Place:
    """As `locate`, of something that is there.

    Raises:
        UsageError: It is refused, or missing; then similar names are in the message.
    """
    place = locate(root, given)
    if place.mode is None:
        near = _similar(root, place.path)
        hint = f"did you mean {' or '.join(near)}?" if near else "look for it with ripgrep"
        raise UsageError(f"there is no {named(place.path)}; {hint}")
    return place


def content(place: Place) -> bytes:
    """The bytes of a text file.

    Raises:
        UsageError: It is no file, too large, binary, or may not be read.
    """
    if place.mode is None or not stat.S_ISREG(place.mode):
        raise UsageError(f"{named(place.path)} is not a file")
    try:
        size = place.where.stat().st_size
        if size > MAX_BYTES:
            raise UsageError(
                f"{named(place.path)} has {size} bytes, over {MAX_BYTES}; search it with ripgrep"
            )
        data = place.where.read_bytes()
    except OSError as error:
        raise UsageError(f"{named(place.path)} cannot be read: {error.strerror}") from error
    if b"\0" in data[:_BINARY_BYTES]:
        raise UsageError(f"{named(place.path)} is binary ({size} bytes) and has no lines")
    return data


def _refused(given: str, why: str) -> UsageError:
    return UsageError(
        f"the path {named(given)} is refused: {why}; give a path relative to the repository"
    )


def _mode(path: Path, given: str) -> int | None:
    try:
        return path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _refused(given, str(error.strerror)) from error


def _similar(root: Path, path: str) -> list[str]:
    """Up to three files: those of the same name elsewhere, else those of a similar path."""
    by_name = defaultdict(list)
    for found in _files(root):
        by_name[found.rpartition("/")[2]].append(found)
    same = by_name.get(path.rpartition("/")[2])
    if same is not None:
        return [named(found) for found in same[:3]]
    names = get_close_matches(path.rpartition("/")[2], by_name, n=3)
    return [named(by_name[name][0]) for name in names]


def _files(root: Path) -> Iterator[str]:
    count = 0
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        relative = Path(folder).relative_to(root)
        for name in sorted(files):
            yield (relative / name).as_posix()
        count += len(files)
        if count > _WALKED:
            return
