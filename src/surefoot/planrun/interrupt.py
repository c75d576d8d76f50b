"""How ctrl-C, which reaches the main thread alone, comes to the runs in other threads, and how a person is asked by one at a time."""

import threading
from datetime import datetime

from surefoot.kernel.ports import Answer, Clock, Person
from surefoot.values import Diff


class StoppableClock:
    """A clock that interrupts whoever reads it, once, after it was told to stop: a run reads its clock at every event."""

    def __init__(self, clock: Clock, stop: threading.Event) -> None:
        self._clock, self._stop = clock, stop
        self._told = False

    def now(self) -> datetime:
        """As the port says."""
        self._look()
        return self._clock.now()

    def monotonic(self) -> float:
        """As the port says."""
        return self._clock.monotonic()

    def sleep(self, seconds: float) -> None:
        """Let time go by, at most until the stop."""
        self._stop.wait(max(0.0, seconds))
        self._look()

    def _look(self) -> None:
        if self._stop.is_set() and not self._told:
            self._told = True
            raise KeyboardInterrupt


class OneAtATime:
    """A person whom several runs may ask."""

    def __init__(self, person: Person) -> None:
        self._person, self._guard = person, threading.Lock()

    def ask(
        self, question: str, why: str, *, approval: bool = True, diff: Diff | None = None
    ) -> Answer:
        """As the port says; one question after the other."""
        with self._guard:
            return self._person.ask(question, why, approval=approval, diff=diff)
