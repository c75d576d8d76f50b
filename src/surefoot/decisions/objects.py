"""The JSON object in what a model said, whatever it said around it."""

import json
import re
from typing import Final

_FENCED: Final = re.compile(r"```(?:json)?[^\S\n]*+\n\s*+(?=\{)")
"""Where a code block begins that holds an object; where it ends only the object itself can tell, as its texts may hold fences."""
_THOUGHT: Final = re.compile(r"\s*+<think>.*?</think>", re.DOTALL)
"""What a reasoning model says before its answer, where its server leaves it in; later on it may be the text of an edit."""


def object_in(text: str) -> object:
    """The JSON of a reply, that of its first code block or that from its first brace on; words before and after are left out.

    Raises:
        ValueError: There is none.
        RecursionError: It is nested too deep.
    """
    text = _THOUGHT.sub("", text, count=1) if _THOUGHT.match(text) else text
    brace = text.find("{")
    if brace < 0:
        return json.loads(text)
    fenced = _FENCED.search(text)
    start = fenced.end() if fenced else brace
    found, _ = json.JSONDecoder().raw_decode(text[start:])
    return found
