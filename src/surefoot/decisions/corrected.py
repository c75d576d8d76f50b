"""A question whose answer is held to a form, and that is put once more with what was wrong with the first one."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, Generic, TypeVar

from surefoot.kernel.ports import Asker
from surefoot.values import Message, ModelFailure, ModelRequest, Usage

TRIES: Final = 2

Read = TypeVar("Read")


@dataclass(frozen=True, slots=True, kw_only=True)
class Corrected(Generic[Read]):
    """An answer that could be read."""

    read: Read
    usage: Usage
    """What it cost, with the one before it that could not be read."""


def ask_corrected(
    asker: Asker, request: ModelRequest, read: Callable[[str], tuple[Read | None, str]]
) -> Corrected[Read] | ModelFailure | None:
    """The answer to `request`; None when none of `TRIES` could be read, or the budget does not hold it.

    Args:
        asker: The model.
        request: The question; tries are told apart by their seeds, 0 for the first.
        read: What a reply says, and what is wrong with one that says nothing.
    """
    spent = Usage()
    for attempt in range(TRIES):
        answers = asker.ask((replace(request, seed=attempt),))
        if not answers:
            return None
        answer = answers[0]
        if isinstance(answer, ModelFailure):
            return answer
        spent += answer.usage
        found, complaint = read(answer.text)
        if found is not None:
            return Corrected(read=found, usage=spent)
        complained = Message(role="user", content=complaint)
        request = replace(request, messages=(*request.messages, complained))
    return None
