"""A ledger of schema 1 as it lies on users' disks: every later version reads it."""

import hashlib
import json
from pathlib import Path
from typing import get_args

import pytest

from surefoot.codec import plain
from surefoot.errors import LedgerError
from surefoot.events.envelope import Event
from surefoot.events.orchestration import RunOpened, TurnClosed
from surefoot.events.work import TestsRan
from surefoot.ledger import read_events, verify_chain

GOLDEN = Path(__file__).parent / "v1" / "events.jsonl"
LINES = GOLDEN.read_bytes().splitlines()


def test_it_holds_every_event_type() -> None:
    """A new type needs a line here: add a sample to `golden.py` and run it."""
    present = {type(record.event) for record in read_events(GOLDEN)}
    missing = {kind.__name__ for kind in get_args(Event)} - {kind.__name__ for kind in present}
    assert not missing, f"add a sample to tests/replay/golden.py and run it: {sorted(missing)}"


def test_its_chain_holds() -> None:
    """Old lines keep their hashes under new code."""
    assert verify_chain(GOLDEN) is None


def test_its_hashes_can_be_checked_without_our_code() -> None:
    """Canonical JSON and SHA-256 are all that a third party needs."""
    previous = "0" * 64
    for line in LINES:
        envelope = json.loads(line)
        stated = envelope.pop("hash")
        text = json.dumps(envelope, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        assert hashlib.sha256(text.encode()).hexdigest() == stated
        assert envelope["previous_hash"] == previous
        previous = stated


def test_no_value_of_an_old_line_is_lost() -> None:
    """Every key of every payload comes back with its value; new fields may join."""
    for line, record in zip(LINES, read_events(GOLDEN), strict=True):
        assert holds(plain(record.event), json.loads(line)["payload"]), line


def holds(new: object, old: object) -> bool:
    """Whether everything of `old` is in `new`."""
    if isinstance(old, dict) and isinstance(new, dict):
        return all(key in new and holds(new[key], value) for key, value in old.items())
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(map(holds, new, old))
    return new == old


def test_events_come_back_typed() -> None:
    """A few values by hand."""
    events = {type(record.event): record for record in read_events(GOLDEN)}
    opened = events[RunOpened]
    assert isinstance(opened.event, RunOpened)
    assert opened.event.issue.tests == ("tests/test_a.py::test_b",)
    assert (opened.event_id, opened.caused_by) == ("20260101-000000-0001:1", None)
    assert opened.time.isoformat() == "2026-01-01T00:00:00.250000+00:00"
    assert isinstance(events[TestsRan].event, TestsRan)
    assert events[TestsRan].event.command == ("python", "-m", "pytest")
    assert events[TurnClosed].turn_id == "t1"


def test_a_ledger_that_was_edited_is_refused(tmp_path: Path) -> None:
    """The golden file with one word changed: the line is named."""
    edited = tmp_path / "events.jsonl"
    edited.write_bytes(GOLDEN.read_bytes().replace(b"all gates passed", b"all gates skipped"))
    fault = verify_chain(edited)
    assert fault is not None
    assert (fault.line, fault.torn) == (3, False)
    with pytest.raises(LedgerError, match=r"line 3: the line does not have the hash"):
        list(read_events(edited))
