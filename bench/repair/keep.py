"""Keep in the repository what is known of a seed: its pool, and the outcomes as far as they have come.

    python -m bench.repair.keep --seed 5077    # from the cache

What is kept, and why, `records.py` says.
"""

import argparse
from collections.abc import Sequence

from bench.repair.cases import KINDS, build
from bench.repair.outcome import EVERYBODY, key_of, recall
from bench.repair.pool import pool_file
from bench.repair.records import outcome_record, pool_record, write
from surefoot.codec import encode


def main(argv: Sequence[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.repair.keep", description=__doc__)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, default=60, help="cases a kind")
    options = parser.parse_args(argv)
    if pool_file(options.seed).exists():
        write(pool_record(options.seed), pool_file(options.seed).read_bytes().splitlines())
    cases = [c for kind in KINDS for c in build(options.seed, kind, options.count).cases]
    for who in EVERYBODY:
        keys = [key_of(case, who) for case in cases]
        known = recall(keys)
        kept = [encode(known[key]) for key in keys if key in known]
        write(outcome_record(options.seed, who), kept)
        print(f"seed {options.seed}: {len(known)} of {len(cases)} outcomes of {who}")


if __name__ == "__main__":
    main()
