"""What went wrong in a call through LiteLLM.

Its exceptions are made from the words of messages, so they are the second witness; the first is the line (`tapped.py`).
"""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from types import ModuleType
from typing import Final

import httpx

from surefoot.codec import canonical
from surefoot.models import wire
from surefoot.models.tapped import Exchange
from surefoot.values import ModelFault

# The first that fits; subclasses stand before their bases.
_BY_CLASS: Final[Sequence[tuple[str, ModelFault]]] = (
    ("ContextWindowExceededError", ModelFault.CONTEXT_OVERFLOW),
    ("ContentPolicyViolationError", ModelFault.REFUSAL),
    ("RateLimitError", ModelFault.RATE_LIMIT),
    ("AuthenticationError", ModelFault.AUTH),
    ("PermissionDeniedError", ModelFault.AUTH),
    ("NotFoundError", ModelFault.NOT_FOUND),
    ("Timeout", ModelFault.TIMEOUT),
    ("APIResponseValidationError", ModelFault.MALFORMED),
    ("InternalServerError", ModelFault.OVERLOAD),
    ("ServiceUnavailableError", ModelFault.OVERLOAD),
    ("BadGatewayError", ModelFault.OVERLOAD),
)
# What the words of the wire leave open and LiteLLM, which knows each provider's words, may know better.
_VAGUE: Final = frozenset({ModelFault.MALFORMED, ModelFault.OVERLOAD})
# What LiteLLM finds missing before it sends anything has as many classes as there are providers, passing ones among them.
_UNSENT: Final = (
    (ModelFault.NOT_FOUND, re.compile(r"LLM Provider NOT provided|pip install", re.IGNORECASE)),
    (
        ModelFault.AUTH,
        re.compile(
            r"(missing|not set|unable to locate)\b.{0,80}\b(api[ _-]?key|credentials)"
            r"|\b(api[ _-]?key|credentials)\b.{0,80}(missing|not set)"
            r"|config profile .{1,80} could not be found",
            re.IGNORECASE | re.DOTALL,
        ),
    ),
)


def explain(
    library: ModuleType, problem: Exception, exchange: Exchange, *, begun: bool
) -> wire.Fault:
    """What an exception of LiteLLM means: first by what happened on the line, then by what it is.

    Args:
        library: LiteLLM.
        problem: What it raised.
        exchange: The call.
        begun: Some of the answer had come.
    """
    if exchange.fault is not None:
        return exchange.fault
    problem = getattr(problem, "original_exception", None) or problem
    named = _named(library, problem)
    if exchange.status == httpx.codes.OK:
        kind = ModelFault.MALFORMED if named is None or named in _VAGUE else named
        return (
            stated_error(bytes(exchange.kept))
            or broken_off(exchange)
            or wire.Fault(kind=kind, message=f"the reply cannot be read: {_words(problem)}")
        )
    if exchange.status is not None:
        failure = wire.read_failure(exchange.status, exchange.headers, bytes(exchange.kept))
    elif not exchange.delivered and (lacking := _lacking(_words(problem))):
        return wire.Fault(kind=lacking, message=_words(problem))
    elif named is None and isinstance(problem, library.exceptions.APIConnectionError):
        kind = ModelFault.BROKEN_STREAM if begun else ModelFault.UNREACHABLE
        return wire.Fault(kind=kind, message=_words(problem))
    else:
        # Not sent over our line: a provider with a client of its own, or nothing was sent at all.
        failure = replace(_by_words(problem), rejected=False)
    return replace(failure, kind=named) if named is not None and failure.kind in _VAGUE else failure


def _words(problem: Exception) -> str:
    """What it says; LiteLLM puts the whole traceback behind it where it knows nothing better."""
    return str(problem).partition("\nTraceback (most recent call last):")[0].strip()


def _lacking(words: str) -> ModelFault | None:
    """What was missing, when that is why nothing was sent."""
    return next((kind for kind, pattern in _UNSENT if pattern.search(words)), None)


def _by_words(problem: Exception) -> wire.Fault:
    response = getattr(problem, "response", None)
    headers = {k.lower(): v for k, v in getattr(response, "headers", {}).items()}
    body = canonical({"error": {"message": _words(problem)}})
    return wire.read_failure(int(getattr(problem, "status_code", None) or 400), headers, body)


def _named(library: ModuleType, problem: Exception) -> ModelFault | None:
    """The fault that the exception's class names."""
    for name, kind in _BY_CLASS:
        if isinstance(problem, getattr(library.exceptions, name)):
            return kind
    return None


def broken_off(exchange: Exchange) -> wire.Fault | None:
    """That the answer is not a whole one, by the finish reason on the line; LiteLLM reads some such as `stop`."""
    broken = wire.why_broken_off(exchange.finish())
    return wire.Fault(kind=ModelFault.BROKEN_STREAM, message=broken) if broken else None


def stated_error(body: bytes) -> wire.Fault | None:
    """The error that a reply of status 200 states: as its body, or as an event of its stream."""
    events = [
        line.removeprefix(b"data:").strip() for line in body.splitlines() if line[:5] == b"data:"
    ]
    for text in (*reversed(events[-3:]), body):
        if _is_error(text):
            fault = wire.read_completion(text)
            return fault if isinstance(fault, wire.Fault) else None
    return None


def _is_error(text: bytes) -> bool:
    """Whether a JSON text is an object with an error in it; most are not even looked into."""
    try:
        parsed: object = json.loads(text) if b'"error"' in text else None
    except (ValueError, RecursionError):
        return False
    return isinstance(parsed, dict) and bool(parsed.get("error"))
