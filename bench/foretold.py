"""How often the embedded model foretells what a call gives, where a right function and a wrong one differ, and which value it finds likelier.

    python -m bench.foretold --seed 2903 --count 60

Calls are checks of the repair benchmark's cases that the wrong function fails and no visible check asks for.
"""

import argparse
import ast
from collections import Counter
from collections.abc import Sequence

from bench.local_model import metered
from bench.repair.cases import REPAIRS, Case, build
from bench.repair.grade import grade
from bench.repair.tasks import Check, rng
from surefoot.decisions.foretold_value import ValueQuestion, foretell
from surefoot.decisions.gap_fill import fill_gaps
from surefoot.execute.repair.foretelling import LONGEST, word_of
from surefoot.execute.repair.graft import head_of
from surefoot.execute.source import parse, units
from surefoot.kernel.ports import Asker, Notebook
from surefoot.values import Gap


def calls_of(case: Case) -> list[tuple[str, str, str]]:
    """Calls that the wrong function fails, each with the right value and the wrong one."""
    shown = {check.source for check in case.visible}
    asked = [c for c in case.hidden if c.source not in shown and not c.setup]
    found = []
    for check, verdict in zip(asked, grade(case.solution, case.entry, asked), strict=True):
        call = _call(check)
        if verdict.returned and not verdict.passed and verdict.expected and call is not None:
            found.append((call, verdict.expected, verdict.got))
    return [f for f in found if len(f[0]) <= LONGEST]


def _call(check: Check) -> str | None:
    match ast.parse(check.source).body[0]:
        case ast.Assert(test=ast.Compare(left=ast.Call() as call, ops=[ast.Eq()])):
            return ast.unparse(call)
        case _:
            return None


def question(case: Case, call: str) -> ValueQuestion:
    """As the search asks it, without a failing check."""
    source = parse("solution.py", case.solution)
    assert source is not None
    unit = next(u for u in units(source) if u.name == case.entry)
    return ValueQuestion(
        name=case.entry, head=head_of(unit.text), context="", failure="", call=call
    )


def likelier_by(
    asked: ValueQuestion, values: tuple[str, str], asker: Asker, notebook: Notebook
) -> float:
    """Nats by which the first value is likelier than the other in an assertion below the function's head."""
    before = f"{asked.head.rstrip()}\n    ...\n\n\nassert {asked.call} == "
    gaps = [Gap(before=before, after="\n", filled=value) for value in values]
    one, other = fill_gaps(gaps, asker, notebook)
    assert one.logprob is not None
    assert other.logprob is not None
    return one.logprob - other.logprob


def main(argv: Sequence[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.foretold", description=__doc__)
    parser.add_argument("--seed", type=int, required=True, help="the cases are made from it")
    parser.add_argument("--kind", choices=REPAIRS, default="mutants")
    parser.add_argument("--count", type=int, default=60, help="cases")
    options = parser.parse_args(argv)
    asker, journal = metered()
    told: Counter[str] = Counter()
    likelier = 0
    for case in build(options.seed, options.kind, options.count).cases:
        calls = calls_of(case)
        if not calls:
            continue
        call, right, wrong = rng("foretold", options.seed, case.case_id).choice(calls)
        asked = question(case, call)
        (said,) = foretell([asked], asker, journal)
        word = word_of(said.text)
        kind = {word_of(right): "right", word_of(wrong): "wrong"}.get(word, "neither")
        told[kind if word is not None else "no value"] += 1
        by = likelier_by(asked, (right, wrong), asker, journal)
        likelier += by > 0
        print(
            f"{case.case_id} {call}: {said.text} [{kind}], {right} by {by:.1f} nats likelier than {wrong}",
            flush=True,
        )
    print(f"{told.total()} calls: {dict(told)}; the right value is likelier {likelier} times")


if __name__ == "__main__":
    main()
