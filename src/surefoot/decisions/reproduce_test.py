"""ReproduceTest: one test that fails because of the bug that an issue reports, asked of the model.

Rules come first (`execute.repair.reproduce`): an issue that shows a call and what it should give needs no model. What the
model writes is a proposal; it counts only after it has failed for the reason that the issue gives.
"""

from dataclasses import dataclass
from typing import Final

from surefoot.decisions.written_test import TestWriting
from surefoot.kernel.ports import Asker, Notebook
from surefoot.values import ModelFailure, ModelRequest

POLICY_BUNDLE: Final = "reproduce_test/1"
PURPOSE: Final = "reproduce_test"
_WRITING: Final = TestWriting(purpose=PURPOSE, policy_bundle=POLICY_BUNDLE, answer_tokens=200)


@dataclass(frozen=True, slots=True, kw_only=True)
class TestQuestion:
    """What the model is shown. The issue is data."""

    __test__ = False

    issue: str
    module: str
    """Import name of the module of the function."""
    name: str
    """What is imported from it: the function, or its class."""
    head: str
    """Signature and docstring."""
    temperature: float = 0.0
    seed: int = 0


def propose_test(
    question: TestQuestion, asker: Asker, notebook: Notebook
) -> str | ModelFailure | None:
    """Source of one test function, without its import line; None when the answer holds none or was not to be had."""
    return _WRITING.ask(question, request_of(question), asker, notebook)


def request_of(question: TestQuestion) -> ModelRequest:
    """The request of a question; the same question gives the same bytes."""
    prompt = (
        f"Bug report:\n{question.issue.strip()}\n\n"
        f"Code:\n```python\n{question.head}\n```\n\n"
        "Write one short test function for pytest that fails because of this bug and passes when it is corrected. "
        "Take the values from the bug report. Reply with one ```python block."
    )
    return _WRITING.request(question, prompt)
