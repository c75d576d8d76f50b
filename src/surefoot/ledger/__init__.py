"""Audit plane: the one record of a run, append-only, hash-chained, durable; and what can be asked of it."""

from surefoot.ledger.chain import ChainBrokenError, ChainFault, read_events, verify_chain
from surefoot.ledger.file import FileLedger, taken
from surefoot.ledger.outcomes import recent_calls, recent_turns
from surefoot.ledger.projection import Projection, SourceFault

__all__ = [
    "ChainBrokenError",
    "ChainFault",
    "FileLedger",
    "Projection",
    "SourceFault",
    "read_events",
    "recent_calls",
    "recent_turns",
    "taken",
    "verify_chain",
]
