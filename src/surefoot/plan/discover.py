"""What a plan starts from: which failing tests show the issue, what they run, and where names are defined."""

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from surefoot.decisions.defects import Defect, Function, Ran, defects_of
from surefoot.decisions.planning import code_words, expand, related
from surefoot.kernel.ports import Suite, TrialWorker
from surefoot.syntax import tree_of
from surefoot.values import Issue, TestReport, TestResult

_MOST_FAILING: Final = 40
"""Failing tests that are traced; of more, the rest counts by its tracebacks."""
_MOST_PASSING: Final = 60
_MOST_FILES: Final = 1_000
_MOST_BYTES: Final = 400_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkout:
    """A scratch checkout of the base, and its paths."""

    root: Path
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What discovery found."""

    targets: tuple[str, ...]
    """Failing tests that show what the issue is about."""
    others: tuple[str, ...]
    """Failing tests that do not."""
    defects: tuple[Defect, ...]
    definitions: Mapping[str, frozenset[str]]
    """Product files by the name of what they define."""
    test_folder: str


def targets_of(issue: Issue, report: TestReport) -> tuple[str, ...] | str:
    """The failing tests that show the issue, sorted; or why one that was named shows nothing."""
    failing = set(report.failing)
    if issue.source != "test":
        bad = [r for r in report.results if r.test_id in failing]
        return tuple(sorted(r.test_id for r in bad if related(issue, r)))
    found: list[str] = []
    for name in issue.tests:
        named = expand(name, report.collected)
        if not named:
            return f"{name} is not among the {len(report.collected)} tests of HEAD; commit it first"
        if not failing.intersection(named):
            return f"{name} passes already on HEAD; there is nothing to fix"
        found += [test for test in named if test in failing]
    return tuple(dict.fromkeys(found))


def look(
    issue: Issue, report: TestReport, targets: Sequence[str], suite: Suite, at: Checkout
) -> Found:
    """Trace the tests that show the issue, and some that pass beside them; find where names are defined."""
    product = [
        path
        for path in at.files
        if path.endswith(".py") and not suite.is_test_path(path) and not suite.is_control_path(path)
    ][:_MOST_FILES]
    functions = {path: _functions(at.root / path) for path in product}
    defects: tuple[Defect, ...] = ()
    if targets:
        ran = _Tracing(suite, at, functions, report).run(targets)
        defects = defects_of(*ran, code_words(issue.text))
    definitions: dict[str, set[str]] = {}
    for path, spans in functions.items():
        for _, _, name in spans:
            definitions.setdefault(name.rpartition(".")[2], set()).add(path)
    return Found(
        targets=tuple(targets),
        others=tuple(t for t in report.failing if t not in set(targets)),
        defects=defects,
        definitions={name: frozenset(paths) for name, paths in definitions.items()},
        test_folder=_test_folder(at.files, suite),
    )


_Spans = tuple[tuple[int, int, str], ...]
"""First line of the body, last line and name of each function and class."""


class _Tracing:
    """Runs tests and says which functions they ran."""

    def __init__(
        self, suite: Suite, at: Checkout, functions: Mapping[str, _Spans], report: TestReport
    ) -> None:
        self._suite, self._at, self._functions, self._report = suite, at, functions, report

    def run(self, targets: Sequence[str]) -> tuple[tuple[Ran, ...], tuple[Ran, ...]]:
        """The failing tests, and passing ones beside them."""
        results = {r.test_id: r for r in self._report.results}
        if not self._functions:
            return tuple(self._ran(None, results[test]) for test in targets), ()
        beside = self._beside(targets)
        with self._suite.worker(self._at.root, (*targets, *beside)) as worker:
            failing = tuple(
                self._ran(worker if n < _MOST_FAILING else None, results[test])
                for n, test in enumerate(targets)
            )
            # Without a trace of what fails there is nothing that what passes could be held against.
            seen = any(ran.functions for ran in failing)
            passing = tuple(self._ran(worker, results[test]) for test in beside if seen)
        return failing, passing

    def _beside(self, targets: Sequence[str]) -> tuple[str, ...]:
        """Passing tests, those in the files of the failing ones first."""
        files = {test.partition("::")[0] for test in targets}
        passing = sorted(self._report.passing, key=lambda t: t.partition("::")[0] not in files)
        return tuple(passing[:_MOST_PASSING])

    def _ran(self, worker: TrialWorker | None, result: TestResult) -> Ran:
        lines = worker.trace(result.test_id, tuple(self._functions)).lines if worker else {}
        places = [(path, line) for path, numbers in lines.items() for line in numbers]
        places = places or [(frame.path, frame.line) for frame in result.frames]
        found = {self._function(path, line) for path, line in places}
        return Ran(test_id=result.test_id, functions=frozenset(f for f in found if f))

    def _function(self, path: str, line: int) -> Function | None:
        inside = [s for s in self._functions.get(path, ()) if s[0] <= line <= s[1]]
        return (path, max(inside)[2]) if inside else None


def _functions(path: Path) -> _Spans:
    """The functions and classes of a file; none when it cannot be read as Python."""
    if path.is_symlink() or not path.is_file() or path.stat().st_size > _MOST_BYTES:
        return ()
    tree = tree_of(path.read_bytes())
    if tree is None:
        return ()
    found: list[tuple[int, int, str]] = []
    left: list[tuple[ast.AST, str]] = [(tree, "")]
    while left:
        node, prefix = left.pop()
        for child in ast.iter_child_nodes(node):
            name = prefix
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                name = f"{prefix}.{child.name}" if prefix else child.name
                found.append((child.body[0].lineno, child.end_lineno or child.lineno, name))
            left.append((child, name))
    return tuple(sorted(found))


def _test_folder(files: Sequence[str], suite: Suite) -> str:
    """Where most Python tests are; `.` is the root."""
    folders: dict[str, int] = {}
    for path in files:
        pure = PurePosixPath(path)
        if pure.name.startswith("test_") and pure.suffix == ".py" and suite.is_test_path(path):
            folders[str(pure.parent)] = folders.get(str(pure.parent), 0) + 1
    return max(sorted(folders), key=lambda f: folders[f]) if folders else "tests"
