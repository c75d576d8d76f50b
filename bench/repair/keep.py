"""Keep in the repository what is known of a seed: its pool, and the outcomes as far as they have come.

    python -m bench.repair.keep --seed 5077                   # from the cache, all kinds
    python -m bench.repair.keep --seed 5077 --kind natural    # one of them

What is kept, and why, `records.py` says. Outcomes that are kept already stay, but for cases that were worked on anew.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from bench.repair.cases import KINDS, build
from bench.repair.outcome import EVERYBODY, Outcome, key_of, recall
from bench.repair.pool import pool_file
from bench.repair.records import lines_of, outcome_record, pool_record, write
from surefoot.codec import decode, encode


def keep(record: Path, known: Sequence[Outcome]) -> None:
    """Put outcomes into a record, each in place of an older one of its case."""
    kept = {o.case_id: o for o in (decode(Outcome, line) for line in lines_of(record))}
    kept.update((o.case_id, o) for o in known)
    write(record, [encode(o) for o in kept.values()])


def main(argv: Sequence[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.repair.keep", description=__doc__)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--kind", choices=KINDS, action="append", help="default: all kinds")
    parser.add_argument("--count", type=int, default=60, help="cases a kind")
    options = parser.parse_args(argv)
    if pool_file(options.seed).exists():
        write(pool_record(options.seed), pool_file(options.seed).read_bytes().splitlines())
    kinds = options.kind or KINDS
    cases = [c for kind in kinds for c in build(options.seed, kind, options.count).cases]
    for who in EVERYBODY:
        keys = [key_of(case, who) for case in cases]
        known = recall(keys)
        keep(outcome_record(options.seed, who), [known[key] for key in keys if key in known])
        print(f"seed {options.seed}: {len(known)} of {len(cases)} outcomes of {who}")


if __name__ == "__main__":
    main()
