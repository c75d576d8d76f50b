"""Any model that LiteLLM knows: `anthropic/…`, `gemini/…`, `mistral/…`, `openrouter/…`, `ollama_chat/…` and the like.

LiteLLM translates the protocols and nothing else. Its retries, fall-backs, caches, call-backs, its telemetry, its print-outs
and its look-ups on the network are switched off, and it sends over our own line (`tapped.py`), which tells what happened.
It is imported with the first call: that takes seconds and 200 MB.
"""

import logging
import math
import os
import threading
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from importlib.util import find_spec
from types import ModuleType
from typing import Any, Final
from urllib.parse import urlsplit

import httpx

from surefoot.errors import ModelUnavailableError, SettingsError
from surefoot.models import unseen, wire
from surefoot.models.address import is_loopback
from surefoot.models.estimate import estimate_tokens
from surefoot.models.hosted_faults import broken_off, explain, stated_error
from surefoot.models.openai_chat import (
    MESSAGE_TOKENS,
    REPLY_LIMIT_BYTES,
    UNKNOWN_PRICE,
    Price,
    no_gaps,
    overflow,
)
from surefoot.models.tapped import Exchange, TappedTransport
from surefoot.models.workers import Workers
from surefoot.values import (
    Message,
    ModelAnswer,
    ModelFailure,
    ModelFault,
    ModelReply,
    ModelRequest,
    ToolCall,
    Usage,
)

INSTALL_MEND: Final = "install it with `pip install 'surefoot[hosted]'`"
# Read while LiteLLM is imported, the third one with the first call to Anthropic: no `.env` of the repository becomes part of
# the environment, no price list and no header list is fetched, nothing is logged. The last one is Amazon's library's: no address
# inside a network is asked for a role of this machine.
_SWITCHES: Final[Mapping[str, str]] = {
    "LITELLM_MODE": "PRODUCTION",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",
    "LITELLM_LOG": "ERROR",
    "AWS_EC2_METADATA_DISABLED": "true",
}
_SETTINGS: Final[Mapping[str, object]] = {
    "telemetry": False,
    "suppress_debug_info": True,
    "set_verbose": False,
    "turn_off_message_logging": True,
    "disable_streaming_logging": True,
    "redact_messages_in_exceptions": True,
    "disable_hf_tokenizer_download": True,
    "num_retries": None,
    "model_fallbacks": None,
    "cache": None,
    "callbacks": [],
    "success_callback": [],
    "failure_callback": [],
    # It ends a stream that says the same piece so often, as an "internal server error"; blanks in code do that.
    "REPEATED_STREAMING_CHUNK_LIMIT": 10**9,
}
_LOGGERS: Final = ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy")
# Without a key of the user's for a server of the user's own, LiteLLM would take one from the environment and send it there.
_NO_KEY: Final = "no-key"
_OPTIONAL: Final = frozenset(
    {"temperature", "seed", "stop", "response_format", "stream_options", "tool_choice"}
)

# How a reply of an unforeseen shape shows in code that reads it.
_MISREAD: Final = (ValueError, KeyError, IndexError, TypeError, AttributeError)


@dataclass(slots=True)
class _Heard:
    """What came so far."""

    text: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    """Paid, and not part of the answer."""
    finish: str | None = None
    refusal: str | None = None
    model: str | None = None
    usage: Usage = Usage()
    """As far as the provider said."""
    size: int = 0
    calls: dict[int, ToolCall] = field(default_factory=dict)
    """By their place in the answer; of a stream as far as they came."""

    def tokens(self) -> int:
        """An upper estimate of what was written."""
        called = "".join(call.tool + call.parameters for call in self.calls.values())
        said = ("".join(self.text), "".join(self.thoughts), called)
        return sum(estimate_tokens(text) for text in said)

    def add(self, part: object) -> None:
        """Take over LiteLLM's message, or a piece of one."""
        text, thought = getattr(part, "content", None), getattr(part, "reasoning_content", None)
        refusal = getattr(part, "refusal", None)
        if isinstance(text, str):
            self.text.append(text)
            self.size += len(text)
        if isinstance(thought, str):
            self.thoughts.append(thought)
            self.size += len(thought)
        if isinstance(refusal, str) and refusal:
            self.refusal = (self.refusal or "") + refusal
        for place, call in enumerate(getattr(part, "tool_calls", None) or ()):
            self._call(place, call)

    def _call(self, place: int, part: object) -> None:
        """Take over a call, or a piece of one, which says which call it belongs to."""
        index, function = getattr(part, "index", None), getattr(part, "function", None)
        key = index if isinstance(index, int) else place
        name, text = getattr(function, "name", None), getattr(function, "arguments", None)
        before = self.calls.get(key, ToolCall(tool="", parameters=""))
        more = text if isinstance(text, str) else ""
        self.calls[key] = ToolCall(
            # Some servers say the name again with each piece.
            tool=before.tool or (name if isinstance(name, str) else ""),
            parameters=before.parameters + more,
        )
        self.size += len(more)

    def count(self, said: object) -> None:
        """Take over what the provider counted; of several statements the largest."""
        if said is None:
            return
        details = getattr(said, "prompt_tokens_details", None)
        prompt = max(self.usage.prompt_tokens, _whole(getattr(said, "prompt_tokens", 0)))
        cached = (
            _whole(getattr(details, "cached_tokens", 0))
            or _whole(getattr(said, "cache_read_input_tokens", 0))
            # Kimi's place for it.
            or _whole(getattr(said, "cached_tokens", 0))
        )
        completion = _whole(getattr(said, "completion_tokens", 0))
        cost = getattr(said, "cost", None)
        stated = float(cost) if isinstance(cost, int | float) and math.isfinite(cost) else 0.0
        self.usage = Usage(
            prompt_tokens=prompt,
            cached_tokens=min(prompt, max(self.usage.cached_tokens, cached)),
            completion_tokens=max(self.usage.completion_tokens, completion),
            cost_usd=max(self.usage.cost_usd, stated),
        )


class HostedModel:
    """The `Model` port over LiteLLM. Thread-safe; nothing is imported or called before `complete`.

    Args:
        name: As LiteLLM calls the model, `provider/name`; settings and events call it the same.
        api_key: Sent to the provider. When None, LiteLLM looks into the environment variables of that provider, unless
            there is a base URL: no key that was not meant for it goes there.
        base_url: Of a server of one's own, as LiteLLM takes it for that provider; the provider's own when None.
        context_tokens: Prompt and answer together; a longer request is refused without a call.
        price: Used for estimates, and for the cost where the provider states none.
        parallel: How many requests are under way at once.
        native_tools: It may be offered tools; a server that takes none says so when it is asked.
        stream: Ask for the answer piece by piece: a server that has died is noticed after `idle_s`, not `reply_s`.
        reply_s: Longest time for one whole reply.
        idle_s: Longest silence inside a stream.
        region: Of a cloud, where the provider has some.
        host: The only host that may be asked, whatever the environment's variables say; None: any.
        monotonic: The clock that durations are taken from.

    Raises:
        SettingsError: The name, the base URL or the key cannot be used.
        ModelUnavailableError: LiteLLM is not installed.
    """

    def __init__(
        self,
        name: str,
        *,
        api_key: str | None,
        base_url: str | None,
        context_tokens: int,
        price: Price | None = None,
        parallel: int = 4,
        native_tools: bool = False,
        stream: bool = False,
        reply_s: float = 600.0,
        idle_s: float = 120.0,
        region: str | None = None,
        host: str | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        _check(name, base_url, api_key)
        if find_spec("litellm") is None:
            raise ModelUnavailableError(
                f"`{name}` needs litellm, which is not installed; {INSTALL_MEND}"
            )
        own = base_url is not None and is_loopback(urlsplit(base_url).hostname or "")
        self._name, self._base_url = name, base_url
        self._api_key = api_key or (None if base_url is None else _NO_KEY)
        self._context_tokens, self._parallel = context_tokens, max(1, parallel)
        self._price = price or (Price() if own else UNKNOWN_PRICE)
        self._native_tools = native_tools
        self._stream, self._reply_s, self._idle_s = stream, reply_s, idle_s
        self._region, self._host = region, host
        self._monotonic = monotonic
        self._left_out: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """As the port says."""
        return self._name

    @property
    def context_tokens(self) -> int:
        """As the port says."""
        return self._context_tokens

    @property
    def parallel(self) -> int:
        """As the port says."""
        return self._parallel

    @property
    def native_tools(self) -> bool:
        """As the port says."""
        return self._native_tools

    @property
    def fills_gaps(self) -> bool:
        """No: the providers' chat protocols have no such question."""
        return False

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """An upper estimate: providers keep their tokenizers to themselves."""
        return sum(estimate_tokens(m.content) + MESSAGE_TOKENS for m in messages)

    def estimate_usd(self, prompt_tokens: int, completion_tokens: int) -> float:
        """As the port says."""
        price = self._price
        return (
            prompt_tokens * price.prompt_usd + completion_tokens * price.completion_usd
        ) / 1_000_000

    def complete(self, requests: Sequence[ModelRequest]) -> tuple[ModelAnswer, ...]:
        """As the port says; at most `parallel` at once.

        Raises:
            ModelUnavailableError: LiteLLM is installed and cannot be imported.
        """
        if len(requests) <= 1:
            return tuple(self.answer(request) for request in requests)
        workers = Workers(self._parallel)
        under_way = [workers.submit(partial(self.answer, request)) for request in requests]
        return tuple(future.result() for future in under_way)

    def answer(self, request: ModelRequest) -> ModelAnswer:
        """Answer one request, by one request to the provider."""
        if request.gap is not None:
            return no_gaps(self._name)
        prompt = self.count_tokens(request.measured)
        if prompt + request.max_tokens > self._context_tokens:
            return overflow(self._name, prompt, request.max_tokens, self._context_tokens)
        library = load()
        exchange = Exchange(
            stream=self._stream,
            reply_s=self._reply_s,
            idle_s=self._idle_s,
            host=self._host,
            monotonic=self._monotonic,
        )
        heard, started = _Heard(), self._monotonic()
        fault = self._call(library, request, exchange, heard)
        wall_s = self._monotonic() - started
        if fault is None:
            outcome = self._judge(request, exchange, heard, wall_s)
            if isinstance(outcome, ModelReply):
                return outcome
            fault = outcome
        else:
            fault = replace(fault, usage=_spent(request, prompt, exchange, heard))
            self._learn(fault.unsupported)
        fault = wire.without_tools(request, fault)
        return ModelFailure(
            fault=fault.kind,
            message=self._clean(fault.message, exchange),
            model=self._name,
            usage=self._paid(fault.usage),
            retry_after_s=fault.retry_after_s,
            wall_s=wall_s,
            unbilled=fault.rejected,
        )

    def _call(
        self,
        library: ModuleType,
        request: ModelRequest,
        exchange: Exchange,
        heard: _Heard,
    ) -> wire.Fault | None:
        """Ask and listen to the end; why there is no whole reply, when there is none."""
        try:
            with exchange.under_way():
                reply = library.completion(**self._fields(library, request))
                if self._stream:
                    _listen(reply, exchange, heard)
                else:
                    _read(reply, heard)
        # The base of all classes in `litellm.exceptions` that a call raises.
        except (library.exceptions.openai.OpenAIError, httpx.HTTPError) as problem:
            return explain(library, problem, exchange, begun=heard.size > 0)
        except _MISREAD as problem:
            # Nobody had answered: then it is our own bug, and not the provider's.
            if exchange.status is None:
                raise
            return explain(library, problem, exchange, begun=heard.size > 0)
        if exchange.fault is None and heard.finish is None:
            return stated_error(bytes(exchange.kept)) or wire.Fault(
                kind=ModelFault.BROKEN_STREAM, message="the reply ended before it was finished"
            )
        return exchange.fault

    def _fields(self, library: ModuleType, request: ModelRequest) -> dict[str, object]:
        """The arguments of LiteLLM's `completion`."""
        takes = frozenset(library.get_supported_openai_params(self._name) or ())
        wanted: dict[str, object] = {
            "temperature": request.temperature,
            "seed": request.seed % 2**31,
        }
        if stops := unseen.sendable_stops(request):
            wanted["stop"] = stops
        if request.tools:
            wanted |= wire.tool_fields(request.tools)
            # Where it knows of none for a model, the server has the word.
            takes |= {"tools", "tool_choice"}
        elif request.json_schema is not None and _holds_to_schema(library, self._name):
            wanted["response_format"] = wire.response_format(request.purpose, request.json_schema)
        if self._stream:
            wanted["stream_options"] = {"include_usage": True}
        return {
            **{k: v for k, v in wanted.items() if k in takes and k not in self._left_out},
            "model": self._name,
            # A prefill is not sent: the newest models refuse a trailing assistant message.
            "messages": [{"role": m.role, "content": m.content} for m in request.messages],
            "max_tokens": request.max_tokens,
            "stream": self._stream,
            "api_key": self._api_key,
            "base_url": self._base_url,
            "timeout": self._reply_s,
            "drop_params": True,
            **({} if self._region is None else {"aws_region_name": self._region}),
            "max_retries": 0,
            "num_retries": 0,
            "caching": False,
        }

    def _judge(
        self, request: ModelRequest, exchange: Exchange, heard: _Heard, wall_s: float
    ) -> ModelReply | wire.Fault:
        usage = _said(request, heard, self.count_tokens(request.measured))
        if heard.refusal is not None or heard.finish in ("content_filter", "refusal"):
            said = heard.refusal or "the provider's filter stopped the answer"
            return wire.Fault(kind=ModelFault.REFUSAL, message=said[:500], usage=usage)
        if (broken := broken_off(exchange)) is not None:
            return replace(broken, usage=usage)
        if unseen.is_truncated(request, heard.usage):
            return wire.Fault(
                kind=ModelFault.CONTEXT_OVERFLOW,
                message=f"the server read only {heard.usage.prompt_tokens} tokens of the prompt: it cuts long prompts off; "
                "give it a larger context (Ollama: num_ctx)",
                usage=usage,
            )
        text, begins, finish = unseen.joined("".join(heard.text), heard.finish, request)
        if not text[begins:].strip() and not heard.calls:
            # A model that thinks first can use up its room before it says a word.
            cut = finish == "length"
            return wire.Fault(
                kind=ModelFault.TRUNCATED if cut else ModelFault.EMPTY,
                message=f"the answer is empty (finish reason {heard.finish!r})",
                usage=usage,
            )
        return ModelReply(
            text=text,
            model=exchange.model() or heard.model or self._name,
            finish=finish,
            usage=self._paid(usage),
            wall_s=wall_s,
            calls=tuple(heard.calls.values()),
        )

    def _learn(self, unsupported: Sequence[str]) -> None:
        """Leave out, from the next call on, what the provider said that it does not take."""
        self._left_out |= _OPTIONAL & set(unsupported)

    def _paid(self, usage: Usage) -> Usage:
        if usage.cost_usd > 0:
            return usage
        return replace(
            usage, cost_usd=self.estimate_usd(usage.prompt_tokens, usage.completion_tokens)
        )

    def _clean(self, message: str, exchange: Exchange) -> str:
        for secret in {self._api_key or "", *exchange.secrets} - {"", _NO_KEY}:
            message = wire.without_key(message, secret)
        return message[:500]


_LOADING: Final = threading.Lock()


def load() -> ModuleType:
    """LiteLLM, switched to do nothing but translate; imported once a process.

    Raises:
        ModelUnavailableError: It cannot be imported.
    """
    with _LOADING:
        return _load()


@lru_cache(maxsize=1)
def _load() -> ModuleType:
    os.environ.update(_SWITCHES)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # its own, and its dependencies', of no use to us
            import litellm  # noqa: PLC0415  # optional and heavy
            import litellm.exceptions  # noqa: PLC0415
    except ImportError as problem:
        raise ModelUnavailableError(
            f"litellm cannot be imported: {problem}; {INSTALL_MEND}"
        ) from problem
    for name in _LOGGERS:
        logging.getLogger(name).disabled = True
    line = TappedTransport()
    vars(litellm).update(
        _SETTINGS, sync_transport=line, client_session=httpx.Client(transport=line)
    )
    library: ModuleType = litellm
    return library


def _listen(stream: Any, exchange: Exchange, heard: _Heard) -> None:  # noqa: ANN401  # LiteLLM's stream
    """Take over a stream to its end, or until it is too long."""
    try:
        for chunk in stream:
            for choice in chunk.choices[:1]:
                heard.add(choice.delta)
            if heard.size > REPLY_LIMIT_BYTES:
                exchange.too_long()
                return
    finally:
        # What it hands out holds its own estimate in the place of a usage that the provider did not state; these do not.
        for chunk in stream.chunks:
            heard.count(getattr(chunk, "usage", None))
    # Likewise: a stream without a finish reason is handed out with `stop`.
    # The second one is Gemini's, which may go on after it.
    heard.finish = stream.received_finish_reason or stream.intermittent_finish_reason


def _read(reply: Any, heard: _Heard) -> None:  # noqa: ANN401  # LiteLLM's reply
    heard.count(getattr(reply, "usage", None))
    heard.model = reply.model
    heard.finish = "stop"
    for choice in reply.choices[:1]:
        heard.add(choice.message)
        heard.finish = choice.finish_reason or "stop"


def _spent(request: ModelRequest, prompt: int, exchange: Exchange, heard: _Heard) -> Usage:
    """What a call without a whole reply has cost at most; the provider counts a reply that was lost, too."""
    said = heard.usage
    silent = said == Usage() and heard.size == 0
    refused = exchange.status not in (None, httpx.codes.OK)
    if not exchange.delivered or refused or (silent and stated_error(bytes(exchange.kept))):
        return said
    written = heard.tokens() if exchange.stream else request.max_tokens
    return replace(
        said,
        prompt_tokens=said.prompt_tokens or prompt,
        completion_tokens=max(said.completion_tokens, written),
        # What was stated before the end is not the whole.
        cost_usd=0.0,
    )


def _said(request: ModelRequest, heard: _Heard, prompt: int) -> Usage:
    """The usage of a whole reply; estimated where the provider did not count."""
    said = heard.usage
    return replace(
        said,
        prompt_tokens=said.prompt_tokens or prompt,
        completion_tokens=said.completion_tokens or min(heard.tokens(), request.max_tokens),
    )


def _holds_to_schema(library: ModuleType, name: str) -> bool:
    """Whether a model takes a JSON Schema, by LiteLLM's own list."""
    # For Ollama it would ask the server; every Ollama takes one.
    if name.startswith(("ollama/", "ollama_chat/")):
        return True
    return bool(library.supports_response_schema(name))


def _whole(value: object) -> int:
    return max(0, value) if isinstance(value, int) else 0


def _check(name: str, base_url: str | None, api_key: str | None) -> None:
    """Refuse what cannot be sent."""
    provider, _, model = name.partition("/")
    if not provider or not model:
        raise SettingsError(
            f"the model {name!r} is not of the form `provider/name`, e.g. `anthropic/claude-sonnet-4-5`"
        )
    if base_url is not None:
        parts = urlsplit(base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise SettingsError(
                f"the base URL {base_url!r} is not an http(s) address; give one like http://127.0.0.1:11434"
            )
    key = api_key or ""
    if not key.isascii() or not key.isprintable() or " " in key:
        raise SettingsError(
            "the API key holds characters that a key cannot have (spaces, line ends, non-ASCII); copy it again"
        )
