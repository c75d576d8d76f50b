"""What keeps a repository from being worked on, as a run meets it."""

from typing import Protocol

from surefoot.events.policy import LockMet
from surefoot.kernel.journal import Journal


class Hold(Protocol):
    """What may keep a repository from being worked on."""

    def reason(self) -> str | None:
        """Why nothing may run now; None when it may."""


class NotedHold:
    """The same, with each change that a run sees on record before anything follows from it."""

    def __init__(self, hold: Hold, journal: Journal) -> None:
        self._hold, self._journal = hold, journal

    def reason(self) -> str | None:
        """As the hold says."""
        why = self._hold.reason()
        if why != self._journal.state.locked:
            self._journal.record(LockMet(why=why))
        return why
