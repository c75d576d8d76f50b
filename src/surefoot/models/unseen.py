"""Answers to a prompt whose prefill the server never saw: most hosted models refuse a trailing assistant message."""

from typing import Final, Literal

from surefoot.values import ModelRequest, Usage

_SHORTEST_CHECKED_WORDS: Final = 200
_LENGTH: Final = ("length", "max_tokens", "model_length")
"""The last one is Mistral's, where the context is full."""


def sendable_stops(request: ModelRequest) -> list[str]:
    """Stop texts that may go along: what the prefill opens is opened by the answer itself, and must not end it."""
    return [stop for stop in request.stop if stop not in request.prefill]


def joined(
    said: str, finish: str | None, request: ModelRequest
) -> tuple[str, int, Literal["stop", "length"]]:
    """The text with its prefill, and up to its first stop text: models that take none write on.

    An answer that opens the prefill's block itself (prefill "```python...", stop "```") is whole without the prefill.

    Returns:
        The text, where in it the answer begins, and how it ended.
    """
    prefill, opening = request.prefill, request.prefill.partition("\n")[0]
    text, begins = prefill + said, len(prefill)
    if said.startswith(prefill):
        text = said
    elif opening in said and any(stop and stop in opening for stop in request.stop):
        text, begins = said, said.index(opening) + len(opening)
        # The line end that follows is the block's own, and does not end an answer of one line.
        begins += text.startswith("\n", begins)
    ends = [end for stop in request.stop if stop and (end := text.find(stop, begins)) >= 0]
    if ends:
        return text[: min(ends)], begins, "stop"
    return text, begins, ending(finish)


def ending(finish: str | None) -> Literal["stop", "length"]:
    """What a provider's word for the end of an answer means, where the answer was not broken off."""
    return "length" if finish in _LENGTH else "stop"


def is_truncated(request: ModelRequest, usage: Usage) -> bool:
    """Whether the server cannot have read the whole prompt: no tokenizer puts two words into one token on average."""
    words = sum(len(m.content.split()) for m in request.messages)
    return words > _SHORTEST_CHECKED_WORDS and 0 < usage.prompt_tokens < words // 2
