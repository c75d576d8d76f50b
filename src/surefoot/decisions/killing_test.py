"""KillingTest: one test that notices a small wrong change of a function, asked of the model.

What the model writes is a proposal; it counts only after it has passed on the code as it is and failed on the wrong one.
"""

from dataclasses import dataclass
from typing import Final

from surefoot.decisions.written_test import TestWriting
from surefoot.kernel.ports import Asker, Notebook
from surefoot.values import ModelFailure, ModelRequest

POLICY_BUNDLE: Final = "killing_test/1"
PURPOSE: Final = "killing_test"
_WRITING: Final = TestWriting(purpose=PURPOSE, policy_bundle=POLICY_BUNDLE, answer_tokens=300)


@dataclass(frozen=True, slots=True, kw_only=True)
class KillingQuestion:
    """What the model is shown."""

    module: str
    """Import name of the module of the code."""
    name: str
    """What is imported from it: the function, or its class."""
    code: str
    patch: str
    """The wrong change."""
    temperature: float = 0.0
    seed: int = 0


def propose_killer(
    question: KillingQuestion, asker: Asker, notebook: Notebook
) -> str | ModelFailure | None:
    """Source of one test function, without its import line; None when the answer holds none or was not to be had."""
    return _WRITING.ask(question, request_of(question), asker, notebook)


def request_of(question: KillingQuestion) -> ModelRequest:
    """The request of a question; the same question gives the same bytes."""
    prompt = (
        f"This code is right:\n```python\n{question.code}\n```\n\n"
        f"No test notices this wrong change of it:\n```diff\n{question.patch}\n```\n\n"
        "Write one short test function for pytest that passes on the right code and fails on the wrong one. "
        "Call the code and compare what it gives; do not read its source. Reply with one ```python block."
    )
    return _WRITING.request(question, prompt)
