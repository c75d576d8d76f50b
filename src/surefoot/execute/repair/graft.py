"""Putting a rewritten function into its file so that the change is as small as it can be.

A model drops comments, rewraps lines and rewrites the docstring. What means the same keeps the text that it had: the
head with its docstring when the parameters are the same, and each line whose code is the same. The result is checked:
when its syntax tree is not the rewritten one, the rewritten text is taken as it is.
"""

import ast
import difflib
import io
import itertools
import re
import tokenize
from collections.abc import Iterable, Sequence
from typing import Final

from surefoot.execute.source import (
    CodeUnit,
    FunctionNode,
    Source,
    TextEdit,
    apply,
    newline_of,
    replace_unit,
    shape,
    unit_nodes,
)
from surefoot.syntax import docstring_node, tree_of

_STEP: Final = "    "


def graft(unit: CodeUnit, code: str) -> str:
    """The text of the unit that means what `code` means and keeps what it can of the present text."""
    code = _decorated(_restepped(without_comments(code), unit.text), unit.text)
    old_head, old_body = _halves(unit.text)
    new_head, new_body = _halves(code)
    if not old_head or not new_body:
        return code
    head = (
        old_head if _parameters(unit.text) == _parameters(code) else _with_doc(new_head, old_head)
    )
    merged = "\n".join([*head, *_merged(old_body, new_body)])
    wanted = _meaning(code)
    for text in (merged, "\n".join([*head, *new_body])):
        if _meaning(text) == wanted:
            return text
    return code


def splice(
    source: Source, unit: CodeUnit, code: str, imports: Sequence[str], helpers: Sequence[str]
) -> str:
    """The file with a unit's new text and what it needs beside it: missing imports and helper functions."""
    text = replace_unit(source, unit, code)
    known = {u.qualname for u, _ in unit_nodes(source)}
    top = _top_line(source, unit)
    fresh = [h for h in helpers if _name_of(h) not in known]
    if fresh:
        start = source.starts[top - 1]
        beside = "".join(f"{helper}\n\n\n" for helper in fresh).replace("\n", newline_of(source))
        text = text[:start] + beside + text[start:]
    wanted = [i for i in imports if _binds_new(i, source, code, fresh)]
    return apply(text, [import_edit(source, wanted)]) if wanted else text


def _decorated(code: str, original: str) -> str:
    """Code with the decorators of the original, where it has none and takes the same parameters: they were left out, not taken away."""
    was, now = tree_of(original), tree_of(code)
    if was is None or now is None or not was.body or not now.body:
        return code
    old, new = was.body[0], now.body[0]
    if not isinstance(old, FunctionNode) or not isinstance(new, FunctionNode):
        return code
    if new.decorator_list or _parameters(original) != _parameters(code):
        return code
    return "\n".join([*original.split("\n")[: old.lineno - 1], *code.split("\n")[new.lineno - 1 :]])


def _halves(text: str) -> tuple[list[str], list[str]]:
    """Lines of decorators, `def` and docstring; lines of the rest. Both are empty when they cannot be told apart."""
    tree = tree_of(text)
    if tree is None or not tree.body or not isinstance(tree.body[0], FunctionNode):
        return [], []
    node = tree.body[0]
    body = node.body[1:] if docstring_node(node) is not None else node.body
    rows = text.split("\n")
    head_end = (
        node.body[0].end_lineno if docstring_node(node) is not None else _head_end(node, text)
    )
    if head_end is None or (body and body[0].lineno <= head_end):
        return [], []
    return rows[:head_end], rows[head_end:]


def _head_end(node: FunctionNode, text: str) -> int | None:
    """Number of the line on which the `def` ends; None when the body begins on it."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    ends = [t.start[0] for t in tokens if t.exact_type == tokenize.NEWLINE]
    return next((n for n in ends if node.lineno <= n < node.body[0].lineno), None)


def head_of(text: str) -> str:
    """Decorators, signature and docstring of a function, as they stand."""
    head, _ = _halves(text)
    return "\n".join(head)


def short_head_of(text: str) -> str:
    """The same with `...` for what the docstring says."""
    head, _ = _halves(text)
    rows = _doc_rows(head) if head else 0
    if not rows:
        return "\n".join(head)
    first = head[-rows]
    indent = first[: len(first) - len(first.lstrip())]
    return "\n".join([*head[:-rows], f'{indent}"""..."""'])


def _parameters(text: str) -> str:
    """What a signature says beside its annotations."""
    tree = tree_of(text)
    node = tree.body[0] if tree is not None and tree.body else None
    if not isinstance(node, FunctionNode):
        return ""
    for arg in ast.walk(node.args):
        if isinstance(arg, ast.arg):
            arg.annotation = None
    return type(node).__name__ + node.name + ast.dump(node.args)


def _with_doc(new: list[str], old: list[str]) -> list[str]:
    """A new signature over the old docstring."""
    old_doc, new_doc = _doc_rows(old), _doc_rows(new)
    return [
        *(new[: len(new) - new_doc] if new_doc else new),
        *(old[len(old) - old_doc :] if old_doc else []),
    ]


def _doc_rows(head: Sequence[str]) -> int:
    """How many of a head's last lines are its docstring."""
    tree = tree_of("\n".join(head))
    doc = docstring_node(tree.body[0]) if tree is not None else None
    if doc is None:
        return 0
    rows: int = (doc.end_lineno or doc.lineno) - doc.lineno + 1
    return rows


# --- lines that mean the same --------------------------------------------------------------------


def _merged(old: Sequence[str], new: Sequence[str]) -> list[str]:
    before, after = _items(old), _items(new)
    matcher = difflib.SequenceMatcher(
        None, [k for k, _ in before], [k for k, _ in after], autojunk=False
    )
    rows: list[str] = []
    for tag, i, j, k, m in matcher.get_opcodes():
        for _, text in before[i:j] if tag == "equal" else after[k:m]:
            rows.extend(text)
    return rows


def _items(rows: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Lines of code, each with the comments and blank lines before it, keyed by indentation and code."""
    items: list[tuple[str, list[str]]] = []
    waiting: list[str] = []
    for row in rows:
        waiting.append(row)
        if row.strip() and not row.lstrip().startswith("#"):
            indent = row[: len(row) - len(row.lstrip())]
            items.append(
                (indent + re.sub(r"\s+|\s*#[^'\"]*$", "", row.strip()).replace('"', "'"), waiting)
            )
            waiting = []
    if waiting and items:
        items[-1][1].extend(waiting)
    return items


def _meaning(text: str) -> str:
    """The syntax tree of a function without its docstring and the annotations of its signature."""
    tree = tree_of(text)
    node = tree.body[0] if tree is not None and tree.body else None
    if not isinstance(node, FunctionNode):
        return ""
    if docstring_node(node) is not None:
        node.body = node.body[1:]
    node.returns = None
    for arg in ast.walk(node.args):
        if isinstance(arg, ast.arg):
            arg.annotation = None
    return ast.dump(node)


def without_comments(code: str) -> str:
    """Code without comments: what a model says of its own change is a claim."""
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(code).readline))
    except (tokenize.TokenError, SyntaxError):
        return code
    rows = code.split("\n")
    for token in tokens:
        if token.type == tokenize.COMMENT:
            line, column = token.start
            rows[line - 1] = rows[line - 1][:column].rstrip()
            if not rows[line - 1]:
                rows[line - 1] = "\0"
    return "\n".join(r for r in rows if r != "\0")


def _restepped(code: str, original: str) -> str:
    """Code with the indentation step of the original."""
    old, new = _step(original), _step(code)
    if not old or not new or old == new:
        return code
    rows = []
    for row in code.split("\n"):
        depth = 0
        while row.startswith(new, depth * len(new)):
            depth += 1
        rows.append(old * depth + row[depth * len(new) :] if row.strip() else row)
    text = "\n".join(rows)
    return text if shape(text) == shape(code) else code


def _step(text: str) -> str:
    for row in text.split("\n"):
        if row[:1] in {" ", "\t"} and row.strip():
            return row[: len(row) - len(row.lstrip())]
    return ""


# --- what a unit needs beside it -----------------------------------------------------------------


def _name_of(function: str) -> str:
    found = re.search(r"def\s+(\w+)", function)
    return found[1] if found else ""


def _top_line(source: Source, unit: CodeUnit) -> int:
    """First line of the top-level statement that a unit stands in."""
    for statement in source.tree.body:
        decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
        first = min([statement.lineno, *(d.lineno for d in decorators)])
        if first <= unit.first_line <= (statement.end_lineno or first):
            return first
    return unit.first_line


def import_edit(source: Source, imports: Sequence[str]) -> TextEdit:
    """Puts imports into a file: behind docstring, `__future__` and other imports, apart from what is none.

    Where there is neither, behind the comments that it begins with: the first line may say what runs it.
    """
    head = list(itertools.takewhile(_is_head, source.tree.body))
    rows = source.text.splitlines(keepends=True)
    if head:
        line = head[-1].end_lineno or head[-1].lineno
    else:
        line = sum(1 for _ in itertools.takewhile(lambda row: row.startswith("#"), rows))
    end = newline_of(source)
    text = "".join(f"{statement}{end}" for statement in imports)
    if not head or isinstance(head[-1], ast.Expr):
        stands_alone = line == len(rows) or not rows[line].strip()
        text = f"{end * bool(line)}{text}{'' if stands_alone else end * 2}"
    at = source.starts[line]
    return TextEdit(start=at, end=at, text=text)


def _is_head(statement: ast.stmt) -> bool:
    """An import, or the docstring of a module."""
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return True
    value = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def imported_by(statements: Iterable[ast.stmt]) -> frozenset[str]:
    """Names that the imports among these statements bind."""
    imports = (n for n in statements if isinstance(n, ast.Import | ast.ImportFrom))
    return frozenset((a.asname or a.name).partition(".")[0] for n in imports for a in n.names)


def _binds_new(statement: str, source: Source, code: str, helpers: Sequence[str]) -> bool:
    """Whether an import binds a name that the new code uses and the file does not have."""
    tree = tree_of(statement)
    node = tree.body[0] if tree is not None and tree.body else None
    if not isinstance(node, ast.Import | ast.ImportFrom):
        return False
    bound, have = imported_by([node]), imported_by(source.tree.body)
    used = {
        n.id
        for text in (code, *helpers)
        for n in ast.walk(tree_of(text) or ast.Module([], []))
        if isinstance(n, ast.Name)
    }
    return "*" not in bound and bool((bound & used) - have)
