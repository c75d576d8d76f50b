"""The examples of an issue as a test file: for each call of a function of the product, the value that it has to give.

Only calls of a plain function whose name one module alone defines are taken, since no other can be told for sure. A
value is compared leniently: a number as far as the issue writes it out, a sequence whatever holds it. A function that
gives nothing is skipped, because people who write `f(x)` gives `y` may mean what it prints.
"""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from surefoot.execute.repair.examples import Example, from_issue
from surefoot.execute.repair.probe import module_of
from surefoot.execute.repair.reproduce import new_test_path
from surefoot.execute.source import Source, parse, units
from surefoot.kernel.examples import ExampleTests
from surefoot.kernel.ports import Suite, Trees
from surefoot.values import TreeId

_MOST: Final = 20
"""Examples of one issue."""
_MOST_TESTS: Final = 200
"""Test files that are read to see how they import the product."""
_DECIMAL: Final = re.compile(r"[-+]?\d+\.(\d+)")
_HEAD: Final = '''"""The examples of the issue."""

import unittest


def same(given, wanted, off):
    if given is None and wanted is not None:
        raise unittest.SkipTest("it gives nothing")
    if isinstance(wanted, float):
        return abs(float(given) - wanted) <= off
    if isinstance(wanted, (list, tuple)) and not isinstance(given, (str, bytes, dict)):
        return list(given) == list(wanted)
    return given == wanted
'''


@dataclass(frozen=True, slots=True, kw_only=True)
class ExampleWriter:
    """Writes them for trees of a repository; as `kernel.examples.WriteExamples`."""

    trees: Trees
    suite: Suite

    def __call__(self, issue: str, base: TreeId, tree: TreeId) -> ExampleTests | None:
        """The test file for `tree`; None where the issue has no example that can be run there."""
        examples = _examples(issue)
        if not examples:
            return None
        product = self._product(tree)
        paths = self.trees.files(tree)
        tests = self._tests(paths, tree)
        path = new_test_path("examples of the issue", self.trees.files(base), self.suite)
        known = "\n".join(self._product(base).values()) if tree != base else ""
        shown, new, text = dict[str, str](), set[str](), _HEAD
        for number, (name, example) in enumerate(examples, 1):
            defined = _defined(product, name)
            if defined is None:
                continue
            test_id = f"{path}::test_example_{number}"
            shown[test_id] = f"{example.call} gives {example.expected}"
            if tree != base and re.search(rf"\b{re.escape(name)}\b", known) is None:
                new.add(test_id)
            text += _test(number, module_of(defined, tests, paths), name, example)
        return (
            ExampleTests(path=path, text=text, shown=shown, new=frozenset(new)) if shown else None
        )

    def _product(self, tree: TreeId) -> Mapping[str, str]:
        """Text of the product's Python files."""
        paths = [p for p in self.trees.files(tree) if p.endswith(".py") and not self._is_aside(p)]
        return self._texts(tree, paths)

    def _tests(self, paths: Sequence[str], tree: TreeId) -> list[Source]:
        chosen = [p for p in paths if p.endswith(".py") and self.suite.is_test_path(p)]
        texts = self._texts(tree, chosen[:_MOST_TESTS])
        return [s for path, text in texts.items() if (s := parse(path, text)) is not None]

    def _texts(self, tree: TreeId, paths: Sequence[str]) -> dict[str, str]:
        read = {path: self.trees.read(tree, path) for path in paths}
        return {p: data.decode("utf-8", "replace") for p, data in read.items() if data is not None}

    def _is_aside(self, path: str) -> bool:
        return self.suite.is_test_path(path) or self.suite.is_control_path(path)


def _examples(issue: str) -> list[tuple[str, Example]]:
    """Each example with its function's name, in the order in which the issue first calls them."""
    names = dict.fromkeys(m[1] for m in re.finditer(r"(?<![\w.])([A-Za-z_]\w*)\s*\(", issue))
    found = [(name, e) for name in names for e in from_issue(issue, name) if e.expected is not None]
    return found[:_MOST]


def _defined(product: Mapping[str, str], name: str) -> str | None:
    """The one file that defines a plain function of this name; None where none or several do."""
    naming = {p: t for p, t in product.items() if re.search(rf"\bdef\s+{re.escape(name)}\b", t)}
    found = [path for path, text in naming.items() for _ in _functions(path, text, name)]
    return found[0] if len(found) == 1 else None


def _functions(path: str, text: str, name: str) -> Iterator[str]:
    """The functions of this name at the top of a file, other than coroutines."""
    source = parse(path, text)
    if source is None:
        return
    coroutines = {n.name for n in source.tree.body if isinstance(n, ast.AsyncFunctionDef)}
    for unit in units(source):
        if unit.qualname == name and name not in coroutines:
            yield name


def _test(number: int, module: str, name: str, example: Example) -> str:
    digits = _DECIMAL.fullmatch(example.expected or "")
    off = f"5e-{len(digits[1]) + 1}" if digits else "0"
    return (
        f"\n\ndef test_example_{number}():\n    from {module} import {name}\n\n"
        f"    given = {example.call}\n    assert same(given, {example.expected}, {off}), repr(given)\n"
    )
