"""Calls and expected values that a text, a docstring or a test shows of a function. Pure; nothing is run."""

import ast
import doctest
import io
import re
import tokenize
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

from surefoot.execute.source import FunctionNode, Source, last_name
from surefoot.syntax import expression_of

_AFTER: Final = re.compile(
    r"\s*(?:#\s*)?(?:==>|=>|-->|->|➞|→|⇒|==|=(?!=)|:|"
    r"(?:should|must|would|will)\s+(?:return|be|give|equal|yield)|"
    r"(?:is\s+)?expected\s+to\s+(?:return|be|give)|returns?|gives?|yields?|equals|is)"
    r"(?:\s*(?:returns?|gives?))?\s*:?\s*"
)
_EXPECTED: Final = re.compile(
    r"(?:expected(?:\s+(?:result|value|output|answer))?(?:\s*(?:is|was|to be|:|=))?|"
    r"(?:should|must)\s+(?:be|return|give|have been|equal)|instead\s+of\s+(?:the\s+)?correct|"
    r"\b(?:returns?|returned|gives?|gave|yields?|(?:is|was)(?=\s+`?[-+\d\[({'\"TFN]))\s+[^\n;]{1,60}?"
    r"\s(?:instead\s+of|rather\s+than)(?:\s+(?:the\s+)?correct)?(?=\s)|"
    r"correct(?:\s+(?:result|value|answer))?\s+(?:is|would be))\s*:?\s*",
    re.IGNORECASE,
)
_RIGHT: Final = re.compile(
    r"\b(?:where|when|while|but|though)\s+`?(?P<value>[^\s`][^`\n]{0,60}?)`?\s+"
    r"(?:is|was|would\s+be)\s+(?:right|correct|expected)\b",
    re.IGNORECASE,
)
_GOT: Final = re.compile(
    r"^\s*(?:#\s*)?(?:returns?|gives?|yields?|is|prints?|gave|got|->|=>)\b.*\b(?:but|instead|expected|should|wrong)",
    re.IGNORECASE,
)
_LITERAL_START: Final = re.compile(r"[\[({'\"\d\-+.]|True\b|False\b|None\b|set\(|[rbu]['\"]")
_FORMULA: Final = re.compile(r"\s*[-+*/%]+\s*[\d('\"\[]")
"""What follows the first value of a formula, as in `f(5) -> 5 - 2 = 3`."""
_RESULT: Final = re.compile(r"=\s*([^=]+)$")
_UNSURE: Final = re.compile(r"\(\s*('[^']*'|\"[^\"]*\"|[-+\d.]+)\s*\)")
"""One value in parentheses: people who write it may mean a tuple."""
_PROMPT: Final = re.compile(r"^(?=[ \t]*>>>)", re.MULTILINE)
"""Where an example of a doctest begins."""
_MOST_ROWS: Final = 100
_REACH: Final = 400
"""Characters after a call within which an issue names the expected value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One call with literal arguments, and what it should give."""

    call: str
    """Source, e.g. `add(1, 2)`."""
    expected: str | None
    """A literal; None when the text does not say."""
    origin: str
    """`docstring`, `issue` or `test`."""


def from_docstring(text: str, name: str) -> tuple[Example, ...]:
    """Doctests and `f(x) -> y` lines of a docstring."""
    found = [*_doctests(text, name, "docstring"), *_arrows(text, name, "docstring")]
    return _unique(found)


def from_issue(text: str, name: str) -> tuple[Example, ...]:
    """Doctests, arrows, and calls followed by `Expected: y` in an issue; a wrong value that it reports is no example."""
    doctests = () if _GOT.search(text) or _says(text) else tuple(_doctests(text, name, "issue"))
    return _unique([*_told(text, name), *doctests, *_arrows(text, name, "issue")])


def from_tests(sources: Iterable[Source], name: str) -> tuple[Example, ...]:
    """Calls with literal arguments in tests, with the value that they are compared with where it is a literal.

    The rows of `pytest.mark.parametrize` stand for the names that a test gives them.
    """
    found: list[Example] = []
    for source in sources:
        for node in ast.walk(source.tree):
            if isinstance(node, FunctionNode):
                for row in rows_of(node):
                    found.extend(_in_test(node, name, row))
            elif isinstance(node, ast.Module):
                found.extend(_in_test(node, name, {}))
    return _unique(found)


def _in_test(body: ast.AST, name: str, row: Mapping[str, ast.expr]) -> Iterator[Example]:
    """The calls of a test, in one row of its table."""
    for node in ast.walk(body):
        match node:
            case ast.Compare(left=left, ops=[ast.Eq() | ast.Is()], comparators=[right]):
                yield from _compared(left, right, name, row)
            case ast.Call(func=ast.Attribute(attr="assertEqual" | "assertIs"), args=[left, right]):
                yield from _compared(left, right, name, row)
            case ast.Call():
                yield from _of_call(node, name, None, row)
            case _:
                pass


def _compared(
    left: ast.expr, right: ast.expr, name: str, row: Mapping[str, ast.expr]
) -> Iterator[Example]:
    for call, value in ((left, right), (right, left)):
        if isinstance(call, ast.Call):
            yield from _of_call(call, name, value, row)


def rows_of(function: FunctionNode) -> list[dict[str, ast.expr]]:
    """What `parametrize` gives a test function's arguments, a row each; one empty row where it gives nothing."""
    rows: list[dict[str, ast.expr]] = [{}]
    for decorator in function.decorator_list:
        match decorator:
            case ast.Call(
                func=ast.Attribute(attr="parametrize"),
                args=[names, ast.List(elts=values) | ast.Tuple(elts=values), *_],
            ):
                table = [_row(_names(names), value) for value in values]
                rows = [{**row, **more} for row in rows for more in table][:_MOST_ROWS]
            case _:
                pass
    return rows


def _names(node: ast.expr) -> list[str]:
    """The names of a table's columns: one text, or a list of them."""
    try:
        told = literal(node)
    except ValueError:
        return []
    if isinstance(told, str):
        return [n.strip() for n in told.split(",") if n.strip()]
    return [str(n) for n in told] if isinstance(told, list | tuple) else []


def _row(names: Sequence[str], value: ast.expr) -> dict[str, ast.expr]:
    match value:
        case ast.Call(func=ast.Attribute(attr="param"), args=cells):
            pass
        case ast.Tuple(elts=cells) | ast.List(elts=cells) if len(names) > 1:
            pass
        case _:
            cells = [value]
    return dict(zip(names, cells, strict=False))


def arguments_of(call: str) -> tuple[object, ...] | None:
    """The values of a call's positional arguments when all are literals and there are no keywords."""
    node = expression_of(call)
    if not isinstance(node, ast.Call) or node.keywords:
        return None
    try:
        return tuple(literal(a) for a in node.args)
    except ValueError:
        return None


def literal(node: ast.expr) -> object:
    """The value of a literal; `ValueError` for anything else."""
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "set"
        and not node.args
    ):
        return set()
    try:
        value: object = ast.literal_eval(node)
    except (TypeError, SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError(str(error)) from error
    return value


def value_of(text: str) -> object:
    """The value of a literal's source; `ValueError` for anything else."""
    node = expression_of(text)
    if node is None:
        raise ValueError(f"no expression: {text[:80]!r}")
    return literal(node)


def kind_of(text: str | None) -> type | None:
    """What a literal's source is of, all numbers alike; None of `None`, of no literal, and where there is none."""
    try:
        value = value_of(text or "None")
    except ValueError:
        return None
    if value is None:
        return None
    return complex if isinstance(value, int | float | complex) else type(value)


def is_literal(text: str) -> bool:
    """Whether a text is one Python literal."""
    try:
        value_of(text)
    except ValueError:
        return False
    return True


def _remarks(text: str) -> bool:
    """Whether a literal's source ends with a remark."""
    if "#" not in text:
        return False
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return any(token.type == tokenize.COMMENT for token in tokens)


def _unique(found: Iterable[Example]) -> tuple[Example, ...]:
    """One example a call; one that knows its value before one that does not."""
    best: dict[str, Example] = {}
    for example in found:
        known = best.get(example.call)
        if known is None or (known.expected is None and example.expected is not None):
            best[example.call] = example
    return tuple(best.values())


def _of_call(
    call: ast.Call, name: str, expected: ast.expr | None, row: Mapping[str, ast.expr]
) -> Iterator[Example]:
    if last_name(call.func) != name or call.keywords:
        return
    arguments = [_cell(a, row) for a in call.args]
    try:
        for argument in arguments:
            literal(argument)
    except ValueError:
        return
    value = None
    if expected is not None and is_literal(ast.unparse(_cell(expected, row))):
        value = ast.unparse(_cell(expected, row))
    text = f"{name}({', '.join(ast.unparse(a) for a in arguments)})"
    yield Example(call=text, expected=value, origin="test")


def _cell(node: ast.expr, row: Mapping[str, ast.expr]) -> ast.expr:
    """What a table's row gives a name; another expression as it is."""
    return row.get(node.id, node) if isinstance(node, ast.Name) else node


def _doctests(text: str, name: str, origin: str) -> Iterator[Example]:
    whole = _session(text)
    pieces = [whole] if whole is not None else [_session(p) or [] for p in _PROMPT.split(text)]
    for example in chain.from_iterable(pieces):
        call = example.source.strip()
        if not _is_plain(call) or not _calls(call, name):
            continue
        want = example.want.strip()
        yield Example(call=call, expected=want if is_literal(want) else None, origin=origin)


def _session(text: str) -> list[doctest.Example] | None:
    """The doctests of a text; None where one of them is broken, as by the line end that an escape stands for."""
    try:
        return doctest.DocTestParser().get_examples(text)
    except ValueError:
        return None


def _calls(call: str, name: str) -> bool:
    return re.match(rf"{re.escape(name)}\s*\(", call) is not None


def _arrows(text: str, name: str, origin: str) -> Iterator[Example]:
    """`f(x) -> y` in its many spellings, the value on the same line."""
    for call, end in _calls_in(text, name):
        after = _AFTER.match(text, end)
        value = literal_prefix(text[after.end() :].partition("\n")[0]) if after else None
        if value is not None and not (origin == "issue" and _reports_wrong(text[end:])):
            yield Example(call=call, expected=value, origin=origin)


def _reports_wrong(rest: str) -> bool:
    """Whether what follows a call in an issue tells the wrong value that it gave, or the right one later."""
    return _GOT.match(rest) is not None or _says(rest[:_REACH])


def _says(text: str) -> bool:
    """Whether a text tells somewhere what would be right."""
    return _EXPECTED.search(text) is not None or _RIGHT.search(text) is not None


def _told(text: str, name: str) -> Iterator[Example]:
    """A call, then somewhere near `expected y`."""
    calls = list(_calls_in(text, name))
    for index, (call, end) in enumerate(calls):
        limit = (
            calls[index + 1][1] - len(calls[index + 1][0]) if index + 1 < len(calls) else len(text)
        )
        reach = text[end : min(end + _REACH, limit)]
        told, right = _EXPECTED.search(reach), _RIGHT.search(reach)
        value = None
        if right is not None and (told is None or right.start() <= told.start()):
            value = right["value"] if is_literal(right["value"]) else None
        elif told is not None:
            value = literal_prefix(reach[told.end() :].lstrip("`* ").partition("\n")[0])
        if value is not None:
            yield Example(call=call, expected=value, origin="issue")


def _calls_in(text: str, name: str) -> Iterator[tuple[str, int]]:
    """Calls of `name` with literal arguments, each with the offset behind it."""
    for found in re.finditer(rf"(?<![\w.]){re.escape(name)}\s*\(", text):
        end = closing(text, found.end() - 1)
        if end is None:
            continue
        call = text[found.start() : end]
        if _is_plain(call):
            # Lines of it become one; blanks within a line may stand in a text.
            yield " ".join(line.strip() for line in call.splitlines()), end


def _is_plain(call: str) -> bool:
    """Whether a call's arguments are all literals, those with keywords too."""
    node = expression_of(call)
    if not isinstance(node, ast.Call):
        return False
    values = [*node.args, *(k.value for k in node.keywords)]
    return all(k.arg for k in node.keywords) and all(is_literal(ast.unparse(v)) for v in values)


def closing(text: str, start: int) -> int | None:
    """Offset behind the parenthesis that closes the one at `start`; strings are looked over."""
    depth, quote, here = 0, "", start
    while here < min(len(text), start + 2_000):
        char = text[here]
        if quote:
            if char == "\\":
                here += 1
            elif char == quote:
                quote = ""
        elif char in "'\"":
            quote = char
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
            if depth == 0:
                return here + 1
        here += 1
    return None


def literal_prefix(text: str) -> str | None:
    """The longest literal that a line begins with; what a formula that it begins with is said to give."""
    text = text.strip().strip("`").strip()
    if re.fullmatch(r"(true|false)\.?", text):
        return text.rstrip(".").capitalize()
    if _LITERAL_START.match(text) is None:
        return None
    ends = [len(text), *(m.start() for m in re.finditer(r"[\s.,;`#)]", text))]
    for end in sorted(set(ends), reverse=True)[:60]:
        piece = text[:end].strip()
        if piece and is_literal(piece) and not piece.endswith(",") and not _remarks(piece):
            if _FORMULA.match(text, end) is not None:
                told = _RESULT.search(text, end)
                return literal_prefix(told[1]) if told else None
            if _UNSURE.fullmatch(piece):
                return None
            # A number at the end of a sentence: its full stop is none of its digits.
            return piece.removesuffix(".") if piece[0] in "-+.0123456789" else piece
    return None
