"""A model that cannot be had: it says so when it is asked, and asking it costs nothing."""

from collections.abc import Sequence

from surefoot.values import Message, ModelAnswer, ModelFailure, ModelFault, ModelRequest


class UnavailableModel:
    """The `Model` port for a pinned judge without key, weights or permission."""

    def __init__(self, name: str, reason: str) -> None:
        self._name = name
        self._reason = reason

    @property
    def name(self) -> str:
        """As the port says."""
        return self._name

    @property
    def context_tokens(self) -> int:
        """Any prompt fits: none is read."""
        return 1_000_000

    @property
    def parallel(self) -> int:
        """As the port says."""
        return 1

    @property
    def native_tools(self) -> bool:
        """None: it is never asked anything."""
        return False

    @property
    def fills_gaps(self) -> bool:
        """None: it is never asked anything."""
        return False

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """None are read."""
        del messages
        return 0

    def estimate_usd(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Nothing is paid."""
        del prompt_tokens, completion_tokens
        return 0.0

    def complete(self, requests: Sequence[ModelRequest]) -> tuple[ModelAnswer, ...]:
        """The reason, once a request."""
        failure = ModelFailure(fault=ModelFault.NOT_FOUND, message=self._reason, model=self._name)
        return (failure,) * len(requests)
