"""One test function asked of the model: what the decisions that want one have in common."""

from dataclasses import dataclass
from typing import Final, Protocol

from surefoot.codec import encode
from surefoot.decisions.code_reply import read_test
from surefoot.events.orchestration import Decided
from surefoot.kernel.ports import Asker, Notebook
from surefoot.values import Message, ModelFailure, ModelRequest

_SYSTEM: Final = "You are an expert Python programmer who writes tests with pytest."


class Wanted(Protocol):
    """What every question of this kind says."""

    @property
    def module(self) -> str:
        """Import name of the module of the code."""

    @property
    def name(self) -> str:
        """What is imported from it: the function, or its class."""

    @property
    def temperature(self) -> float:
        """Of the sampling."""

    @property
    def seed(self) -> int:
        """Of the sampling."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TestWriting:
    """A decision whose answer is one test function."""

    __test__ = False

    purpose: str
    policy_bundle: str
    answer_tokens: int

    def request(self, question: Wanted, prompt: str) -> ModelRequest:
        """The request of a question; the same question gives the same bytes."""
        imported = f"from {question.module} import {question.name}"
        return ModelRequest(
            purpose=self.purpose,
            messages=(
                Message(role="system", content=_SYSTEM),
                Message(role="user", content=prompt),
            ),
            max_tokens=self.answer_tokens,
            temperature=question.temperature,
            seed=question.seed,
            stop=("```",),
            prefill=f"```python\n{imported}\n\n\ndef test_",
        )

    def ask(
        self, question: Wanted, request: ModelRequest, asker: Asker, notebook: Notebook
    ) -> str | ModelFailure | None:
        """Source of one test function, without its import line; None when the answer holds none or was not to be had."""
        if asker.count_tokens(request.messages) + request.max_tokens > asker.context_tokens:
            return None
        answers = asker.ask((request,))
        if not answers:
            return None
        answer = answers[0]
        if isinstance(answer, ModelFailure):
            return answer
        test = read_test(answer.text)
        notebook.record(
            Decided(
                decision=self.purpose,
                inputs=notebook.put(encode(question)),
                output=notebook.put(encode(test or "")),
                decided_by="model",
                policy_bundle=self.policy_bundle,
                usage=answer.usage,
            )
        )
        return test
