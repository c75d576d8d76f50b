"""Answers to a prompt whose prefill the server never saw, or need not have gone on with.

Most hosted models refuse a trailing assistant message. Of the servers that people run themselves llama.cpp and Ollama go on
writing it, and vLLM begins a new one behind it.
"""

from collections.abc import Sequence
from typing import Final, Literal

from surefoot.values import ModelRequest, Usage

_FENCE: Final = "```"
_CLOSING: Final = f"\n{_FENCE}\n"
_SHORTEST_CHECKED_WORDS: Final = 200
_LENGTH: Final = ("length", "max_tokens", "model_length")
"""The last one is Mistral's, where the context is full."""


def sendable_stops(request: ModelRequest) -> list[str]:
    """Stop texts that may go along: what the prefill opens is opened by the answer itself, and must not end it."""
    return [stop for stop in request.stop if stop not in request.prefill]


def harmless_stops(request: ModelRequest) -> list[str]:
    """The same for a prefill that is sent along; of a fence, its form on a line of its own, which closes a block.

    So an answer that goes on with the prefill ends with its block, nearly as with the fence itself.
    """
    stops = sendable_stops(request)
    fenced = _FENCE in request.stop and _FENCE not in stops
    return [*stops, _CLOSING] if fenced and _CLOSING not in request.prefill else stops


def joined(
    said: str, finish: str | None, request: ModelRequest, *, seen: bool = False
) -> tuple[str, int, Literal["stop", "length"]]:
    """The text with its prefill, and up to its first stop text: models that take none write on.

    An answer that opens the prefill's block itself (prefill "```python...", stop "```") is whole without the prefill.

    Args:
        said: The answer.
        finish: The provider's word for its end.
        request: What was asked.
        seen: The prefill was sent, so that the answer may go on with it.

    Returns:
        The text, where in it the answer begins, and how it ended.
    """
    prefill, opening = request.prefill, request.prefill.partition("\n")[0]
    text, begins = prefill + said, len(prefill)
    if said.startswith(prefill):
        text = said
    elif (place := _own_opening(said, opening, request.stop, seen=seen)) is not None:
        text, begins = said, place + len(opening)
        # The line end that follows is the block's own, and does not end an answer of one line.
        begins += text.startswith("\n", begins)
    ends = [end for stop in request.stop if stop and (end := text.find(stop, begins)) >= 0]
    if ends:
        return text[: min(ends)], begins, "stop"
    return text, begins, ending(finish)


def _own_opening(said: str, opening: str, stops: Sequence[str], *, seen: bool) -> int | None:
    """Where an answer opens the prefill's block itself; one that goes on in that block closes it before it opens another."""
    fences = [stop for stop in stops if stop and stop in opening]
    place = said.find(opening)
    if place < 0 or not fences:
        return None
    goes_on = seen and any(0 <= said.find(fence) < place for fence in fences)
    return None if goes_on else place


def ending(finish: str | None) -> Literal["stop", "length"]:
    """What a provider's word for the end of an answer means, where the answer was not broken off."""
    return "length" if finish in _LENGTH else "stop"


def is_truncated(request: ModelRequest, usage: Usage) -> bool:
    """Whether the server cannot have read the whole prompt: no tokenizer puts two words into one token on average."""
    words = sum(len(m.content.split()) for m in request.messages)
    return words > _SHORTEST_CHECKED_WORDS and 0 < usage.prompt_tokens < words // 2
