"""Where the tests of the base stand, by their ids: a file needs no test's name to hold tests.

A file that a test stands in is a test file, whatever it is called. Examples of a docstring stand in the product's own
files, which a fix has to change; there the examples that were collected are the test, and only they may not read otherwise.
Rust's tests stand beside the code by custom, and no rule of ours tells the two apart.
"""

import ast
import doctest
from collections.abc import Callable, Collection, Iterator
from itertools import zip_longest
from pathlib import PurePosixPath
from typing import Final, TypeAlias

from surefoot.kernel.rewritten import Texts
from surefoot.syntax import tree_of

_BESIDE: Final = (".rs",)
"""Suffixes of files that hold product and tests."""

_Example: TypeAlias = tuple[str, str, str | None, tuple[tuple[int, bool], ...]]
_Scope: TypeAlias = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def is_test_by(named: Callable[[str], bool], collected: Collection[str]) -> Callable[[str], bool]:
    """Tells test files: those that are named like one, and those that one of `collected` stands in."""
    files = _test_files(collected)
    return lambda path: named(path) or path in files


def _test_files(collected: Collection[str]) -> frozenset[str]:
    """Files that a test stands in which is no example of a text."""
    paths = {t.partition("::")[0] for t in collected if "::" in t and not _is_example(t)}
    return frozenset(p for p in paths if not p.endswith(_BESIDE))


def examples_changed(collected: Collection[str], texts: Texts) -> frozenset[str]:
    """Paths of changed files that lost examples of the base's, or where others stand before them; `collected` are the base's."""
    paths = {t.partition("::")[0] for t in collected if _is_example(t)}
    return frozenset(p for p in paths & set(texts) if not _keeps(p, *texts[p]))


def _is_example(test_id: str) -> bool:
    """Whether an id is one that pytest gives to the examples of a docstring or of a text file."""
    path, _, rest = test_id.partition("::")
    pure = PurePosixPath(path)
    if pure.suffix != ".py":
        return rest == pure.name
    # A module's own docstring has the module's name; that of anything inside has a dot, which no function's name has.
    parts = pure.with_suffix("").parts
    own = parts[:-1] if pure.name == "__init__.py" else parts
    return "." in rest.partition("[")[0].partition("::")[0] or rest == ".".join(own[-1:])


def _keeps(path: str, before: str | None, after: str | None) -> bool:
    was, now = _examples(path, before), _examples(path, after)
    if not was or now is None:  # what holds no example that can be read is guarded as a whole
        return before == after
    return all(
        new is not None and new[: len(old)] == old
        for place, texts in was.items()
        for old, new in zip_longest(texts, now.get(place, [])[: len(texts)])
    )


def _examples(path: str, text: str | None) -> dict[str, list[list[_Example]]] | None:
    """The examples of each text, in order, by the name of what the text stands in; None where nothing can be read."""
    if text is None:
        return None
    if not path.endswith(".py"):
        found = _read(text)
        return {"": [found]} if found else {}
    tree = tree_of(text)
    if tree is None:
        return None
    places: dict[str, list[list[_Example]]] = {}
    for name, said in _texts(tree, ""):
        if found := _read(said):
            places.setdefault(name, []).append(found)
    return places


def _texts(scope: ast.AST, name: str) -> Iterator[tuple[str, str]]:
    """All texts with the dotted name of what they stand in: a docstring may be assigned, or stand in `__test__`."""
    for node in ast.iter_child_nodes(scope):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield name, node.value
        inside = (
            f"{name}.{node.name}"
            if isinstance(node, _Scope) and not isinstance(node, ast.Module)
            else name
        )
        yield from _texts(node, inside)


def _read(text: str) -> list[_Example]:
    if ">>>" not in text:
        return []
    try:
        found = doctest.DocTestParser().get_examples(text)
    except ValueError:  # its examples cannot be told apart, so the whole text is one
        return [(text, "", None, ())]
    return [(e.source, e.want, e.exc_msg, tuple(sorted(e.options.items()))) for e in found]
