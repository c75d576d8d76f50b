"""A native call and a text call end as one answer."""

import json
from dataclasses import replace

import pytest

from surefoot.decisions.native_call import native_tools
from surefoot.decisions.tool_call import ShapedCallAnswer, ToolCallAnswer
from surefoot.values import ModelReply, ToolCall, ToolSpec, Usage

SPEC = ToolSpec(
    name="docs.search",
    purpose="Searches.",
    schema='{"properties":{"about_call":{"type":"string"},"q":{"type":"string"}},"required":["q"],"type":"object"}',
    effect="read",
    example='{"q":"x"}',
    note="durable",
)
TOOLS = native_tools((SPEC, replace(SPEC, name="docs_search")), ToolCallAnswer)


def reply(tool: str, parameters: str, text: str = "") -> ModelReply:
    """A reply with one call."""
    call = ToolCall(tool=tool, parameters=parameters)
    return ModelReply(text=text, model="m", finish="stop", usage=Usage(), calls=(call,))


def test_every_tool_gets_a_name_that_providers_take() -> None:
    """Two that would be the same stay apart; `done` and `ask` are tools as well."""
    assert [t.name for t in TOOLS.offered] == ["docs_search", "docs_search_2", "done", "ask"]
    assert TOOLS.names["docs_search"] == "docs.search"
    assert TOOLS.names["docs_search_2"] == "docs_search"
    assert TOOLS.offered[0].purpose == "Searches. [durable]"


def test_what_is_said_beside_a_call_is_no_parameter_of_the_tool() -> None:
    """It has a place of its own, under a name that no tool has."""
    assert TOOLS.about == "about_call_"
    schema = json.loads(TOOLS.offered[0].schema)
    assert schema["required"] == ["about_call_", "q"]
    beside = {"thought": "t", "learned": ["l"], "expected_outcome": "e"}
    fields, wrong = TOOLS.read(
        reply("docs_search", json.dumps({"q": "x", "about_call": "mine", "about_call_": beside}))
    )
    assert wrong == ""
    assert fields == {**beside, "tool": "docs.search", "params": {"q": "x", "about_call": "mine"}}


def test_what_is_left_out_beside_a_call_is_empty() -> None:
    """The text of the reply is the thought then."""
    fields, wrong = TOOLS.read(reply("docs_search", '{"q":"x"}', text="because"))
    assert (wrong, fields["thought"], fields["learned"]) == ("", "because", [])


def test_a_question_for_a_person_is_the_expected_outcome() -> None:
    """As it is in the text form."""
    fields, _ = TOOLS.read(reply("ask", '{"question":"Which one?"}'))
    assert (fields["tool"], fields["expected_outcome"]) == ("ask", "Which one?")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (replace(reply("x", "{}"), calls=(), text="Sure!"), "no tool was called"),
        (reply("docs_search", '{"q": '), "not JSON"),
        (reply("docs_search", '{"q": NaN}'), "not JSON"),
        (reply("docs_search", '{"q": "\\ud800"}'), "not JSON"),
        (reply("docs_search", "[1]"), "not a JSON object"),
        (reply("docs_search", '{"about_call_": 3}'), "about_call_ is not a JSON object"),
    ],
)
def test_what_is_no_call_is_told_exactly(given: ModelReply, told: str) -> None:
    """In words that the model can mend it by."""
    fields, wrong = TOOLS.read(given)
    assert told in wrong
    assert fields == {}


def test_the_shape_of_a_decision_is_asked_beside_the_call() -> None:
    """Where shapes are recorded, a native call has a place for each of its parts."""
    shaped = native_tools((SPEC,), ShapedCallAnswer).offered[0]
    beside = json.loads(shaped.schema)["properties"]["about_call_"]
    assert {"stance", "intent", "promotion_intent", "thought"} <= set(beside["properties"])
    assert "params" not in beside["properties"]
