"""Report, summary, receipt and replay file again: each is a fold of the ledger, so each has to be what it folds to."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from surefoot.codec import difference
from surefoot.decisions.redacted import MARK
from surefoot.documents import REPORT, SUMMARY, documents_of
from surefoot.events.envelope import Recorded
from surefoot.events.orchestration import RunOpened, RunStopped
from surefoot.policy.redaction import Redactor
from surefoot.values import Diff

_OF_CHANGES: Final = frozenset({REPORT, SUMMARY})
_MARKS: Final = re.compile(f"({MARK.pattern})")
_OF_VALUE: Final = "[redacted:value]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Documents:
    """How the documents of a run stand."""

    fault: str | None
    note: str | None
    """Why they were not looked at, or not in full."""


def check_documents(
    folder: Path, events: Sequence[Recorded], diff: Diff | None, *, rejected: bool
) -> Documents:
    """Hold the documents in `folder` against the ledger up to the last stop, which they were written at."""
    stops = [n for n, r in enumerate(events, 1) if isinstance(r.event, RunStopped)]
    if not stops:
        return Documents(fault=None, note=None)
    if not (folder / SUMMARY).exists():
        note = f"{SUMMARY} is not there, so the run's documents were not looked at"
        return Documents(fault=None, note=note)
    opened = events[0].event
    assert isinstance(opened, RunOpened)  # noqa: S101  # a run begins with it
    own = Path(opened.repo) / ".surefoot" / "runs" / events[0].trace_id

    def drawn(redact: Callable[[str], str]) -> Mapping[str, bytes]:
        return documents_of(events[: stops[-1]], diff, own, redact)

    derived = drawn(_hidden_then(folder / REPORT, drawn))
    if rejected:  # what it changed is gone, and both tell of it
        derived = {name: data for name, data in derived.items() if name not in _OF_CHANGES}
    fault = next((f for name in derived if (f := _fault(folder, name, derived[name]))), None)
    note = "what the report and the summary say of the change was not looked at"
    return Documents(fault=fault, note=note if rejected else None)


def _hidden_then(
    report: Path, drawn: Callable[[Callable[[str], str]], Mapping[str, bytes]]
) -> Redactor:
    """What hid secrets when the report was written: its writer's environment held values that this one need not hold."""
    said = report.read_text("utf-8", "replace") if report.is_file() else ""
    if _OF_VALUE not in said:
        return Redactor()
    return Redactor(_values(said, drawn(str)[REPORT].decode()))


def _values(said: str, whole: str) -> Iterator[str]:
    """What stands in `whole` where `said` has the mark of a value, as far as the two fit otherwise."""
    first, *rest = _MARKS.split(said)
    at = len(first) if whole.startswith(first) else len(whole)
    for mark, text in zip(rest[::2], rest[1::2], strict=True):
        is_last = text is rest[-1]
        end = len(whole) - len(text) if is_last else whole.find(text, at + 1)
        if end <= at:
            return
        if mark == _OF_VALUE:
            yield whole[at:end]
        at = end + len(text)


def _fault(folder: Path, name: str, derived: bytes) -> str:
    path = folder / name
    if not path.is_file():
        return f"{name} is missing"
    found = path.read_bytes()
    if found == derived:
        return ""
    if name.endswith(".json"):
        return _fields(name, found, derived)
    lines = zip(found.split(b"\n"), derived.split(b"\n"), strict=False)
    at = next((n for n, (a, b) in enumerate(lines, 1) if a != b), 0)
    return f"{name}: line {at} is not what the ledger gives" if at else f"{name} is cut or longer"


def _fields(name: str, found: bytes, derived: bytes) -> str:
    wanted = json.loads(derived)
    try:
        said = json.loads(found)
    except ValueError:
        return f"{name} is not JSON"
    if isinstance(said, Mapping) and name == SUMMARY:
        # The folder may have been moved since; only its end is the run's.
        tail = str(wanted["report"]).partition("/.surefoot/")[2]
        if str(said.get("report", "")).endswith(f"/.surefoot/{tail}"):
            said = {**said, "report": wanted["report"]}
    differs = difference(said, wanted)
    if differs:
        return f"{name}: {differs}"
    return "" if name == SUMMARY else f"{name} is not in the form that it is written in"
