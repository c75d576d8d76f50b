"""Amazon Bedrock's protocol over a real server on this machine: with a key, signed, streamed, and refused (SPEC C8, F1)."""

import json
import struct
import zlib
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.integration.shop import TESTS, Shop

from surefoot.models.hosted import HostedModel
from surefoot.testing.chat_server import ScriptedServer, Seen, Wire
from surefoot.values import Message, ModelAnswer, ModelFailure, ModelFault, ModelReply, ModelRequest

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
pytest.importorskip("litellm")

NAME = "bedrock/eu.anthropic.claude-sonnet-4-5-20250929-v1:0"
PATH = "/model/eu.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse"
USAGE = {"inputTokens": 5, "outputTokens": 2, "totalTokens": 7}
REPLY = Wire(
    headers={"content-type": "application/json"},
    body=json.dumps(
        {
            "output": {"message": {"role": "assistant", "content": [{"text": "ready"}]}},
            "stopReason": "end_turn",
            "usage": USAGE,
        }
    ).encode(),
)
PAIR = {"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "not-a-real-secret"}
CLOUD = ("AWS_BEARER_TOKEN_BEDROCK", "AWS_PROFILE", "AWS_REGION", *PAIR)


def frame(kind: str, payload: Mapping[str, object]) -> bytes:
    """One message of Amazon's event stream: lengths, headers, payload, and two checksums."""
    told = {":message-type": "event", ":event-type": kind, ":content-type": "application/json"}
    headers = b"".join(
        bytes([len(k)]) + k.encode() + b"\x07" + struct.pack(">H", len(v)) + v.encode()
        for k, v in told.items()
    )
    body = json.dumps(payload).encode()
    prelude = struct.pack(">II", 16 + len(headers) + len(body), len(headers))
    whole = prelude + struct.pack(">I", zlib.crc32(prelude)) + headers + body
    return whole + struct.pack(">I", zlib.crc32(whole))


STREAM = Wire(
    headers={"content-type": "application/vnd.amazon.eventstream"},
    body=(
        frame("messageStart", {"role": "assistant"}),
        frame("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "rea"}}),
        frame("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "dy"}}),
        frame("contentBlockStop", {"contentBlockIndex": 0}),
        frame("messageStop", {"stopReason": "end_turn"}),
        frame("metadata", {"usage": USAGE, "metrics": {"latencyMs": 1}}),
    ),
)


@pytest.fixture(autouse=True)
def _no_cloud(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever runs these tests may have an identity."""
    for name in CLOUD:
        monkeypatch.delenv(name, raising=False)


def answered(
    wire: Wire,
    monkeypatch: pytest.MonkeyPatch,
    environ: Mapping[str, str],
    *,
    host: str = "127.0.0.1",
    api_key: str | None = None,
    stream: bool = False,
) -> tuple[ModelAnswer, tuple[Seen, ...]]:
    """What a request in the cloud's own way comes to, at an address that Amazon's variable moves here."""
    request = ModelRequest(
        purpose="t", messages=(Message(role="user", content="hello"),), max_tokens=16
    )
    with ScriptedServer(lambda _: wire) as there:
        moved = {"AWS_BEDROCK_RUNTIME_ENDPOINT": there.base_url.removesuffix("/v1")}
        for name, value in {**environ, **moved}.items():
            monkeypatch.setenv(name, value)
        model = HostedModel(
            NAME,
            api_key=api_key,
            base_url=None,
            context_tokens=32_768,
            region="eu-central-1",
            host=host,
            stream=stream,
        )
        return model.complete((request,))[0], there.seen


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_a_request_is_signed_for_the_region(
    monkeypatch: pytest.MonkeyPatch, *, stream: bool
) -> None:
    """The pair of variables signs it, the secret stays here, and the answer is read with its usage."""
    answer, (seen,) = answered(STREAM if stream else REPLY, monkeypatch, PAIR, stream=stream)
    assert isinstance(answer, ModelReply), getattr(answer, "message", "")
    assert (answer.text, answer.finish) == ("ready", "stop")
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (5, 2)
    assert seen.path == PATH + ("-stream" if stream else "")
    assert seen.headers["authorization"].startswith("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/")
    assert "/eu-central-1/bedrock/aws4_request" in seen.headers["authorization"]
    assert PAIR["AWS_SECRET_ACCESS_KEY"] not in json.dumps([dict(seen.headers), dict(seen.body)])


def test_a_key_goes_along_as_the_bearer(monkeypatch: pytest.MonkeyPatch) -> None:
    answer, (seen,) = answered(REPLY, monkeypatch, {}, api_key="not-a-real-key")
    assert isinstance(answer, ModelReply)
    assert seen.headers["authorization"] == "Bearer not-a-real-key"


def test_a_variable_cannot_move_the_prompt_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """The terms were asked about the region's host, so that one is asked or none."""
    answer, seen = answered(
        REPLY, monkeypatch, PAIR, host="bedrock-runtime.eu-central-1.amazonaws.com"
    )
    assert isinstance(answer, ModelFailure)
    assert answer.fault is ModelFault.NOT_FOUND
    assert not seen


def test_a_profile_that_is_not_there_is_a_matter_of_credentials(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Not of the network: asking again would not help."""
    answer, seen = answered(REPLY, monkeypatch, {"AWS_PROFILE": "nobody-made-it"})
    assert isinstance(answer, ModelFailure)
    assert (answer.fault, seen) == (ModelFault.AUTH, ())
    assert "nobody-made-it" in answer.message
    assert "Traceback" not in answer.message


def test_the_command_line_says_what_is_missing_and_asks_a_server_of_ones_own(
    tmp_path: Path,
) -> None:
    """`models show` and `models test` name the variables; a proxy that speaks for the cloud gets none of its credentials."""
    shop = Shop(tmp_path, TESTS)
    shown = shop.run("models", "show", NAME)
    assert shown["ready"] is False
    assert "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or in AWS_PROFILE" in str(shown["detail"])
    half = shop.surefoot("models", "test", "--model", NAME, env={"AWS_ACCESS_KEY_ID": "AKIDX"})
    assert half.returncode == 1
    assert "AWS_SECRET_ACCESS_KEY is not; set both" in half.stdout
    whole = shop.run("models", "show", NAME, env={**PAIR, "AWS_REGION": "eu-central-1"})
    assert whole["ready"] is True
    vertex = shop.surefoot("models", "test", "--model", "vertex_ai/gemini-2.5-pro")
    assert "name `gemini/NAME` with a key in GEMINI_API_KEY" in vertex.stdout
    with ScriptedServer(lambda _: REPLY) as there:
        at = ("--model", NAME, "--base-url", there.base_url.removesuffix("/v1"))
        done = shop.surefoot("models", "test", *at, env=PAIR)
        (seen,) = there.seen
    assert done.returncode == 0, done.stdout
    assert "'ready'" in done.stdout
    assert "AKIDEXAMPLE" not in json.dumps(dict(seen.headers))
