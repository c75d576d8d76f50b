"""A model whose every word is in the ledger: what it says of itself and of the length of prompts, too.

Prompts are cut by their length, so a replay needs the same lengths without the model (see `surefoot.tape`).
"""

from collections.abc import Sequence

from surefoot.codec import canonical, digest, plain
from surefoot.events.calls import ModelOpened, TokensCounted
from surefoot.kernel.journal import Journal
from surefoot.kernel.ports import Model
from surefoot.values import Digest, Message, ModelAnswer, ModelRequest


class NotedModel:
    """The `Model` port around another one."""

    def __init__(self, model: Model, journal: Journal) -> None:
        self._model, self._journal = model, journal
        self._counts: dict[Digest, int] = {}
        self._noted: set[Digest] = set()
        opened = ModelOpened(
            model=model.name,
            context_tokens=model.context_tokens,
            parallel=model.parallel,
            native_tools=model.native_tools,
            fills_gaps=model.fills_gaps,
        )
        if journal.state.opened_models.get(model.name) != opened:
            journal.record(opened)

    @property
    def name(self) -> str:
        """As the port says."""
        return self._model.name

    @property
    def context_tokens(self) -> int:
        """As the port says."""
        return self._model.context_tokens

    @property
    def parallel(self) -> int:
        """As the port says."""
        return self._model.parallel

    @property
    def native_tools(self) -> bool:
        """As the port says."""
        return self._model.native_tools

    @property
    def fills_gaps(self) -> bool:
        """As the port says."""
        return self._model.fills_gaps

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """As the port says; noted with the next call."""
        counted = self._model.count_tokens(messages)
        key = messages_digest(messages)
        if key not in self._noted:
            self._counts[key] = counted
        return counted

    def estimate_usd(self, prompt_tokens: int, completion_tokens: int) -> float:
        """As the port says."""
        return self._model.estimate_usd(prompt_tokens, completion_tokens)

    def complete(self, requests: Sequence[ModelRequest]) -> tuple[ModelAnswer, ...]:
        """As the port says, after the lengths that led to the requests are in the ledger."""
        if self._counts:
            counts = self._journal.put(canonical(self._counts))
            self._journal.record(TokensCounted(model=self.name, counts=counts))
            self._noted |= set(self._counts)
            self._counts = {}
        return self._model.complete(requests)


def messages_digest(messages: Sequence[Message]) -> Digest:
    """By what the length of a prompt is noted."""
    return digest(canonical([plain(message) for message in messages]))
