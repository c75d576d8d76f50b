"""ExplainBug: what a function does wrong in its failing check, in two sentences; a claim that an edit can start from.

The prompt begins as that of `candidate_edit` does, so that a prompt cache keeps what both share.
"""

from collections.abc import Sequence
from typing import Final

from surefoot.codec import encode
from surefoot.decisions.candidate_edit import SYSTEM, EditQuestion, shown_bug
from surefoot.events import Decided
from surefoot.kernel.ports import Asker, Notebook
from surefoot.values import Message, ModelFailure, ModelRequest

POLICY_BUNDLE: Final = "explain_bug/1"
PURPOSE: Final = "explain_bug"
_ANSWER_TOKENS: Final = 90


def explain_bugs(
    questions: Sequence[EditQuestion], asker: Asker, notebook: Notebook
) -> tuple[str, ...]:
    """One explanation a question, in order; fewer when the budget ends, empty where there is no usable answer."""
    requests = [request_of(q) for q in questions]
    most = max((asker.count_tokens(r.messages) + r.max_tokens for r in requests), default=0)
    if not requests or most > asker.context_tokens:
        return ("",) * len(requests)
    explanations = []
    for question, answer in zip(questions, asker.ask(requests), strict=False):
        if isinstance(answer, ModelFailure):
            explanations.append("")
            continue
        text = answer.text.partition("```")[0].strip()
        explanations.append(text)
        notebook.record(
            Decided(
                decision=PURPOSE,
                inputs=notebook.put(encode(question)),
                output=notebook.put(encode(text)),
                decided_by="model",
                policy_bundle=POLICY_BUNDLE,
                usage=answer.usage,
            )
        )
    return tuple(explanations)


def request_of(question: EditQuestion) -> ModelRequest:
    """The request of a question; the same question gives the same bytes."""
    request = (
        f"Say in at most two sentences what `{question.name}` does wrong in the failing check and how to correct it. "
        "Write no code block."
    )
    return ModelRequest(
        purpose=PURPOSE,
        messages=(
            Message(role="system", content=SYSTEM),
            Message(role="user", content=f"{shown_bug(question)}\n\n{request}"),
        ),
        max_tokens=_ANSWER_TOKENS,
        temperature=question.temperature,
        seed=question.seed,
        stop=("```",),
    )
