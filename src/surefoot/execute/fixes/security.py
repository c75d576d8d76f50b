"""Fixes of what a scanner or an interpreter would hold against a module: weak digests, and what it exports."""

import ast
import re
from collections.abc import Iterator
from typing import Final

from surefoot.execute.fixes.rewrite import Rewrite, around, function_around, names, place
from surefoot.execute.source import Source, TextEdit
from surefoot.values import Finding

_DIGESTS: Final = frozenset({"md4", "md5", "sha", "sha1", "new"})
_SINCE: Final = (3, 9)
"""Python 3.9 brought `usedforsecurity`; an older one refuses the call."""
_GUARDS: Final = re.compile(
    r"passw|passphrase|secret|credential|auth|login|sign|hmac|cert|licen[cs]e", re.IGNORECASE
)
"""What is named like this may well guard something, and only a person can say that it does not."""


def weak_digest(source: Source, finding: Finding) -> Iterator[Rewrite]:
    """A weak digest says that it guards nothing, which changes no digest.

    Safe where the project's oldest Python takes the word, and no name around it speaks of secrets.
    """
    at = place(source, finding)
    call = next((n for n in around(source, ast.Call, at) if source.start(n) == at), None)
    if call is None or not call.args or not _is_of_hashlib(source, call):
        return
    if any(k.arg in (None, "usedforsecurity") for k in call.keywords):
        return
    end = source.end(call) - 1
    ends = [*map(source.end, call.args), *map(source.end, call.keywords)]
    last = max(ends)
    comma = "" if "," in source.text[last:end] else ", "
    function = function_around(source, at)
    named = {*names(function), function.name} if function is not None else names(source.tree)
    is_safe = (source.oldest or (0, 0)) >= _SINCE and not any(map(_GUARDS.search, named))
    told = TextEdit(start=end, end=end, text=f"{comma}usedforsecurity=False")
    yield Rewrite(
        name="not-for-security",
        edits=(told,),
        is_safe=is_safe,
        prior=0.8,
        description="the digest stays as it is, and is said to guard nothing",
    )
    if isinstance(call.func, ast.Attribute) and call.func.attr != "new":
        owner, name = call.func.value, call.func.attr
        by_name = f'{source.segment(owner)}.new("{name}", '
        start = source.start(call.args[0])
        yield Rewrite(
            name="digest-by-name",
            edits=(TextEdit(start=source.start(call), end=start, text=by_name), told),
            is_safe=is_safe and not source.text[source.end(call.func) : start].strip(" (\n"),
            prior=0.3,
            description="the digest is asked for by its name, and is said to guard nothing",
        )


def _is_of_hashlib(source: Source, call: ast.Call) -> bool:
    imported = [n for n in ast.walk(source.tree) if isinstance(n, ast.Import | ast.ImportFrom)]
    match call.func:
        case ast.Attribute(value=ast.Name(id=owner), attr=name):
            aliases = [a for n in imported if isinstance(n, ast.Import) for a in n.names]
            return name in _DIGESTS and any(
                a.name == "hashlib" and (a.asname or a.name) == owner for a in aliases
            )
        case ast.Name(id=name):
            return any(
                isinstance(n, ast.ImportFrom)
                and n.module == "hashlib"
                and any((a.asname or a.name) == name and a.name in _DIGESTS for a in n.names)
                for n in imported
            )
        case _:
            return False


def exported_names(source: Source, finding: Finding) -> Iterator[Rewrite]:
    """An `__all__` that is computed from constants becomes the list that it is."""
    for node in source.tree.body:
        if not isinstance(node, ast.Assign) or not _is_all(node):
            continue
        words = _words(node.value)
        if words is None or not node.lineno <= finding.line <= (node.end_lineno or node.lineno):
            continue
        listed = ", ".join(f'"{word}"' for word in words)
        yield Rewrite(
            name="list-of-names",
            edits=(
                TextEdit(
                    start=source.start(node.value), end=source.end(node.value), text=f"[{listed}]"
                ),
            ),
            is_safe=True,
            prior=0.9,
            description=f"`__all__` is the list of its {len(words)} names, without a call",
        )
        if len(words) > 1:
            lines = "".join(f'    "{word}",\n' for word in words)
            yield Rewrite(
                name="list-of-lines",
                edits=(
                    TextEdit(
                        start=source.start(node.value),
                        end=source.end(node.value),
                        text=f"[\n{lines}]",
                    ),
                ),
                is_safe=True,
                prior=0.6,
                description=f"`__all__` is the list of its {len(words)} names, one a line",
            )
        return


def _is_all(node: ast.Assign) -> bool:
    return any(isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets)


def _words(value: ast.expr) -> list[str] | None:
    """What `"a b".split()` gives; None for anything else."""
    match value:
        case ast.Call(
            func=ast.Attribute(value=ast.Constant(value=str(text)), attr="split"),
            args=[],
            keywords=[],
        ):
            found = text.split()
            return found if all(word.isidentifier() for word in found) else None
        case _:
            return None
