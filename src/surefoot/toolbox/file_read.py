"""`file_read`: numbered lines of a file, its outline, or what a folder holds."""

import os
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Final

from surefoot.errors import UsageError
from surefoot.kernel.ports import Workspace
from surefoot.toolbox.bounds import OUTPUT_CHARACTERS, clip_lines, named
from surefoot.toolbox.places import Place, content, existing
from surefoot.toolbox.specs import failed, flag, number, spec, text
from surefoot.toolbox.units import PYTHON, lines_of, numbered, spans, tree_of
from surefoot.values import ToolOutcome, ToolSpec

LINES: Final = 200
"""Shown at once."""
_ROOM: Final = OUTPUT_CHARACTERS - 500
"""The rest is for the lines that say what is shown and how to go on."""

_SPEC: Final = spec(
    "file_read",
    f"Read a text file with line numbers, {LINES} lines at once, get the outline of a Python file, or list a folder.",
    "read",
    parameters={
        "path": {"type": "string", "minLength": 1},
        "first_line": {"type": "integer", "minimum": 1},
        "last_line": {"type": "integer", "minimum": 1},
        "outline": {"type": "boolean"},
    },
    required=("path",),
    example={"path": "src/agenda.py", "first_line": 40, "last_line": 80},
)


class FileReader:
    """Reads the worktree as it is now, also what git ignores."""

    @property
    def spec(self) -> ToolSpec:
        """As `Tool.spec`."""
        return _SPEC

    def run(self, parameters: Mapping[str, object], workspace: Workspace) -> ToolOutcome:
        """As `Tool.run`."""
        try:
            place = existing(workspace.path, text(parameters, "path") or ".")
            if place.is_folder:
                return ToolOutcome(ok=True, output=_listing(place))
            data = content(place)
            if flag(parameters, "outline"):
                return ToolOutcome(ok=True, output=_outline(place, data))
            first, last = number(parameters, "first_line"), number(parameters, "last_line")
            return ToolOutcome(ok=True, output=_lines(place, data, first, last))
        except UsageError as error:
            return failed(error)


def _lines(place: Place, data: bytes, first: int | None, last: int | None) -> str:
    lines = lines_of(data.decode("utf-8-sig", "replace"))
    start = first or 1
    if start > max(len(lines), 1):
        raise UsageError(
            f"{named(place.path)} has {len(lines)} lines; first_line {start} is behind its end"
        )
    if last is not None and last < start:
        raise UsageError(
            f"last_line {last} comes before first_line {start}; give a range that ascends"
        )
    end = min(last or len(lines), len(lines), start + LINES - 1)
    shown = clip_lines(numbered(lines[start - 1 : end], start), _ROOM)
    end = start + len(shown) - 1
    if not lines:
        return f"{place.path} is empty"
    head = f"{place.path}, lines {start} to {end} of {len(lines)}"
    if b"\r\n" in data:
        head += ", with CRLF line ends"
    if end < min(last or len(lines), len(lines)):
        shown.append(f"[go on with first_line {end + 1}]")
    return "\n".join((head, *shown))


def _outline(place: Place, data: bytes) -> str:
    suffix = PurePosixPath(place.path).suffix
    if suffix not in PYTHON:
        raise UsageError(
            f"there is no outline of {suffix or 'such'} files, only of Python; "
            "read lines, or look for definitions with ripgrep"
        )
    tree = tree_of(data)
    if isinstance(tree, str):
        raise UsageError(f"{named(place.path)} is not valid Python: {tree}; read its lines instead")
    found = [f"{s.first}-{s.last} {s.head}" for s in spans(tree)]
    shown = clip_lines(found, _ROOM)
    if len(shown) < len(found):
        shown.append(f"[{len(found) - len(shown)} more; look for them with ripgrep]")
    count = len(lines_of(data.decode("utf-8", "replace")))
    return "\n".join((f"{place.path}, {count} lines, {len(found)} classes and functions", *shown))


def _listing(place: Place) -> str:
    try:
        entries = sorted(os.scandir(place.where), key=lambda entry: entry.name)
    except OSError as error:
        raise UsageError(f"{named(place.path)} cannot be listed: {error.strerror}") from error
    names = [_entry(entry) for entry in entries if entry.name != ".git"]
    shown = clip_lines(names, _ROOM)
    if len(shown) < len(names):
        shown.append(f"[{len(names) - len(shown)} more; look for a name with ripgrep or shell]")
    return "\n".join((f"{place.path or '.'}/ holds {len(names)} entries", *shown))


def _entry(entry: os.DirEntry[str]) -> str:
    if entry.is_symlink():
        return f"{entry.name} -> {Path(entry.path).readlink()}"
    return f"{entry.name}/" if entry.is_dir() else entry.name
