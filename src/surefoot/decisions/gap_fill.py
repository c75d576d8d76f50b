"""GapFill: what stands in a place of a file, and how likely a text is there, asked of a model that fills gaps (SPEC B7, E1).

Nothing is asked in words: the model sees the file around the place, as it saw files when it was trained, and so the answer
is what people write there. Whoever asks knows what else is true of the place, such as which tests fail.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from surefoot.codec import encode
from surefoot.events.orchestration import Decided
from surefoot.kernel.ports import Asker, Notebook
from surefoot.values import Gap, Message, ModelAnswer, ModelFailure, ModelRequest

POLICY_BUNDLE: Final = "gap_fill/1"
PURPOSE: Final = "gap_fill"
_LINE_TOKENS: Final = 80
_SPARE_TOKENS: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class GapFill:
    """What the model gave for one gap."""

    text: str | None
    """What it would put there; None when there was no whole answer."""
    logprob: float | None = None
    """Natural log-probability of the whole text; None when it is not known."""


def fill_gaps(gaps: Sequence[Gap], asker: Asker, notebook: Notebook) -> tuple[GapFill, ...]:
    """A line for each gap, or with `filled` how likely that text is; each is recorded as a decision.

    In order, and fewer when the budget did not hold them all. A gap that does not fit into the model's context is not asked about.
    """
    requests = [_request(gap, asker) for gap in gaps]
    fits = [asker.count_tokens(r.measured) + r.max_tokens <= asker.context_tokens for r in requests]
    sent = [r for r, fit in zip(requests, fits, strict=True) if fit]
    answers = iter(asker.ask(sent) if sent else ())
    found = []
    for gap, fit in zip(gaps, fits, strict=True):
        answer = next(answers, None) if fit else None
        if fit and answer is None:
            break
        found.append(_read(gap, answer, notebook))
    return tuple(found)


def _request(gap: Gap, asker: Asker) -> ModelRequest:
    tokens = _LINE_TOKENS
    if gap.filled is not None:
        tokens = asker.count_tokens((Message(role="user", content=gap.filled),)) + _SPARE_TOKENS
    return ModelRequest(
        purpose=PURPOSE,
        messages=(),
        max_tokens=tokens,
        stop=() if gap.filled is not None else ("\n",),
        gap=gap,
    )


def _read(gap: Gap, answer: ModelAnswer | None, notebook: Notebook) -> GapFill:
    if answer is None or isinstance(answer, ModelFailure):
        return GapFill(text=None)
    whole = answer.finish == "stop" and (gap.filled is None or answer.text == gap.filled)
    mean, count = answer.mean_logprob, answer.usage.completion_tokens
    filled = GapFill(
        text=answer.text if whole else None,
        logprob=mean * count if whole and mean is not None else None,
    )
    notebook.record(
        Decided(
            decision=PURPOSE,
            inputs=notebook.put(encode(gap)),
            output=notebook.put(encode(filled)),
            decided_by="model",
            policy_bundle=POLICY_BUNDLE,
            usage=answer.usage,
        )
    )
    return filled
