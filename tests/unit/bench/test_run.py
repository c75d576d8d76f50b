"""The benchmark of repairs, before it begins."""

import os
import subprocess
import sys
from pathlib import Path


def test_without_weights_no_case_counts_as_failed(tmp_path: Path) -> None:
    """It stops and says how to fetch them; nothing is remembered."""
    done = subprocess.run(
        (sys.executable, "-m", "bench.repair.run", "--seed", "1", "--count", "1"),
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "surefoot models pull" in done.stderr
    assert not list(tmp_path.rglob("outcomes.jsonl"))


def test_a_seed_without_a_pool_is_no_empty_table(tmp_path: Path) -> None:
    """Its natural bugs are not there yet: it says how to sample them."""
    done = subprocess.run(
        (sys.executable, "-m", "bench.repair.run", "--seed", "1", "--kind", "natural", "--known"),
        env={**os.environ, "SUREFOOT_BENCH_CACHE": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "bench.repair.pool --seed 1" in done.stderr
