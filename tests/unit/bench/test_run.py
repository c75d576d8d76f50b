"""The benchmark of repairs, before it begins."""

import os
import re
import subprocess
import sys
from pathlib import Path


def run(*arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    """The benchmark with seed 1, as a user calls it."""
    return subprocess.run(
        (sys.executable, "-m", "bench.repair.run", "--seed", "1", *arguments),
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=False,
    )


def test_without_weights_no_case_counts_as_failed(tmp_path: Path) -> None:
    """It stops and says how to fetch them; nothing is remembered."""
    done = run("--count", "1", XDG_CACHE_HOME=str(tmp_path))
    assert done.returncode == 1
    assert "surefoot models pull" in done.stderr
    assert not list(tmp_path.rglob("outcomes.jsonl"))


def test_a_seed_without_a_pool_is_no_empty_table(tmp_path: Path) -> None:
    """Its natural bugs are not there yet: it says how to sample them."""
    done = run("--kind", "natural", "--known", SUREFOOT_BENCH_CACHE=str(tmp_path))
    assert done.returncode == 1
    assert "bench.repair.pool --seed 1" in done.stderr


def test_a_pool_that_gives_enough_asks_no_model(tmp_path: Path) -> None:
    """The kept samples of a seed give three natural bugs, so that nothing more is sampled, without weights at that."""
    done = subprocess.run(
        (sys.executable, "-m", "bench.repair.pool", "--seed", "350077", "--count", "3"),
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path), "SUREFOOT_BENCH_CACHE": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "350077: 0 new samples" in done.stdout, done.stderr


def test_fewer_cases_than_wanted_are_told(tmp_path: Path) -> None:
    """A seed that gives no more says so above its table."""
    asked = ("--kind", "parameters", "--count", "90", "--known")
    done = run(*asked, SUREFOOT_BENCH_CACHE=str(tmp_path))
    assert re.search(r"seed 1, [1-8]\d of 90 cases", done.stdout), done.stderr
