"""A server's `WorkspaceEdit` as whole new files, checked before anything is written."""

from collections.abc import Iterator, Sequence
from typing import cast

from surefoot.errors import UsageError
from surefoot.toolbox.lsp.client import ServerTroubleError
from surefoot.toolbox.lsp.session import Session, path_of, read_text
from surefoot.toolbox.lsp.text import Place, PlaceError, TextEdit, edited, is_pure_rename
from surefoot.values import FileEdit


def renamed(session: Session, answer: object, names: tuple[str, str]) -> tuple[FileEdit, ...]:
    """The files as they are after the edit, sorted by path; those that it leaves as they are do not count.

    Raises:
        UsageError: It does more than a rename in files of the worktree may do, or does not fit them.
        ServerTroubleError: It cannot be read.
    """
    edits: dict[str, list[TextEdit]] = {}
    for uri, plain in _by_file(answer):
        path = path_of(uri, session.root)
        if not isinstance(path, str):
            raise UsageError(f"the rename would edit {str(path)!r}, which is outside the worktree")
        edits.setdefault(path, []).append(_edit(plain))
    files = []
    for path, changes in sorted(edits.items()):
        before = read_text(session.root, path)
        after = _after(session, path, before, changes)
        if session.language.is_exact and not is_pure_rename(before, after, names):
            raise _unfit(session, path, f"more than the name {names[0]!r}")
        if after != before:
            files.append(FileEdit(path=path, text=after))
    return tuple(files)


def _after(session: Session, path: str, before: str, changes: Sequence[TextEdit]) -> str:
    try:
        return edited(before, changes, session.encoding)
    except PlaceError as error:
        raise _unfit(session, path, f"a place that is none ({error})") from None


def _unfit(session: Session, path: str, what: str) -> UsageError:
    """The server does not see the file as it is: one with unusual line ends, say."""
    return UsageError(
        f"{session.language.server} would change {what} in {path!r}, so nothing was changed; edit the files one by one"
    )


def _by_file(answer: object) -> Iterator[tuple[str, object]]:
    """(URI, text edit) of both forms in which a server may say it."""
    match answer:
        case {"documentChanges": list(changes)}:
            for change in changes:
                yield from _of_change(change)
        case {"changes": dict(files)}:
            for uri, edits in files.items():
                if not isinstance(edits, list):
                    raise ServerTroubleError(f"gave edits that are none: {str(edits)[:200]!r}")
                yield from ((str(uri), edit) for edit in edits)
        case _:
            raise ServerTroubleError(f"gave an edit that is none: {str(answer)[:200]!r}")


def _of_change(change: object) -> Iterator[tuple[str, object]]:
    match change:
        case {"textDocument": {"uri": str(uri)}, "edits": list(edits)}:
            yield from ((uri, edit) for edit in edits)
        case {"kind": "create" | "rename" | "delete" as kind}:
            raise UsageError(
                f"this rename would {kind} files too, which is not done here; "
                "move the file yourself and mend what names it"
            )
        case _:
            raise ServerTroubleError(f"gave a change that is none: {str(change)[:200]!r}")


def _edit(plain: object) -> TextEdit:
    match plain:
        case {
            "range": {
                "start": {"line": int(), "character": int()} as start,
                "end": {"line": int(), "character": int()} as end,
            },
            "newText": str(text),
        }:
            return TextEdit(start=_place(start), end=_place(end), text=text)
        case _:
            raise ServerTroubleError(f"gave a text edit that is none: {str(plain)[:200]!r}")


def _place(plain: object) -> Place:
    fields = cast("dict[str, int]", plain)
    return Place(line=fields["line"], column=fields["character"])
