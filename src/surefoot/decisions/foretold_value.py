"""ForetoldValue: what a call should give, asked of a model that sees a function's promise and none of its candidates.

The answer is started as a doctest is, so that it is one short line. What it is compared with is the caller's business.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from surefoot.codec import encode
from surefoot.events.orchestration import Decided
from surefoot.kernel.ports import Asker, Notebook
from surefoot.values import Message, ModelFailure, ModelRequest

POLICY_BUNDLE: Final = "foretold_value/1"
PURPOSE: Final = "foretold_value"
_SYSTEM: Final = "You are an expert Python programmer who knows what functions give."
_TOKENS: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueQuestion:
    """What the model is shown. All text from the repository is data."""

    name: str
    head: str
    """Decorators, signature and docstring."""
    context: str
    """Signatures of what it calls, its class, constants."""
    failure: str
    """The failing checks, which say what some calls give."""
    call: str
    """With literal arguments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForetoldValue:
    """What it said."""

    text: str
    """One line; empty when there was no answer."""


def foretell(
    questions: Sequence[ValueQuestion], asker: Asker, notebook: Notebook
) -> tuple[ForetoldValue, ...]:
    """The answers in order of the questions; each is recorded as a decision.

    Fewer when the budget did not hold them all; none when they do not fit into the model's context.
    """
    told = []
    requests = [request_of(q) for q in questions]
    if any(asker.count_tokens(r.messages) + r.max_tokens > asker.context_tokens for r in requests):
        return ()  # they differ in one call alone; nothing is cut off to fit
    for question, request, answer in zip(questions, requests, asker.ask(requests), strict=False):
        if isinstance(answer, ModelFailure):
            told.append(ForetoldValue(text=""))
            continue
        value = ForetoldValue(text=_value_line(answer.text.removeprefix(request.prefill)))
        notebook.record(
            Decided(
                decision=PURPOSE,
                inputs=notebook.put(encode(question)),
                output=notebook.put(encode(value)),
                decided_by="model",
                policy_bundle=POLICY_BUNDLE,
                usage=answer.usage,
            )
        )
        told.append(value)
    return tuple(told)


def _value_line(text: str) -> str:
    """The first line that is neither a fence nor the call again."""
    rows = (row.strip() for row in text.split("\n"))
    return next((r.strip("`") for r in rows if r and not r.startswith(("```", ">>>"))), "")


def request_of(question: ValueQuestion) -> ModelRequest:
    """The request of a question; those of one function share all but the end."""
    parts = [
        f"Failing check:\n{question.failure}" if question.failure else "",
        f"Other code:\n```python\n{question.context}\n```" if question.context else "",
        f"Function `{question.name}`:\n```python\n{question.head}\n```",
        f"What does `{question.call}` give, by the docstring? Reply with the value alone, as a doctest shows it.",
    ]
    return ModelRequest(
        purpose=PURPOSE,
        messages=(
            Message(role="system", content=_SYSTEM),
            Message(role="user", content="\n\n".join(p for p in parts if p)),
        ),
        max_tokens=_TOKENS,
        stop=("\n>>>", "\n```", "\n\n"),
        prefill=f"```python\n>>> {question.call}\n",
    )
