"""What became of earlier turns, read from the ledgers of earlier runs."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from surefoot.errors import LedgerError
from surefoot.events import TurnClosed
from surefoot.ledger.wire import unseal

_MARK: Final = b'"turn.closed"'


def recent_turns(ledgers: Iterable[Path], *, most: int) -> tuple[TurnClosed, ...]:
    """The last `most` closed turns of some ledgers, newest last; `ledgers` come newest first.

    A ledger that cannot be read tells nothing here; `surefoot verify` says what is wrong with it.
    """
    found: list[TurnClosed] = []
    for path in ledgers:
        if len(found) >= most:
            break
        found = [*_turns(path), *found]
    return tuple(found[-most:])


def _turns(path: Path) -> list[TurnClosed]:
    try:
        with path.open("rb") as file:
            lines = [line for line in file if _MARK in line and line.endswith(b"\n")]
        events = [unseal(line).event for line in lines]
    except (OSError, LedgerError):
        return []
    return [event for event in events if isinstance(event, TurnClosed)]
