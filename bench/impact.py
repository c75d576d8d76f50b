"""How much of a real package's suite a guess leaves out, and what it misses.

    python -m bench.impact --seed 1 --count 20
    python -m bench.impact --seed 1 --count 20 --package marshmallow-epoch --watch

Seeded mutants of a package from the index (as `bench.patients` stages it): one comparison, number or return value
changed in a random function. Each gets the guess that a turn gets, the guessed tests and then the whole suite, both run
as the product does, in its sandbox. With `--watch` the suite is watched on the base first, and what that takes is said.
"""

import argparse
import ast
import os
import random
import tempfile
import time
from pathlib import Path

from bench.patients.catalogue import PATIENTS
from bench.patients.stage import python_of, stage
from surefoot.gitops import Repository
from surefoot.gitops.collect import remove_run
from surefoot.gitops.workspace import GitWorkspace, open_workspace
from surefoot.kernel.guess import Guesser, Reach
from surefoot.kernel.impact import missed
from surefoot.sandbox import open_processes
from surefoot.suite import PytestSuite, SuitePlan, detect, nothing_tracked
from surefoot.values import FileEdit, Limits, ReportState, RunId

RUN = RunId(f"bench-impact-{os.getpid()}")
FLIPPED = {"==": "!=", "!=": "==", "<=": "<", ">=": ">", "<": "<=", ">": ">=", "in": "not in"}


def mutants(text: str) -> list[str]:
    """Every text that one small change inside of a function gives."""
    lines = text.encode().splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    data = text.encode()

    def at(line: int, column: int) -> int:
        return starts[line - 1] + column

    found: list[str] = []

    def put(begin: int, end: int, new: bytes) -> None:
        found.append((data[:begin] + new + data[end:]).decode())

    functions = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.FunctionDef)]
    for node in (inner for f in functions for part in f.body for inner in ast.walk(part)):
        match node:
            case ast.Constant(value=int(number)) if not isinstance(number, bool):
                begin, end = at(node.lineno, node.col_offset), node.end_col_offset or 0
                put(begin, at(node.end_lineno or 0, end), str(number + 1).encode())
            case ast.Return(value=ast.expr() as value):
                begin = at(value.lineno, value.col_offset)
                put(begin, at(value.end_lineno or 0, value.end_col_offset or 0), b"None")
            case ast.Compare(left=left, comparators=[right]):
                begin = at(left.end_lineno or 0, left.end_col_offset or 0)
                end = at(right.lineno, right.col_offset)
                sign = data[begin:end].decode().strip(" ()\n\\")
                if sign in FLIPPED:
                    put(begin, end, f" {FLIPPED[sign]} ".encode())
            case _:
                pass
    return found


def measure(
    name: str, workspace: GitWorkspace, suite: PytestSuite, *, seed: int, count: int, watch: bool
) -> None:
    """Print one package's figures."""
    rng, base = random.Random(seed), workspace.base_tree
    with workspace.checkout(base) as root:
        before = suite.run(root)
    assert before.state in (ReportState.COMPLETE, ReportState.COLLECTION_ERROR), before.reason
    guesser, reach = Guesser(workspace=workspace, suite=suite), dict[str, frozenset[str]]()
    if watch:
        began = time.perf_counter()
        seen: Reach = guesser.watch(base)
        reach, took = dict(seen), time.perf_counter() - began
        print(
            f"{name}: {len(reach)} tests watched in {took / before.wall_s:.1f} whole runs",
            flush=True,
        )
    began = time.perf_counter()
    guesser.impact(base, base, before.collected, reach)
    read_s = time.perf_counter() - began
    files = [p for p in workspace.files(base) if p.endswith(".py")]
    product = [p for p in files if not suite.is_test_path(p) and not suite.is_control_path(p)]
    sources = {p: (workspace.read(base, p) or b"").decode() for p in product}
    pool = {p: mutants(t) for p, t in sources.items()}
    pool = {p: texts for p, texts in pool.items() if texts}
    noticed = wrong = selected = all_runs = guessed_s = whole_s = 0.0
    for _ in range(count):
        path = rng.choice(sorted(pool))
        workspace.restore(base)
        workspace.apply([FileEdit(path=path, text=rng.choice(pool[path]))])
        tree = workspace.snapshot()
        impact = guesser.impact(base, tree, before.collected, reach)
        with workspace.checkout(tree) as root:
            some = suite.run(root, impact.tests) if impact.tests else None
        with workspace.checkout(tree) as root:
            whole = suite.run(root)
        assert whole.state in (ReportState.COMPLETE, ReportState.COLLECTION_ERROR), whole.reason
        out = missed(impact, before, whole)
        changed = set(whole.failing) - set(before.failing)
        noticed, wrong = noticed + bool(changed), wrong + len(out)
        selected += len(before.collected if impact.tests is None else impact.tests)
        all_runs += len(before.collected)
        guessed_s, whole_s = guessed_s + (some.wall_s if some else 0), whole_s + whole.wall_s
        if out:
            print(f"  missed {out[:3]} of {len(changed)} after a change in {path}: {impact.reason}")
    print(
        f"{name}: {count} mutants, {noticed:.0f} noticed; {selected:.0f} of {all_runs:.0f} tests selected "
        f"({selected / all_runs:.0%}), {wrong:.0f} missed; {guessed_s / whole_s:.0%} of the seconds; "
        f"imports read in {read_s:.2f} s"
    )


def main() -> None:
    """Stage, and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--package", action="append", choices=[p.name for p in PATIENTS])
    parser.add_argument("--watch", action="store_true")
    args = parser.parse_args()
    for patient in PATIENTS:
        if patient.name not in (args.package or ["boltons-bytes2human"]):
            continue
        checkout = stage(patient)
        with tempfile.TemporaryDirectory() as folder:
            scratch = Path(folder)
            plan = detect(
                checkout,
                python=str(python_of(patient)),
                command=None,
                environ={},
                is_tracked=nothing_tracked,
            )
            assert isinstance(plan, SuitePlan)
            suite = PytestSuite(
                plan,
                open_processes(scratch=scratch),
                original=checkout,
                scratch=scratch,
                limits=Limits(wall_s=300),
            )
            repository, home = Repository.discover(checkout), scratch / "home"
            try:
                with open_workspace(repository, RUN, home=home) as workspace:
                    measure(
                        patient.package,
                        workspace,
                        suite,
                        seed=args.seed,
                        count=args.count,
                        watch=args.watch,
                    )
            finally:
                remove_run(repository, RUN, home)


if __name__ == "__main__":
    main()
