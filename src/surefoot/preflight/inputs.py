"""The six inputs of a plan, each with an anchor outside it."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from surefoot.preflight.anchors import anchors_in, wrong_with
from surefoot.preflight.code import Code
from surefoot.preflight.contracts import is_nothing
from surefoot.preflight.markdown import Block, Row, Table, spans
from surefoot.preflight.problems import Problem

INPUTS: Final = ("Plan", "Guide", "Files", "Functions", "Decisions", "Diffs")
_URL: Final = re.compile(r"https?://\S+")
_DATE: Final = re.compile(r"\b\d{4}-\d{2}-\d{2}\b")
_COMMITS: Final = re.compile(r"([0-9a-f]{7,40})(?:\.{2,3}([0-9a-f]{7,40}))?")


def check_inputs(
    blocks: Sequence[Block], code: Code, plan: str, is_commit: Callable[[str], bool]
) -> Iterator[Problem]:
    """What is wrong with the table of the six inputs. `plan` is the plan's own path, which is no anchor outside it."""
    tables = [b for b in blocks if isinstance(b, Table) and b.column("input") == 0]
    table = tables[0] if tables else None
    if table is None:
        yield Problem(
            rule="missing-input",
            file=plan,
            line=1,
            message="the plan has no table of its inputs",
            mend=f"add a table Input, Status, Evidence Anchor with the rows {', '.join(INPUTS)}",
        )
        return
    rows = {row.get(0).strip("`* ").lower(): row for row in table.rows}
    for name in INPUTS:
        row = rows.get(name.lower())
        reason = "has no row" if row is None else _wrong(name, row, table, code, plan, is_commit)
        if reason is not None:
            yield Problem(
                rule="missing-input",
                file=plan,
                line=row.line if row is not None else table.line,
                message=f"input {name!r} {reason}",
                mend="give a place outside the plan where it can be seen, or write it there first",
            )


def _wrong(
    name: str,
    row: Row,
    table: Table,
    code: Code,
    plan: str,
    is_commit: Callable[[str], bool],
) -> str | None:
    status = row.get(table.column("status")).strip("`* ").lower()
    text = row.get(table.column("evidence", "anchor"))
    is_pending = name == "Diffs" and status.startswith("pending") and not is_nothing(text)
    if is_pending or not status.startswith("present"):
        return None if is_pending else f"is {status or 'without a status'!r}, not Present"
    anchors = [anchor for anchor in anchors_in(text) if anchor.path != plan]
    if name == "Diffs":
        # `commit..commit` has the form of a path.
        anchors = [anchor for anchor in anchors if not _COMMITS.fullmatch(anchor.path)]
    broken = next((told for anchor in anchors if (told := wrong_with(anchor, code))), None)
    if broken is not None:
        return f"has an anchor that does not hold: {broken}"
    if name == "Functions":
        return None if any(a.symbol for a in anchors) else "names no `path.py::function`"
    is_seen = bool(anchors) or _URL.search(text) is not None
    if is_seen or (name == "Decisions" and _DATE.search(text)):
        return None
    if name == "Diffs":
        return _without_commits(text, is_commit)
    return f"has no anchor outside the plan in {text!r}"


def _without_commits(text: str, is_commit: Callable[[str], bool]) -> str | None:
    """What is wrong with `commit` or `commit..commit`."""
    found = [m for span in spans(text) if (m := _COMMITS.fullmatch(span))]
    named = [commit for match in found for commit in match.groups() if commit]
    missing = next((commit for commit in named if not is_commit(commit)), None)
    if missing is not None:
        return f"names the commit {missing}, which is not in the repository"
    return None if named else "names no commits and no file"
