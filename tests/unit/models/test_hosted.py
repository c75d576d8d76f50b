"""A hosted model before any call: what it refuses, what it leaves alone, and the rules of its line."""

import sys
from collections.abc import Iterator

import httpx
import pytest

from surefoot.errors import ModelUnavailableError, SettingsError
from surefoot.models.hosted import HostedModel
from surefoot.models.openai_chat import REPLY_LIMIT_BYTES, UNKNOWN_PRICE, Price
from surefoot.models.tapped import Exchange
from surefoot.values import Message, ModelFault

KEY = "sk-not-a-real-key-4711"
URL = "http://127.0.0.1:9"


def hosted(name: str = "anthropic/m", **changes: object) -> HostedModel:
    given: dict[str, object] = {"api_key": KEY, "base_url": None, "context_tokens": 9000}
    return HostedModel(name, **{**given, **changes})  # type: ignore[arg-type]


def test_it_is_called_what_it_is() -> None:
    """Name, context and parallelism are known without a call; the name may hold slashes."""
    model = hosted("openrouter/a/b:free", parallel=0)
    assert (model.name, model.context_tokens, model.parallel) == ("openrouter/a/b:free", 9000, 1)
    assert model.complete(()) == ()
    assert model.count_tokens((Message(role="user", content="one two"),)) >= 2


def test_an_unknown_price_is_reserved_high_and_this_machine_is_free() -> None:
    """A hosted model of unknown price is estimated by an upper bound, a server on loopback by nothing."""
    assert hosted().estimate_usd(1_000_000, 0) == UNKNOWN_PRICE.prompt_usd
    assert hosted(base_url=URL).estimate_usd(1_000_000, 1_000_000) == 0.0
    priced = hosted(base_url=URL, price=Price(prompt_usd=1.0, completion_usd=4.0))
    assert priced.estimate_usd(1_000_000, 500_000) == pytest.approx(3.0)


@pytest.mark.parametrize("name", ["", "m", "anthropic/", "/m"])
def test_a_name_without_provider_is_refused(name: str) -> None:
    """The sentence shows what was given and the form that is accepted."""
    with pytest.raises(SettingsError, match="provider/name"):
        hosted(name)


@pytest.mark.parametrize("url", ["", "localhost:11434", "ftp://x/v1", "http:///v1"])
def test_a_base_url_that_is_none_is_refused(url: str) -> None:
    """The sentence shows what was given and what would be accepted."""
    with pytest.raises(SettingsError, match="http"):
        hosted(base_url=url)


@pytest.mark.parametrize("key", ["a b", "a\n", "schl\u00fcssel"])
def test_a_key_that_is_none_is_refused_unseen(key: str) -> None:
    """A key that cannot stand in a header is refused, and not shown."""
    with pytest.raises(SettingsError) as refused:
        hosted(api_key=key)
    assert key not in str(refused.value)


def test_a_missing_package_is_named_with_its_mend(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without LiteLLM the sentence says which command installs it."""
    monkeypatch.setitem(sys.modules, "litellm", None)
    with pytest.raises(ModelUnavailableError, match=r"surefoot\[hosted\]"):
        hosted()


# --- the line ---------------------------------------------------------------------------------------


def exchange(*, stream: bool = False) -> Exchange:
    return Exchange(stream=stream, reply_s=60.0, idle_s=5.0)


def post(**headers: str) -> httpx.Request:
    return httpx.Request("POST", URL, headers=headers)


def test_one_call_is_one_request() -> None:
    """The same request is not let through twice, so that nobody can retry behind our back."""
    line = exchange()
    line.asks(post())
    with pytest.raises(httpx.ConnectError, match="one request"):
        line.asks(post())


def test_the_keys_that_were_sent_are_remembered() -> None:
    """Also those that LiteLLM took from the environment itself can be kept out of messages; a record does not show them."""
    line = exchange()
    line.asks(post(authorization=f"Bearer {KEY}"))
    assert KEY in line.secrets
    assert KEY not in repr(line)


def test_limits_are_the_calls_own() -> None:
    """What a library sets as timeouts does not count."""
    for stream, read_s in ((True, 5.0), (False, 60.0)):
        line = exchange(stream=stream)
        request = post()
        line.asks(request)
        assert request.extensions["timeout"]["read"] == read_s


def pieces_of(line: bytes, size_bytes: int) -> Iterator[bytes]:
    for _ in range(size_bytes // len(line) + 1):
        yield line


def test_a_long_stream_of_short_lines_is_no_endless_reply() -> None:
    """Four MiB hold for text and for a line; the events around the text of a long answer may be more."""
    line = exchange(stream=True)
    line.answers(httpx.Response(200))
    for piece in pieces_of(b"x" * 1023 + b"\n", 2 * REPLY_LIMIT_BYTES):
        line.takes(piece)
    assert line.fault is None
    assert len(line.kept) <= 256 * 1024
    line.takes(b"x" * REPLY_LIMIT_BYTES)
    with pytest.raises(httpx.ReadError):
        line.takes(b"x")
    assert line.fault is not None


def test_the_model_names_itself_before_its_text() -> None:
    """A name inside the answer's text is not the answering model's."""
    line = exchange()
    line.kept += b'{"content":"{\\"model\\": \\"fake\\"}","model": "real-1"}'
    assert line.model() == "real-1"


def test_a_redirect_is_not_followed() -> None:
    """The address is not the endpoint's; a key in a header of its own would go along."""
    line = exchange()
    with pytest.raises(httpx.RemoteProtocolError):
        line.answers(httpx.Response(307, headers={"location": "http://elsewhere/"}))
    assert line.fault is not None
    assert line.fault.kind is ModelFault.NOT_FOUND
