"""The JSON object in what a model said, whatever it said around it."""

import json
import re
from typing import Final

_FENCED: Final = re.compile(r"```(?:json)?[^\S\n]*+\n\s*+(?=\{\s*+\")")
"""Where a code block begins that holds an object; where it ends only the object itself can tell, as its texts may hold fences."""
_NAMED: Final = re.compile(r"\{(?=\s*+\")")
"""A brace with a name behind it; prose and code have others."""
_THOUGHT: Final = re.compile(r"\s*+<think>.*?</think>", re.DOTALL)
"""What a reasoning model says before its answer, where its server leaves it in; later on it may be the text of an edit."""


def object_in(text: str) -> object:
    """The JSON of a reply, that of its first code block or of its first brace with a name; words before and after are left out.

    Where that is broken there is none: an object inside it would be a part of the answer only.

    Raises:
        ValueError: There is none.
        RecursionError: It is nested too deep.
    """
    text = _THOUGHT.sub("", text, count=1) if _THOUGHT.match(text) else text
    brace = text.find("{")
    if brace < 0:
        return json.loads(text)
    fenced, named = _FENCED.search(text), _NAMED.search(text)
    start = fenced.end() if fenced else named.start() if named else brace
    decoder = json.JSONDecoder()
    found, end = decoder.raw_decode(text, start)
    if not fenced and start > brace and text[end:].lstrip().startswith(("}", "]", ",")):
        # It stands inside an object whose own names have no quotes.
        found, _ = decoder.raw_decode(text, brace)
    return found
