"""Reading a ledger file from top to bottom, without a lock: every line checked, the first fault named."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from surefoot.errors import LedgerError
from surefoot.events.envelope import Recorded
from surefoot.ledger.disk import told
from surefoot.ledger.wire import (
    GENESIS,
    BrokenLineError,
    LineError,
    MisplacedLineError,
    Tip,
    is_cause,
    unseal,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainFault:
    """The first line of a ledger that is not as it was written."""

    line: int
    """1-based."""
    offset: int
    """Byte at which the line starts; everything before it is whole."""
    reason: str
    mend: str
    torn: bool
    """A write that was cut short: the line is damaged and nothing follows it."""

    def __str__(self) -> str:
        return f"line {self.line}: {self.reason}"


class ChainBrokenError(LedgerError):
    """Reading stopped at a fault."""

    def __init__(self, path: Path, fault: ChainFault) -> None:
        super().__init__(path, fault)
        self.path, self.fault = path, fault

    def __str__(self) -> str:
        return f"the ledger {self.path} cannot be read, {self.fault}; {self.fault.mend}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """One whole line that fits the lines before it."""

    recorded: Recorded
    line: bytes
    """Without its newline."""
    end: int
    """Offset of the byte after its newline."""
    tip: Tip
    """What the next line must continue."""


def links(path: Path, *, start: Link | None = None, end: int | None = None) -> Iterator[Link]:
    """The lines after `start` (default: all), up to byte `end` (default: the end of the file).

    Raises:
        ChainBrokenError: At the first line that is damaged, foreign, or does not continue the chain.
        LedgerError: The file cannot be read.
    """
    with told("read the ledger", path), path.open("rb") as file:
        yield from _links(path, file, start, end)


def _links(path: Path, file: BinaryIO, start: Link | None, end: int | None) -> Iterator[Link]:
    offset = start.end if start else 0
    tip = start.tip if start else None
    file.seek(offset)
    while (end is None or offset < end) and (raw := file.readline()):
        line = raw.removesuffix(b"\n")
        try:
            if line == raw:
                raise BrokenLineError("the line has no end")
            recorded = unseal(line)
            tip = tip or Tip(trace_id=recorded.trace_id)
            _check_place(tip, recorded)
        except LineError as error:
            # A line without an end was the file's last when it was read, even if a writer goes on meanwhile.
            torn = line == raw or (isinstance(error, BrokenLineError) and not file.read(1))
            fault = ChainFault(
                line=tip.count + 1 if tip else 1,
                offset=offset,
                reason=str(error),
                mend=error.mend,
                torn=torn,
            )
            raise ChainBrokenError(path, fault) from error
        tip, offset = tip.after(recorded), offset + len(raw)
        yield Link(recorded=recorded, line=line, end=offset, tip=tip)


def _check_place(tip: Tip, recorded: Recorded) -> None:
    """A whole line in the wrong place is not damage: it is never cut off, and always reported."""
    wanted = tip.event_id(tip.count + 1)
    if recorded.trace_id != tip.trace_id:
        raise MisplacedLineError(
            f"it belongs to {recorded.trace_id!r}, the lines before to {tip.trace_id!r}"
        )
    if recorded.event_id != wanted:
        raise MisplacedLineError(f"its event id is {recorded.event_id!r}, expected {wanted!r}")
    if recorded.previous_hash != tip.head:
        before = "the line before" if tip.head != GENESIS else "64 zeros"
        raise MisplacedLineError(f"it continues {recorded.previous_hash!r}, which is not {before}")
    if not is_cause(tip, recorded.caused_by):
        raise MisplacedLineError(f"its cause {recorded.caused_by!r} is not an event before it")


def read_events(path: Path) -> Iterator[Recorded]:
    """All events of a ledger that may be in use; a torn last line is left out.

    Raises:
        LedgerError: The file cannot be read, or a line that is not the last is not as it was written.
    """
    try:
        for link in links(path):
            yield link.recorded
    except ChainBrokenError as error:
        if not error.fault.torn:
            raise


def verify_chain(path: Path) -> ChainFault | None:
    """The first line that is not as it was written, or None. A torn last line is a fault that says so."""
    try:
        for _ in links(path):
            pass
    except ChainBrokenError as error:
        return error.fault
    return None
