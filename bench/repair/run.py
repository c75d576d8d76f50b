"""The repair benchmark.

    python -m bench.repair.run --seed 1 --kind mutants --count 60 --who surefoot,script

Prints a table a kind. Interrupt it whenever you like: what is done is remembered by hash of code and case.
"""

import argparse
import contextlib
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.local_model import embedded
from bench.paths import cache_dir
from bench.repair import agent, baseline, greedy
from bench.repair.cases import KINDS, REPAIRS, Case, Kind, build
from bench.repair.grade import grade
from bench.repair.outcome import EVERYBODY, Attempt, Outcome, Who, key_of, recall, remember
from bench.repair.table import HEADER, false_success, ratio, row
from surefoot.errors import ModelUnavailableError


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """A folder for one case, outside /tmp, which sandboxes cover."""
    root = cache_dir() / "work"
    root.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=root, ignore_cleanup_errors=True) as name:
        yield Path(name)


def _attempt(case: Case, who: Who, seed: int) -> Attempt:
    with scratch() as folder:
        if who == "surefoot":
            return agent.attempt(case, folder, seed=seed)
        if case.kind == "parameters":
            return greedy.attempt(case, embedded(), seed=seed)
        return baseline.attempt(case, folder, embedded(), seed=seed)


def judge(case: Case, who: Who, made: Attempt) -> Outcome:
    """Grade an attempt on all checks, in a fresh process."""
    failed: tuple[int, ...] = ()
    if made.claimed:
        verdicts = grade(made.solution, case.entry, case.hidden)
        failed = tuple(n for n, verdict in enumerate(verdicts) if not verdict.passed)
    return Outcome(
        key=key_of(case, who), who=who, case_id=case.case_id, attempt=made, failed_checks=failed
    )


def work(cases: Sequence[Case], who: Who, seed: int, *, only_known: bool) -> list[Outcome]:
    """Outcomes of all cases, known ones recalled, the others worked on now (or left out)."""
    known = recall(key_of(case, who) for case in cases)
    outcomes = []
    for number, case in enumerate(cases, 1):
        outcome = known.get(key_of(case, who))
        if outcome is None and not only_known:
            outcome = judge(case, who, _attempt(case, who, seed))
            remember(outcome)
            _say(number, len(cases), outcome)
        if outcome is not None:
            outcomes.append(outcome)
    return outcomes


def _say(number: int, of: int, outcome: Outcome) -> None:
    word = "solved" if outcome.solved else "FALSE" if outcome.false_success else "-"
    made = outcome.attempt
    print(
        f"{number}/{of} {outcome.who} {outcome.case_id} {word} {made.status} "
        f"{made.idle_s:.0f} s idle, {made.wall_s:.0f} s wall: {made.reason[:80]}",
        flush=True,
    )


def _bench(kind: Kind, options: argparse.Namespace) -> list[str]:
    made = build(options.seed, kind, options.count)
    if not made.cases:
        raise SystemExit(
            f"seed {options.seed} has no {kind} cases: `python -m bench.repair.pool --seed {options.seed}` "
            "samples what they are made from"
        )
    by_case = {case.case_id: case for case in made.cases}
    lines = [f"\n{kind}, seed {options.seed}, {len(made.cases)} of {options.count} cases", HEADER]
    done: dict[Who, list[Outcome]] = {}
    for who in EVERYBODY:
        if who in options.who:
            done[who] = work(made.cases, who, options.seed, only_known=options.known)
            lines.append(row(who, done[who]))
    if len(done) == 2:
        lines.append(ratio(done["surefoot"], done["script"]))
    if options.list_false:
        false = [o for outcomes in done.values() for o in outcomes if o.false_success]
        lines += [false_success(by_case[o.case_id], o) for o in false]
    return lines


def _require_model() -> None:
    """Stop before the first case where the weights are missing: a run without them says nothing of the case."""
    try:
        embedded()
    except ModelUnavailableError as problem:
        raise SystemExit(str(problem)) from problem


def _people(text: str) -> list[str]:
    names = text.split(",")
    if not set(names) <= set(EVERYBODY):
        raise argparse.ArgumentTypeError(f"{text!r}: takes {','.join(EVERYBODY)}, or one of them")
    return names


def main(argv: Sequence[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.repair.run", description=__doc__)
    parser.add_argument("--seed", type=int, required=True, help="the cases are made from it")
    parser.add_argument(
        "--kind", choices=KINDS, action="append", help="default: both kinds of bugs"
    )
    parser.add_argument("--count", type=int, default=60, help="cases a kind")
    parser.add_argument("--who", type=_people, default=list(EVERYBODY), help="surefoot,script")
    parser.add_argument("--known", action="store_true", help="print what is known, run nothing")
    parser.add_argument("--list-false", action="store_true", help="show each false success")
    options = parser.parse_args(argv)
    if not options.known:
        _require_model()
    tables = [line for kind in options.kind or REPAIRS for line in _bench(kind, options)]
    print("\n".join(tables))


if __name__ == "__main__":
    main()
