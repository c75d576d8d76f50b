"""A tool call in a provider's own protocol: the tools as definitions, and a reply's call as the answer that text would be.

What an answer says beside the call (why, what it learned) goes along as one parameter more, which no tool ever sees.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from surefoot.codec import canonical
from surefoot.decisions.signature import schema_of
from surefoot.decisions.tool_call import ASK, DONE, ToolCallAnswer
from surefoot.values import ModelReply, OfferedTool, ToolSpec

HOW: Final = "Reply by calling exactly one of the tools. What you think and what you learned belongs into the call's parameter {about!r}."
_ABOUT: Final = "about_call"
_MOST_NAME: Final = 64
_QUESTION: Final = "question"
_BESIDE: Final = {"thought": "", "learned": [], "expected_outcome": ""}
"""What a native call may leave out: the protocol has no place for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NativeTools:
    """Tools as definitions, and the way back from a call of one."""

    offered: tuple[OfferedTool, ...]
    names: Mapping[str, str]
    """A tool's own name by the one that it is offered under."""
    about: str
    """Name of the parameter that no tool sees."""

    @property
    def how(self) -> str:
        """What a model is told of the form."""
        return HOW.format(about=self.about)

    def read(self, reply: ModelReply) -> tuple[dict[str, object], str]:
        """The fields of the answer, and what is wrong with the call; of several calls the first."""
        if not reply.calls:
            return {}, f"no tool was called; call one of {', '.join(self.names)}"
        call = reply.calls[0]
        try:
            given: object = json.loads(call.parameters or "{}")
            # What no record can hold (NaN, half of a surrogate pair) is no JSON, whatever `json` takes.
            canonical(given)
        except (ValueError, RecursionError) as error:
            return {}, f"the parameters of {call.tool} are not JSON: {error}"
        if not isinstance(given, dict):
            return {}, f"the parameters of {call.tool} are not a JSON object"
        about = given.pop(self.about, {})
        if not isinstance(about, dict):
            return {}, f"{self.about} is not a JSON object"
        tool = self.names.get(call.tool, call.tool)
        beside = _BESIDE | {"thought": reply.text} | about
        if tool == ASK:
            beside |= {"expected_outcome": given.pop(_QUESTION, "")}
        return {**beside, "tool": tool, "params": given}, ""


def native_tools(specs: Sequence[ToolSpec], answer: type[ToolCallAnswer]) -> NativeTools:
    """The tools of a call, `done` and `ask`, as definitions; `answer` says what is asked beside the call."""
    schemas: list[dict[str, Any]] = [json.loads(spec.schema) for spec in specs]
    about = _ABOUT
    while any(about in schema.get("properties", {}) for schema in schemas):
        about += "_"
    whole: dict[str, Any] = schema_of(answer)
    said = {k: v for k, v in whole["properties"].items() if k not in ("tool", "params")}
    beside = {**whole, "properties": said, "required": list(said)}
    names: dict[str, str] = {}
    offered = []
    for spec, schema in zip(specs, schemas, strict=True):
        purpose = f"{spec.purpose} [{spec.note}]" if spec.note else spec.purpose
        name = _name(spec.name, names)
        names[name] = spec.name
        offered.append(_offered(name, purpose, schema, about, beside))
    nothing: dict[str, Any] = {"type": "object", "properties": {}, "required": []}
    words = {**nothing, "properties": {_QUESTION: {"type": "string"}}, "required": [_QUESTION]}
    offered.append(_offered(DONE, "The step's goal is reached.", nothing, about, beside))
    offered.append(
        _offered(ASK, "Ask a person what nothing else can decide.", words, about, beside)
    )
    return NativeTools(offered=tuple(offered), names={**names, DONE: DONE, ASK: ASK}, about=about)


def as_text(fields: Mapping[str, object]) -> str:
    """The answer as a model would have written it."""
    return canonical(fields).decode()


def _offered(
    name: str, purpose: str, schema: Mapping[str, Any], about: str, beside: Mapping[str, Any]
) -> OfferedTool:
    whole = {
        **schema,
        "properties": {about: beside, **schema.get("properties", {})},
        "required": [about, *schema.get("required", ())],
    }
    return OfferedTool(name=name, purpose=purpose, schema=canonical(whole).decode())


def _name(name: str, taken: Mapping[str, str]) -> str:
    """A name that every provider takes, and no other tool has."""
    plain = re.sub(r"[^A-Za-z0-9_-]", "_", name)[:_MOST_NAME] or "tool"
    found, number = plain, 2
    while found in taken or found in (DONE, ASK):
        end = f"_{number}"
        found, number = plain[: _MOST_NAME - len(end)] + end, number + 1
    return found
