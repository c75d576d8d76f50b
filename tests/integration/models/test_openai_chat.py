"""A model behind an endpoint: what is sent, and that whatever comes back is a typed value."""

import json
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from itertools import repeat
from pathlib import Path
from typing import Literal

import pytest

from surefoot.errors import SettingsError
from surefoot.models import Access, open_model
from surefoot.models.catalogue import unlisted
from surefoot.models.openai_chat import (
    REPLY_LIMIT_BYTES,
    UNKNOWN_PRICE,
    ChatServer,
    OpenAIChat,
    Price,
)
from surefoot.models.wire import read_failure
from surefoot.testing.chat_server import (
    DRIP_S,
    DRIPS,
    ScriptedServer,
    Seen,
    Wire,
    busy,
    completion,
    drip,
)
from surefoot.values import Message, ModelAnswer, ModelFailure, ModelFault, ModelReply, ModelRequest

KEY = "sk-not-a-real-key-4711"


def ask(**changes: object) -> ModelRequest:
    given = {
        "purpose": "t",
        "messages": (Message(role="user", content="hello"),),
        "max_tokens": 16,
    }
    return ModelRequest(**{**given, **changes})  # type: ignore[arg-type]


def answered(
    wire: Wire, request: ModelRequest | None = None, **server: object
) -> tuple[ModelAnswer, tuple[Seen, ...]]:
    """What one request comes to when the server says `wire`, and what the server saw."""
    with ScriptedServer(lambda _: wire) as there:
        where = ChatServer(base_url=there.base_url, api_key=KEY, **server)  # type: ignore[arg-type]
        model = OpenAIChat("m", where)
        (answer,) = model.complete((request or ask(),))
        model.close()
        return answer, there.seen


def failure(wire: Wire, request: ModelRequest | None = None, **server: object) -> ModelFailure:
    answer, _ = answered(wire, request, **server)
    assert isinstance(answer, ModelFailure), answer
    return answer


def reply(wire: Wire, request: ModelRequest | None = None, **server: object) -> ModelReply:
    answer, _ = answered(wire, request, **server)
    assert isinstance(answer, ModelReply), answer
    return answer


def error(status: int, message: str = "no", **more: object) -> Wire:
    body = {"error": {"message": message, **more}}
    return Wire(status=status, body=json.dumps(body).encode())


# --- what is sent --------------------------------------------------------------------------------


def test_a_request_is_sent_whole() -> None:
    """Model, messages, limits, seed, stop texts, schema and key arrive; nothing is streamed."""
    schema = '{"additionalProperties":false,"properties":{},"required":[],"type":"object"}'
    request = ask(
        messages=(Message(role="system", content="s"), Message(role="user", content="u")),
        temperature=0.5,
        seed=2**31 + 3,
        stop=("END",),
        json_schema=schema,
        purpose="a purpose",
    )
    _, (seen,) = answered(Wire(body=completion("x")), request, logprobs=True, extra={"top_k": 5})
    assert seen.path == "/v1/chat/completions"
    assert seen.headers["authorization"] == f"Bearer {KEY}"
    assert seen.body == {
        "model": "m",
        "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}],
        "max_tokens": 16,
        "temperature": 0.5,
        "seed": 3,
        "stop": ["END"],
        "stream": False,
        "logprobs": True,
        "top_logprobs": 1,
        "top_k": 5,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "a_purpose", "strict": True, "schema": json.loads(schema)},
        },
    }


def test_what_the_server_cannot_do_is_not_sent() -> None:
    """Without schema and logprobs in the server's abilities, neither is asked for."""
    _, (seen,) = answered(Wire(body=completion("x")), ask(json_schema="{}"), schema=False)
    assert not {"response_format", "logprobs", "stop"} & seen.body.keys()


@pytest.mark.parametrize(
    ("continues", "said", "text"),
    [
        (True, "def f():", "def f():"),  # echoes the prefill (llama.cpp)
        (True, " f():", "def f():"),  # goes on without it
        (False, "def f():", "def f():"),
        (False, " f():", "def f():"),
    ],
)
def test_a_prefill_stands_once(continues: bool, said: str, text: str) -> None:  # noqa: FBT001
    """The text starts with the prefill once, whether the server echoes it, goes on from it, or never saw it."""
    answer, (seen,) = answered(
        Wire(body=completion(said)), ask(prefill="def"), continues_prefill=continues
    )
    assert isinstance(answer, ModelReply)
    assert answer.text == text
    sent = seen.body["messages"]
    assert isinstance(sent, list)
    assert (sent[-1] == {"role": "assistant", "content": "def"}) is continues


def test_a_block_that_the_answer_opens_itself_is_not_stopped_at_its_opening() -> None:
    """A hosted model that never saw the prefill writes the whole block; its stop text is looked for afterwards."""
    said = "Here it is:\n```python\ndef f():\n    return 2\n```\nThat is all."
    answer, (seen,) = answered(
        Wire(body=completion(said)), ask(prefill="```python\ndef f():\n", stop=("```",))
    )
    assert isinstance(answer, ModelReply)
    assert answer.text == "Here it is:\n```python\ndef f():\n    return 2\n"
    assert "stop" not in seen.body


BLOCK = "```python\ndef f(x):\n    return x + 1\n```"
CODE = ask(prefill="```python\ndef f(x):\n", stop=("```",))
LINE = ask(prefill="```python\n    return", stop=("\n", "```"))


def says(text: str) -> Callable[[Seen], Wire]:
    """A server that says this, as far as it has not been told to stop before."""

    def behave(seen: Seen) -> Wire:
        stops = seen.body.get("stop") or []
        assert isinstance(stops, list)
        ends = [text.find(stop) for stop in stops if stop in text]
        return Wire(body=completion(text[: min(ends, default=len(text))]))

    return behave


@pytest.mark.parametrize(
    ("request_", "said", "text"),
    [
        # llama.cpp, which may echo the prefill, and Ollama
        (CODE, "    return x + 1\n```", "```python\ndef f(x):\n    return x + 1\n"),
        (CODE, BLOCK, "```python\ndef f(x):\n    return x + 1\n"),
        (
            CODE,
            "    return x + 1\n```\nSo:\n```python\nf(1)\n```",
            "```python\ndef f(x):\n    return x + 1",
        ),
        (LINE, " x + 1\n```", "```python\n    return x + 1"),
        # vLLM and SGLang
        (
            CODE,
            f"Here it is:\n{BLOCK}\nThat is all.",
            "Here it is:\n```python\ndef f(x):\n    return x + 1",
        ),
        (
            CODE,
            "```python\ndef f(y):\n    return y\n```",
            "```python\ndef f(y):\n    return y\n",
        ),
        (LINE, "```python\nreturn x + 1\n```", "```python\nreturn x + 1"),
    ],
)
def test_an_answer_is_read_whether_it_goes_on_or_begins_anew(
    request_: ModelRequest, said: str, text: str
) -> None:
    """A server on this machine is sent the prefill, and no stop text that would end an answer at its own opening."""
    with ScriptedServer(says(said)) as there, closing(opened_here(there)) as model:
        (answer,) = model.complete((request_,))
        (seen,) = there.seen
    assert isinstance(answer, ModelReply), answer
    assert answer.text == text
    assert answer.finish == "stop"
    sent = seen.body["messages"]
    assert isinstance(sent, list)
    assert sent[-1] == {"role": "assistant", "content": request_.prefill}


def opened_here(there: ScriptedServer) -> OpenAIChat:
    """As a user opens it."""
    access = Access(base_url=there.base_url)
    model = open_model("openai/m", access=access, card=unlisted("openai/m"), cache=Path())
    assert isinstance(model, OpenAIChat)
    return model


REFUSALS = (
    error(400, "Assistant response prefill is incompatible with enable_thinking."),
    error(500, "Assistant response prefill is incompatible with enable_thinking."),
    Wire(
        status=400,
        body=json.dumps(
            {
                "object": "error",
                "message": "Cannot set `add_generation_prompt` to True when the last message is from the assistant. "
                "Consider using `continue_final_message` instead.",
            }
        ).encode(),
    ),
    error(400, "This model does not support assistant message prefill."),
    error(400, "Expected last role User or Tool for serving but got assistant"),
)


@pytest.mark.parametrize("refusal", REFUSALS)
def test_a_prefill_that_is_refused_is_left_out(refusal: Wire) -> None:
    """From then on; models that think first take none."""

    def behave(seen: Seen) -> Wire:
        sent = seen.body["messages"]
        assert isinstance(sent, list)
        return refusal if sent[-1]["role"] == "assistant" else says(BLOCK)(seen)

    with ScriptedServer(behave) as there, closing(opened_here(there)) as model:
        for _ in range(2):
            (answer,) = model.complete((CODE,))
            assert isinstance(answer, ModelReply), answer
            assert answer.text == BLOCK.removesuffix("```")
        assert len(there.seen) == 3


def test_a_refusal_of_a_prefill_that_was_not_sent_is_final() -> None:
    """The conversation itself may end with the assistant's words; the same request is not made again."""
    words = (Message(role="user", content="hello"), Message(role="assistant", content="so"))
    with ScriptedServer(lambda _: REFUSALS[0]) as there, closing(opened_here(there)) as model:
        (answer,) = model.complete((ask(messages=words),))
        assert isinstance(answer, ModelFailure)
        assert len(there.seen) == 1


def test_nothing_is_called_before_complete() -> None:
    """Opening, counting and estimating reach nobody."""
    with ScriptedServer(lambda _: Wire(body=completion("x"))) as there:
        model = OpenAIChat("m", ChatServer(base_url=there.base_url))
        assert model.count_tokens(ask().messages) > 0
        assert model.estimate_usd(10, 10) == 0.0
        model.close()
        assert there.seen == ()


def test_what_does_not_fit_is_not_sent() -> None:
    """A prompt that with its answer exceeds the context is refused without a call."""
    with ScriptedServer(lambda _: Wire(body=completion("x"))) as there:
        model = OpenAIChat("m", ChatServer(base_url=there.base_url), context_tokens=20)
        (answer,) = model.complete((ask(),))
        model.close()
        assert isinstance(answer, ModelFailure)
        assert answer.fault is ModelFault.CONTEXT_OVERFLOW
        assert there.seen == ()


def test_requests_run_at_once_up_to_the_limit() -> None:
    """Three of five requests are under way together, never four."""
    under_way, most, guard = [0], [0], threading.Lock()
    three = threading.Barrier(3)

    def behave(seen: Seen) -> Wire:
        with guard:
            under_way[0] += 1
            most[0] = max(most[0], under_way[0])
            first = len(there.seen) <= 3
        if first:
            three.wait(20)  # passes only when three are here together
        with guard:
            under_way[0] -= 1
        return Wire(body=completion(str(seen.body["seed"])))

    with ScriptedServer(behave) as there:
        model = OpenAIChat("m", ChatServer(base_url=there.base_url), parallel=3)
        answers = model.complete([ask(seed=i) for i in range(5)])
        model.close()
    assert [a.text for a in answers if isinstance(a, ModelReply)] == list("01234")
    assert most[0] == 3


@pytest.mark.parametrize(
    ("param", "kept", "gone"),
    [
        ("max_tokens", "max_completion_tokens", "max_tokens"),
        ("temperature", "max_tokens", "temperature"),
        ("response_format", "max_tokens", "response_format"),
        ("logprobs", "max_tokens", "top_logprobs"),
    ],
)
def test_an_optional_field_that_is_refused_is_left_out(param: str, kept: str, gone: str) -> None:
    """A server that names a field which it does not take is asked again without it, and never sent it again."""

    def behave(seen: Seen) -> Wire:
        if param in seen.body:
            return error(
                400,
                f"Unsupported parameter: '{param}' is not supported with this model.",
                param=param,
            )
        return Wire(body=completion("fine"))

    with ScriptedServer(behave) as there:
        model = OpenAIChat("m", ChatServer(base_url=there.base_url, logprobs=True))
        request = ask(json_schema='{"type":"object"}')
        for _ in range(2):
            (answer,) = model.complete((request,))
            assert isinstance(answer, ModelReply)
        model.close()
        assert len(there.seen) == 3
        assert kept in there.seen[-1].body
        assert gone not in there.seen[-1].body


SEVERAL = {
    "listed": b'{"error":{"message":"Unrecognized request arguments supplied: logprobs, seed","param":null}}',
    "quoted": b'{"error":"these are not supported: \'top_logprobs\', `seed`"}',
    "a validator's": json.dumps(
        {"detail": [{"type": "extra_forbidden", "loc": ["body", name]} for name in ("logprobs", "seed")]
         + [{"msg": "Extra inputs are not permitted"}]}
    ).encode(),
    "a validator's, wrapped": json.dumps(
        {"message": {"detail": [
            {"loc": ["body", name], "msg": "Extra inputs are not permitted"} for name in ("logprobs", "seed")
        ]}}
    ).encode(),
    "in a list": json.dumps([{"error": {"code": 400, "status": "INVALID_ARGUMENT", "message": "Invalid JSON payload received. "
        + " ".join(f'Unknown name "{name}": Cannot find field.' for name in ("logprobs", "seed"))}}]
    ).encode(),
}  # fmt: skip


@pytest.mark.parametrize("words", SEVERAL.values(), ids=SEVERAL.keys())
def test_several_fields_that_are_refused_together_are_left_out_together(words: bytes) -> None:
    """One 400 that names them all is enough; what it does not name goes on being sent."""

    def behave(seen: Seen) -> Wire:
        refused = {"logprobs", "top_logprobs", "seed"} & set(seen.body)
        return Wire(status=400, body=words) if refused else Wire(body=completion("fine"))

    with ScriptedServer(behave) as there:
        model = OpenAIChat("m", ChatServer(base_url=there.base_url, logprobs=True))
        (answer,) = model.complete((ask(),))
        model.close()
        assert isinstance(answer, ModelReply)
        assert len(there.seen) == 2
        assert "temperature" in there.seen[-1].body


def test_fields_that_are_refused_one_by_one_are_left_out_one_by_one() -> None:
    """In one call: none of these refusals is a fault of the model's."""

    def behave(seen: Seen) -> Wire:
        for name in ("max_tokens", "temperature", "stop"):
            if name in seen.body:
                return error(400, f"Unsupported parameter: '{name}'", param=name)
        return Wire(body=completion("fine"))

    with ScriptedServer(behave) as there:
        model = OpenAIChat("m", ChatServer(base_url=there.base_url))
        (answer,) = model.complete((ask(stop=("end",)),))
        model.close()
        assert isinstance(answer, ModelReply)
        assert len(there.seen) == 4


def test_requests_that_are_under_way_together_are_all_asked_again() -> None:
    """Each is refused for the same fields; that one of them has learned it first does not make it final for the others."""
    together = threading.Barrier(4)

    def behave(seen: Seen) -> Wire:
        for name in ("max_tokens", "temperature"):
            if name in seen.body:
                together.wait(20)  # passes only when all four have sent it
                return error(400, f"Unsupported parameter: '{name}'", param=name)
        return Wire(body=completion("fine"))

    with ScriptedServer(behave) as there:
        model = OpenAIChat("m", ChatServer(base_url=there.base_url), parallel=4)
        answers = model.complete([ask(seed=i) for i in range(4)])
        model.close()
        assert [a.text for a in answers if isinstance(a, ModelReply)] == ["fine"] * 4
        assert len(there.seen) == 12


def test_a_field_that_was_not_sent_is_no_reason_to_ask_again() -> None:
    """A server that names what it was not given has another reason."""
    refusal = error(400, "Unsupported parameter: 'stop'", param="stop")
    answer, seen = answered(refusal)
    assert isinstance(answer, ModelFailure)
    assert len(seen) == 1


# --- what comes back -----------------------------------------------------------------------------


def test_a_reply_is_read_whole() -> None:
    """Text, model, finish reason, usage with cached tokens, stated cost and mean log-probability are taken over."""
    body = completion(
        "",
        model="m-2026",
        choices=[
            {
                "message": {"content": [{"type": "text", "text": "a"}, {"text": "b"}]},
                "finish_reason": "length",
                "logprobs": {
                    "content": [{"token": "a", "logprob": -1.0}, {"token": "b", "logprob": -2.0}]
                },
            }
        ],
        usage={
            "prompt_tokens": 9,
            "completion_tokens": 2,
            "prompt_tokens_details": {"cached_tokens": 4},
            "cost": 0.25,
        },
    )
    got = reply(Wire(body=body))
    assert (got.text, got.model, got.finish, got.mean_logprob) == ("ab", "m-2026", "length", -1.5)
    usage = got.usage
    assert (usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens) == (9, 4, 2)
    assert usage.cost_usd == 0.25


@pytest.mark.parametrize(
    "usage", ["null", '{"prompt_tokens":null,"completion_tokens":null,"total_tokens":null}']
)
def test_usage_and_details_may_be_missing(usage: str) -> None:
    """A server that counts nothing still gives a reply."""
    body = f'{{"choices":[{{"message":{{"content":"x"}}}}],"usage":{usage}}}'
    got = reply(Wire(body=body.encode()))
    assert (got.text, got.model, got.usage.prompt_tokens, got.mean_logprob) == ("x", "m", 0, None)


@pytest.mark.parametrize(
    "place",
    [
        {"prompt_tokens_details": {"cached_tokens": 4}},
        {"prompt_tokens_details": {"cached_tokens": 4}, "prompt_cache_hit_tokens": 4},
        {"cached_tokens": 4},
        {"prompt_tokens_details": None, "prompt_cache_hit_tokens": 4},
    ],
)
def test_cached_tokens_are_read_from_each_providers_place(place: Mapping[str, object]) -> None:
    """That of OpenAI, of Kimi, and of DeepSeek."""
    body = completion("x", usage={"prompt_tokens": 9, "completion_tokens": 2, **place})
    assert reply(Wire(body=body)).usage.cached_tokens == 4


@pytest.mark.parametrize(
    "beside",
    [
        {"code": 0, "message": "Success"},
        {"detail": "ok"},
        {"error": {}},
        {"error": {"code": 0, "message": ""}},
        {"error": None, "message": None},
    ],
)
def test_words_beside_an_answer_are_no_error(beside: Mapping[str, object]) -> None:
    """A gateway's envelope may say that all is well, or hold an error that says nothing."""
    assert reply(Wire(body=completion("x", **beside))).text == "x"


def ended(finish: str, text: str = "def f(x):\n    return x +", **more: object) -> Wire:
    """A reply whose status is good, and how its one choice ends."""
    choice = {"index": 0, "message": {"content": text}, "finish_reason": finish, **more}
    usage = {"prompt_tokens": 41, "completion_tokens": 4}
    return Wire(body=completion("", choices=[choice], usage=usage))


@pytest.mark.parametrize(
    ("wire", "words"),
    [
        (ended("error"), "'error'"),
        (ended("abort"), "'abort'"),
        (ended("insufficient_system_resource"), "'insufficient_system_resource'"),
        (ended("error", ""), "'error'"),
        (ended("error", error={"code": 502, "message": "disconnected"}), "disconnected"),
        (ended("stop", error={"code": 502, "message": "disconnected"}), "disconnected"),
        (ended("stop", error="disconnected"), "disconnected"),
    ],
)
@pytest.mark.parametrize("continues", [True, False])
def test_an_answer_that_was_broken_off_is_no_whole_one(
    wire: Wire,
    words: str,
    continues: bool,  # noqa: FBT001
) -> None:
    """Half a function often parses; what was written is paid, and the same call may be made again."""
    got = failure(wire, continues_prefill=continues)
    assert got.fault is ModelFault.BROKEN_STREAM
    assert words in got.message
    assert (got.usage.prompt_tokens, got.usage.completion_tokens) == (41, 4)


@pytest.mark.parametrize("continues", [True, False])
@pytest.mark.parametrize(
    ("finish", "ours"),
    [("length", "length"), ("model_length", "length"), ("stop", "stop"), ("eos", "stop"), ("", "stop")],
)  # fmt: skip
def test_the_end_of_an_answer_is_told_in_our_words(
    finish: str,
    ours: str,
    continues: bool,  # noqa: FBT001
) -> None:
    """Cut off by its length, or whole; a word that nobody knows is a whole one's, and an error without words is none."""
    got = reply(ended(finish, error={}), continues_prefill=continues)
    assert got.finish == ours


@pytest.mark.parametrize(
    ("usage", "written"),
    [
        ({"prompt_tokens": 41, "completion_tokens": 104, "total_tokens": 547}, 506),
        ({"prompt_tokens": 21, "completion_tokens": 0, "total_tokens": 81}, 60),
        ({"prompt_tokens": 41, "completion_tokens": 104, "total_tokens": 145}, 104),
        ({"prompt_tokens": 41, "completion_tokens": 104, "total_tokens": None}, 104),
        ({"prompt_tokens": 41, "completion_tokens": 104, "total_tokens": 7}, 104),
        ({"completion_tokens": 104, "total_tokens": 145}, 104),
    ],
)
def test_thoughts_that_only_the_total_counts_are_paid(
    usage: Mapping[str, int | None], written: int
) -> None:
    """What a total holds beside prompt and answer was written, too; a total that holds less, or no prompt, says nothing."""
    got = reply(Wire(body=completion("x", usage=usage)), ask(max_tokens=600))
    assert got.usage.completion_tokens == written


def test_an_answer_that_is_not_counted_is_estimated() -> None:
    """Where only the prompt is; a ceiling would never be met else."""
    long = completion("word " * 40, usage={"prompt_tokens": 5})
    assert reply(Wire(body=long), ask(max_tokens=30)).usage.completion_tokens == 30
    short = reply(Wire(body=completion("word", usage={"prompt_tokens": 5})), ask(max_tokens=30))
    assert 0 < short.usage.completion_tokens < 30


@pytest.mark.parametrize(
    ("wire", "fault"),
    [
        (error(400, "This model's maximum context length is 8 tokens"), "context-overflow"),
        (error(400, "no", code="context_length_exceeded"), "context-overflow"),
        (
            error(400, "request exceeds the available context size, try increasing it"),
            "context-overflow",
        ),
        (error(413, "prompt is too long: 9 tokens > 8 maximum"), "context-overflow"),
        (error(400, "no", code="content_policy_violation"), "refusal"),
        (error(400, "what?"), "malformed"),
        (error(401), "auth"),
        (error(403), "auth"),
        (error(404, "model 'm' not found"), "not-found"),
        (error(408), "timeout"),
        (error(429), "rate-limit"),
        (error(429, "You exceeded your current quota", code="insufficient_quota"), "auth"),
        (error(429, "You exceeded your current quota"), "rate-limit"),
        (error(400, "Your credit balance is too low to access the API"), "auth"),
        (error(200, "no", code="insufficient_quota"), "auth"),
        (error(403, "flagged", metadata={"reasons": ["violence"]}), "refusal"),
        (error(403, "flagged", metadata={"reasons": [], "flagged_input": "how"}), "refusal"),
        (error(403, "no", metadata={"provider_name": "p"}), "auth"),
        (error(200, "flagged", code=403, metadata={"reasons": ["violence"]}), "refusal"),
        (error(500), "overload"),
        (error(502), "overload"),
        (error(503), "overload"),
        (Wire(status=503, body=b'[{"error":{"code":503,"message":"no"}}]'), "overload"),
        (Wire(body=b'[{"error":{"code":429,"message":"no"}}]'), "rate-limit"),
        (error(504), "timeout"),
        (error(529), "overload"),
        (Wire(status=301, headers={"location": "http://elsewhere/"}), "not-found"),
        (Wire(status=500, body=b"<html>oops</html>"), "overload"),
        (error(200, "overloaded"), "overload"),
        (error(200, "no", code=429), "rate-limit"),
        (Wire(body=b'{"error":"model not loaded: out of memory"}'), "malformed"),
        (Wire(body=completion("x", error={"code": 429, "message": "slow down"})), "rate-limit"),
        (Wire(body=completion("x", error="overloaded")), "overload"),
        (Wire(body=b'{"choices":[],"message":"overloaded"}'), "overload"),
        (Wire(body=b'{"choices":[],"error":{"code":503}}'), "overload"),
        (Wire(body=b""), "malformed"),
        (Wire(body=b"null"), "malformed"),
        (Wire(body=b"[]"), "malformed"),
        (Wire(body=b"<html>a captive portal</html>"), "malformed"),
        (Wire(body=b'{"choices":"x"}'), "malformed"),
        (Wire(body=b'{"choices":[{"message":{"content":7}}]}'), "malformed"),
        (Wire(body=b'{"choices":[{"message":{"content":"\xff\xfe"}}]}'), "malformed"),
        (Wire(body=b"[" * 100_000), "malformed"),
        (Wire(body=completion("x")[:40]), "malformed"),
        (Wire(body=b"x" * (REPLY_LIMIT_BYTES + 1)), "malformed"),
        (Wire(body=completion("x" * 10_000_000)), "malformed"),
        (Wire(body=repeat(b"more " * 10_000)), "malformed"),
        (Wire(body=b"not gzip", headers={"content-encoding": "gzip"}), "malformed"),
        (Wire(body=completion("x"), promised_bytes=100_000), "broken-stream"),
        (Wire(body=b'{"choices":[]}'), "empty"),
        (Wire(body=completion("")), "empty"),
        (Wire(body=completion(" \n ")), "empty"),
        (Wire(body=b'{"choices":[{"message":{"content":null}}]}'), "empty"),
        (Wire(body=b'{"choices":[{"message":{"content":null,"refusal":"I cannot"}}]}'), "refusal"),
        (
            Wire(
                body=b'{"choices":[{"message":{"content":"x"},"finish_reason":"content_filter"}]}'
            ),
            "refusal",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_every_fault_is_typed(wire: Wire, fault: str) -> None:
    """What goes wrong is a failure of its kind, with a message that does not hold the key."""
    got = failure(wire)
    assert got.fault.value == fault, got
    assert got.message
    assert KEY not in got.message


@pytest.mark.parametrize(
    ("wire", "free"),
    [
        (error(400, "what?"), True),
        (error(422, "what?"), True),
        (Wire(status=400, body=b'[{"error":{"code":400,"message":"what?"}}]'), True),
        (Wire(status=400, body=b"[]"), False),
        (Wire(status=400, body=b"<html>what?</html>"), False),
        (error(408, "too slow"), False),
        (error(200, "what?"), False),
        (Wire(body=b"[]"), False),
    ],
)
def test_a_request_that_was_turned_down_costs_nothing(wire: Wire, *, free: bool) -> None:
    """A server that says in its own words that it takes no such request has written nothing; any other loss is counted."""
    got = failure(wire)
    assert got.unbilled is free
    assert (got.usage.prompt_tokens == 0) is free


def test_a_key_in_the_servers_words_is_not_repeated() -> None:
    """A server that quotes the key in its error does not get it into our messages."""
    assert KEY not in failure(error(401, f"Incorrect API key provided: {KEY}")).message


def test_an_empty_continuation_is_empty() -> None:
    """A prefill alone is no answer."""
    assert failure(Wire(body=completion("")), ask(prefill="def")).fault is ModelFault.EMPTY


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-4"}, None),
        ({}, None),
    ],
)
def test_retry_after_is_read(headers: Mapping[str, str], seconds: float | None) -> None:
    """The wait that a server asks for arrives in seconds; nonsense is no wait."""
    assert failure(Wire(status=429, headers=headers)).retry_after_s == seconds


def test_retry_after_as_a_date_counts_from_the_reply() -> None:
    """A date is a wait from the reply's own date on, whatever the clock here says."""
    headers = {
        "date": "Mon, 02 Feb 2026 10:00:00 GMT",
        "retry-after": "Mon, 02 Feb 2026 10:00:30 GMT",
    }
    assert read_failure(503, headers, b"").retry_after_s == 30.0


def test_nobody_there_is_unreachable() -> None:
    """A refused connection is `unreachable`, and the message names the address and the mend."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        model = OpenAIChat("m", ChatServer(base_url=f"http://127.0.0.1:{port}/v1"))
        (answer,) = model.complete((ask(),))
        model.close()
    assert isinstance(answer, ModelFailure)
    assert answer.fault is ModelFault.UNREACHABLE
    assert str(port) in answer.message


def test_silence_is_a_timeout() -> None:
    """A server that accepts and says nothing is given up."""
    with ScriptedServer(hang) as there:
        model = OpenAIChat("m", ChatServer(base_url=there.base_url, reply_s=0.2))
        (answer,) = model.complete((ask(),))
        model.close()
        assert isinstance(answer, ModelFailure)
        assert answer.fault is ModelFault.TIMEOUT
        there.closing.set()


def hang(seen: Seen) -> Wire:
    return Wire(body=never())


def never() -> Iterator[bytes]:
    threading.Event().wait(0.6)
    yield b"{}"


def test_a_drip_is_a_timeout() -> None:
    """A server that sends a byte now and then does not hold the run longer than the time of a reply."""
    # Well formed at last, so that only the time tells.
    pieces = (*repeat(b" ", DRIPS), completion("late"))
    ends_in_time(Wire(body=drip(pieces)))


@pytest.mark.parametrize("kind", ["interim", "headers", "packed"])
def test_what_never_reaches_the_body_ends_in_time_too(
    kind: Literal["interim", "headers", "packed"],
) -> None:
    """Answers before the answer, a header without an end and packed nothing take no longer than a reply may."""
    ends_in_time(busy(kind, completion("late")))


def ends_in_time(wire: Wire) -> None:
    got = failure(wire, reply_s=0.5)
    assert got.fault is ModelFault.TIMEOUT
    assert got.wall_s < DRIPS * DRIP_S


@pytest.mark.parametrize("kind", ["interim", "headers", "packed"])
def test_a_slow_reply_is_read_whole_where_there_is_time(
    kind: Literal["interim", "headers", "packed"],
) -> None:
    """What is slow is a reply all the same, so that the time alone decides above."""
    assert reply(busy(kind, completion("late"), drips=2)).text == "late"


def test_a_prompt_that_the_server_cut_off_is_an_overflow() -> None:
    """A server that says it read far fewer tokens than there are words has truncated: that is a failure, not a reply."""
    long = ask(messages=(Message(role="user", content="word " * 1000),))
    cut = completion("x", usage={"prompt_tokens": 300, "completion_tokens": 1})
    assert failure(Wire(body=cut), long).fault is ModelFault.CONTEXT_OVERFLOW


def test_an_interrupt_does_not_wait_for_the_answers() -> None:
    """Ctrl-C while two calls hang ends the program now."""
    script = (
        "import sys\n"
        "from surefoot.models.openai_chat import ChatServer, OpenAIChat\n"
        "from surefoot.values import Message, ModelRequest\n"
        "model = OpenAIChat('m', ChatServer(base_url=sys.argv[1]))\n"
        "message = Message(role='user', content='hello')\n"
        "request = ModelRequest(purpose='t', messages=(message,), max_tokens=8)\n"
        "model.complete((request, request))\n"
    )
    both = threading.Barrier(3)

    def behave(_: Seen) -> Wire:
        both.wait(30)
        there.closing.wait(30)
        return Wire(body=completion("late"))

    with ScriptedServer(behave) as there:
        argv = [sys.executable, "-c", script, there.base_url]
        with subprocess.Popen(argv, stderr=subprocess.PIPE) as program:
            both.wait(30)  # both calls are under way
            program.send_signal(signal.SIGINT)
            _, said = program.communicate(timeout=20)
    assert b"KeyboardInterrupt" in said
    assert program.returncode == -signal.SIGINT


# --- money and settings --------------------------------------------------------------------------


def test_cost_follows_the_price() -> None:
    """Where the provider states no cost it is computed, failed calls included."""
    with ScriptedServer(
        lambda _: Wire(
            body=completion("x", usage={"prompt_tokens": 1_000_000, "completion_tokens": 500_000})
        )
    ) as there:
        price = Price(prompt_usd=1.0, completion_usd=4.0)
        model = OpenAIChat("m", ChatServer(base_url=there.base_url), price=price)
        (answer,) = model.complete((ask(),))
        model.close()
    assert answer.usage.cost_usd == pytest.approx(3.0)
    assert model.estimate_usd(1_000_000, 500_000) == pytest.approx(3.0)


def test_an_unknown_price_is_reserved_high_and_this_machine_is_free() -> None:
    """A hosted model of unknown price is estimated by an upper bound, a server on loopback by nothing."""
    hosted = OpenAIChat("m", ChatServer(base_url="https://models.example/v1", api_key="k"))
    local = OpenAIChat("m", ChatServer(base_url="http://localhost:1/v1"))
    assert hosted.estimate_usd(1_000_000, 0) == UNKNOWN_PRICE.prompt_usd
    assert local.estimate_usd(1_000_000, 1_000_000) == 0.0
    hosted.close()
    local.close()


@pytest.mark.parametrize("url", ["", "localhost:11434", "ftp://x/v1", "http:///v1"])
def test_a_base_url_that_is_none_is_refused(url: str) -> None:
    """The sentence shows what was given and what would be accepted."""
    with pytest.raises(SettingsError, match="http"):
        OpenAIChat("m", ChatServer(base_url=url))


@pytest.mark.parametrize("key", ["a b", "a\n", "schlüssel"])
def test_a_key_that_is_none_is_refused_unseen(key: str) -> None:
    """A key that cannot stand in a header is refused, and not shown."""
    with pytest.raises(SettingsError) as refused:
        OpenAIChat("m", ChatServer(base_url="http://localhost/v1", api_key=key))
    assert key not in str(refused.value)
    assert key not in repr(ChatServer(base_url="http://localhost/v1", api_key=key))
