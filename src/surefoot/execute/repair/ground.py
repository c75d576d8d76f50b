"""What a turn knows before it searches: files, tests, what they ran, and the suspects."""

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import PurePosixPath

from surefoot.execute.repair.localise import (
    BugFacts,
    Suspect,
    called_by,
    called_in,
    function_of,
    imported_paths,
    localise,
)
from surefoot.execute.source import Source, parse, unit_nodes
from surefoot.kernel.ports import (
    Asker,
    Coverage,
    Notebook,
    Suite,
    TrialWorker,
    TurnInput,
    Workspace,
)
from surefoot.kernel.standing import is_test_by
from surefoot.plans import covered
from surefoot.values import TestReport, TestResult, TreeId

_MAX_FILES = 300
_MAX_FILE_BYTES = 400_000
_TRACED_FAILING = 3
_TRACED_PASSING = 6
_WIDER_TESTS = 400
_NEIGHBOURS = 8
_BESIDE = 8
_WORD = re.compile(rb"[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """What a turn plays with."""

    task: TurnInput
    suite: Suite
    workspace: Workspace
    asker: Asker
    notebook: Notebook


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """The Python files of a tree that matter to a bug."""

    product: Mapping[str, Source]
    tests: Mapping[str, Source]
    """Files of the failing tests."""
    paths: tuple[str, ...]
    """All paths of the tree."""
    beside: Mapping[str, Source] = field(default_factory=dict)
    """Files of other tests of what the failing tests call, those that name most of it first."""
    subjects: frozenset[str] = frozenset()
    """Names of the project's functions and classes that the failing tests call."""


def read_files(
    workspace: Workspace,
    suite: Suite,
    task: TurnInput,
    failing: Sequence[str],
    allowed: Sequence[str],
) -> Files:
    """Read what the failing tests can reach; everything when they reach nothing that can be told."""
    tree, is_test = task.tree, is_test_by(suite.is_test_path, task.baseline.collected)
    paths = workspace.files(tree)
    python = [p for p in paths if p.endswith(".py")]
    product = [p for p in python if not is_test(p) and not suite.is_control_path(p)]
    if allowed:
        product = [p for p in product if covered(allowed, p)]
    test_paths = list(dict.fromkeys(t.partition("::")[0] for t in failing))
    if not test_paths:
        test_paths = [p for p in python if is_test(p)][:_MAX_FILES]
    tests = _parsed(workspace, tree, [p for p in test_paths if p in python])
    helpers = [p for p in python if is_test(p) and p not in tests]
    reach = partial(_reached, workspace, tree, product=product, helpers=helpers)
    fixtures = _parsed(workspace, tree, _conftests(tests, helpers))
    reached = reach([*tests.values(), *fixtures.values()])
    if not reached:
        reached = _parsed(workspace, tree, product[:_MAX_FILES])
    named = _named(task.baseline, failing)
    framed = _parsed(workspace, tree, [p for p in product if p in named and p not in reached])
    reached = {**reached, **framed, **reach(list(framed.values()))}
    subjects = subjects_of(tests, failing, reached.values())
    others = helpers[:_MAX_FILES] if subjects else []
    naming = _naming({p: workspace.read(tree, p) for p in others}, subjects)
    beside = _parsed(workspace, tree, naming)
    return Files(product=reached, tests=tests, paths=paths, beside=beside, subjects=subjects)


def subjects_of(
    tests: Mapping[str, Source], failing: Iterable[str], product: Iterable[Source]
) -> frozenset[str]:
    """Names of the project's functions and classes that failing tests call."""
    defined = {
        n.name
        for s in product
        for n in ast.walk(s.tree)
        if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    }
    return called_by(tests.values(), failing) & defined


def _naming(files: Mapping[str, bytes | None], names: frozenset[str]) -> list[str]:
    """Paths of the files that name most of `names`, and those most often."""
    found: list[tuple[int, int, str]] = []
    for path, data in files.items():
        words = [w for w in _WORD.findall(data or b"") if w.decode() in names]
        if words:
            found.append((-len(set(words)), -len(words), path))
    return [path for _, _, path in sorted(found)][:_BESIDE]


def _parsed(workspace: Workspace, tree: TreeId, paths: Sequence[str]) -> dict[str, Source]:
    found = {}
    for path in paths:
        source = read_source(workspace, tree, path)
        if source is not None:
            found[path] = source
    return found


def read_source(workspace: Workspace, tree: TreeId, path: str) -> Source | None:
    """A file of a tree as parsed UTF-8 source, or None."""
    data = workspace.read(tree, path)
    if data is None or len(data) > _MAX_FILE_BYTES:
        return None
    try:
        return parse(path, data.decode())
    except UnicodeDecodeError:
        return None


def _conftests(tests: Iterable[str], helpers: Sequence[str]) -> list[str]:
    """The conftest files that pytest loads for tests, the nearest first: nothing imports them."""
    folders = dict.fromkeys(folder for test in tests for folder in PurePosixPath(test).parents)
    places = [str(folder / "conftest.py") for folder in folders]
    return [place for place in places if place in helpers]


def _named(baseline: TestReport, failing: Sequence[str]) -> frozenset[str]:
    """Paths that the tracebacks of failing tests name."""
    results = [r for r in baseline.results if r.test_id in failing]
    return frozenset(frame.path for result in results for frame in result.frames)


def _reached(
    workspace: Workspace,
    tree: TreeId,
    starts: Sequence[Source],
    *,
    product: Sequence[str],
    helpers: Sequence[str],
) -> dict[str, Source]:
    """Product files that files import, directly or through each other and through helpers of tests, nearest first."""
    found: dict[str, Source] = {}
    queue = list(starts)
    while queue and len(found) < _MAX_FILES:
        here = queue.pop(0)
        # Product code has no helpers of tests; what has the name of one is another module.
        others = () if here.path in product else helpers
        for path in imported_paths(here, [*product, *others]):
            if path in found:
                continue
            source = read_source(workspace, tree, path)
            if source is not None:
                found[path] = source
                queue.append(source)
    return {path: found[path] for path in found if path not in helpers}


def wider_tests(
    baseline: TestReport, failing: Sequence[str], files: Files, most_s: float
) -> tuple[str, ...]:
    """Tests that pass on the base and that a candidate must not break, nearest to the failing ones first.

    Near are those that call what the failing ones call, then those of the same files.
    """
    near = {t.partition("::")[0] for t in failing}
    calls = {
        (source.path, unit.name): len(files.subjects.intersection(called_in(node)))
        for source in (*files.tests.values(), *files.beside.values())
        for unit, node in unit_nodes(source)
    }
    usual = {r.test_id: r.wall_s for r in baseline.results}
    passing = sorted(
        baseline.passing,
        key=lambda t: (
            -calls.get(function_of(t), 0),
            t.partition("::")[0] not in near,
            usual.get(t, 0.0),
            t,
        ),
    )
    chosen: list[str] = []
    spent = 0.0
    for test in passing[:_WIDER_TESTS]:
        # A slow one leaves its place to quicker ones behind it.
        if spent + usual.get(test, 0.0) <= most_s:
            spent += usual.get(test, 0.0)
            chosen.append(test)
    return tuple(chosen)


def neighbour_tests(baseline: TestReport, failing: Sequence[str]) -> tuple[str, ...]:
    """Other failing tests in the same files: nobody asks for them, but what mends them too is likelier right."""
    files = {t.partition("::")[0] for t in failing}
    others = [t for t in baseline.failing if t not in failing and t.partition("::")[0] in files]
    return tuple(others[:_NEIGHBOURS])


def trace(
    worker: TrialWorker, files: Files, failing: Sequence[str], wider: Sequence[str]
) -> tuple[Coverage, ...]:
    """Coverage of some failing and some passing tests."""
    traced = list(files.product)
    tests = [*failing[:_TRACED_FAILING], *wider[:_TRACED_PASSING]]
    return tuple(worker.trace(test, traced) for test in tests) if traced else ()


def suspects_of(
    task: TurnInput,
    files: Files,
    failing: Sequence[TestResult],
    coverage: Sequence[Coverage],
) -> tuple[Suspect, ...]:
    """The ranked suspects of a unit's bug."""
    facts = BugFacts(
        sources=files.product,
        tests=files.tests,
        failing=failing,
        coverage=coverage,
        issue=task.unit.issue.text,
        aimed=task.unit.plan.changes_in,
    )
    return localise(facts)
