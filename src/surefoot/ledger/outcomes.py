"""What became of earlier turns, read from the ledgers of earlier runs."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final, TypeVar

from surefoot.errors import LedgerError
from surefoot.events.calls import CallRead
from surefoot.events.orchestration import TurnClosed
from surefoot.ledger.wire import unseal

E = TypeVar("E")
_TURN: Final = b'"turn.closed"'
_CALL: Final = b'"call.read"'


def recent_turns(ledgers: Iterable[Path], *, most: int) -> tuple[TurnClosed, ...]:
    """The last `most` closed turns of some ledgers, newest last; `ledgers` come newest first.

    A ledger that cannot be read tells nothing here; `surefoot verify` says what is wrong with it.
    """
    return _recent(TurnClosed, _TURN, ledgers, most)


def recent_calls(ledgers: Iterable[Path], *, most: int) -> tuple[CallRead, ...]:
    """Likewise the last replies that had to be tool calls."""
    return _recent(CallRead, _CALL, ledgers, most)


def _recent(kind: type[E], mark: bytes, ledgers: Iterable[Path], most: int) -> tuple[E, ...]:
    found: list[E] = []
    for path in ledgers:
        if len(found) >= most:
            break
        found = [*_events(kind, mark, path), *found]
    return tuple(found[-most:])


def _events(kind: type[E], mark: bytes, path: Path) -> list[E]:
    try:
        with path.open("rb") as file:
            lines = [line[:-1] for line in file if mark in line and line.endswith(b"\n")]
        events = [unseal(line).event for line in lines]
    except (OSError, LedgerError):
        return []
    return [event for event in events if isinstance(event, kind)]
