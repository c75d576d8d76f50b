"""Who is asked and who watches, where no terminal is: nobody, or a function of the program that calls."""

from collections.abc import Callable
from dataclasses import dataclass

from surefoot.events.envelope import Recorded
from surefoot.kernel.ports import Answer
from surefoot.values import Diff


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a run asks a person."""

    question: str
    why: str
    approval: bool
    """A yes or no is asked for, else words."""
    diff: Diff | None
    """What is to be approved; the answer holds for it alone."""


class ByFunction:
    """A person whose answers a function gives: `True` approves, text answers, and anything else is a no."""

    def __init__(self, decide: Callable[[Asked], bool | str], who: str) -> None:
        self._decide, self._who = decide, who

    def ask(
        self, question: str, why: str, *, approval: bool = True, diff: Diff | None = None
    ) -> Answer:
        """As the port says; what the function raises ends the run's process, which can be resumed."""
        said = self._decide(Asked(question=question, why=why, approval=approval, diff=diff))
        if approval:
            return Answer(
                approved=said is True, text="yes" if said is True else "no", who=self._who
            )
        return Answer(approved=False, text=said if isinstance(said, str) else "", who=self._who)


class Nobody:
    """No person is there: every answer is a no."""

    def ask(
        self, question: str, why: str, *, approval: bool = True, diff: Diff | None = None
    ) -> Answer:
        """Decline."""
        del question, why, approval, diff
        return Answer(approved=False, text="", who="nobody")


class Quiet:
    """Shows nothing."""

    def seen(self, recorded: Recorded) -> None:
        """Ignore it."""
