"""An Anthropic-style endpoint (`POST /v1/messages`) on loopback that says exactly what a test wants, good or bad."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from surefoot.codec import canonical
from surefoot.kernel.ports import Model
from surefoot.testing.chat_server import EVENT_STREAM, ScriptedServer, Seen, Wire, event
from surefoot.values import (
    Message,
    ModelFailure,
    ModelFault,
    ModelRequest,
    OfferedTool,
    ToolCall,
)

_ERRORS: Final[Mapping[ModelFault, tuple[int, str]]] = {
    ModelFault.RATE_LIMIT: (429, "rate_limit_error"),
    ModelFault.OVERLOAD: (529, "overloaded_error"),
    ModelFault.TIMEOUT: (504, "timeout_error"),
    ModelFault.AUTH: (401, "authentication_error"),
    ModelFault.NOT_FOUND: (404, "not_found_error"),
    ModelFault.UNREACHABLE: (500, "api_error"),
}


class MessagesServer(ScriptedServer):
    """As `ScriptedServer`; clients of this protocol add the version to the address themselves."""

    @property
    def base_url(self) -> str:
        """For `--base-url` of an `anthropic/…` model."""
        return super().base_url.removesuffix("/v1")


def message(text: str, **changes: object) -> bytes:
    """A well-formed reply with `text`; `changes` replace or add top-level fields."""
    return json.dumps(
        {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "scripted",
            "content": [{"type": "text", "text": text}],
            "stop_reason": "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 5, "output_tokens": 2},
            **changes,
        }
    ).encode()


def error(
    status: int, kind: str, text: str = "no", headers: Mapping[str, str] | None = None
) -> Wire:
    """A failure in the protocol's shape, e.g. 429 `rate_limit_error`, 529 `overloaded_error`."""
    return Wire(
        status=status, headers=headers or {}, body=json.dumps(_failure(kind, text)).encode()
    )


def error_event(kind: str, text: str = "no") -> bytes:
    """A failure in the middle of a stream."""
    return event(_failure(kind, text), "error")


def events(
    pieces: Iterable[str],
    *,
    stop_reason: str | None = "end_turn",
    model: str = "scripted",
    prompt_tokens: int = 5,
    completion_tokens: int = 2,
    calls: Sequence[ToolCall] = (),
) -> tuple[bytes, ...]:
    """The events of a well-formed stream, one delta for each piece; without a stop reason it ends after the deltas."""
    begun = json.loads(message("", model=model, content=[], stop_reason=None))
    begun["usage"] = {"input_tokens": prompt_tokens, "output_tokens": 1}
    block = {"type": "text", "text": ""}
    said = [
        event({"type": "message_start", "message": begun}, "message_start"),
        event(
            {"type": "content_block_start", "index": 0, "content_block": block},
            "content_block_start",
        ),
        event({"type": "ping"}, "ping"),
    ]
    for piece in pieces:
        delta = {"type": "text_delta", "text": piece}
        said.append(
            event(
                {"type": "content_block_delta", "index": 0, "delta": delta}, "content_block_delta"
            )
        )
    if stop_reason is None:
        return tuple(said)
    for index, call in enumerate(calls, 1):
        said += [event({"type": "content_block_stop", "index": index - 1}, "content_block_stop")]
        said += _called(index, call)
    end = {
        "type": "message_delta",
        "delta": {"stop_reason": stop_reason, "stop_sequence": None},
        "usage": {"output_tokens": completion_tokens},
    }
    return (
        *said,
        event({"type": "content_block_stop", "index": len(calls)}, "content_block_stop"),
        event(end, "message_delta"),
        event({"type": "message_stop"}, "message_stop"),
    )


def _called(index: int, call: ToolCall) -> list[bytes]:
    """The events that begin and fill a call's block."""
    block = {"type": "tool_use", "id": f"toolu_{index}", "name": call.tool, "input": {}}
    deltas = [
        {"type": "input_json_delta", "partial_json": piece}
        for piece in re.findall(r"(?s).{1,20}", call.parameters)
    ]
    begun = {"type": "content_block_start", "index": index, "content_block": block}
    more = [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
    return [event(one, str(one["type"])) for one in (begun, *more)]


def speaks_messages_for(model: Model) -> Callable[[Seen], Wire]:
    """A behaviour that answers with what `model` says, in the protocol's words, as a stream where that is asked for."""

    def behave(seen: Seen) -> Wire:
        answer = model.complete((_request(seen.body),))[0]
        if isinstance(answer, ModelFailure):
            if answer.fault is ModelFault.UNSUPPORTED:
                return error(400, "invalid_request_error", "tools: this model takes no tools")
            status, kind = _ERRORS.get(answer.fault, (400, "invalid_request_error"))
            return error(status, kind, answer.message)
        reason = "max_tokens" if answer.finish == "length" else "end_turn"
        if answer.calls:
            reason = "tool_use"
        usage = answer.usage
        if seen.body.get("stream"):
            said = events(
                re.findall(r"\s*\S+|\s+$", answer.text),
                stop_reason=reason,
                model=answer.model,
                prompt_tokens=usage.prompt_tokens,
                completion_tokens=usage.completion_tokens,
                calls=answer.calls,
            )
            return Wire(headers=EVENT_STREAM, body=said)
        counted = {"input_tokens": usage.prompt_tokens, "output_tokens": usage.completion_tokens}
        blocks: list[dict[str, Any]] = []
        if answer.text:
            blocks.append({"type": "text", "text": answer.text})
        blocks += [
            {
                "type": "tool_use",
                "id": f"toolu_{n}",
                "name": c.tool,
                "input": json.loads(c.parameters),
            }
            for n, c in enumerate(answer.calls)
        ]
        told = {"model": answer.model, "stop_reason": reason, "usage": counted, "content": blocks}
        return Wire(body=message("", **told))

    return behave


def _failure(kind: str, text: str) -> dict[str, object]:
    return {"type": "error", "error": {"type": kind, "message": text}}


def _request(body: Mapping[str, object]) -> ModelRequest:
    given, system = body["messages"], body.get("system")
    messages = [Message(role="system", content=_text(system))] if system else []
    if isinstance(given, list):
        messages += [Message(role=m["role"], content=_text(m["content"])) for m in given]
    prefill = messages.pop().content if messages and messages[-1].role == "assistant" else ""
    stop, most, temperature = (body.get(k) for k in ("stop_sequences", "max_tokens", "temperature"))
    return ModelRequest(
        purpose="served",
        messages=tuple(messages),
        max_tokens=most if isinstance(most, int) else 256,
        temperature=float(temperature) if isinstance(temperature, int | float) else 0.0,
        stop=tuple(str(s) for s in stop) if isinstance(stop, list) else (),
        prefill=prefill,
        tools=_offered(body.get("tools")),
    )


def _offered(given: object) -> tuple[OfferedTool, ...]:
    return tuple(
        OfferedTool(
            name=tool["name"],
            purpose=tool.get("description", ""),
            schema=canonical(tool["input_schema"]).decode(),
        )
        for tool in (given if isinstance(given, list) else ())
    )


def _text(content: object) -> str:
    """The text of a string or of a list of blocks."""
    if isinstance(content, list):
        return "".join(str(block["text"]) for block in content if block.get("type") == "text")
    return str(content)
