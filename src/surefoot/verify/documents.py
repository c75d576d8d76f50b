"""Report, summary, receipt and replay file again: each is a fold of the ledger, so each has to be what it folds to."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from surefoot.codec import difference
from surefoot.documents import REPORT, SUMMARY, documents_of
from surefoot.events.envelope import Recorded
from surefoot.events.orchestration import RunOpened, RunStopped
from surefoot.values import Diff

_OF_CHANGES = frozenset({REPORT, SUMMARY})


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
    derived = documents_of(events[: stops[-1]], diff, own)
    if rejected:  # what it changed is gone, and both tell of it
        derived = {name: data for name, data in derived.items() if name not in _OF_CHANGES}
    fault = next((f for name in derived if (f := _fault(folder, name, derived[name]))), None)
    note = "what the report and the summary say of the change was not looked at"
    return Documents(fault=fault, note=note if rejected else None)


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
