"""How a person is asked (SPEC B12): what is asked, why, and the diff that a yes is for are in the ledger before the answer.

An approval names the diff by the hash of its blob, which holds the trees before and after it; it holds for no other diff.
"""

from surefoot.codec import encode
from surefoot.events.orchestration import QuestionAnswered, QuestionAsked
from surefoot.kernel.journal import Journal
from surefoot.kernel.ports import Answer, Notebook, Person
from surefoot.values import Diff


def ask(
    person: Person,
    notebook: Notebook,
    question: str,
    why: str,
    *,
    approval: bool = True,
    diff: Diff | None = None,
) -> Answer:
    """Ask a person; the question and the answer are recorded."""
    shown = None if diff is None else notebook.put(encode(diff))
    notebook.record(QuestionAsked(question=question, why=why, approval=approval, diff=shown))
    answer = person.ask(question, why, approval=approval, diff=diff)
    notebook.record(
        QuestionAnswered(approved=answer.approved, text=answer.text, who=answer.who, diff=shown)
    )
    return answer


class Remembering:
    """A person who is not asked twice: what a paused run was answered since, and what was approved before a kill, counts."""

    def __init__(self, person: Person, journal: Journal) -> None:
        self._person, self._journal = person, journal

    def ask(
        self, question: str, why: str, *, approval: bool = True, diff: Diff | None = None
    ) -> Answer:
        """As the port says."""
        shown = None if diff is None else self._journal.put(encode(diff))
        known = self._journal.state.answers.get((question, shown))
        if known is not None:
            return Answer(approved=known.approved and approval, text=known.text, who=known.who)
        return self._person.ask(question, why, approval=approval, diff=diff)
