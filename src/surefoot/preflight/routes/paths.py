"""When a claimed path is a served one: parameters by place rather than by name, wildcards, slashes at the end."""

import re
from collections.abc import Sequence
from typing import Final

_HOLE: Final = "\0"
"""Stands for a parameter in a claim."""
_CLAIMED: Final = re.compile(r"\{[^{}/]*\}|<[^<>/]*>|(?<=/):\w+|(?<=/)\$\w+")
_SERVED: Final = re.compile(r"\{(?P<a>[^{}]*)\}|<(?P<b>[^<>]*)>")
_NUMBERS: Final = {"int": r"\d+", "float": r"\d+(?:\.\d+)?"}
_UUID: Final = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
REST: Final = "{**}"


def matches(claimed: str, served: str) -> bool:
    """Whether a served path is one that a claim speaks of.

    `/users/{id}`, `/users/<int:pk>` and `/users/:id` are the same; `/users/7` is served by them. `*` in a claim stands for one
    segment, at its end for whatever follows, at least one segment. A served parameter is not a claimed literal's opposite:
    `/users/{id}` is not served by `/users/me`.
    """
    path = _CLAIMED.sub(_HOLE, claimed.partition("?")[0].partition("#")[0])
    return _fits(_segments(path), _segments(served))


def _segments(path: str) -> list[str]:
    # A converter's colon or pattern may hold no slash, so that a plain split is right.
    return [segment for segment in path.split("/") if segment]


def _fits(claim: Sequence[str], served: Sequence[str]) -> bool:
    if not claim or not served:
        return not claim and not served
    head = served[0]
    if claim[0] in {"*", "**"} and len(claim) == 1:
        return True
    if _takes_rest(head):
        return any(_fits(claim[n:], served[1:]) for n in range(1, len(claim) + 1))
    if claim[0] != "*" and not _segment_fits(claim[0], head):
        return False
    return _fits(claim[1:], served[1:])


def _takes_rest(segment: str) -> bool:
    return segment == REST or any(_converter(m) == "path" for m in _SERVED.finditer(segment))


def _converter(found: re.Match[str]) -> str:
    if found["b"] is not None:
        return found["b"].partition(":")[0].partition("(")[0] if ":" in found["b"] else ""
    return found["a"].partition(":")[2]


def _segment_fits(claim: str, served: str) -> bool:
    pattern = ""
    end = 0
    for found in _SERVED.finditer(served):
        converter = _converter(found)
        inner = _UUID if converter == "uuid" else _NUMBERS.get(converter, "[^/]+")
        pattern += re.escape(served[end : found.start()]) + f"(?:{_HOLE}|{inner})"
        end = found.end()
    pattern += re.escape(served[end:])
    return re.fullmatch(pattern, claim) is not None
