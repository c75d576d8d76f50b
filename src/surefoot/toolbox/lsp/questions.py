"""The five questions to a session, and their answers as a model reads them.

A server that names nothing has not said that there is nothing: it may not know the file, the language's newest syntax or
the environment. Such an answer is an outcome that is not ok, with the places where the name stands by text alone.
"""

import keyword
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from surefoot.errors import UsageError
from surefoot.kernel.ports import Workspace
from surefoot.toolbox.lsp.client import ServerTroubleError
from surefoot.toolbox.lsp.rename import renamed
from surefoot.toolbox.lsp.session import Session, path_of, read_text
from surefoot.toolbox.lsp.text import Lines, word
from surefoot.toolbox.specs import failed
from surefoot.values import ToolOutcome

MOST_PLACES: Final = 100
"""Of an answer; who needs more looks with a text search."""
MOST_TEXT_PLACES: Final = 20
_SEVERITIES: Final = {1: "error", 2: "warning", 3: "information", 4: "hint"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Name:
    """A name at its place."""

    path: str
    line: int
    """From 0, like `index`."""
    index: int
    """Of its first character in the line."""
    text: str


@dataclass(frozen=True, slots=True, order=True)
class Spot:
    """A line, counted from 0, of a file of the worktree, or of one outside of it (absolute)."""

    path: str
    line: int


def definition(session: Session, name: Name) -> ToolOutcome:
    """Where the name is defined."""
    spots = _spots(session, _ask(session, "textDocument/definition", name))
    if not spots:
        return _unknown(session, name, "no definition of")
    return ToolOutcome(ok=True, output="\n".join(_shown(session, spots)))


def references(session: Session, name: Name) -> ToolOutcome:
    """Every line that means the same thing, and then those where only the text is the same."""
    context = {"includeDeclaration": True}
    answer = _ask(session, "textDocument/references", name, context=context)
    spots = _spots(session, answer)
    if not spots:
        return _unknown(session, name, "no references, not even the place itself, of")
    others = [spot for spot in _by_text(session, name.text) if spot not in set(spots)]
    told = _listed(session, others, f"{name.text!r} also stands, by text only, in:")
    return ToolOutcome(ok=True, output="\n".join([*_shown(session, spots), *told]))


def hover(session: Session, name: Name) -> ToolOutcome:
    """Type and documentation."""
    match _ask(session, "textDocument/hover", name):
        case {"contents": contents}:
            said = "\n".join(_marked(contents)).strip()
        case _:
            said = ""
    return ToolOutcome(ok=True, output=said) if said else _unknown(session, name, "nothing about")


def diagnostics(session: Session, path: str) -> ToolOutcome:
    """What the server has against a file."""
    found = sorted(_diagnosed(session.diagnostics(path)))
    lines = [f"{path}:{line}: {severity}: {said}" for line, severity, said in found]
    if not found:
        lines = [f"{session.language.server} has nothing against {path}"]
    if session.language.note:
        lines.append(f"({session.language.note})")
    return ToolOutcome(ok=True, output="\n".join(lines))


def rename(session: Session, name: Name, new_name: str | None, workspace: Workspace) -> ToolOutcome:
    """The name is changed wherever it means the same; where its text still stands is told.

    Raises:
        UsageError: The new name is none, or the workspace refuses an edit; nothing was written.
    """
    if new_name is None:
        raise UsageError("rename needs `new_name`")
    if session.language.is_exact and (not new_name.isidentifier() or keyword.iskeyword(new_name)):
        raise UsageError(f"{new_name!r} cannot be a name; give an identifier")
    taken = _by_text(session, new_name)
    for path in {spot.path for spot in _by_text(session, name.text)}:
        # A server that reads such a file itself may translate its line ends; one that is open is as we told.
        if "\r" in read_text(session.root, path):
            session.show(path)
    answer = _ask(session, "textDocument/rename", name, newName=new_name)
    edits = () if answer is None else renamed(session, answer, (name.text, new_name))
    if not edits:
        return _unknown(session, name, "nothing to rename at")
    workspace.apply(edits)
    changed = tuple(edit.path for edit in edits)
    left = _by_text(session, name.text)
    lines = [
        f"{name.text} is now {new_name} in {', '.join(changed)}",
        *_listed(session, left, f"{name.text!r} still stands, by text, in:"),
        *_listed(session, taken, f"{new_name!r} was a name before, in:"),
    ]
    return ToolOutcome(ok=True, output="\n".join(lines), changed=changed)


def _ask(session: Session, method: str, name: Name, **more: object) -> object:
    lines = Lines(read_text(session.root, name.path))
    column = lines.column(name.line, name.index, session.encoding)
    params = {
        "textDocument": {"uri": session.uri(name.path)},
        "position": {"line": name.line, "character": column},
        **more,
    }
    return session.ask(method, params)


def _unknown(session: Session, name: Name, what: str) -> ToolOutcome:
    place = f"{name.path}:{name.line + 1}"
    stands = _by_text(session, name.text)
    told = _listed(session, stands, f"by text, {name.text!r} stands in:")
    return failed(
        f"{session.language.server} knows {what} {name.text!r} at {place}", output="\n".join(told)
    )


def _spots(session: Session, answer: object) -> list[Spot]:
    """The lines that an answer names, sorted, each once."""
    found = answer if isinstance(answer, list) else [] if answer is None else [answer]
    return sorted({_spot(session, each) for each in found})


def _spot(session: Session, plain: object) -> Spot:
    match plain:
        case {"uri": str(uri), "range": {"start": {"line": int(line)}}}:
            return Spot(str(path_of(uri, session.root)), line)
        case _:
            raise ServerTroubleError(f"named a place that is none: {str(plain)[:200]!r}")


def _by_text(session: Session, name: str) -> list[Spot]:
    """The lines of the language's files in which a name stands, whatever it means there."""
    pattern = word(name)
    spots = []
    for path in session.files():
        try:
            content = read_text(session.root, path)
        except UsageError:
            continue
        if pattern.search(content) is not None:
            lines = Lines(content)
            spots += [Spot(path, n) for n in range(len(lines)) if pattern.search(lines[n])]
    return spots


def _listed(session: Session, spots: Sequence[Spot], heading: str) -> list[str]:
    return ["", heading, *_shown(session, spots, MOST_TEXT_PLACES)] if spots else []


def _shown(session: Session, spots: Sequence[Spot], most: int = MOST_PLACES) -> list[str]:
    """`path:line: text`, the text only of files of the worktree that can be read."""
    texts: dict[str, Lines | None] = {}
    shown = []
    for spot in spots[:most]:
        if spot.path not in texts:
            texts[spot.path] = _lines(session, spot.path)
        lines = texts[spot.path]
        known = lines is not None and 0 <= spot.line < len(lines)
        line = f": {lines[spot.line].strip()}" if lines is not None and known else ""
        shown.append(f"{spot.path}:{spot.line + 1}{line}")
    left = len(spots) - most
    return [*shown, f"... and {left} more"] if left > 0 else shown


def _lines(session: Session, path: str) -> Lines | None:
    try:
        return None if path.startswith("/") else Lines(read_text(session.root, path))
    except UsageError:
        return None


def _marked(contents: object) -> Iterator[str]:
    """The texts of a hover, in any of its forms."""
    match contents:
        case str(said) | {"value": str(said)}:
            yield said
        case list(parts):
            for part in parts:
                yield from _marked(part)
        case _:
            return


def _diagnosed(items: object) -> Iterator[tuple[int, str, str]]:
    """Line from 1, severity, message."""
    if not isinstance(items, list):
        raise ServerTroubleError(f"gave diagnostics that are none: {str(items)[:200]!r}")
    for item in items:
        match item:
            case {"range": {"start": {"line": int(line)}}, "message": str(message)}:
                severity = item.get("severity")
                known = isinstance(severity, int)
                yield line + 1, _SEVERITIES.get(severity, "error") if known else "error", message
            case _:
                raise ServerTroubleError(f"gave a diagnostic that is none: {str(item)[:200]!r}")
