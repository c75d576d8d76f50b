"""Holding a run against itself, offline and without a model: what can be derived again is, and must be as recorded."""

from surefoot.verify.archive import archive_runs, drop_unfinished, is_closed, open_run
from surefoot.verify.bundle import ledgers_of, open_bundle, write_bundle
from surefoot.verify.run import Verdict, verify_run

__all__ = [
    "Verdict",
    "archive_runs",
    "drop_unfinished",
    "is_closed",
    "ledgers_of",
    "open_bundle",
    "open_run",
    "verify_run",
    "write_bundle",
]
