"""A strong model by rules: its n-th answer is given when the prompt shows n - 1 calls."""

import json
from collections.abc import Sequence


def call(tool: str, *, learned: Sequence[str] = (), **params: object) -> str:
    """An answer that calls a tool."""
    return json.dumps(
        {
            "thought": f"{tool} is next",
            "learned": list(learned),
            "tool": tool,
            "params": params,
            "expected_outcome": "what the step needs",
        }
    )


def done() -> str:
    """An answer that ends the step."""
    return call("done")


def script(answers: Sequence[str], before: Sequence[dict[str, object]] = ()) -> dict[str, object]:
    """A rules file: `before` first; then the answer after as many calls as the prompt shows."""
    rules: list[dict[str, object]] = [
        {
            "purpose": "tool_call",
            "pattern": rf"(?s)## Calls so far, oldest first\n.*^{number}\. [a-z_.]+ \{{",
            "reply": answer,
        }
        for number, answer in reversed(list(enumerate(answers)))
        if number
    ]
    first = {"purpose": "tool_call", "reply": answers[0]}
    return {"schema": 1, "rules": [*before, *rules, first]}
