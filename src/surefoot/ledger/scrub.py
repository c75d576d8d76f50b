"""Secrets are taken out of everything before it is written (SPEC F6); what has none keeps its bytes.

`redact` is a function from text to text. It is asked about many strings at once, one a line, so it must find in the
lines `a` and `b` together whatever it finds in `a` or in `b` alone. Only when it changes that text is it asked again
about each string. It is not asked about digests, git ids and the words of our own enumerations.
"""

import json
import re
from collections.abc import Callable
from functools import cache
from typing import Final, TypeAlias

from pydantic import TypeAdapter

from surefoot import codec
from surefoot.errors import LedgerError
from surefoot.events.envelope import Event
from surefoot.values import Audit, Candidate, Diff, ModelAnswer, ModelRequest, TestReport

Redact: TypeAlias = Callable[[str], str]
_NESTED: Final = (dict, list)
_ID_CHARS: Final = frozenset({40, 64})
_HEX: Final = re.compile(r"[0-9a-f]+")


def scrub_event(event: Event, redact: Redact) -> tuple[Event, bytes]:
    """The event without secrets, and its canonical JSON.

    Raises:
        LedgerError: The event holds what JSON cannot say (NaN, infinity), or makes no sense without its secret.
    """
    plain = codec.plain(event)
    try:
        if _is_clean(plain, redact):
            return event, codec.canonical(plain)
        payload = codec.canonical(_cleaned(plain, lambda text: _encodable(redact(text))))
        return codec.decode(type(event), payload), payload
    except ValueError as error:
        raise LedgerError(f"a {event.kind!r} event cannot be written: {error}") from error


def scrub_blob(data: bytes, redact: Redact) -> bytes:
    """The bytes without secrets.

    Canonical JSON, which is what our own blobs are, is cleaned string by string, so that it stays readable and an escape
    hides nothing. Everything else is cleaned as UTF-8 text; bytes that are not text pass unchanged.
    """
    plain = _canonical_json(data)
    if isinstance(plain, _NESTED):
        return data if _is_clean(plain, redact) else codec.canonical(_cleaned(plain, redact))
    # The one decoding that gives every byte back; a token inside binary data is still ASCII text.
    text = data.decode("utf-8", "surrogateescape")
    cleaned = redact(text)
    return data if cleaned == text else cleaned.encode("utf-8", "surrogateescape")


def _is_clean(plain: object, redact: Redact) -> bool:
    lines: list[str] = []
    if isinstance(plain, _NESTED):
        _collect(plain, "", lines)
    text = "\n".join(lines)
    return redact(text) == text and _encodable(text) == text


def _collect(plain: dict[str, object] | list[object], key: str, lines: list[str]) -> None:
    """One line a string, with the key that it stands under: `"password": "x"` says more than `x`; else the key alone."""
    is_named = isinstance(plain, dict)
    pairs = plain.items() if isinstance(plain, dict) else ((key, value) for value in plain)
    for name, value in pairs:
        if isinstance(value, str):
            # Of a digest its key says nothing; it is hidden only where it is one of the values that are known.
            lines += [name, value] if _is_id(value) else [_entry(name, value)]
            continue
        if is_named:
            lines.append(name)
        if isinstance(value, _NESTED):
            _collect(value, name, lines)


def _is_id(text: str) -> bool:
    """Whether this is a digest or a git id, as most strings of a ledger are."""
    return len(text) in _ID_CHARS and _HEX.fullmatch(text) is not None


def _entry(key: str, value: str) -> str:
    return f'{key}: "{value}"'


def _cleaned(plain: object, redact: Redact, key: str = "") -> object:
    if isinstance(plain, str):
        return _cleaned_text(plain, redact, key)
    if isinstance(plain, dict):
        return {redact(name): _cleaned(value, redact, name) for name, value in plain.items()}
    if isinstance(plain, list):
        return [_cleaned(value, redact, key) for value in plain]
    return plain


def _cleaned_text(text: str, redact: Redact, key: str) -> str:
    # A password that happens to be a word of ours ("complete") must not make the record unreadable.
    if text in _vocabulary():
        return text
    cleaned = redact(text)
    if cleaned != text or _is_id(text):
        return cleaned
    head, tail = _entry(key, "\0").split("\0")
    entry = redact(_entry(key, text))
    inside = entry.removeprefix(head).removesuffix(tail)
    return inside if len(inside) == len(entry) - len(head) - len(tail) else text


@cache
def _vocabulary() -> frozenset[str]:
    """Every word that an enumeration or a literal of a stored type allows."""
    stored = Event | ModelRequest | ModelAnswer | TestReport | Candidate | Diff | Audit
    words: set[str] = set()
    todo: list[object] = [TypeAdapter(stored).json_schema()]
    while todo:
        part = todo.pop()
        if isinstance(part, dict):
            words.update(part.get("enum", ()))
            words.update(word for word in (part.get("const"),) if isinstance(word, str))
            todo.extend(part.values())
        elif isinstance(part, list):
            todo.extend(part)
    return frozenset(words)


def _canonical_json(data: bytes) -> object:
    """What `data` encodes when it is exactly canonical JSON, else None."""
    if data[:1] not in (b"{", b"["):
        return None
    try:
        plain = json.loads(data)
        return plain if codec.canonical(plain) == data else None
    except (ValueError, RecursionError):
        return None


def _encodable(text: str) -> str:
    """The text with half a surrogate pair (of an undecodable file name, say) written as its escape."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()
