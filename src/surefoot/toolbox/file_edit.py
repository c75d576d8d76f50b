"""`file_edit`: one change of one file, through the workspace, or an exact reason why not."""

import tokenize
from collections.abc import Callable, Mapping
from contextlib import suppress
from io import BytesIO
from pathlib import PurePosixPath
from typing import Final

from surefoot.decisions.redacted import adds_mark
from surefoot.errors import UsageError
from surefoot.kernel.ports import Workspace
from surefoot.toolbox.bounds import clip_lines, named
from surefoot.toolbox.places import Place, content, existing, locate
from surefoot.toolbox.specs import failed, flag, spec, text
from surefoot.toolbox.text_edits import Edited, replace_once, replace_unit, trouble
from surefoot.toolbox.units import PYTHON, hidden_lines, lines_of, numbered
from surefoot.values import FileEdit, ToolOutcome, ToolSpec

_AROUND: Final = 2
"""Lines shown before and after the new ones."""
_SHOWN_LINES: Final = 40
_SHOWN_CHARACTERS: Final = 4_000
_MARK: Final = "\ufeff"
"""The byte order mark that some editors begin a file with."""
_WAYS: Final = "`unit` with `text`, `search` with `replace`, `create`, or `delete`"

_SPEC: Final = spec(
    "file_edit",
    f"Change one file in exactly one way: {_WAYS}. `unit` is a whole function, method or class of a Python file "
    "by name, e.g. Agenda.add. `search` must occur exactly once. `create` is the text of a new file.",
    "write",
    parameters={
        "path": {"type": "string", "minLength": 1},
        "unit": {"type": "string", "minLength": 1},
        "text": {"type": "string"},
        "search": {"type": "string", "minLength": 1},
        "replace": {"type": "string"},
        "create": {"type": "string"},
        "delete": {"type": "boolean"},
    },
    required=("path",),
    example={"path": "src/agenda.py", "search": "total = 0\n", "replace": "total = start\n"},
)


class FileEditor:
    """Keeps line ends and the final newline as they are; refuses to break a file that its readers can read."""

    def __init__(self, redact: Callable[[str], str] = str) -> None:
        """`redact` hides secrets in a file's whole text, of which some lines are shown."""
        self._redact = redact

    @property
    def spec(self) -> ToolSpec:
        """As `Tool.spec`."""
        return _SPEC

    def run(self, parameters: Mapping[str, object], workspace: Workspace) -> ToolOutcome:
        """As `Tool.run`."""
        try:
            way = _way(parameters)
            given = text(parameters, "path") or ""
            if way == "create":
                return _create(locate(workspace.path, given), parameters, workspace)
            if way == "delete":
                return _delete(existing(workspace.path, given), workspace)
            return _change(existing(workspace.path, given), parameters, workspace, self._redact)
        except UsageError as error:
            return failed(error)


def _way(parameters: Mapping[str, object]) -> str:
    """Which of the four ways; what belongs to another one must not be there."""
    partners = {"unit": "text", "search": "replace", "create": "", "delete": ""}
    given = {n for n in parameters if n != "path" and (n != "delete" or flag(parameters, n))}
    for way, partner in partners.items():
        if given == {way, partner} - {""}:
            return way
    listed = ", ".join(sorted(given)) or "none of them"
    raise UsageError(f"give exactly one of {_WAYS}, not {listed}; for example {_SPEC.example}")


def _create(place: Place, parameters: Mapping[str, object], workspace: Workspace) -> ToolOutcome:
    if place.mode is not None:
        raise UsageError(
            f"{named(place.path)} exists; change it with `unit` or `search`, or delete it first"
        )
    new = text(parameters, "create") or ""
    _refuse_foreign(place, new, new.encode())
    _check(place, new.encode())
    return _apply(workspace, place, new, f"created {place.path}, {len(lines_of(new))} lines")


def _delete(place: Place, workspace: Workspace) -> ToolOutcome:
    if place.is_folder:
        raise UsageError(f"{named(place.path)} is a folder; delete its files one by one")
    return _apply(workspace, place, None, f"deleted {place.path}")


def _change(
    place: Place,
    parameters: Mapping[str, object],
    workspace: Workspace,
    redact: Callable[[str], str],
) -> ToolOutcome:
    data = content(place)
    whole = data.decode("utf-8", "surrogateescape")
    old = whole.removeprefix(_MARK)
    unit, search = text(parameters, "unit"), text(parameters, "search")
    given = "".join(text(parameters, name) or "" for name in ("search", "replace", "text"))
    _refuse_foreign(place, given, data)
    if unit is None:
        edited = replace_once(old, search or "", text(parameters, "replace") or "", redact)
    elif PurePosixPath(place.path).suffix in PYTHON:
        edited = replace_unit(old, data, unit, text(parameters, "text") or "")
    else:
        raise UsageError(f"{named(place.path)} is not Python; use `search` with `replace`")
    if edited.text == old:
        raise UsageError("the edit changes nothing: the new text is what is there already")
    new = whole[: len(whole) - len(old)] + edited.text
    note = _check(place, new.encode("utf-8", "surrogateescape"), before=data)
    return _apply(workspace, place, new, f"{_snippet(place, edited, redact)}{note}")


def _refuse_foreign(place: Place, given: str, data: bytes) -> None:
    """Refuse letters that would be looked for and written as UTF-8 in a file that is written otherwise."""
    foreign = "" if given.isascii() else _foreign(place, data)
    if foreign:
        raise UsageError(
            f"{named(place.path)} {foreign}, and text is looked for and written as UTF-8; "
            "keep to ASCII, e.g. with escapes such as \\xe9"
        )


def _foreign(place: Place, data: bytes) -> str:
    """What says that a file is not UTF-8; empty where it is."""
    if PurePosixPath(place.path).suffix in PYTHON:
        # Where Python cannot read it, whether the edit mends that is asked of its new text.
        with suppress(SyntaxError):
            encoding, _ = tokenize.detect_encoding(BytesIO(data).readline)
            if encoding not in ("utf-8", "utf-8-sig"):
                return f"declares its encoding as {encoding}"
    try:
        data.decode()
    except UnicodeDecodeError:
        return "is not UTF-8"
    return ""


def _check(place: Place, new: bytes, *, before: bytes | None = None) -> str:
    """A note where the file was broken before and still is: a second edit may mend it.

    Raises:
        UsageError: The edit breaks the file, or writes the mark of a hidden secret over the secret.
    """
    mark = adds_mark(
        None if before is None else before.decode(errors="replace"), new.decode(errors="replace")
    )
    if mark is not None:
        raise UsageError(
            f"{mark} stands for a secret that is not shown; leave its line as it is, e.g. by a `search` that does not touch it"
        )
    wrong = trouble(place.path, new)
    if wrong is None:
        return ""
    if before is not None and trouble(place.path, before) is not None:
        return f"\n[the file was broken before and still is: {wrong}]"
    kind = {".json": "JSON", ".toml": "TOML"}.get(PurePosixPath(place.path).suffix, "Python")
    raise UsageError(f"the file would not be valid {kind} any more: {wrong}; nothing was written")


def _snippet(place: Place, edited: Edited, redact: Callable[[str], str]) -> str:
    lines = hidden_lines(edited.text, redact)
    first = max(1, edited.first - _AROUND)
    last = min(len(lines), edited.last + _AROUND, first + _SHOWN_LINES - 1)
    shown = clip_lines(numbered(lines[first - 1 : last], first), _SHOWN_CHARACTERS)
    hidden = min(len(lines), edited.last + _AROUND) - first + 1 - len(shown)
    more = (f"… {hidden} more changed lines are not shown",) if hidden > 0 else ()
    return "\n".join((f"changed {place.path}, which now reads", *shown, *more))


def _apply(workspace: Workspace, place: Place, new: str | None, said: str) -> ToolOutcome:
    workspace.apply((FileEdit(path=place.path, text=new),))
    return ToolOutcome(ok=True, output=said, changed=(place.path,))
