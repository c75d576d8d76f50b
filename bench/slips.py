"""How often the embedded model finds another line far likelier where a fault was left that no visible check shows, and where none was.

    python -m bench.slips --seed 2903 --count 60

Faults are mutants of the repair benchmark's functions that pass a case's visible checks and not all of them. A line counts
as told where the function with the model's own line in its place passes the visible checks as well.
"""

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence

from bench.local_model import metered
from bench.repair.cases import Case, build
from bench.repair.grade import grade
from bench.repair.mutate import draw
from bench.repair.tasks import Check, Task, load, rng
from surefoot.execute.repair.graft import head_of
from surefoot.execute.repair.infilling import Infilling
from surefoot.execute.repair.localise import Suspect
from surefoot.execute.repair.mutate import Mutation
from surefoot.execute.repair.views import Shown
from surefoot.execute.source import Source, apply, parse, units

DRAWS = 40
"""Mutants drawn of one function."""
FAULTS = 2
"""Of them that are asked about, at most."""


def passes(text: str, case: Case, checks: Sequence[Check]) -> bool:
    """Whether a file passes checks of a case."""
    return all(verdict.passed for verdict in grade(text, case.entry, checks))


def left(case: Case, task: Task, seed: int) -> Iterator[str]:
    """Functions with a fault that no visible check shows."""
    chance = rng("slips", seed, case.case_id)
    drawn = (draw(task, chance) for _ in range(DRAWS))
    for text in dict.fromkeys(mutant.source for mutant in drawn if mutant is not None):
        if passes(text, case, case.visible) and not passes(text, case, case.hidden):
            yield text


def told(text: str, case: Case, infilling: Infilling) -> list[str]:
    """The file with each line that the model finds far likelier in its place, as far as it passes the visible checks."""
    source = parse("solution.py", text)
    assert source is not None
    shown = _shown(source, case)
    body = range(head_of(shown.code).count("\n") + 1, shown.code.count("\n") + 1)

    def counts(slip: Mutation) -> bool:
        new = apply(text, slip.edits)
        return parse("s.py", new) is not None and passes(new, case, case.visible)

    return [apply(text, s.edits) for s in infilling.slips(shown, source, body, counts)]


def _shown(source: Source, case: Case) -> Shown:
    unit = next(u for u in reversed(units(source)) if u.name == case.entry)
    suspect = Suspect(path=source.path, unit=unit, score=1.0, lines={})
    return Shown(suspect=suspect, name=unit.name, code=unit.text, context="", documented=True)


def main(argv: Sequence[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.slips", description=__doc__)
    parser.add_argument("--seed", type=int, required=True, help="the cases are made from it")
    parser.add_argument("--count", type=int, default=60, help="cases")
    options = parser.parse_args(argv)
    infilling = Infilling(*metered())
    tasks = {task.task_id: task for task in load()[0]}
    seen = Counter[str]()
    for case in build(options.seed, "mutants", options.count).cases:
        task = tasks[case.task_id]
        right = task.prompt + task.canonical
        faults = [
            text for _, text in zip(range(FAULTS), left(case, task, options.seed), strict=False)
        ]
        for kind, text in [("right", right), *(("fault", fault) for fault in faults)]:
            found = told(text, case, infilling)
            good = [new for new in found if passes(new, case, case.hidden)]
            seen[kind] += 1
            seen[f"{kind} told"] += bool(found)
            seen[f"{kind} good"] += bool(good)
            seen[f"{kind} bad"] += len(good) < len(found)
            print(
                f"{case.case_id} {kind}: {len(found)} told, {len(good)} of them right", flush=True
            )
    print(
        f"{seen['fault']} faults that no visible check shows: a line is told in {seen['fault told']}, "
        f"the right one in {seen['fault good']}; {seen['right']} right functions: a line is told in "
        f"{seen['right told']}, one that breaks the function in {seen['right bad']}"
    )


if __name__ == "__main__":
    main()
