"""A model behind an OpenAI-compatible HTTP endpoint: OpenAI itself, Ollama, vLLM, llama.cpp and the like.

No call is made before `complete`. Every way in which a call can go wrong is a `ModelFailure`. Nothing is retried here, with
one exception: a server that names optional fields which it does not take is asked once more without them.
"""

import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, Literal
from urllib.parse import SplitResult, urlsplit

import httpx

from surefoot.codec import canonical
from surefoot.errors import SettingsError
from surefoot.models import unseen, wire
from surefoot.models.address import is_loopback
from surefoot.models.connection import connecting
from surefoot.models.deadline import keeps_deadlines, until
from surefoot.models.estimate import estimate_tokens
from surefoot.models.workers import Workers
from surefoot.values import (
    Message,
    ModelAnswer,
    ModelFailure,
    ModelFault,
    ModelReply,
    ModelRequest,
    Usage,
)

# No model answers with more; a server that sends more is broken or hostile.
REPLY_LIMIT_BYTES: Final = 4 * 1024**2
_CONNECT_S: Final = 5.0
_OPTIONAL: Final = frozenset(
    {"logprobs", "seed", "temperature", "response_format", "stop", "tool_choice", wire.PREFILL}
)
MESSAGE_TOKENS: Final = 8
_MARGIN: Final = 1.1
_TEMPLATE_BYTES: Final = 64
"""What a chat template writes around a message, or before the first one, at most."""
_LOST: Final = frozenset({ModelFault.TIMEOUT, ModelFault.BROKEN_STREAM, ModelFault.MALFORMED})
"""Failures after which the endpoint may have written a whole answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What tokens cost, USD for a million."""

    prompt_usd: float = 0.0
    completion_usd: float = 0.0


# An upper bound for models whose price nobody has told us; budgets are reserved by it, so it errs upwards.
UNKNOWN_PRICE: Final = Price(prompt_usd=20.0, completion_usd=160.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatServer:
    """Where an endpoint is, and what it can do beyond the plain protocol."""

    base_url: str
    """Up to and including the version, e.g. `http://127.0.0.1:11434/v1`."""
    api_key: str | None = field(default=None, repr=False)
    continues_prefill: bool | None = False
    """It goes on writing a trailing assistant message (llama.cpp, Ollama). Where it does not, that message is not sent, and
    the prefill is put before the answer unless the answer begins with it. None, nobody knows: it is sent until it is refused,
    and each answer is read for what it is."""
    schema: bool = True
    """It takes `response_format` with a JSON Schema."""
    logprobs: bool = False
    """It gives the log-probabilities of its tokens when asked."""
    extra: Mapping[str, str | int | float | bool] = field(default_factory=dict)
    """Fields that are sent with every request."""
    reply_s: float = 600.0
    """Longest time for one whole reply."""


class OpenAIChat:
    """The `Model` port over such an endpoint. Thread-safe.

    Args:
        name: The model as the endpoint calls it; settings and events call it `openai/<name>` unless `label` says else.
        server: The endpoint.
        context_tokens: Prompt and answer together; a longer request is refused without a call.
        parallel: How many requests are under way at once.
        native_tools: It may be offered tools; a server that takes none says so when it is asked.
        price: Used for estimates, and for the cost where the provider states none.
        label: Name in settings and events.
        monotonic: The clock that durations are taken from.

    Raises:
        SettingsError: The base URL or the key cannot be used.
    """

    def __init__(
        self,
        name: str,
        server: ChatServer,
        *,
        context_tokens: int = 32_768,
        parallel: int = 4,
        native_tools: bool = False,
        price: Price | None = None,
        label: str | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        address = _checked(server)
        loopback = is_loopback(address.hostname or "")
        self._model, self._server = name, server
        self._name = label or f"openai/{name}"
        self._context_tokens, self._parallel = context_tokens, max(1, parallel)
        self._native_tools = native_tools
        self._price = price or (Price() if loopback else UNKNOWN_PRICE)
        self._monotonic = monotonic
        self._left_out: frozenset[str] = frozenset()
        self._length_field = "max_tokens"
        self._guard = threading.Lock()
        """For both: no thread undoes what another one has learned."""
        self._ratio: float | None = None
        """Tokens that the endpoint counted for each one estimated, at most so far."""
        headers = {"authorization": f"Bearer {server.api_key}"} if server.api_key else {}
        with connecting():
            client = httpx.Client(
                headers=headers,
                timeout=httpx.Timeout(server.reply_s, connect=_CONNECT_S),
                limits=httpx.Limits(max_connections=self._parallel),
                trust_env=not loopback,  # a proxy never stands between this machine and itself
                # Reading the certificates takes longer than a call on loopback; plain HTTP needs none.
                verify=address.scheme == "https",
            )
        self._client = keeps_deadlines(client)

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
        """No: the chat protocol has no such question."""
        return False

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """An upper estimate: the endpoint's tokenizer is not known here."""
        return sum(estimate_tokens(m.content) + MESSAGE_TOKENS for m in messages)

    def estimate_usd(self, prompt_tokens: int, completion_tokens: int) -> float:
        """As the port says."""
        price = self._price
        return (
            prompt_tokens * price.prompt_usd + completion_tokens * price.completion_usd
        ) / 1_000_000

    def complete(self, requests: Sequence[ModelRequest]) -> tuple[ModelAnswer, ...]:
        """As the port says; at most `parallel` at once."""
        if len(requests) <= 1:
            return tuple(self.answer(request) for request in requests)
        workers = Workers(self._parallel)
        under_way = [workers.submit(partial(self.answer, request)) for request in requests]
        return tuple(future.result() for future in under_way)

    def close(self) -> None:
        """Close the connections; a second call does nothing."""
        self._client.close()

    def answer(self, request: ModelRequest) -> ModelAnswer:
        """Answer one request, after the check that it fits."""
        if request.gap is not None:
            return no_gaps(self._name)
        prompt = self.count_tokens(request.measured)
        if prompt + request.max_tokens > self._context_tokens:
            return overflow(self._name, prompt, request.max_tokens, self._context_tokens)
        return self.send(request)

    def send(self, request: ModelRequest) -> ModelAnswer:
        """Answer one request that is known to fit."""
        started = self._monotonic()
        got, prefilled = self._ask(request, started)
        wall_s = self._monotonic() - started
        outcome = (
            self._judge(request, _counted(request, got), wall_s, prefilled=prefilled)
            if isinstance(got, wire.Completion)
            else got
        )
        if isinstance(outcome, ModelReply):
            self._learn(request, outcome.usage)
            return outcome
        outcome = wire.without_tools(request, outcome)
        silent = outcome.usage.prompt_tokens == 0 and not outcome.rejected
        lost = outcome.kind in _LOST and silent
        return ModelFailure(
            fault=outcome.kind,
            message=self._clean(outcome.message),
            model=self._name,
            usage=self._paid(self._at_most(request) if lost else outcome.usage),
            retry_after_s=outcome.retry_after_s,
            wall_s=wall_s,
            unbilled=outcome.rejected,
        )

    def _ask(
        self, request: ModelRequest, started: float
    ) -> tuple[wire.Completion | wire.Fault, bool]:
        """What the server says, and whether it was sent the prefill."""
        while True:
            prefilled = self._prefills(request)
            fields = self._fields(request, prefilled=prefilled)
            got = self._post(canonical(fields), started)
            unsure = prefilled and self._server.continues_prefill is None
            sent = {*fields, wire.PREFILL} if unsure else set(fields)
            # Each time by something that is not sent again, so that this ends; many servers name but one at a time.
            if isinstance(got, wire.Completion) or not self._adapt(sent, got.unsupported):
                return got, prefilled

    def _prefills(self, request: ModelRequest) -> bool:
        """Whether the answer's beginning is sent along."""
        taken = self._server.continues_prefill is not False and wire.PREFILL not in self._left_out
        return taken and bool(request.prefill)

    def _learn(self, request: ModelRequest, usage: Usage) -> None:
        """How many tokens the endpoint counts where this class estimates one."""
        estimated = self.count_tokens(request.measured)
        if usage.prompt_tokens > 0 and estimated > 0:
            self._ratio = max(self._ratio or 0.0, usage.prompt_tokens / estimated)

    def _at_most(self, request: ModelRequest) -> Usage:
        """What a call may have been counted at whose reply was lost; no token is shorter than a byte."""
        prompt = sum(len(m.content.encode()) + _TEMPLATE_BYTES for m in request.measured)
        prompt += _TEMPLATE_BYTES
        if self._ratio is not None:
            usual = _MARGIN * max(1.0, self._ratio) * self.count_tokens(request.measured)
            prompt = min(prompt, int(usual) + 1)
        return Usage(prompt_tokens=prompt, completion_tokens=request.max_tokens)

    def _fields(self, request: ModelRequest, *, prefilled: bool) -> dict[str, object]:
        server = self._server
        messages = [{"role": m.role, "content": m.content} for m in request.messages]
        if prefilled:
            messages.append({"role": "assistant", "content": request.prefill})
        fields: dict[str, object] = {
            **server.extra,
            "model": self._model,
            "messages": messages,
            self._length_field: request.max_tokens,
            "temperature": request.temperature,
            "seed": request.seed % 2**31,
            "stream": False,
        }
        if stops := self._stops(request, prefilled=prefilled):
            fields["stop"] = stops
        if server.logprobs:
            fields["logprobs"] = True
            fields["top_logprobs"] = 1
        if request.tools:
            fields |= wire.tool_fields(request.tools)
        elif request.json_schema is not None and server.schema:
            fields["response_format"] = wire.response_format(request.purpose, request.json_schema)
        for name in self._left_out:
            fields.pop(name, None)
        if "logprobs" in self._left_out:
            fields.pop("top_logprobs", None)
        return fields

    def _stops(self, request: ModelRequest, *, prefilled: bool) -> list[str]:
        if self._server.continues_prefill:
            return list(request.stop)
        return unseen.harmless_stops(request) if prefilled else unseen.sendable_stops(request)

    def _adapt(self, sent: Collection[str], unsupported: Sequence[str]) -> bool:
        """Leave out, from now on, what the server said that it does not take; whether asking again makes sense.

        That is judged by what this request held: another one, under way with it, may have learned the same before.
        """
        names = {"logprobs" if name == "top_logprobs" else name for name in unsupported}
        refused = names & _OPTIONAL & set(sent)
        # OpenAI's reasoning models renamed it; older servers know only the first name.
        renamed = "max_tokens" in names and "max_tokens" in sent
        with self._guard:
            self._left_out |= refused
            if renamed:
                self._length_field = "max_completion_tokens"
        return renamed or bool(refused)

    def _post(self, body: bytes, started: float) -> wire.Completion | wire.Fault:
        url = self._server.base_url.rstrip("/") + "/chat/completions"
        headers = {"content-type": "application/json"}
        try:
            with (
                until(started + self._server.reply_s, self._monotonic),
                self._client.stream("POST", url, content=body, headers=headers) as response,
            ):
                received = self._received(response)
                status = response.status_code
                reply_headers = {k.lower(): v for k, v in response.headers.items()}
        except httpx.HTTPError as problem:
            return self._broken(problem)
        if isinstance(received, wire.Fault):
            return received
        if status == httpx.codes.OK:
            return wire.read_completion(received)
        return wire.read_failure(status, reply_headers, received)

    def _broken(self, problem: httpx.HTTPError) -> wire.Fault:
        """What a call that ended without a status means."""
        url = self._server.base_url
        if isinstance(problem, httpx.ConnectError | httpx.ConnectTimeout | httpx.ProxyError):
            return wire.Fault(
                kind=ModelFault.UNREACHABLE,
                message=f"nobody answers at {url}: {problem}; start the server or mend the base URL",
            )
        if isinstance(problem, httpx.TimeoutException):
            return self._late()
        if isinstance(problem, httpx.DecodingError):
            return wire.Fault(
                kind=ModelFault.MALFORMED,
                message=f"the reply of {url} cannot be unpacked: {problem}",
            )
        return wire.Fault(
            kind=ModelFault.BROKEN_STREAM, message=f"the connection to {url} broke: {problem}"
        )

    def _received(self, response: httpx.Response) -> bytes | wire.Fault:
        """The whole body, within the limit of size."""
        received = bytearray()
        for chunk in response.iter_bytes():
            received += chunk
            if len(received) > REPLY_LIMIT_BYTES:
                return wire.Fault(
                    kind=ModelFault.MALFORMED,
                    message=f"the reply is longer than {REPLY_LIMIT_BYTES} bytes and was cut off",
                )
        return bytes(received)

    def _late(self) -> wire.Fault:
        return wire.Fault(
            kind=ModelFault.TIMEOUT,
            message=f"no complete reply from {self._server.base_url} within {self._server.reply_s:g} s",
        )

    def _judge(
        self, request: ModelRequest, got: wire.Completion, wall_s: float, *, prefilled: bool
    ) -> ModelReply | wire.Fault:
        if got.refusal is not None or got.finish == "content_filter":
            said = got.refusal or "the provider's filter stopped the answer"
            return wire.Fault(kind=ModelFault.REFUSAL, message=said[:500], usage=got.usage)
        if got.broken is not None:
            return wire.Fault(kind=ModelFault.BROKEN_STREAM, message=got.broken, usage=got.usage)
        if unseen.is_truncated(request, got.usage):
            return wire.Fault(
                kind=ModelFault.CONTEXT_OVERFLOW,
                message=f"the server read only {got.usage.prompt_tokens} tokens of the prompt: it cuts long prompts off; "
                "give it a larger context (Ollama: num_ctx)",
                usage=got.usage,
            )
        text, begins, finish = self._joined(got, request, prefilled=prefilled)
        if not text[begins:].strip() and not got.calls:
            # A model that thinks first can use up its room before it says a word.
            cut = finish == "length"
            return wire.Fault(
                kind=ModelFault.TRUNCATED if cut else ModelFault.EMPTY,
                message=f"the answer is empty (finish reason {got.finish!r})",
                usage=got.usage,
            )
        return ModelReply(
            text=text,
            model=got.model or self._model,
            finish=finish,
            usage=self._paid(got.usage),
            wall_s=wall_s,
            mean_logprob=got.mean_logprob,
            calls=got.calls,
        )

    def _joined(
        self, got: wire.Completion, request: ModelRequest, *, prefilled: bool
    ) -> tuple[str, int, Literal["stop", "length"]]:
        """The whole text, where in it the answer begins, and how it ended."""
        if not self._server.continues_prefill:
            return unseen.joined(got.text, got.finish, request, seen=prefilled)
        prefill = request.prefill
        text = got.text if got.text.startswith(prefill) else prefill + got.text
        return text, len(prefill), unseen.ending(got.finish)

    def _paid(self, usage: Usage) -> Usage:
        if usage.cost_usd > 0:
            return usage
        return replace(
            usage, cost_usd=self.estimate_usd(usage.prompt_tokens, usage.completion_tokens)
        )

    def _clean(self, message: str) -> str:
        key = self._server.api_key
        return wire.without_key(message, key) if key else message


def _counted(request: ModelRequest, got: wire.Completion) -> wire.Completion:
    """The reply with what it wrote estimated where a server counts the prompt alone: nothing is written for nothing."""
    if not got.usage.prompt_tokens or got.usage.completion_tokens:
        return got
    said = "".join((got.text, got.refusal or "", *(c.tool + c.parameters for c in got.calls)))
    wrote = min(estimate_tokens(said), request.max_tokens)
    return replace(got, usage=replace(got.usage, completion_tokens=wrote))


def overflow(model: str, prompt: int, answer: int, context: int) -> ModelFailure:
    """The refusal of a request that does not fit; nothing was sent."""
    return ModelFailure(
        fault=ModelFault.CONTEXT_OVERFLOW,
        message=f"{prompt} tokens of prompt and {answer} of answer do not fit into {context}; shorten the prompt",
        model=model,
    )


def no_gaps(model: str) -> ModelFailure:
    """The refusal of a gap by a model that fills none."""
    message = "it does not fill gaps; ask it in words"
    return ModelFailure(fault=ModelFault.UNSUPPORTED, message=message, model=model)


def _checked(server: ChatServer) -> SplitResult:
    """The parts of the base URL."""
    parts = urlsplit(server.base_url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise SettingsError(
            f"the base URL {server.base_url!r} is not an http(s) address; give one like http://127.0.0.1:11434/v1"
        )
    key = server.api_key or ""
    if not key.isascii() or not key.isprintable() or " " in key:
        raise SettingsError(
            "the API key holds characters that a key cannot have (spaces, line ends, non-ASCII); copy it again"
        )
    return parts
