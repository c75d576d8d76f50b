"""What is kept of a seed in the repository is read as if it were in the cache."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from bench.repair import keep, outcome, pool, records

from surefoot.codec import decode, encode


def outcomes() -> list[bytes]:
    """Two of the script and one of Surefoot, as lines."""
    used = {"prompt_tokens": 1, "cached_tokens": 0, "completion_tokens": 1, "model_calls": 1}
    made = []
    for who, key, failed in (("script", "k1", []), ("script", "k2", [3]), ("surefoot", "k4", [])):
        attempt = {
            "claimed": True,
            "status": "complete",
            "reason": "answer 1",
            "solution": "def f(): pass\n",
            "used": {**used, "candidates": 1},
            "idle_s": 1.0,
            "wall_s": 2.0,
        }
        line = json.dumps(
            {
                "key": key,
                "who": who,
                "case_id": key,
                "attempt": attempt,
                "failed_checks": failed,
            }
        )
        made.append(encode(decode(outcome.Outcome, line.encode())))
    return made


def test_recorded_outcomes_are_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside those of this machine, by key, and no others."""
    monkeypatch.setenv("SUREFOOT_BENCH_CACHE", str(tmp_path / "cache"))
    first, second, ours = outcomes()
    records.write(records.outcome_record(3, "script", tmp_path), [first])
    records.write(records.outcome_record(3, "surefoot", tmp_path), [ours])
    records.write(records.pool_record(3, tmp_path), [b"{}"])
    assert list(records.all_outcomes(tmp_path)) == [ours, first]
    assert outcome.recall(["k1", "k2"]) == {}
    monkeypatch.setattr(outcome, "all_outcomes", lambda: records.all_outcomes(tmp_path))
    outcome.remember(decode(outcome.Outcome, second))
    known = outcome.recall(["k1", "k2"])
    assert (known["k1"].solved, known["k2"].false_success) == (True, True)
    assert set(outcome.recall(["k2", "k3"])) == {"k2"}


def test_what_is_kept_stays_beside_what_comes(tmp_path: Path) -> None:
    """Another kind's outcomes are not lost, and a case that was worked on anew is there once."""
    record = records.outcome_record(3, "script", tmp_path)
    first, second, _ = (decode(outcome.Outcome, line) for line in outcomes())
    keep.keep(record, [first])
    anew = replace(first, failed_checks=(1,))
    keep.keep(record, [second, anew])
    kept = [decode(outcome.Outcome, line) for line in records.lines_of(record)]
    assert kept == [anew, second]


def test_a_recorded_pool_is_the_seeds_pool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the cache has none of that seed."""
    monkeypatch.setenv("SUREFOOT_BENCH_CACHE", str(tmp_path / "cache"))
    task = pool.order(3)[0].task_id
    sample = {"task_id": task, "round_no": 0, "body": "    return 1\n", "finished": True}
    record = records.pool_record(3, tmp_path)
    records.write(record, [json.dumps(sample).encode()])
    assert pool.read_pool(3) == ()
    monkeypatch.setattr(pool, "pool_record", lambda seed: records.pool_record(seed, tmp_path))
    assert pool.read_pool(3) == (pool.Sample(**sample),)  # type: ignore[arg-type]
