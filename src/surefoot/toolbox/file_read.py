"""`file_read`: numbered lines of a file, its outline, or what a folder holds."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Final, TypeAlias

from surefoot.errors import UsageError
from surefoot.kernel.ports import Workspace
from surefoot.toolbox.bounds import OUTPUT_CHARACTERS, clip_lines, named
from surefoot.toolbox.places import Place, content, existing
from surefoot.toolbox.specs import failed, flag, number, spec, text
from surefoot.toolbox.units import PYTHON, hidden_lines, lines_of, numbered, spans, tree_of
from surefoot.values import ToolOutcome, ToolSpec

LINES: Final = 200
"""Shown at once."""
_ROOM: Final = OUTPUT_CHARACTERS - 500
"""The rest is for the lines that say what is shown and how to go on."""

_SPEC: Final = spec(
    "file_read",
    f"Read a text file with line numbers, {LINES} lines at once, get the outline of a source file, or list a folder.",
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


Outliner: TypeAlias = Callable[[str, bytes], Sequence[str] | None]
"""What a source file of some language defines, a line each; None where nobody can tell."""


class FileReader:
    """Reads the worktree as it is now, also what git ignores."""

    def __init__(self, outliner: Outliner, redact: Callable[[str], str] = str) -> None:
        """`outliner` knows the languages other than Python, whose units can be edited by their names.

        `redact` hides secrets in a file's whole text: of a part of it, it could not see all of a key.
        """
        self._outliner, self._redact = outliner, redact

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
                return ToolOutcome(ok=True, output=_outline(place, data, self._outliner))
            first, last = number(parameters, "first_line"), number(parameters, "last_line")
            whole = data.decode("utf-8-sig", "replace")
            lines = hidden_lines(whole, self._redact)
            return ToolOutcome(ok=True, output=_lines(place, lines, first, last))
        except UsageError as error:
            return failed(error)


def _lines(place: Place, lines: list[str], first: int | None, last: int | None) -> str:
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
    if any(line.endswith("\r\n") for line in lines):
        head += ", with CRLF line ends"
    if end < min(last or len(lines), len(lines)):
        shown.append(f"[go on with first_line {end + 1}]")
    return "\n".join((head, *shown))


def _outline(place: Place, data: bytes, outliner: Outliner) -> str:
    is_python = PurePosixPath(place.path).suffix in PYTHON
    found = _units(place, data) if is_python else outliner(place.path, data)
    if found is None:
        raise UsageError(
            f"there is no outline of {named(place.path)}; read lines, or look for definitions with ripgrep"
        )
    shown = clip_lines(list(found), _ROOM)
    if len(shown) < len(found):
        shown.append(f"[{len(found) - len(shown)} more; look for them with ripgrep]")
    count = len(lines_of(data.decode("utf-8", "replace")))
    kind = "classes and functions" if is_python else "definitions"
    return "\n".join((f"{place.path}, {count} lines, {len(found)} {kind}", *shown))


def _units(place: Place, data: bytes) -> list[str]:
    tree = tree_of(data)
    if isinstance(tree, str):
        raise UsageError(f"{named(place.path)} is not valid Python: {tree}; read its lines instead")
    return [f"{s.first}-{s.last} {s.head}" for s in spans(tree)]


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
