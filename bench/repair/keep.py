"""Keep in the repository what is known of a seed and does not change with the product.

    python -m bench.repair.keep --seed 5077    # from the cache, as far as the script has come

What is kept, and why, `records.py` says.
"""

import argparse
from collections.abc import Sequence

from bench.repair.cases import REPAIRS, build
from bench.repair.outcome import key_of, recall
from bench.repair.pool import pool_file
from bench.repair.records import pool_record, script_record, write
from surefoot.codec import encode


def main(argv: Sequence[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.repair.keep", description=__doc__)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, default=60, help="cases a kind")
    options = parser.parse_args(argv)
    if pool_file(options.seed).exists():
        write(pool_record(options.seed), pool_file(options.seed).read_bytes().splitlines())
    cases = [c for kind in REPAIRS for c in build(options.seed, kind, options.count).cases]
    keys = [key_of(case, "script") for case in cases]
    known = recall(keys)
    write(script_record(options.seed), [encode(known[key]) for key in keys if key in known])
    print(f"seed {options.seed}: {len(known)} of {len(cases)} outcomes of the script")


if __name__ == "__main__":
    main()
