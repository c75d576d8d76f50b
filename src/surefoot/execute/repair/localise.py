"""Where a bug may be: functions ranked by traceback, coverage spectrum, names in the issue, and imports of the test.

Pure: what was run (failures, coverage) comes in as values. Ochiai is the similarity that did best for this in
Abreu, Zoeteweij, van Gemund, "On the accuracy of spectrum-based fault localization" (2007).
"""

import ast
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Final

from surefoot.execute.source import (
    CodeUnit,
    Source,
    docstring_of,
    last_name,
    node_of,
    unit_nodes,
    units,
)
from surefoot.kernel.ports import Coverage
from surefoot.values import TestResult

_FLOOR = 0.1
_SPECTRUM = 1.5
"""What was run tells more than what was named: a bug is often two calls below the function that a test calls."""
_MOST_FIELDS = 10
_AIMED = 0.2
"""For each suspect of a file that the plan names: less than a name of its own in the issue."""
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class BugFacts:
    """What is known before the search."""

    sources: Mapping[str, Source]
    """Product files that parse, by path."""
    tests: Mapping[str, Source]
    """Files of the failing tests, by path."""
    failing: Sequence[TestResult]
    coverage: Sequence[Coverage] = ()
    issue: str = ""
    aimed: Sequence[str] = ()
    """Files that the plan's change is aimed at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """A unit that may hold the bug."""

    path: str
    unit: CodeUnit | None
    """None for a module's own statements."""
    score: float
    lines: Mapping[int, float]
    """Suspicion by line of the file, 0..1; a line that is missing was not run by a failing test."""

    def suspicion(self, line: int) -> float:
        """How suspicious a line is; never 0, since coverage can be blind."""
        return max(self.lines.get(line, 0.0), _FLOOR) if self.lines else 0.5

    @property
    def key(self) -> str:
        """A name that is unique in the repository."""
        return f"{self.path}::{self.unit.key if self.unit else ''}"


def localise(facts: BugFacts) -> tuple[Suspect, ...]:
    """Suspects, most suspicious first; order is total, so that the same facts give the same list."""
    spectrum = ochiai(facts.coverage)
    called = called_by(facts.tests.values(), [r.test_id for r in facts.failing])
    words = frozenset(_WORD.findall(facts.issue))
    framed = _framed(facts.failing)
    found: list[Suspect] = []
    for path, source in facts.sources.items():
        lines = spectrum.get(path, {})
        inside = [_unit_suspect(unit, lines, framed, called, words) for unit in units(source)]
        own = _module_suspect(source, lines, framed, words)
        # Where it is seen what ran, a file that is named makes nothing else of it suspect.
        inside = [s for s in inside if s.score > 0 or (path in facts.aimed and not spectrum)]
        more = _AIMED if path in facts.aimed else 0.0
        whole = inside if own is None else [*inside, own]
        found.extend(replace(s, score=s.score + more) for s in whole)
    return tuple(sorted(found, key=lambda s: (-s.score, s.path, _place(s))))


def _place(suspect: Suspect) -> int:
    return suspect.unit.first_line if suspect.unit else 0


def ochiai(coverage: Sequence[Coverage]) -> Mapping[str, Mapping[int, float]]:
    """Suspicion of each line that a failing test ran: 1 when only failing tests run it."""
    failed_total = sum(not c.passed for c in coverage)
    failed: dict[tuple[str, int], int] = {}
    passed: dict[tuple[str, int], int] = {}
    for run in coverage:
        counts = passed if run.passed else failed
        for path, lines in run.lines.items():
            for line in lines:
                counts[path, line] = counts.get((path, line), 0) + 1
    result: dict[str, dict[int, float]] = {}
    for (path, line), count in failed.items():
        both = count + passed.get((path, line), 0)
        result.setdefault(path, {})[line] = count / math.sqrt(failed_total * both)
    return result


def _unit_suspect(
    unit: CodeUnit,
    spectrum: Mapping[int, float],
    framed: Mapping[tuple[str, int], float],
    called: frozenset[str],
    words: frozenset[str],
) -> Suspect:
    body = range(unit.first_line, unit.last_line + 1)
    lines = {line: spectrum[line] for line in body if line in spectrum}
    # The `def` line runs when the module is imported; it says nothing about the unit.
    inner = [v for line, v in lines.items() if line > unit.first_line]
    score = _SPECTRUM * max(inner, default=0.0)
    score += max((framed.get((unit.path, line), 0.0) for line in body), default=0.0)
    if unit.name in called:
        score += 0.15
    if unit.name in words and not unit.name.startswith("__"):
        score += 0.4
    if unit.class_name is not None and unit.class_name in words:
        score += 0.1
    return Suspect(path=unit.path, unit=unit, score=score, lines=lines)


def _module_suspect(
    source: Source,
    spectrum: Mapping[int, float],
    framed: Mapping[tuple[str, int], float],
    words: frozenset[str],
) -> Suspect | None:
    """A module's own constants and tables: the last resort, unless the traceback ends there."""
    inside = {n for u in units(source) for n in range(u.first_line, u.last_line + 1)}
    lines = {line: v for line, v in spectrum.items() if line not in inside}
    score = max(
        (v for (path, n), v in framed.items() if path == source.path and n not in inside),
        default=0.0,
    )
    if not score and not lines:
        return None
    score += 0.15
    if any(isinstance(s, ast.Assign) and _targets(s) & words for s in source.tree.body):
        score += 0.3
    return Suspect(path=source.path, unit=None, score=score, lines=lines)


def _targets(statement: ast.Assign) -> set[str]:
    return {t.id for t in statement.targets if isinstance(t, ast.Name)}


def _framed(failing: Sequence[TestResult]) -> Mapping[tuple[str, int], float]:
    """Weight of each place that a traceback names; the innermost frame weighs most."""
    found: dict[tuple[str, int], float] = {}
    for result in failing:
        for depth, frame in enumerate(reversed(result.frames)):
            place = (frame.path, frame.line)
            found[place] = max(found.get(place, 0.0), 0.4 / (1 + depth))
    return found


def called_by(tests: Iterable[Source], ids: Iterable[str]) -> frozenset[str]:
    """Functions and classes that tests call by name themselves."""
    wanted = {function_of(i) for i in ids}
    found: set[str] = set()
    for source in tests:
        for unit, node in unit_nodes(source):
            if (source.path, unit.name) in wanted:
                found.update(called_in(node))
    return frozenset(found)


def function_of(test_id: str) -> tuple[str, str]:
    """Path and function of a test; those of one name in two classes, and all rows of a table, are one."""
    path, _, name = test_id.partition("::")
    return path, name.partition("[")[0].rpartition("::")[2]


def called_in(node: ast.AST) -> Iterator[str]:
    """Last names of everything called below a node, in order of place."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Call) and (name := last_name(inner.func)):
            yield name


# --- files that a test can reach -----------------------------------------------------------------


def imported_paths(source: Source, paths: Iterable[str]) -> tuple[str, ...]:
    """Files of `paths` that a file imports directly, wherever the package root is."""
    modules: dict[str, None] = {}
    beside: set[str] = set()
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Import):
            modules.update(dict.fromkeys(alias.name for alias in node.names))
        elif isinstance(node, ast.ImportFrom) and node.module:
            modules.setdefault(node.module)
            modules.update(dict.fromkeys(f"{node.module}.{alias.name}" for alias in node.names))
        elif isinstance(node, ast.ImportFrom):
            beside.update(_beside(source.path, node))
    ends = [
        end
        for m in modules
        for end in (f"{m.replace('.', '/')}.py", f"{m.replace('.', '/')}/__init__.py")
    ]
    return tuple(
        p for p in paths if p in beside or any(p == end or p.endswith("/" + end) for end in ends)
    )


def _beside(path: str, node: ast.ImportFrom) -> Iterator[str]:
    """What `from . import a` in a file may mean: the package, a module of it, or a package inside."""
    folders = PurePosixPath(path).parents
    if node.level > len(folders):
        return
    folder = folders[node.level - 1]
    yield str(folder / "__init__.py")
    for alias in node.names:
        yield str(folder / f"{alias.name}.py")
        yield str(folder / alias.name / "__init__.py")


_ENTRY: Final = re.compile(r"(?P<path>.+?):(?P<line>\d+) (?P<told>.+)", re.DOTALL)


def values_in(suspect: Suspect, traced: Sequence[str], most: int) -> tuple[str, ...]:
    """`name = value` in a suspect's lines, from a trace's `path:line name = value`; the first and the last ones."""
    unit = suspect.unit
    if unit is None:
        return ()
    found = [m for m in map(_ENTRY.fullmatch, traced) if m is not None]
    told = [
        m["told"]
        for m in found
        if m["path"] == suspect.path and unit.first_line <= int(m["line"]) <= unit.last_line
    ]
    if len(told) <= most:
        return tuple(told)
    half = most // 2
    return (*told[:half], "...", *told[-half:])


# --- what is needed to understand a unit ---------------------------------------------------------


def context_of(source: Source, unit: CodeUnit, others: Sequence[Source] = ()) -> str:
    """Signatures of what a unit calls, its class, the classes that it names, and the constants that it reads."""
    node = node_of(source, unit)
    if node is None:
        return ""
    called = set(called_in(node))
    names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    parts = [*_constants(source, names), *_class_head(source, unit)]
    own = unit.class_name.rpartition(".")[2] if unit.class_name else ""
    for other in (source, *others):
        parts.extend(_fields(other, names - {own}))
        for found, inner in unit_nodes(other):
            mine = other is source and found.first_line == unit.first_line
            if found.name in called and not mine and not found.name.startswith("__"):
                parts.append(outline(other, found, inner))
    return "\n".join(dict.fromkeys(parts))


def outline(source: Source, unit: CodeUnit, node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """A function's signature and the first line of its docstring."""
    start = source.start(node)
    head = source.text[start : source.start(node.body[0])].rstrip()
    head = " ".join(head.split())
    text = docstring_of(node).strip().partition("\n")[0]
    owner = f"{unit.class_name}: " if unit.class_name else ""
    return f"# {owner}{head} {text}".rstrip()


def _constants(source: Source, names: set[str]) -> Iterator[str]:
    for statement in source.tree.body:
        if isinstance(statement, ast.Assign) and _targets(statement) & names:
            text = source.segment(statement)
            yield text if len(text) <= 200 else text[:200] + " ..."  # noqa: PLR2004  # a long table


def _fields(source: Source, names: set[str]) -> Iterator[str]:
    """The head of each named class with its decorators and fields: what its objects hold, and whether they may change."""
    for node in source.tree.body:
        if isinstance(node, ast.ClassDef) and node.name in names:
            rows = [f"@{source.segment(d)}" for d in node.decorator_list]
            rows.append(source.lines(node.lineno, node.lineno).strip())
            fields = [s for s in node.body if isinstance(s, ast.AnnAssign | ast.Assign)]
            rows.extend("    " + source.segment(s) for s in fields[:_MOST_FIELDS])
            if len(rows) > 1:
                yield "\n".join(rows)


def _class_head(source: Source, unit: CodeUnit) -> Iterator[str]:
    if unit.class_name is None:
        return
    for node in ast.walk(source.tree):
        if isinstance(node, ast.ClassDef) and node.name == unit.class_name.rpartition(".")[2]:
            head = source.lines(node.lineno, node.lineno).strip()
            yield head
            for inner in node.body:
                if isinstance(inner, ast.AnnAssign | ast.Assign):
                    yield "    " + source.segment(inner)
            if unit.name != "__init__":
                init = next(
                    (
                        u
                        for u, _ in unit_nodes(source)
                        if u.qualname == f"{unit.class_name}.__init__"
                    ),
                    None,
                )
                if init is not None:
                    yield "\n".join("    " + row for row in init.text.splitlines()[:20])
