"""An answer to a prompt whose prefill the server never saw."""

import pytest

from surefoot.models.unseen import joined, sendable_stops
from surefoot.values import Message, ModelRequest

LINE = ModelRequest(
    purpose="candidate_edit",
    messages=(Message(role="user", content="what belongs in place of ____"),),
    max_tokens=80,
    stop=("\n", "```"),
    prefill="```python\nif",
)


@pytest.mark.parametrize(
    ("said", "text"),
    [
        (" a > b:\n    return a\n```", "```python\nif a > b:"),
        ("```python\nif a > b:\n```", "```python\nif a > b:"),
        ("Here it is:\n```python\nelif a > b:\n```", "Here it is:\n```python\nelif a > b:"),
    ],
)
def test_one_line_is_read_whichever_way_it_is_given(said: str, text: str) -> None:
    """The line end that follows an opened block is the block's own; the first one after it ends the answer."""
    assert sendable_stops(LINE) == []
    assert joined(said, "stop", LINE)[0] == text
