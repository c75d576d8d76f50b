"""What an OpenAI-compatible endpoint says, turned into values; pure.

Everything that comes over the wire is untrusted: a reply of the wrong shape is a `MALFORMED` failure, never an exception.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from typing import Final, Literal

import httpx
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from surefoot.values import ModelFault, ModelRequest, OfferedTool, ToolCall, Usage

_TELLING: Final = 8
"""So many signs of a key tell nothing: its kind."""
_OVERFLOW: Final = re.compile(
    r"context[ _-]?(length|window|size)|maximum context|available context|context_length_exceeded"
    r"|exceed_context|too many (input )?tokens|prompt is too long|input is too long|reduce the length"
    r"|(input|prompt) (length|tokens?) .{0,40}exceed",
    re.IGNORECASE,
)
_FILTERED: Final = re.compile(
    r"content[ _-]?(policy|filter)|safety system|responsible ?ai", re.IGNORECASE
)
# No wait brings credits back, so this stands before any status. Gemini's "exceeded your current quota" is no such word:
# it says the same of a limit for a minute.
_SPENT: Final = re.compile(
    r"insufficient_quota|billing_(?:hard_limit_reached|not_active)|credit balance is too low",
    re.IGNORECASE,
)
_BY_WORDS: Final = (
    (ModelFault.CONTEXT_OVERFLOW, _OVERFLOW),
    (ModelFault.REFUSAL, _FILTERED),
    (ModelFault.RATE_LIMIT, re.compile(r"rate[ _-]?limit", re.IGNORECASE)),
    (ModelFault.OVERLOAD, re.compile(r"overloaded|unavailable|internal server", re.IGNORECASE)),
)
_UNSUPPORTED: Final = re.compile(
    r"unsupported|not supported|unrecognized|unknown (field|name|param)|extra inputs|invalid (?:temperature|seed|stop)\b",
    re.IGNORECASE,
)
# llama.cpp ("Assistant response prefill is incompatible with enable_thinking"), vLLM with Mistral's tokenizer, Mistral itself.
_PREFILL: Final = re.compile(
    r"\bassistant\b.{0,30}\bprefill|continue_final_message|expected last role", re.IGNORECASE
)
PREFILL: Final = "prefill"
"""What `Fault.unsupported` calls a trailing assistant message, which is no field of its own."""
_TOOLS: Final = re.compile(r"\btools?\b|\btool_choice\b|\bfunction[ _-]?call", re.IGNORECASE)
_VAGUE: Final = frozenset({ModelFault.MALFORMED, ModelFault.NOT_FOUND, ModelFault.OVERLOAD})
"""Kinds that a server's refusal of tools is read as by its status."""
_NAMES: Final = re.compile(
    r"""['"`]([a-z_]+)['"`]|\binvalid\ (temperature|seed|stop)\b|:\ ([a-z_]+(?:,\ ?[a-z_]+)*)""",
    re.VERBOSE,
)
_BROKEN_OFF: Final = frozenset({"abort", "error", "insufficient_system_resource", "network_error"})
"""Finish reasons of answers that are no whole ones: of vLLM and SGLang, OpenRouter and Mistral, DeepSeek, Zhipu."""
_BY_STATUS: Final[Mapping[int, ModelFault]] = {
    401: ModelFault.AUTH,
    402: ModelFault.AUTH,
    403: ModelFault.AUTH,
    404: ModelFault.NOT_FOUND,
    405: ModelFault.NOT_FOUND,
    408: ModelFault.TIMEOUT,
    410: ModelFault.NOT_FOUND,
    425: ModelFault.OVERLOAD,
    429: ModelFault.RATE_LIMIT,
    504: ModelFault.TIMEOUT,
}


class _Wire(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class _Part(_Wire):
    text: str = ""


class _Function(_Wire):
    name: str = ""
    arguments: str | dict[str, object] | None = None
    """Text, by the protocol; an object, by some servers."""


class _Call(_Wire):
    function: _Function


class _Message(_Wire):
    content: str | list[_Part] | None = None
    refusal: str | None = None
    tool_calls: list[_Call] | None = None


class _TokenLogprob(_Wire):
    logprob: float
    top_logprobs: list[object] = []
    """Empty where llama.cpp took over what a look-up had proposed: the logarithm is 0 then, whatever it was."""


class _Logprobs(_Wire):
    content: list[_TokenLogprob] | None = None


class _Choice(_Wire):
    message: _Message
    finish_reason: str | None = None
    logprobs: _Logprobs | None = None
    error: object = None
    """OpenRouter's: why the answer ends here."""


class _CachedTokens(_Wire):
    cached_tokens: int | None = None


class _Usage(_Wire):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    total_tokens: int | None = None
    prompt_tokens_details: _CachedTokens | None = None
    cached_tokens: int | None = None
    """Kimi's place for it."""
    prompt_cache_hit_tokens: int | None = None
    """DeepSeek's."""
    cost: float | None = None


class _Completion(_Wire):
    choices: list[_Choice]
    model: str | None = None
    usage: _Usage | None = None


class _ErrorDetail(_Wire):
    message: str = ""
    type: str | None = None
    code: str | int | None = None
    param: str | None = None
    metadata: object = None
    """OpenRouter's: what a moderator held against the prompt is in it."""

    @property
    def is_moderated(self) -> bool:
        """Whether a moderator stopped the prompt."""
        given = self.metadata
        return isinstance(given, dict) and bool(given.get("reasons") or given.get("flagged_input"))

    @property
    def is_blank(self) -> bool:
        """Whether it says nothing at all."""
        return not (self.message or self.type or self.metadata) and self.code in (None, 0, "", "0")


class _ErrorBody(_Wire):
    error: _ErrorDetail | str | None = None
    detail: object = None
    message: object = None
    choices: object = None


_ERROR_BODY: Final[TypeAdapter[_ErrorBody | list[_ErrorBody]]] = TypeAdapter(
    _ErrorBody | list[_ErrorBody]
)
"""Gemini's OpenAI-compatible endpoint puts it into a list."""


class _FilledTimings(_Wire):
    cache_n: int = 0


class _Filled(_Wire):
    content: str
    tokens_predicted: int
    tokens_evaluated: int
    stop_type: str
    timings: _FilledTimings = _FilledTimings()
    completion_probabilities: list[_TokenLogprob] = []


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """A reply that has the right shape."""

    text: str
    refusal: str | None
    finish: str | None
    """The provider's own word, e.g. `stop`, `length`, `content_filter`."""
    model: str | None
    usage: Usage
    """`cost_usd` is 0 unless the provider stated it."""
    mean_logprob: float | None
    calls: tuple[ToolCall, ...] = ()
    broken: str | None = None
    """Why the answer is not a whole one, although the status is that of one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Why there is no reply."""

    kind: ModelFault
    message: str
    usage: Usage = Usage()
    retry_after_s: float | None = None
    unsupported: tuple[str, ...] = ()
    """Names, fields of the request or `PREFILL` among them, in words that say what the server does not take."""
    rejected: bool = False
    """The server turned the request down, in words of its own, and wrote nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """A reply of llama.cpp's own `/completion`; an empty text is an answer, too, where a gap is asked about."""

    text: str
    finish: Literal["stop", "length"]
    usage: Usage
    logprobs: tuple[float | None, ...]
    """Of each token; None where it was not worked out."""


def read_filled(body: Mapping[str, object]) -> Filled | Fault:
    """Such a reply."""
    try:
        filled = _Filled.model_validate(body)
    except ValidationError as problem:
        message = f"the reply has not the form of a completion: {problem.errors()[0]['msg']}"
        return Fault(kind=ModelFault.MALFORMED, message=message)
    return Filled(
        text=filled.content,
        finish="length" if filled.stop_type == "limit" else "stop",
        usage=Usage(
            prompt_tokens=filled.tokens_evaluated,
            cached_tokens=min(filled.timings.cache_n, filled.tokens_evaluated),
            completion_tokens=filled.tokens_predicted,
        ),
        logprobs=tuple(
            token.logprob if token.top_logprobs else None
            for token in filled.completion_probabilities
        ),
    )


def response_format(purpose: str, schema: str) -> dict[str, object]:
    """The field that holds an answer to a JSON Schema; strictly where the schema is one that may be asked for strictly."""
    parsed = json.loads(schema)
    return {
        "type": "json_schema",
        "json_schema": {
            "name": re.sub(r"[^A-Za-z0-9_-]", "_", purpose)[:64] or "answer",
            "strict": _is_closed(parsed),
            "schema": parsed,
        },
    }


def _is_closed(schema: object) -> bool:
    """Whether no object in a schema may have fields that it does not name, or lack one that it does.

    Providers refuse to be strict about any other:
    https://platform.openai.com/docs/guides/structured-outputs#supported-schemas
    """
    if isinstance(schema, list):
        return all(map(_is_closed, schema))
    if not isinstance(schema, dict):
        return True
    if schema.get("type") == "object":
        named = schema.get("properties", {})
        whole = schema.get("additionalProperties") is False
        if not whole or set(schema.get("required", ())) != set(named):
            return False
    return all(map(_is_closed, schema.values()))


def tool_fields(tools: Sequence[OfferedTool]) -> dict[str, object]:
    """The fields of a request that offer tools, one of which has to be called."""
    functions = [
        {"name": t.name, "description": t.purpose, "parameters": json.loads(t.schema)}
        for t in tools
    ]
    return {
        "tools": [{"type": "function", "function": function} for function in functions],
        "tool_choice": "required",
    }


def read_completion(body: bytes) -> Completion | Fault:
    """The body of a reply with status 200."""
    error = _read_error(body)
    if error is not None:
        return _classify(_status_of(error), error)
    try:
        parsed = _Completion.model_validate_json(body)
    except ValidationError as problem:
        first = problem.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "the body"
        return Fault(
            kind=ModelFault.MALFORMED,
            message=f"the reply is not a chat completion: {place}: {first['msg']}; it begins {body[:80]!r}",
        )
    usage = _usage(parsed.usage)
    if not parsed.choices:
        return Fault(kind=ModelFault.EMPTY, message="the reply holds no choice at all", usage=usage)
    choice = parsed.choices[0]
    content = choice.message.content
    text = "".join(part.text for part in content) if isinstance(content, list) else content or ""
    return Completion(
        text=text,
        refusal=choice.message.refusal or None,
        finish=choice.finish_reason,
        model=parsed.model or None,
        usage=usage,
        mean_logprob=_mean(choice.logprobs),
        calls=tuple(_called(call.function) for call in choice.message.tool_calls or ()),
        broken=why_broken_off(choice.finish_reason, choice.error),
    )


def why_broken_off(finish: str | None, error: object = None) -> str | None:
    """What an answer's finish reason, and an error that stands beside it, say against its being whole; None: nothing."""
    told = error.get("message") if isinstance(error, dict) else error
    if isinstance(told, str) and told:
        return f"the provider broke the answer off: {told}"[:500]
    if (finish or "").lower() in _BROKEN_OFF:
        return f"the provider broke the answer off (finish reason {finish!r})"
    return None


def read_failure(status: int, headers: Mapping[str, str], body: bytes) -> Fault:
    """The body of a reply with any other status. Header names are lower-case."""
    error = _read_error(body)
    stated = error is not None
    if error is None:
        begin = body[:200].decode("utf-8", "replace").strip()
        error = _ErrorDetail(message=f"status {status}" + (f": {begin!r}" if begin else ""))
    fault = _classify(status, error)
    return Fault(
        kind=fault.kind,
        message=fault.message,
        retry_after_s=_retry_after(headers),
        unsupported=fault.unsupported,
        # A timeout is a gateway's word for a server that was at work on an answer.
        rejected=stated
        and httpx.codes.is_client_error(status)
        and fault.kind is not ModelFault.TIMEOUT,
    )


def without_key(message: str, key: str) -> str:
    """The message without the key, and without what is left of it where the message was shortened within it."""
    parts, begin, head = list[str](), 0, key[: _TELLING + 1]
    while (at := message.find(head, begin)) >= 0:
        left = next(n for n in range(len(key), 0, -1) if message.startswith(key[:n], at))
        parts += (message[begin:at], "***")
        begin = at + left
    return "".join((*parts, message[begin:]))


def without_tools(request: ModelRequest, fault: Fault) -> Fault:
    """The same, or that the server takes no tools, where tools were offered and its words say so.

    What they say it with differs: `does not support tools` (Ollama), `"auto" tool choice requires …` (vLLM), `tools param
    requires --jinja flag` (llama.cpp, as a 500), `No endpoints found that support tool use` (OpenRouter, as a 404).
    """
    if request.tools and fault.kind in _VAGUE and _TOOLS.search(fault.message):
        return replace(fault, kind=ModelFault.UNSUPPORTED, rejected=True)
    return fault


def _called(given: _Function) -> ToolCall:
    arguments = given.arguments
    text = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
    return ToolCall(tool=given.name, parameters=text)


def _usage(given: _Usage | None) -> Usage:
    if given is None:
        return Usage()
    details = given.prompt_tokens_details or _CachedTokens()
    cached = details.cached_tokens or given.cached_tokens or given.prompt_cache_hit_tokens or 0
    cost = given.cost if given.cost is not None and math.isfinite(given.cost) else 0.0
    prompt, total = max(0, given.prompt_tokens or 0), given.total_tokens or 0
    # Some count thoughts in the total alone (xAI, Gemini); they are billed. Without the prompt's, the total says nothing.
    rest = total - prompt if prompt else 0
    return Usage(
        prompt_tokens=prompt,
        cached_tokens=max(0, min(cached, prompt)),
        completion_tokens=max(0, given.completion_tokens or 0, rest),
        cost_usd=max(0.0, cost),
    )


def _mean(given: _Logprobs | None) -> float | None:
    tokens = given.content if given is not None else None
    if not tokens:
        return None
    mean = math.fsum(token.logprob for token in tokens) / len(tokens)
    return mean if math.isfinite(mean) else None


def _read_error(body: bytes) -> _ErrorDetail | None:
    try:
        parsed = _ERROR_BODY.validate_json(body)
    except ValidationError:
        return None
    if isinstance(parsed, list):
        parsed = parsed[0] if parsed else _ErrorBody()
    # Gateways put their own "success", or an empty error, beside an answer.
    answered = bool(parsed.choices)
    if isinstance(parsed.error, _ErrorDetail):
        return None if answered and parsed.error.is_blank else parsed.error
    text = parsed.error or ("" if answered else _told(parsed.detail) or _told(parsed.message))
    return _ErrorDetail(message=text) if text else None


def _told(given: object) -> str:
    """A text, or a validator's list of what is wrong (FastAPI's servers; Mistral's puts it into the message)."""
    if isinstance(given, dict):
        given = given.get("detail")
    if isinstance(given, list):
        return json.dumps(given)
    return given if isinstance(given, str) else ""


def _status_of(error: _ErrorDetail) -> int:
    """A status that an error inside a reply with status 200 names itself; 200 when it names none."""
    try:
        return int(error.code) if error.code is not None else 200
    except ValueError:
        return 200


def _classify(status: int, error: _ErrorDetail) -> Fault:
    words = f"{error.code or ''} {error.type or ''} {error.message}"
    message = error.message or words.strip() or f"status {status}"
    return Fault(
        kind=ModelFault.REFUSAL if error.is_moderated else _kind(status, words),
        message=message[:500],
        unsupported=_unsupported(status, error, words),
    )


def _kind(status: int, words: str) -> ModelFault:
    """The status decides where it is precise, then the words, then the status's class."""
    if _SPENT.search(words):
        return ModelFault.AUTH
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    for kind, pattern in _BY_WORDS:
        if pattern.search(words):
            return kind
    if status >= httpx.codes.INTERNAL_SERVER_ERROR:
        return ModelFault.OVERLOAD
    # A POST does not follow a redirect: the address is not the endpoint's.
    return ModelFault.NOT_FOUND if httpx.codes.is_redirect(status) else ModelFault.MALFORMED


def _unsupported(status: int, error: _ErrorDetail, words: str) -> tuple[str, ...]:
    if _PREFILL.search(words):
        return (PREFILL,)
    if status not in (400, 422) or not _UNSUPPORTED.search(words):
        return ()
    if error.param:
        return (error.param,)
    found = (quoted or invalid or listed for quoted, invalid, listed in _NAMES.findall(words))
    return tuple(name.strip() for names in found for name in names.split(","))


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait (RFC 9110 10.2.3); a date counts from the reply's own Date, so no clock is needed."""
    milliseconds, text = headers.get("retry-after-ms"), headers.get("retry-after")
    for given, unit in ((milliseconds, 0.001), (text, 1.0)):
        if given is not None and re.fullmatch(r"\d{1,9}(\.\d{1,6})?", given.strip()):
            return float(given) * unit
    if text is None or "date" not in headers:
        return None
    try:
        until, sent = parsedate_to_datetime(text), parsedate_to_datetime(headers["date"])
        return max(0.0, (until - sent).total_seconds())
    except (TypeError, ValueError):  # not a date, or one without a zone beside one with
        return None
