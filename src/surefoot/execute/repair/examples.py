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

from surefoot.execute.repair.graft import imported_by
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
_UNIT: Final = re.compile(
    r"`?(?:[ \t]*[%°$£€]|[ \t]+(?!(?:actual|actually|after|again|also|always|and|as|at|because|before|but|by|due|even|for|"
    r"found|gave|gets?|gives?|got|here|if|in|instead|is|like|not|now|on|only|otherwise|rather|received|returned|returns?|"
    r"since|so|then|though|too|unless|was|when|where|whereas|which|while|with|without)\b)[^\W\d_])",
    re.IGNORECASE,
)
"""What follows a number that counts or measures something, as in `3 items`: such a number is not the value itself."""
_COMPARED: Final = re.compile(r"\s*==\s*")
_LEAD: Final = re.compile(r"\s*(?:(?:>>>|[-*+>]|\d+[.)])\s+)*")
"""A prompt, or the mark of a list's item, before a line of code."""
_JOINED_BEFORE: Final = re.compile(
    r"(?:\w[\[(][^()\[\]]*|[-+~]|\b(?:not|await)\s+|[\w)\]}'\"]\s*(?:[+/%@&|^]|<<|[<>]=?|[!=]=)\s*|"
    r"[\w)\]}'\"]\s+\*{1,2}\s+|[\d)\]}'\"]\s*-\s*)$"
)
"""What makes the call behind it a part of an expression: an open call, an operator and what stands before that."""
_JOINED_AFTER: Final = re.compile(
    r"\.[A-Za-z_]|[\[(]|\s*(?:(?:[+%@^]|//?|<<|>>|[<>]=?|!=)\s*\S|[-*&|]{1,2}\s*(?:[\d('\"\[{]|[A-Za-z_]\w*\())"
)
_PARTS: Final = (
    ast.Attribute, ast.BinOp, ast.BoolOp, ast.Call, ast.Compare, ast.Constant, ast.Dict, ast.List, ast.Name, ast.Set,
    ast.Slice, ast.Subscript, ast.Tuple, ast.UnaryOp, ast.boolop, ast.cmpop, ast.expr_context, ast.keyword,
    ast.operator, ast.unaryop,
)  # fmt: skip
"""What an expression around a call is made of."""
_PURE: Final = frozenset(
    {
        "abs", "all", "any", "bool", "bytes", "dict", "divmod", "float", "frozenset", "int", "len", "list", "max", "min",
        "next", "repr", "reversed", "round", "set", "sorted", "str", "sum", "tuple", "type",
    }
)  # fmt: skip
"""Names that it may hold beside the function's. A text of somebody else's becomes a program, so none that does anything."""
_PROMPT: Final = re.compile(r"^(?=[ \t]*>>>)", re.MULTILINE)
"""Where an example of a doctest begins."""
_MOST_ROWS: Final = 100
_REACH: Final = 400
"""Characters after a call within which an issue names the expected value."""
_LONGEST: Final = 2_000
"""Characters of a call, and of a line of code around one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One call with literal arguments, and what it should give."""

    call: str
    """Source, e.g. `add(1, 2)`; of an issue the whole expression that the call is a part of, e.g. `len(parts(1))`."""
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

    The rows of `pytest.mark.parametrize` stand for the names that a test gives them. A method of a value that happens to
    have the function's name is none of its calls: one with a dot begins with what the file imports.
    """
    found: list[Example] = []
    for source in sources:
        nodes = list(ast.walk(source.tree))
        imported = imported_by(n for n in nodes if isinstance(n, ast.stmt))
        called = _Called(name=name, imported=imported)
        for node in nodes:
            if isinstance(node, FunctionNode):
                for row in rows_of(node):
                    found.extend(_in_test(node, called, row))
            elif isinstance(node, ast.Module):
                found.extend(_in_test(node, called, {}))
    return _unique(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Called:
    """A function that tests call."""

    name: str
    imported: frozenset[str]
    """What the test file imports."""

    def is_by(self, function: ast.expr) -> bool:
        """Whether what is called is the function, by its plain name or by that of an imported module."""
        if last_name(function) != self.name:
            return False
        while isinstance(function, ast.Attribute):
            function = function.value
            if isinstance(function, ast.Name):
                return function.id in self.imported
        return isinstance(function, ast.Name)


def _in_test(body: ast.AST, called: _Called, row: Mapping[str, ast.expr]) -> Iterator[Example]:
    """The calls of a test, in one row of its table."""
    for node in ast.walk(body):
        match node:
            case ast.Compare(left=left, ops=[ast.Eq() | ast.Is()], comparators=[right]):
                yield from _compared(left, right, called, row)
            case ast.Call(func=ast.Attribute(attr="assertEqual" | "assertIs"), args=[left, right]):
                yield from _compared(left, right, called, row)
            case ast.Call():
                yield from _of_call(node, called, None, row)
            case _:
                pass


def _compared(
    left: ast.expr, right: ast.expr, called: _Called, row: Mapping[str, ast.expr]
) -> Iterator[Example]:
    for call, value in ((left, right), (right, left)):
        if isinstance(call, ast.Call):
            yield from _of_call(call, called, value, row)


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
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.keywords:
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
    call: ast.Call, called: _Called, expected: ast.expr | None, row: Mapping[str, ast.expr]
) -> Iterator[Example]:
    if not called.is_by(call.func) or call.keywords:
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
    text = f"{called.name}({', '.join(ast.unparse(a) for a in arguments)})"
    yield Example(call=text, expected=value, origin="test")


def _cell(node: ast.expr, row: Mapping[str, ast.expr]) -> ast.expr:
    """What a table's row gives a name; another expression as it is."""
    return row.get(node.id, node) if isinstance(node, ast.Name) else node


def _doctests(text: str, name: str, origin: str) -> Iterator[Example]:
    whole = _session(text)
    pieces = [whole] if whole is not None else [_session(p) or [] for p in _PROMPT.split(text)]
    for example in chain.from_iterable(pieces):
        call = example.source.strip()
        if not _is_plain(call, name):
            continue
        want = example.want.strip()
        yield Example(call=call, expected=want if is_literal(want) else None, origin=origin)


def _session(text: str) -> list[doctest.Example] | None:
    """The doctests of a text; None where one of them is broken, as by the line end that an escape stands for."""
    try:
        return doctest.DocTestParser().get_examples(text)
    except ValueError:
        return None


def _arrows(text: str, name: str, origin: str) -> Iterator[Example]:
    """`f(x) -> y` in its many spellings, the value on the same line."""
    for shown in _shown_in(text, name):
        after = _AFTER.match(text, shown.end)
        if after is None or (origin == "issue" and _reports_wrong(text[shown.end :])):
            continue
        line = text[after.end() :].partition("\n")[0]
        value = _said_value(line) if origin == "issue" else literal_prefix(line)
        fits = bool(shown.code) if origin == "issue" else _is_plain(shown.code, name)
        if value is not None and fits:
            yield Example(call=shown.code, expected=value, origin=origin)


def _reports_wrong(rest: str) -> bool:
    """Whether what follows a call in an issue tells the wrong value that it gave, or the right one later."""
    return _GOT.match(rest) is not None or _says(rest[:_REACH])


def _says(text: str) -> bool:
    """Whether a text tells somewhere what would be right."""
    return _EXPECTED.search(text) is not None or _RIGHT.search(text) is not None


def _told(text: str, name: str) -> Iterator[Example]:
    """A call, then somewhere near `expected y`."""
    calls = list(_shown_in(text, name))
    for index, shown in enumerate(calls):
        limit = calls[index + 1].start if index + 1 < len(calls) else len(text)
        reach = text[shown.end : min(shown.end + _REACH, limit)]
        told, right = _EXPECTED.search(reach), _RIGHT.search(reach)
        value = None
        if right is not None and (told is None or right.start() <= told.start()):
            value = right["value"] if is_literal(right["value"]) else None
        elif told is not None:
            value = _said_value(reach[told.end() :].lstrip("`* ").partition("\n")[0])
        if shown.code and value is not None and not _is_of_comparison(value, reach):
            yield Example(call=shown.code, expected=value, origin="issue")


def _said_value(line: str) -> str | None:
    """The literal that a line of an issue begins with; None of a number that counts something."""
    value = literal_prefix(line)
    if (
        value is not None
        and value[0] in "-+.0123456789"
        and _UNIT.match(line.lstrip("` "), len(value))
    ):
        return None
    return value


def _is_of_comparison(value: str, rest: str) -> bool:
    """Whether a truth value is that of `f(x) == 3` and not of the call."""
    compared = _COMPARED.match(rest)
    if compared is None or value not in {"True", "False"}:
        return False
    return literal_prefix(rest[compared.end() :].partition("\n")[0]) not in {"True", "False"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shown:
    """Where a text shows a call with literal arguments."""

    code: str
    """The whole expression that the call is a part of, in parentheses where it needs them; empty where that is not known."""
    start: int
    end: int
    """Offset behind it."""


def _shown_in(text: str, name: str) -> Iterator[_Shown]:
    """The calls of `name` with literal arguments."""
    for found in re.finditer(rf"(?<![\w.]){re.escape(name)}\s*\(", text):
        end = closing(text, found.end() - 1)
        if end is not None and _is_plain(text[found.start() : end], name):
            yield _shown_at(text, found.start(), end, name)


def _shown_at(text: str, start: int, end: int, name: str) -> _Shown:
    """A call with what stands around it, between backticks or on its line."""
    before = max(text.rfind("\n", 0, start), text.rfind("`", 0, start)) + 1
    lead = _LEAD.match(text, before, start)
    first = lead.end() if lead is not None else before
    last = min(n for n in (text.find("\n", end), text.find("`", end), len(text)) if n >= 0)
    code = text[first:last].strip()
    node = expression_of(code) if len(code) < _LONGEST else None
    if node is None or isinstance(node, ast.Tuple):
        # A sentence; what stands beside a comma in one, too.
        beside = text[max(first, start - _LONGEST) : start], text[end : min(last, end + _LONGEST)]
        joined = _is_joined(*beside)
        return _Shown(code="" if joined else _on_one_line(text[start:end]), start=start, end=end)
    whole = _value_shown(node)
    source = ast.get_source_segment(code, whole)
    if source is None or not _is_whole(whole, name):
        return _Shown(code="", start=start, end=end)
    place = text.index(source, first)
    bare = isinstance(whole, ast.Call | ast.Attribute | ast.Subscript)
    line = _on_one_line(source)
    return _Shown(
        code=line if bare else f"({line})", start=min(start, place), end=place + len(source)
    )


def _on_one_line(source: str) -> str:
    """Lines become one; blanks within a line may stand in a text."""
    return " ".join(line.strip() for line in source.splitlines())


def _is_joined(before: str, after: str) -> bool:
    """Whether a call is a part of an expression that stands in a sentence or a statement."""
    if before.endswith("print(") and after.startswith(")"):
        return False
    return bool(_JOINED_BEFORE.search(before) or _JOINED_AFTER.match(after))


def _value_shown(node: ast.expr) -> ast.expr:
    """What a line of code gives: that which it prints, or compares with a literal, else all of it."""
    match node:
        case ast.Call(func=ast.Name(id="print"), args=[printed], keywords=[]):
            return printed
        case ast.Compare(left=left, ops=[ast.Eq() | ast.Is()], comparators=[right]) if is_literal(
            ast.unparse(right)
        ):
            return left
        case _:
            return node


def _is_whole(node: ast.expr, name: str) -> bool:
    """Whether an expression holds a call of `name` and nothing that is not known without the project's code."""
    parts = list(ast.walk(node))
    calls = [n for n in parts if isinstance(n, ast.Call) and _is_named(n, name)]
    return (
        bool(calls)
        and all(_has_literals(n) for n in calls)
        and all(isinstance(n, _PARTS) for n in parts)
        and all(n.id in {name, *_PURE} for n in parts if isinstance(n, ast.Name))
        and not any(n.attr.startswith("_") for n in parts if isinstance(n, ast.Attribute))
    )


def _is_plain(call: str, name: str) -> bool:
    """Whether it is one call of `name` whose arguments are all literals, those with keywords too."""
    node = expression_of(call)
    return isinstance(node, ast.Call) and _is_named(node, name) and _has_literals(node)


def _is_named(call: ast.Call, name: str) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id == name


def _has_literals(call: ast.Call) -> bool:
    values = [*call.args, *(k.value for k in call.keywords)]
    return all(k.arg for k in call.keywords) and all(is_literal(ast.unparse(v)) for v in values)


def closing(text: str, start: int) -> int | None:
    """Offset behind the parenthesis that closes the one at `start`; strings are looked over."""
    depth, quote, here = 0, "", start
    while here < min(len(text), start + _LONGEST):
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
