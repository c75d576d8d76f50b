"""The solver shape is what the decision said, and no more (SPEC D1)."""

from dataclasses import replace
from typing import Final

import pytest

from surefoot.decisions.tool_call import ShapedCallAnswer, ToolCallAnswer, shape_of

SAID: Final = ShapedCallAnswer(
    thought="",
    learned=[],
    tool="forge",
    params={},
    expected_outcome="",
    stance="forge",
    capability="count errors",
    reuse_basis="no tool does it",
    intent="errors are counted",
    on_error="count by hand",
    promotion_intent="durable_tool_candidate",
)


def test_all_that_was_said_is_in_the_shape() -> None:
    """Word for word, and complete."""
    shape = shape_of(SAID)
    assert shape.complete
    assert (shape.stance, shape.promotion_intent) == ("forge", "durable_tool_candidate")
    assert (shape.capability_summary, shape.reuse_basis) == ("count errors", "no tool does it")
    assert shape.contract_intent is not None
    assert shape.contract_intent.purpose == "errors are counted"


@pytest.mark.parametrize("field", ["stance", "intent", "on_error", "promotion_intent"])
@pytest.mark.parametrize("said", ["", "whatever"])
def test_what_is_missing_is_not_made_up(field: str, said: str) -> None:
    """A field that a gate needs and that was left out, or that is none of the words, makes the shape incomplete."""
    free = field in {"intent", "on_error"}
    shape = shape_of(replace(SAID, **{field: said}))
    assert shape.complete is (free and bool(said))


def test_fields_that_no_gate_needs_may_be_left_out() -> None:
    """The summary and the basis of reuse are for people."""
    shape = shape_of(replace(SAID, capability="", reuse_basis=""))
    assert shape.complete
    assert shape.capability_summary is None


def test_a_small_model_has_said_nothing() -> None:
    """It is asked for no shape."""
    plain = ToolCallAnswer(thought="", learned=[], tool="done", params={}, expected_outcome="")
    assert shape_of(plain) == replace(
        shape_of(SAID),
        **dict.fromkeys(
            ("stance", "capability_summary", "reuse_basis", "contract_intent", "promotion_intent")
        ),
        complete=False,
    )
