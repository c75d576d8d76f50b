"""What earlier runs left is read from their ledgers as they are on disk."""

from pathlib import Path

from surefoot.events.calls import CallRead
from surefoot.events.envelope import Event
from surefoot.events.orchestration import TurnClosed
from surefoot.ledger import FileLedger, recent_calls, recent_turns
from surefoot.system import SystemClock
from surefoot.values import RunId, TreeId, UnitId

CALLS = [CallRead(model="m", form="native", why=str(number), came="valid") for number in range(5)]
CLOSED = TurnClosed(
    unit_id=UnitId("fix-1"),
    number=1,
    ended_as="rollback",
    tree=TreeId("7e" * 20),
    commit=None,
    classification=None,
    outcome="retryable-fail",
    reason="no progress",
    model="m",
)


def written(folder: Path, run: str, *events: Event) -> Path:
    """A ledger of a run, closed."""
    path = folder / run / "events.jsonl"
    path.parent.mkdir()
    ledger = FileLedger.open(
        path, blobs=folder / "blobs", trace_id=RunId(run), clock=SystemClock(), redact=str
    )
    ledger.append_all(events)
    ledger.close()
    return path


def test_turns_and_replies_of_earlier_runs_are_found(tmp_path: Path) -> None:
    """The newest of them, oldest first; a line that a crash cut off is none."""
    old = written(tmp_path, "r1", *CALLS[:3], CLOSED)
    new = written(tmp_path, "r2", *CALLS[3:])
    with new.open("ab") as file:
        file.write(b'{"class":"model","payload":{"kind":"call.read"')
    assert recent_turns((new, old), most=10) == (CLOSED,)
    assert recent_calls((new, old), most=10) == tuple(CALLS)
    assert recent_calls((new, old), most=3) == tuple(CALLS[2:])


def test_a_damaged_ledger_tells_nothing(tmp_path: Path) -> None:
    """And the others still do."""
    good, bad = written(tmp_path, "r1", CLOSED), written(tmp_path, "r2", CLOSED)
    bad.write_bytes(bad.read_bytes().replace(b"no progress", b"all is well"))
    assert recent_turns((bad, good), most=10) == (CLOSED,)
