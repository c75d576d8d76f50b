"""Values to canonical bytes and back; the only place that knows the wire form of a value.

Canonical JSON: UTF-8, keys sorted, no spaces, `None` fields kept. The same value gives the same bytes, so a digest of
them is an identity. Decoding validates: a wrong type or a missing field is a `ValueError` that names the place.
"""

import hashlib
import json
from collections.abc import Hashable
from functools import cache
from typing import Any, TypeVar, cast

from pydantic import TypeAdapter

from surefoot.vocabulary import Digest

T = TypeVar("T")
_CANONICAL = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
)


@cache
def _adapter(kind: Hashable) -> TypeAdapter[Any]:
    return TypeAdapter(cast("type[Any]", kind))


def plain(value: object) -> object:
    """A frozen value as dicts, lists, strings, numbers, booleans and None."""
    data: object = _adapter(cast("Hashable", type(value))).dump_python(value, mode="json")
    return data


def encode(value: object) -> bytes:
    """Canonical JSON of a frozen value."""
    return canonical(plain(value))


def canonical(data: object) -> bytes:
    """Canonical JSON of plain data; `ValueError` for what UTF-8 JSON cannot say (NaN, half a surrogate pair)."""
    return _CANONICAL.encode(data).encode()


def decode(kind: type[T], data: bytes) -> T:
    """The value of type `kind` that `data` encodes; `ValueError` when it does not fit."""
    decoded: T = _adapter(cast("Hashable", kind)).validate_json(data)
    return decoded


def digest(data: bytes) -> Digest:
    """SHA-256 of bytes, in hex."""
    return Digest(hashlib.sha256(data).hexdigest())


def digest_of(value: object) -> Digest:
    """SHA-256 of a value's canonical JSON."""
    return digest(encode(value))


def difference(expected: object, found: object, place: str = "") -> str:
    """The first place where two plain values differ, and how; empty when they do not."""
    pairs: list[tuple[object, object, str]] = []
    if isinstance(expected, dict) and isinstance(found, dict) and expected.keys() == found.keys():
        pairs = [(expected[key], found[key], f"{place}.{key}") for key in expected]
    elif isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        pairs = [
            (a, b, f"{place}[{n}]") for n, (a, b) in enumerate(zip(expected, found, strict=True))
        ]
    elif expected != found:
        where = place.lstrip(".") or "event"
        return f"{where} was {str(expected)[:160]!r}, is {str(found)[:160]!r}"
    return next((told for a, b, where in pairs if (told := difference(a, b, where))), "")
