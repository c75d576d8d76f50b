"""What a case may use, in seconds of an idle machine, so that a busy machine gives the same table."""

from dataclasses import dataclass
from typing import Final

PROMPT_TOKENS_A_SECOND: Final = 70.0
ANSWER_TOKENS_A_SECOND: Final = 28.0
"""Of the embedded model on two idle cores of an EPYC; `python -m bench.embedded` measures them. An answer that copies its
prompt comes faster with the n-gram look-up (36), one that does not slower (17)."""
LIMIT_S: Final = 150.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """What was used for one case."""

    model_calls: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    """Part of `prompt_tokens` that the prompt cache gave, so that it cost nothing."""
    completion_tokens: int = 0
    candidates: int = 0
    """Edits that were tried on tests."""

    def __add__(self, other: "Used") -> "Used":
        return Used(
            model_calls=self.model_calls + other.model_calls,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            candidates=self.candidates + other.candidates,
        )

    def idle_s(self, candidate_s: float) -> float:
        """Seconds that it is worth on an idle machine, where trying one candidate takes `candidate_s`."""
        evaluated = self.prompt_tokens - self.cached_tokens
        tokens_s = evaluated / PROMPT_TOKENS_A_SECOND
        tokens_s += self.completion_tokens / ANSWER_TOKENS_A_SECOND
        return tokens_s + self.candidates * candidate_s
