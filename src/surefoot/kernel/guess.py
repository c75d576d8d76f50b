"""Guesses which tests a tree can break, from the repository's own files and from tests that were watched (SPEC C9)."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from surefoot.kernel.impact import Change, Impact, impacted
from surefoot.kernel.imports import FileFacts, Imports, read_facts, same_but_bodies
from surefoot.kernel.ports import Suite, Trees
from surefoot.values import Diff, TestReport, TreeId

EARLY_FROM_S: Final = 10.0
"""A whole run that is shorter is not worth a guess."""
EARLY_SHARE: Final = 0.5
"""The tests of a guess are run first only when they take at most this share of a whole run."""

Reach = Mapping[str, frozenset[str]]
"""As from `Suite.watch`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Guesser:
    """Guesses for the trees of one run; what it has read of a base is kept."""

    workspace: Trees
    suite: Suite
    graphs: dict[TreeId, Imports] = field(default_factory=dict)

    def impact(self, base: TreeId, tree: TreeId, tests: Sequence[str], reach: Reach) -> Impact:
        """Which of the base's tests `tree` can break."""
        diff = self.workspace.diff(base, tree)
        change = Change(
            files=diff.files,
            before=self._graph(base),
            after=self._changed(base, diff),
            bodies_only=frozenset(path for path in _python(diff) if self._is_tame(diff, path)),
        )
        return impacted(
            change,
            tests,
            reach=reach,
            is_control=self.suite.is_control_path,
            is_test=self.suite.is_test_path,
        )

    def watch(self, base: TreeId) -> Reach:
        """Run the whole suite on the base once more, and see what each test runs something of."""
        with self.workspace.checkout(base) as root:
            return self.suite.watch(root)

    def of_product(self, base: TreeId, tree: TreeId, paths: Collection[str]) -> frozenset[str]:
        """Those of `paths` that something of `tree` imports which is no test."""
        if not paths:
            return frozenset()
        graph = self._changed(base, self.workspace.diff(base, tree))
        return frozenset(
            p for p in paths if not all(map(self.suite.is_test_path, graph.dependents([p])))
        )

    def _changed(self, base: TreeId, diff: Diff) -> Imports:
        return self._graph(base).changed({p: self._facts(diff.after, p) for p in _python(diff)})

    def _graph(self, base: TreeId) -> Imports:
        if base not in self.graphs:
            python = [path for path in self.workspace.files(base) if path.endswith(".py")]
            facts = {path: read_facts(self._text(base, path)) for path in python}
            self.graphs[base] = Imports(facts, self.suite.is_test_path)
        return self.graphs[base]

    def _facts(self, tree: TreeId, path: str) -> FileFacts | None:
        there = self.workspace.read(tree, path) is not None
        return read_facts(self._text(tree, path)) if there else None

    def _is_tame(self, diff: Diff, path: str) -> bool:
        before, after = self._text(diff.before, path), self._text(diff.after, path)
        return before is not None and after is not None and same_but_bodies(before, after)

    def _text(self, tree: TreeId, path: str) -> str | None:
        data = self.workspace.read(tree, path)
        try:
            return None if data is None else data.decode()
        except UnicodeDecodeError:
            return None


def _python(diff: Diff) -> list[str]:
    return [path for path in diff.paths if path.endswith(".py")]


def cost_s(report: TestReport, tests: Sequence[str]) -> float:
    """How long these tests took in a report."""
    wanted = frozenset(tests)
    return sum(result.wall_s for result in report.results if result.test_id in wanted)


def is_worth(impact: Impact, report: TestReport) -> bool:
    """Whether running the guess before the whole saves time, should it refuse the tree."""
    if not impact.tests:
        return False
    return cost_s(report, impact.tests) <= EARLY_SHARE * report.wall_s


def is_worth_watching(impact: Impact, report: TestReport) -> bool:
    """Whether imports alone leave too much to run first."""
    return bool(impact.tests) and not is_worth(impact, report)
