"""What a request for a parameter is compared with: the file, the issue, and the first answer at temperature 0."""

import time
from typing import Final

from bench.meter import Used
from bench.repair.baseline import ANSWER_TOKENS, CANDIDATE_S, read_file
from bench.repair.cases import Case
from bench.repair.outcome import Attempt
from surefoot.kernel.ports import Model
from surefoot.values import Message, ModelReply, ModelRequest

PURPOSE: Final = "bench.greedy"


def prompt(case: Case) -> str:
    """The one prompt."""
    return (
        f"`solution.py`:\n\n```python\n{case.solution.strip()}\n```\n\n"
        f"{case.issue.strip()}\n\nReply with the whole changed file."
    )


def attempt(case: Case, model: Model, *, seed: int) -> Attempt:
    """Ask once; what comes is the result."""
    start = time.monotonic()
    request = ModelRequest(
        purpose=PURPOSE,
        messages=(Message(role="user", content=prompt(case)),),
        max_tokens=ANSWER_TOKENS,
        temperature=0.0,
        seed=seed,
    )
    (answer,) = model.complete([request])
    usage, answered = answer.usage, isinstance(answer, ModelReply)
    used = Used(
        model_calls=1,
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        candidates=1,
    )
    return Attempt(
        claimed=answered,
        status="complete" if answered else "blocked",
        reason="answer 1" if answered else "no answer",
        solution=read_file(answer.text) if isinstance(answer, ModelReply) else case.solution,
        used=used,
        idle_s=used.idle_s(CANDIDATE_S),
        wall_s=time.monotonic() - start,
    )
