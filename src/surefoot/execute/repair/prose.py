"""Examples that a docstring tells without a call of its function: `Input: … Output: …`, or a call by an earlier name. Pure."""

import ast
import builtins
import re
from collections.abc import Iterator
from typing import Final

from surefoot.execute.repair.examples import (
    Example,
    arguments_of,
    closing,
    from_docstring,
    is_literal,
    literal_prefix,
)
from surefoot.execute.source import FunctionNode
from surefoot.syntax import expression_of

_OPENS: Final = r"\b(?:Input|Given|For|With)\b"
_PAIR: Final = re.compile(
    rf"{_OPENS}\s*:?(?P<given>(?:(?!{_OPENS}|\n\s*\n).){{1,600}}?)"
    r"(?:\bOutput\s*:|(?:\bthe\s+)?\b(?:output|result|answer)\s+(?:should|must|will|would)\s+be\b)\s*:?\s*",
    re.DOTALL,
)
_CALLED: Final = re.compile(r"(?<![\w.])([A-Za-z_]\w*)\s*\(")
_ASSIGNED: Final = re.compile(r"(?<![\w.])[A-Za-z_]\w*\s*[=:]\s*(?=[\[({'\"\d+-]|True|False|None)")
_PLAIN: Final = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|True\b|False\b|None\b")


def promised(text: str, function: FunctionNode) -> tuple[Example, ...]:
    """All examples of a function's docstring; the looser spellings count where it shows no call of the function."""
    names = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
    names = names[1:] if names[:1] in (["self"], ["cls"]) else names
    shown = from_docstring(text, function.name)
    return shown or (
        *_by_another_name(text, function.name, names),
        *_pairs(text, function.name, names),
    )


def _by_another_name(text: str, name: str, parameters: list[str]) -> Iterator[Example]:
    """Calls of the one name that the docstring shows calls of: what the function was called when it was written."""
    others = {n for n in _CALLED.findall(text) if n != name and not hasattr(builtins, n)}
    shown = {n: found for n in others if (found := from_docstring(text, n))}
    if len(shown) != 1:
        return
    ((other, examples),) = shown.items()
    for example in examples:
        given = arguments_of(example.call)
        if given is not None and len(given) == len(parameters):
            call = name + example.call.removeprefix(other)
            yield Example(call=call, expected=example.expected, origin=example.origin)


def _pairs(text: str, name: str, parameters: list[str]) -> Iterator[Example]:
    """What is given, with the parameters' names unless there is one alone, then what comes out."""
    for found in _PAIR.finditer(text):
        given = _given(found["given"], parameters)
        told = literal_prefix(text[found.end() :].partition("\n")[0])
        expected = expression_of(told) if told is not None else None
        if given is not None and expected is not None:
            call = f"{name}({', '.join(given)})"
            yield Example(call=call, expected=ast.unparse(expected), origin="docstring")


def _given(text: str, parameters: list[str]) -> list[str] | None:
    """A literal for each parameter."""
    values = []
    for parameter in parameters:
        told = re.search(rf"(?<![\w.]){re.escape(parameter)}\s*[=:]\s*", text)
        value = _value_at(text, told.end()) if told is not None else None
        if value is None:
            break
        values.append(value[0])
    else:
        return values
    # A docstring may know the parameters by names that they have no more; then their order tells.
    by_order = [_value_at(text, told.end()) for told in _ASSIGNED.finditer(text)]
    if len(by_order) == len(parameters) > 1 and all(by_order):
        return [value[0] for value in by_order if value is not None]
    bare = _value_at(text.strip(), 0) if len(parameters) == 1 else None
    return [bare[0]] if bare is not None and not text.strip()[bare[1] :].strip(" ,.") else None


def _value_at(text: str, start: int) -> tuple[str, int] | None:
    """The literal that begins there, on one line, and the offset behind it."""
    if text[start : start + 1] in ("[", "(", "{"):
        end = closing(text, start)
    elif text[start : start + 1] in ("'", '"'):
        found = text.find(text[start], start + 1)
        end = found + 1 if found > 0 else None
    else:
        plain = _PLAIN.match(text, start)
        end = plain.end() if plain is not None else None
    if end is None or not is_literal(text[start:end]):
        return None
    node = expression_of(text[start:end])
    return (ast.unparse(node), end) if node is not None else None
