"""What a turn knows before it searches: files, tests, what they ran, and the suspects."""

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

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
    reached = _reached(workspace, tree, list(tests.values()), product)
    if not reached:
        reached = _parsed(workspace, tree, product[:_MAX_FILES])
    subjects = subjects_of(tests, failing, reached.values())
    others = [p for p in python if is_test(p) and p not in tests][:_MAX_FILES]
    naming = _naming({p: workspace.read(tree, p) for p in others} if subjects else {}, subjects)
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


def _reached(
    workspace: Workspace, tree: TreeId, tests: Sequence[Source], product: Sequence[str]
) -> dict[str, Source]:
    """Product files that the tests import, directly or through each other, nearest first."""
    found: dict[str, Source] = {}
    queue = list(tests)
    while queue and len(found) < _MAX_FILES:
        here = queue.pop(0)
        for path in imported_paths(here, product):
            if path in found:
                continue
            source = read_source(workspace, tree, path)
            if source is not None:
                found[path] = source
                queue.append(source)
    return found


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
        spent += usual.get(test, 0.0)
        if spent > most_s:
            break
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
