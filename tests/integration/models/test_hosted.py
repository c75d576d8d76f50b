"""A model behind LiteLLM, over two protocols, streamed and not: whatever the provider does is a typed value."""

import dataclasses
import inspect
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from itertools import repeat
from pathlib import Path
from typing import Literal

import httpx
import pytest

from surefoot.models.estimate import estimate_tokens
from surefoot.models.hosted import HostedModel, load
from surefoot.models.hosted_faults import explain
from surefoot.models.openai_chat import REPLY_LIMIT_BYTES, UNKNOWN_PRICE, Price
from surefoot.models.tapped import Exchange
from surefoot.testing import chat_server, messages_server
from surefoot.testing.chat_server import (
    DRIP_S,
    DRIPS,
    EVENT_STREAM,
    ScriptedServer,
    Seen,
    Wire,
    busy,
    completion,
    drip,
    event,
)
from surefoot.testing.messages_server import MessagesServer, error, error_event, message
from surefoot.values import Message, ModelAnswer, ModelFailure, ModelFault, ModelReply, ModelRequest

# LiteLLM uses what its dependencies advise against; in a program such warnings are not shown.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

KEY = "sk-not-a-real-key-4711"
WORDS = ("one", " two", " three", " four")
TEXT = "".join(WORDS)


@dataclasses.dataclass(frozen=True)
class Protocol:
    """How one protocol says the same things."""

    name: str
    server: type[ScriptedServer]
    path: str
    key: Callable[[Seen], str]
    whole: Callable[[str], bytes]
    pieces: Callable[[Iterable[str], str | None], tuple[bytes, ...]]
    finishes: dict[str, str]
    """The protocol's own words for ours."""


def chat_pieces(said: Iterable[str], finish: str | None) -> tuple[bytes, ...]:
    usage = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}
    events = chat_server.streamed(said, finish=finish, usage=usage)
    return events if finish is not None else events[:-2]


ANTHROPIC = Protocol(
    name="anthropic/test",
    server=MessagesServer,
    path="/v1/messages",
    key=lambda seen: seen.headers["x-api-key"],
    whole=message,
    pieces=lambda said, finish: messages_server.events(said, stop_reason=finish),
    finishes={"stop": "end_turn", "length": "max_tokens", "refusal": "refusal"},
)
OPENAI = Protocol(
    name="openai/test",
    server=ScriptedServer,
    path="/v1/chat/completions",
    key=lambda seen: seen.headers["authorization"].removeprefix("Bearer "),
    whole=completion,
    pieces=chat_pieces,
    finishes={"stop": "stop", "length": "length", "refusal": "content_filter"},
)
VLLM = dataclasses.replace(OPENAI, name="hosted_vllm/test")


@pytest.fixture(params=[ANTHROPIC, OPENAI, VLLM], ids=lambda p: p.name.partition("/")[0])
def protocol(request: pytest.FixtureRequest) -> Protocol:
    found: Protocol = request.param
    return found


@pytest.fixture(params=[False, True], ids=["whole", "streamed"])
def stream(request: pytest.FixtureRequest) -> bool:
    found: bool = request.param
    return found


def ask(**changes: object) -> ModelRequest:
    given = {
        "purpose": "t",
        "messages": (Message(role="system", content="s"), Message(role="user", content="hello")),
        "max_tokens": 16,
    }
    return ModelRequest(**{**given, **changes})  # type: ignore[arg-type]


def answered(
    protocol: Protocol, wire: Wire, request: ModelRequest | None = None, **model: object
) -> tuple[ModelAnswer, tuple[Seen, ...]]:
    """What one request comes to when the server says `wire`, and what the server saw."""
    with protocol.server(lambda _: wire) as there:
        given = {"api_key": KEY, "base_url": there.base_url, "context_tokens": 32_768}
        hosted = HostedModel(protocol.name, **{**given, **model})  # type: ignore[arg-type]
        (answer,) = hosted.complete((request or ask(),))
        there.closing.set()
        return answer, there.seen


def failure(protocol: Protocol, wire: Wire, **model: object) -> ModelFailure:
    answer, seen = answered(protocol, wire, **model)
    assert isinstance(answer, ModelFailure), answer
    assert len(seen) == 1
    assert answer.message
    assert KEY not in answer.message
    return answer


def said(protocol: Protocol, *, stream: bool, finish: str = "stop") -> Wire:
    """A good reply."""
    word = protocol.finishes[finish]
    if stream:
        return Wire(headers=EVENT_STREAM, body=protocol.pieces(WORDS, word))
    body = json.loads(protocol.whole(TEXT))
    (body if protocol is ANTHROPIC else body["choices"][0])[
        "stop_reason" if protocol is ANTHROPIC else "finish_reason"
    ] = word
    return Wire(body=json.dumps(body).encode())


# --- what is sent, and what comes back -------------------------------------------------------------


def test_a_reply_is_read_whole(protocol: Protocol, *, stream: bool) -> None:
    """One request reaches the path of the protocol with the key; text, true model, finish and usage come back."""
    price = Price(prompt_usd=1_000_000.0, completion_usd=2_000_000.0)
    answer, (seen,) = answered(protocol, said(protocol, stream=stream), stream=stream, price=price)
    assert isinstance(answer, ModelReply), getattr(answer, "message", "")
    assert (answer.text, answer.model, answer.finish) == (TEXT, "scripted", "stop")
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (5, 2)
    assert answer.usage.cost_usd == pytest.approx(9.0)
    assert answer.wall_s > 0
    assert seen.path == protocol.path
    assert protocol.key(seen) == KEY
    assert seen.body["model"] == "test"
    assert seen.body["max_tokens"] == 16
    assert seen.body["temperature"] == 0.0
    assert bool(seen.body.get("stream")) is stream


def test_an_answer_that_is_cut_by_its_length_says_so(protocol: Protocol, *, stream: bool) -> None:
    """The finish reason of each protocol arrives as ours."""
    answer, _ = answered(protocol, said(protocol, stream=stream, finish="length"), stream=stream)
    assert isinstance(answer, ModelReply)
    assert answer.finish == "length"


def test_a_refusal_is_a_refusal(protocol: Protocol, *, stream: bool) -> None:
    """A stop reason `refusal` or `content_filter` is no answer, whatever text stands beside it, and its tokens count."""
    got = failure(protocol, said(protocol, stream=stream, finish="refusal"), stream=stream)
    assert got.fault is ModelFault.REFUSAL
    assert (got.usage.prompt_tokens, got.usage.completion_tokens) == (5, 2)


def test_a_prefill_is_put_before_the_answer_and_not_sent(
    protocol: Protocol, *, stream: bool
) -> None:
    """The text starts with the prefill once, whether the answer repeats it or not."""
    for prefill, text in (("on", TEXT), ("zero ", "zero " + TEXT)):
        answer, (seen,) = answered(
            protocol, said(protocol, stream=stream), ask(prefill=prefill), stream=stream
        )
        assert isinstance(answer, ModelReply)
        assert answer.text == text
        sent = seen.body["messages"]
        assert isinstance(sent, list)
        assert sent[-1]["role"] == "user"


def test_a_stop_text_holds_where_the_provider_ignores_it(
    protocol: Protocol, *, stream: bool
) -> None:
    """The stop text is sent, and nothing from it on is in the answer."""
    answer, (seen,) = answered(
        protocol, said(protocol, stream=stream), ask(stop=(" three",)), stream=stream
    )
    assert isinstance(answer, ModelReply)
    assert (answer.text, answer.finish) == ("one two", "stop")
    assert (seen.body.get("stop") or seen.body["stop_sequences"]) == [" three"]


@pytest.mark.parametrize(
    ("said_there", "text"),
    [
        ("f():\n    pass\n```\nDone.", "```python\ndef f():\n    pass\n"),
        ("```python\ndef f():\n    pass\n```\nDone.", "```python\ndef f():\n    pass\n"),
        ("```python\nx = 1\n\ndef f(): ...\n```", "```python\nx = 1\n\ndef f(): ...\n"),
        ("Here it is:\n```python\nx = 1\n```\n", "Here it is:\n```python\nx = 1\n"),
    ],
    ids=["continued", "repeated", "own", "told"],
)
def test_a_block_that_the_prefill_opens_is_not_ended_by_its_opening(
    protocol: Protocol, said_there: str, text: str
) -> None:
    """The fence is a stop text that stands in the prefill: it is not sent, and ends the block, not the answer's beginning."""
    request = ask(prefill="```python\ndef ", stop=("```", "END"))
    answer, (seen,) = answered(protocol, Wire(body=protocol.whole(said_there)), request)
    assert isinstance(answer, ModelReply), getattr(answer, "message", "")
    assert (answer.text, answer.finish) == (text, "stop")
    assert (seen.body.get("stop") or seen.body["stop_sequences"]) == ["END"]


def test_an_empty_answer_is_empty(protocol: Protocol, *, stream: bool) -> None:
    """No text, or blanks only, is a failure of its own kind."""
    body = protocol.pieces((" ", "\n"), protocol.finishes["stop"])
    wire = Wire(headers=EVENT_STREAM, body=body) if stream else Wire(body=protocol.whole(" \n"))
    assert failure(protocol, wire, stream=stream).fault is ModelFault.EMPTY


def test_a_schema_is_sent_to_models_that_take_one() -> None:
    """LiteLLM's own list decides; a model that is not on it is asked without."""
    schema = ask(json_schema='{"properties":{},"type":"object"}', purpose="a purpose")
    for name, sent in (("openai/gpt-4o", True), ("openai/unheard-of", False)):
        with ScriptedServer(lambda _: Wire(body=completion("{}"))) as there:
            model = HostedModel(name, api_key=KEY, base_url=there.base_url, context_tokens=9000)
            assert isinstance(model.complete((schema,))[0], ModelReply)
            (seen,) = there.seen
        assert ("response_format" in seen.body) is sent


def test_cached_tokens_are_told_apart(*, stream: bool) -> None:
    """What a provider read from its cache is part of the prompt, and known as such, in both protocols."""
    cached = {"input_tokens": 3, "cache_read_input_tokens": 6, "output_tokens": 2}
    begun, *rest = messages_server.events(WORDS, completion_tokens=2)
    start = json.loads(begun.partition(b"data: ")[2])
    start["message"]["usage"] = {**cached, "output_tokens": 1}
    wire = (
        Wire(headers=EVENT_STREAM, body=(event(start, "message_start"), *rest))
        if stream
        else Wire(body=message(TEXT, usage=cached))
    )
    answer, _ = answered(ANTHROPIC, wire, stream=stream)
    usage = answer.usage
    assert (usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens) == (9, 6, 2)
    counted = {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11}
    # The second place is Kimi's.
    for place in ({"prompt_tokens_details": {"cached_tokens": 6}}, {"cached_tokens": 6}):
        told = {**counted, **place}
        wire = (
            Wire(headers=EVENT_STREAM, body=chat_server.streamed(WORDS, usage=told))
            if stream
            else Wire(body=completion(TEXT, usage=told))
        )
        answer, _ = answered(OPENAI, wire, stream=stream)
        usage = answer.usage
        assert (usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens) == (9, 6, 2)


def test_a_provider_that_does_not_count_is_counted_upwards(*, stream: bool) -> None:
    """A whole reply without usage is never free."""
    body = json.loads(completion(TEXT))
    del body["usage"]
    wire = (
        Wire(headers=EVENT_STREAM, body=chat_server.streamed(WORDS))
        if stream
        else Wire(body=json.dumps(body).encode())
    )
    answer, _ = answered(OPENAI, wire, stream=stream)
    assert isinstance(answer, ModelReply)
    assert answer.usage.prompt_tokens >= 2
    assert answer.usage.completion_tokens == estimate_tokens(TEXT)


def test_a_cost_that_the_provider_states_is_the_cost(*, stream: bool) -> None:
    """OpenRouter says what a call cost; that goes before the price list."""
    told = {"prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14, "cost": 0.25}
    wire = (
        Wire(headers=EVENT_STREAM, body=chat_server.streamed(WORDS, usage=told))
        if stream
        else Wire(body=completion(TEXT, usage=told))
    )
    routed = dataclasses.replace(OPENAI, name="openrouter/a/b:free")
    answer, _ = answered(routed, wire, stream=stream, price=Price(prompt_usd=9.0))
    assert answer.usage.cost_usd == 0.25


def test_a_thousand_equal_pieces_are_an_answer() -> None:
    """A stream that says the same again and again is no fault of the server (LiteLLM would end it)."""
    body = chat_server.streamed(["    "] * 1000 + ["x"])
    answer, _ = answered(OPENAI, Wire(headers=EVENT_STREAM, body=body), stream=True)
    assert isinstance(answer, ModelReply)
    assert answer.text == "    " * 1000 + "x"


def test_signs_of_other_models_are_text() -> None:
    """Pieces that look like the beginnings of special tokens arrive."""
    pieces = ["a ", "<", " b ", "<|", "x", "|> ", "<", "s", "> c"]
    body = chat_server.streamed(pieces)
    answer, _ = answered(OPENAI, Wire(headers=EVENT_STREAM, body=body), stream=True)
    assert isinstance(answer, ModelReply)
    assert answer.text == "".join(pieces)


# --- other providers' ways --------------------------------------------------------------------------


def ollama_said(*, stream: bool) -> Wire:
    base = {"model": "qwen", "created_at": "2026-01-01T00:00:00Z"}
    end = {"done": True, "done_reason": "length", "prompt_eval_count": 9, "eval_count": 3}
    if not stream:
        whole = {**base, **end, "message": {"role": "assistant", "content": TEXT}}
        return Wire(body=json.dumps(whole).encode())
    lines = [
        {**base, "done": False, "message": {"role": "assistant", "content": word}} for word in WORDS
    ]
    lines.append({**base, **end, "message": {"role": "assistant", "content": ""}})
    body = [json.dumps(line).encode() + b"\n" for line in lines]
    return Wire(headers={"content-type": "application/x-ndjson"}, body=body)


def test_an_ollama_is_asked_once_in_its_own_words(*, stream: bool) -> None:
    """Ollama's protocol, with the schema as its format; LiteLLM's question for the price does not leave."""
    with MessagesServer(lambda _: ollama_said(stream=stream)) as there:
        model = HostedModel(
            "ollama_chat/qwen",
            api_key=None,
            base_url=there.base_url,
            context_tokens=9000,
            stream=stream,
        )
        (answer,) = model.complete((ask(json_schema='{"type":"object"}', stop=("END",)),))
        threading.Event().wait(0.3)
        (seen,) = there.seen
    assert isinstance(answer, ModelReply), getattr(answer, "message", "")
    assert (answer.text, answer.model, answer.finish) == (TEXT, "qwen", "length")
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (9, 3)
    assert seen.path == "/api/chat"
    assert seen.body["format"] == {"type": "object"}


def test_gemini_is_asked_in_its_own_words(*, stream: bool) -> None:
    """Gemini's protocol: the true model, cached tokens, and a wrong key that comes as a bad request."""
    said_whole = {
        "candidates": [
            {"content": {"parts": [{"text": TEXT}], "role": "model"}, "finishReason": "STOP"}
        ],
        "usageMetadata": {
            "promptTokenCount": 9,
            "candidatesTokenCount": 3,
            "totalTokenCount": 12,
            "cachedContentTokenCount": 4,
        },
        "modelVersion": "gemini-x-001",
    }
    good = event(said_whole) if stream else json.dumps(said_whole).encode()
    wrong = {"error": {"code": 400, "message": "API key not valid.", "status": "INVALID_ARGUMENT"}}
    wires = iter((Wire(body=good), Wire(status=400, body=json.dumps(wrong).encode())))
    with MessagesServer(lambda _: next(wires)) as there:
        model = HostedModel(
            "gemini/gemini-2.5-flash",
            api_key=KEY,
            base_url=there.base_url,
            context_tokens=9000,
            stream=stream,
        )
        answers = [model.complete((ask(),))[0] for _ in range(2)]
        assert len(there.seen) == 2
    answer, failed = answers
    assert isinstance(answer, ModelReply), getattr(answer, "message", "")
    assert (answer.text, answer.model, answer.finish) == (TEXT, "gemini-x-001", "stop")
    assert (answer.usage.prompt_tokens, answer.usage.cached_tokens) == (9, 4)
    assert isinstance(failed, ModelFailure)
    assert failed.fault is ModelFault.AUTH


# --- faults ----------------------------------------------------------------------------------------


def openai_error(status: int, text: str = "no", **more: object) -> Wire:
    return Wire(status=status, body=json.dumps({"error": {"message": text, **more}}).encode())


@pytest.mark.parametrize(
    ("protocol", "wire", "fault"),
    [
        (ANTHROPIC, error(400, "invalid_request_error", "prompt is too long: 9 tokens > 8 maximum"), "context-overflow"),
        (ANTHROPIC, error(400, "invalid_request_error", "Output blocked by content filtering policy"), "refusal"),
        (ANTHROPIC, error(400, "invalid_request_error", "max_tokens: must be positive"), "malformed"),
        (ANTHROPIC, error(401, "authentication_error", f"invalid x-api-key {KEY}"), "auth"),
        (ANTHROPIC, error(403, "permission_error"), "auth"),
        (ANTHROPIC, error(404, "not_found_error", "model: test"), "not-found"),
        (ANTHROPIC, error(413, "request_too_large"), "malformed"),
        (ANTHROPIC, error(429, "rate_limit_error"), "rate-limit"),
        (ANTHROPIC, error(500, "api_error", "Internal server error"), "overload"),
        (ANTHROPIC, error(502, "api_error"), "overload"),
        (ANTHROPIC, error(503, "api_error"), "overload"),
        (ANTHROPIC, error(504, "timeout_error"), "timeout"),
        (ANTHROPIC, error(529, "overloaded_error", "Overloaded"), "overload"),
        (OPENAI, openai_error(400, "This model's maximum context length is 8 tokens"), "context-overflow"),
        (OPENAI, openai_error(400, code="context_length_exceeded"), "context-overflow"),
        (OPENAI, openai_error(400, code="content_policy_violation"), "refusal"),
        (OPENAI, openai_error(400, "what? 429"), "malformed"),
        (OPENAI, openai_error(401, f"Incorrect API key provided: {KEY}"), "auth"),
        (OPENAI, openai_error(403), "auth"),
        (OPENAI, openai_error(404, "model 'm' not found"), "not-found"),
        (OPENAI, openai_error(408), "timeout"),
        (OPENAI, openai_error(429), "rate-limit"),
        (OPENAI, openai_error(429, "You exceeded your current quota", code="insufficient_quota"), "auth"),
        (OPENAI, openai_error(403, metadata={"reasons": ["violence"], "flagged_input": "how"}), "refusal"),
        (OPENAI, openai_error(500), "overload"),
        (OPENAI, openai_error(503), "overload"),
        (OPENAI, Wire(status=502, body=b"<html>oops</html>"), "overload"),
        (OPENAI, Wire(status=307, headers={"location": "http://127.0.0.1:9/"}), "not-found"),
        (ANTHROPIC, Wire(status=307, headers={"location": "http://127.0.0.1:9/"}), "not-found"),
        (VLLM, openai_error(400, "This model's maximum context length is 8 tokens"), "context-overflow"),
        (VLLM, openai_error(429), "rate-limit"),
        (VLLM, openai_error(500), "overload"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_every_error_is_typed_and_free(
    protocol: Protocol,
    wire: Wire,
    fault: str,
    *,
    stream: bool,
) -> None:
    """An error status is a failure of its kind after one request; nothing was answered, so nothing is charged."""
    got = failure(protocol, wire, stream=stream)
    assert got.fault.value == fault, got
    assert got.usage.prompt_tokens == got.usage.completion_tokens == 0
    assert got.unbilled or fault != "malformed"
    assert got.model == protocol.name


def test_the_wait_that_a_provider_asks_for_arrives(protocol: Protocol, *, stream: bool) -> None:
    """`retry-after` of a 429 arrives in seconds."""
    wire = error(429, "rate_limit_error", headers={"retry-after": "7"})
    assert failure(protocol, wire, stream=stream).retry_after_s == 7.0
    wire = error(429, "rate_limit_error", headers={"retry-after-ms": "250", "retry-after": "1"})
    assert failure(protocol, wire, stream=stream).retry_after_s == 0.25


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"<html>a captive portal</html>",
        b'{"choices":"x","content":"x"}',
        b'{"content":[{"type":"text","text":"\xff\xfe"}]}',
        completion(TEXT)[:40],
        message(TEXT)[:40],
    ],
)
def test_what_cannot_be_read_is_malformed(protocol: Protocol, body: bytes) -> None:
    """Status 200 with nonsense is `malformed`, and counted as the most that it can have cost."""
    got = failure(protocol, Wire(body=body))
    assert got.fault in (ModelFault.MALFORMED, ModelFault.EMPTY), got
    assert got.usage.prompt_tokens > 0


@pytest.mark.parametrize("body", [b"", b"<html>a captive portal</html>", b"data: {not json\n\n"])
def test_a_stream_that_is_none_is_a_failure(protocol: Protocol, body: bytes) -> None:
    """Status 200 with something that is no stream is a failure, never an answer."""
    got = failure(protocol, Wire(headers=EVENT_STREAM, body=body), stream=True)
    assert got.fault in (ModelFault.MALFORMED, ModelFault.BROKEN_STREAM), got


def test_an_error_in_a_good_status_is_seen(*, stream: bool) -> None:
    """An error body under status 200 is that error."""
    wire = Wire(body=error(529, "overloaded_error", "Overloaded").body)
    assert failure(ANTHROPIC, wire, stream=stream).fault is ModelFault.OVERLOAD
    wire = Wire(body=openai_error(429, "slow down", code=429).body)
    got = failure(OPENAI, wire, stream=stream)
    assert got.fault is ModelFault.RATE_LIMIT
    assert got.usage.completion_tokens == 0


def test_an_endless_reply_is_malformed(protocol: Protocol, *, stream: bool) -> None:
    """More than 4 MiB is no answer, in one piece, in many, or without an end."""
    big = "x" * (REPLY_LIMIT_BYTES // 8)
    pieces = protocol.pieces([big] * 9, protocol.finishes["stop"])
    wire = Wire(headers=EVENT_STREAM, body=pieces) if stream else Wire(body=protocol.whole(big * 9))
    assert failure(protocol, wire, stream=stream).fault is ModelFault.MALFORMED
    endless = Wire(headers=EVENT_STREAM, body=repeat(b"more " * 100_000))
    assert failure(protocol, endless, stream=stream).fault is ModelFault.MALFORMED


def test_what_cannot_be_unpacked_is_malformed(protocol: Protocol, *, stream: bool) -> None:
    """A reply that is not packed as it says."""
    wire = Wire(body=b"not gzip", headers={"content-encoding": "gzip"})
    assert failure(protocol, wire, stream=stream).fault is ModelFault.MALFORMED


def test_nobody_there_is_unreachable(protocol: Protocol, *, stream: bool) -> None:
    """A refused connection is `unreachable`, free, and the message names the address."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        model = HostedModel(
            protocol.name,
            api_key=KEY,
            base_url=f"http://127.0.0.1:{port}",
            context_tokens=9000,
            stream=stream,
        )
        (answer,) = model.complete((ask(),))
    assert isinstance(answer, ModelFailure)
    assert answer.fault is ModelFault.UNREACHABLE
    assert str(port) in answer.message
    assert answer.usage.prompt_tokens == 0


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        ("RateLimitError", "no", "rate-limit"),
        ("AuthenticationError", "no", "auth"),
        ("PermissionDeniedError", "no", "auth"),
        ("NotFoundError", "no", "not-found"),
        ("ContextWindowExceededError", "no", "context-overflow"),
        ("ContentPolicyViolationError", "no", "refusal"),
        ("Timeout", "no", "timeout"),
        ("InternalServerError", "no", "overload"),
        ("ServiceUnavailableError", "no", "overload"),
        ("BadGatewayError", "no", "overload"),
        ("APIResponseValidationError", "no", "malformed"),
        ("BadRequestError", "no", "malformed"),
        ("BadRequestError", "prompt is too long: 9 tokens", "context-overflow"),
        ("BadRequestError", "stopped by the content filter", "refusal"),
        ("UnprocessableEntityError", "no", "malformed"),
        ("APIConnectionError", "no", "unreachable"),
    ],
)
def test_an_exception_that_did_not_come_over_the_line_is_typed(
    name: str, text: str, fault: str
) -> None:
    """Providers with a client of their own leave only the exception: its class decides, then its words."""
    library = load()
    kind = getattr(library.exceptions, name)
    takes = inspect.signature(kind).parameters
    given = {"message": text, "model": "m", "llm_provider": "p"}
    if takes.get("response") is not None and takes["response"].default is inspect.Parameter.empty:
        given["response"] = httpx.Response(400, request=httpx.Request("POST", "http://x"))
    problem = kind(**{k: v for k, v in given.items() if k in takes})
    untouched = Exchange(stream=False, reply_s=1.0, idle_s=1.0)
    assert explain(library, problem, untouched, begun=False).kind.value == fault
    if name == "APIConnectionError":
        begun = explain(library, problem, untouched, begun=True)
        assert begun.kind is ModelFault.BROKEN_STREAM


def test_the_wait_stands_in_the_exception_too() -> None:
    """Where the line did not see the reply, its headers are read from the exception."""
    library = load()
    reply = httpx.Response(
        429, headers={"retry-after": "9"}, request=httpx.Request("POST", "http://x")
    )
    problem = library.exceptions.RateLimitError(
        message="slow down", model="m", llm_provider="p", response=reply
    )
    untouched = Exchange(stream=False, reply_s=1.0, idle_s=1.0)
    fault = explain(library, problem, untouched, begun=False)
    assert (fault.kind, fault.retry_after_s) == (ModelFault.RATE_LIMIT, 9.0)


# --- cut, slow, late -------------------------------------------------------------------------------

PRICE = Price(prompt_usd=1.0, completion_usd=1.0)


def at_least(got: ModelFailure, words: Iterable[str]) -> None:
    """The prompt and the words that came are in the failure's usage, with their price."""
    assert got.usage.prompt_tokens > 0
    assert got.usage.completion_tokens >= len(list(words))
    assert got.usage.cost_usd > 0


def test_a_reply_that_is_cut_is_paid(protocol: Protocol) -> None:
    """A connection that ends inside the body: the provider wrote up to the limit of tokens, whatever arrived."""
    wire = Wire(body=protocol.whole(TEXT), promised_bytes=100_000)
    got = failure(protocol, wire, price=PRICE)
    assert got.fault is ModelFault.BROKEN_STREAM
    assert got.usage.completion_tokens == 16
    at_least(got, WORDS)


def test_a_stream_that_is_cut_is_a_failure_and_paid(protocol: Protocol) -> None:
    """A stream that ends without a finish reason is no answer; the prompt and what came are counted."""
    for promised in (None, 100_000):
        pieces = protocol.pieces(WORDS, None)
        wire = Wire(
            headers=EVENT_STREAM,
            body=pieces if promised is None else b"".join(pieces),
            promised_bytes=promised,
        )
        got = failure(protocol, wire, stream=True, price=PRICE)
        assert got.fault is ModelFault.BROKEN_STREAM, got
        at_least(got, WORDS)


def test_an_answer_that_was_broken_off_is_no_whole_one(*, stream: bool) -> None:
    """LiteLLM calls such an end `stop`; the line knows better. What was written is paid."""
    used = {"prompt_tokens": 41, "completion_tokens": 4, "total_tokens": 45}
    for finish in ("error", "insufficient_system_resource"):
        choice = {"index": 0, "message": {"content": TEXT}, "finish_reason": finish}
        wire = (
            Wire(headers=EVENT_STREAM, body=chat_server.streamed(WORDS, finish=finish, usage=used))
            if stream
            else Wire(body=completion("", choices=[choice], usage=used))
        )
        got = failure(OPENAI, wire, stream=stream, price=PRICE)
        assert got.fault is ModelFault.BROKEN_STREAM, got
        assert finish in got.message
        at_least(got, WORDS)


def test_an_error_inside_a_stream_is_typed_and_paid() -> None:
    """An error event after half an answer is that error, and the half is counted."""
    begun = messages_server.events(WORDS, stop_reason=None)
    body = (*begun, error_event("overloaded_error", "Overloaded"))
    got = failure(ANTHROPIC, Wire(headers=EVENT_STREAM, body=body), stream=True, price=PRICE)
    assert got.fault is ModelFault.OVERLOAD
    at_least(got, WORDS)
    failed = event({"error": {"message": "rate limit reached", "code": 429}})
    body = (*chat_server.streamed(WORDS, finish=None)[:-1], failed)
    got = failure(OPENAI, Wire(headers=EVENT_STREAM, body=body), stream=True, price=PRICE)
    assert got.fault is ModelFault.RATE_LIMIT
    at_least(got, WORDS)


def test_thoughts_that_were_streamed_are_paid() -> None:
    """What a model thought aloud before the cut counts, and is not part of an answer."""
    thought = {"type": "thinking_delta", "thinking": "let me see " * 20}
    start, block, *_ = messages_server.events((), stop_reason=None)
    thinking = {
        "type": "content_block_start",
        "index": 0,
        "content_block": {"type": "thinking", "thinking": ""},
    }
    delta = {"type": "content_block_delta", "index": 0, "delta": thought}
    body = (start, event(thinking, "content_block_start"), event(delta, "content_block_delta"))
    del block
    got = failure(ANTHROPIC, Wire(headers=EVENT_STREAM, body=body), stream=True, price=PRICE)
    assert got.fault is ModelFault.BROKEN_STREAM
    assert got.usage.completion_tokens >= 60


def falling_silent(pieces: Iterable[bytes]) -> Iterator[bytes]:
    yield from pieces
    threading.Event().wait(1.5)
    yield b"\n"


def test_a_stream_that_falls_silent_is_given_up(protocol: Protocol) -> None:
    """After `idle_s` of silence it is a timeout, long before the time of a whole reply; what came is counted."""
    wire = Wire(headers=EVENT_STREAM, body=falling_silent(protocol.pieces(WORDS, None)))
    got = failure(protocol, wire, stream=True, idle_s=0.4, price=PRICE)
    assert got.fault is ModelFault.TIMEOUT
    at_least(got, WORDS)


def test_silence_is_a_timeout_and_paid(protocol: Protocol, *, stream: bool) -> None:
    """A server that accepts and says nothing is given up; it may have read the prompt."""
    wire = Wire(body=falling_silent(()))
    got = failure(protocol, wire, stream=stream, reply_s=0.3, price=PRICE)
    assert got.fault is ModelFault.TIMEOUT
    assert got.usage.prompt_tokens > 0
    assert got.usage.cost_usd > 0


def test_a_drip_is_a_timeout(protocol: Protocol, *, stream: bool) -> None:
    """A server that sends a little now and then does not hold the run longer than the time of a reply."""
    word = protocol.finishes["stop"]
    pieces = protocol.pieces([" w"] * DRIPS, word) if stream else [b" "] * DRIPS
    wire = Wire(headers=EVENT_STREAM, body=drip(pieces))
    got = failure(protocol, wire, stream=stream, reply_s=1.0, price=PRICE)
    assert got.fault is ModelFault.TIMEOUT
    assert got.wall_s < DRIPS * DRIP_S
    at_least(got, WORDS)


@pytest.mark.parametrize("kind", ["interim", "headers", "packed"])
def test_what_never_reaches_the_body_ends_in_time_too(
    protocol: Protocol, kind: Literal["interim", "headers", "packed"], *, stream: bool
) -> None:
    """Answers before the answer, a header without an end and packed nothing take no longer than a reply may."""
    got = failure(protocol, busy(kind, b"late"), stream=stream, reply_s=0.5, price=PRICE)
    assert got.fault is ModelFault.TIMEOUT
    assert "within 0.5 s" in got.message
    assert got.wall_s < DRIPS * DRIP_S
    assert got.usage.cost_usd > 0


# --- many, and none ---------------------------------------------------------------------------------


def test_requests_run_at_once_up_to_the_limit(protocol: Protocol, *, stream: bool) -> None:
    """Three of five requests are under way together, never four; each answer belongs to its request."""
    under_way, most, guard = [0], [0], threading.Lock()
    three = threading.Barrier(3)

    def behave(seen: Seen) -> Wire:
        with guard:
            under_way[0] += 1
            most[0] = max(most[0], under_way[0])
            first = len(there.seen) <= 3
        if first:
            three.wait(20)
        text = seen_text(seen)
        with guard:
            under_way[0] -= 1
        if stream:
            body = protocol.pieces((text,), protocol.finishes["stop"])
            return Wire(headers=EVENT_STREAM, body=body)
        return Wire(body=protocol.whole(text))

    with protocol.server(behave) as there:
        model = HostedModel(
            protocol.name,
            api_key=KEY,
            base_url=there.base_url,
            context_tokens=9000,
            parallel=3,
            stream=stream,
        )
        asked = [ask(messages=(Message(role="user", content=str(i)),)) for i in range(5)]
        answers = model.complete(asked)
    assert [a.text for a in answers if isinstance(a, ModelReply)] == list("01234")
    assert most[0] == 3


def seen_text(seen: Seen) -> str:
    sent = seen.body["messages"]
    assert isinstance(sent, list)
    content = sent[-1]["content"]
    return content if isinstance(content, str) else content[0]["text"]


def test_no_key_of_the_environment_goes_to_a_server_of_ones_own(
    protocol: Protocol, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a base URL and no key, the keys that stand in the environment stay there."""
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "HOSTED_VLLM_API_KEY"):
        monkeypatch.setenv(name, KEY)
    answer, (seen,) = answered(protocol, said(protocol, stream=False), api_key=None)
    assert isinstance(answer, ModelReply)
    assert KEY not in str(seen.headers)


def test_half_a_key_is_not_repeated_either() -> None:
    """A long message is shortened, and not so that it ends inside the key."""
    words = "x" * 480 + KEY
    got = failure(OPENAI, Wire(status=401, body=json.dumps({"error": {"message": words}}).encode()))
    assert "not-a-real" not in got.message


def test_what_does_not_fit_is_not_sent(protocol: Protocol) -> None:
    """A prompt that with its answer exceeds the context is refused without a call."""
    answer, seen = answered(protocol, said(protocol, stream=False), context_tokens=20)
    assert isinstance(answer, ModelFailure)
    assert answer.fault is ModelFault.CONTEXT_OVERFLOW
    assert seen == ()


def test_a_prompt_that_the_server_cut_off_is_an_overflow() -> None:
    """A server that says it read far fewer tokens than there are words has truncated."""
    long = ask(messages=(Message(role="user", content="word " * 1000),))
    answer, _ = answered(OPENAI, Wire(body=completion("x")), long)
    assert isinstance(answer, ModelFailure)
    assert answer.fault is ModelFault.CONTEXT_OVERFLOW


def test_a_field_that_is_refused_is_left_out_from_then_on() -> None:
    """One call is one request; the next call knows what the provider said of the one before."""

    def behave(seen: Seen) -> Wire:
        if "temperature" in seen.body:
            words = "Unsupported parameter: 'temperature' is not supported with this model."
            return openai_error(400, words, param="temperature")
        return Wire(body=completion("fine"))

    with ScriptedServer(behave) as there:
        model = HostedModel(
            "openai/test", api_key=KEY, base_url=there.base_url, context_tokens=9000
        )
        assert isinstance(model.complete((ask(),))[0], ModelFailure)
        assert isinstance(model.complete((ask(),))[0], ModelReply)
        assert len(there.seen) == 2


def test_an_unknown_provider_is_not_found() -> None:
    """A provider that LiteLLM does not know is said so, without a call."""
    model = HostedModel("nobody/at-all", api_key=KEY, base_url=None, context_tokens=9000)
    (answer,) = model.complete((ask(),))
    assert isinstance(answer, ModelFailure)
    assert answer.fault is ModelFault.NOT_FOUND
    assert model.estimate_usd(1_000_000, 0) == UNKNOWN_PRICE.prompt_usd


@pytest.mark.parametrize("name", ["anthropic/m", "gemini/m", "azure/m", "databricks/m"])
def test_what_is_missing_does_not_pass_by_itself(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a key nothing is sent, and the failure is of a kind that no wait mends."""
    for key in [key for key in os.environ if "API" in key or "TOKEN" in key]:
        monkeypatch.delenv(key)
    (answer,) = HostedModel(name, api_key=None, base_url=None, context_tokens=9000).complete(
        (ask(),)
    )
    assert isinstance(answer, ModelFailure)
    assert answer.fault is ModelFault.AUTH, answer
    assert answer.usage.completion_tokens == 0


def test_a_call_prints_nothing(
    protocol: Protocol,
    *,
    stream: bool,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Neither an answer nor an error leaves a word on the terminal."""
    answered(protocol, said(protocol, stream=stream), stream=stream)
    answered(protocol, error(500, "api_error"), stream=stream)
    sys.stdout.flush()
    printed = capfd.readouterr()
    assert (printed.out, printed.err) == ("", "")


WATCH = """
import os, sys, time
seen, folder = [], os.getcwd()
NET = ("socket.connect", "socket.getaddrinfo", "socket.sendto", "socket.gethostbyname")
sys.addaudithook(lambda event, args: seen.append((event, args[1:])) if event in NET else None)
from surefoot.models import hosted
from surefoot.values import Message, ModelReply, ModelRequest
model = hosted.HostedModel("anthropic/m", api_key="k", base_url=None, context_tokens=9000)
model.estimate_usd(1, 1)
assert "litellm" not in sys.modules and "openai" not in sys.modules, "imported before the first call"
library = hosted.load()
assert library.supports_response_schema("openai/gpt-4o")
assert all(name in vars(library) for name in hosted._SETTINGS), "a setting has another name now"
assert "PLANTED_API_KEY" not in os.environ, ".env of the working directory was read"
assert not seen, seen
request = ModelRequest(purpose="t", messages=(Message(role="user", content="x"),), max_tokens=8)
for name, url in zip(("anthropic/m", "openai/m"), sys.argv[1:], strict=True):
    for stream in (False, True):
        model = hosted.HostedModel(name, api_key="k", base_url=url, context_tokens=9000, stream=stream)
        (answer,) = model.complete((request,))
        assert isinstance(answer, ModelReply), answer
time.sleep(0.5)  # what it does afterwards, it does in other threads
asked = {args[0] for event, args in seen if event == "socket.connect"}
assert len(asked) == 2 and all(host == "127.0.0.1" for host, _ in asked), seen
sent = [args for event, args in seen if event in NET]
assert all("127.0.0.1" in str(args) or args[0] in {port for _, port in asked} for args in sent), seen
assert os.listdir(folder) == [".env"], os.listdir(folder)
"""


def test_nobody_else_is_reached(tmp_path: Path) -> None:
    """Opening and importing reach nobody, calls reach the server once each: no telemetry, no price list, no `.env`, no print."""
    (tmp_path / ".env").write_text("PLANTED_API_KEY=from-the-repository\n")

    def behave(protocol: Protocol) -> Callable[[Seen], Wire]:
        return lambda seen: said(protocol, stream=bool(seen.body.get("stream")))

    with MessagesServer(behave(ANTHROPIC)) as one, ScriptedServer(behave(OPENAI)) as other:
        ran = subprocess.run(
            [sys.executable, "-c", WATCH, one.base_url, other.base_url],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
            timeout=120,
        )
        assert (ran.stderr, ran.stdout, ran.returncode) == ("", "", 0)
        assert (len(one.seen), len(other.seen)) == (2, 2)
        assert not [name for seen in other.seen for name in seen.headers if "stainless" in name]
