"""Modes, lock and risk flags, as the contracts of the three decisions say (SPEC B1, B2, B6)."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from surefoot.errors import EnvironmentBrokenError, SettingsError
from surefoot.policy import Lock, decide_next_action, record_and_verify, resolve_policy
from surefoot.policy.rules import Overrides, RulePolicy
from surefoot.values import AuditSummary, Mode, Spend

STATE = {"phase": "auditing", "iteration": 0}
CLEAN = {"critical": 0, "high": 0, "medium": 0, "ci_pass": True}
LIMITS = {"mode": "auto_solve_full", "can_fix": True, "max_iterations": 3, "max_seconds": 60.0}
START = {"iteration": 0, "elapsed_seconds": 0.0}


def test_an_unknown_mode_is_report_only_with_a_warning() -> None:
    """What is not understood is read in the safest way, and says so."""
    found = resolve_policy("full_send", False, {}, STATE)
    assert (found["mode"], found["can_fix"]) == ("report_only", False)
    assert "full_send" in found["warnings"][0]


@pytest.mark.parametrize("mode", [m.value for m in Mode])
def test_the_lock_stops_every_mode(mode: str) -> None:
    """A lock prevents execution even where the mode is autonomous."""
    found = resolve_policy(mode, True, {}, STATE)
    assert found["hard_stops"]
    assert not any(found[key] for key in ("can_execute", "can_fix", "can_escalate"))


@pytest.mark.parametrize(
    ("flags", "state"),
    [
        ({"allow_everything": True}, STATE),
        ({"allow_network": 1}, STATE),
        ({}, {"phase": "auditing"}),
        ({}, {**STATE, "extra": 1}),
        ({}, {"phase": 1, "iteration": 0}),
    ],
)
def test_missing_unknown_and_mistyped_keys_are_errors(
    flags: dict[str, bool], state: dict[str, object]
) -> None:
    """The contract is held to the key."""
    with pytest.raises(SettingsError):
        resolve_policy("report_only", False, flags, state)


@pytest.mark.parametrize(
    ("summary", "policy", "used", "action"),
    [
        (CLEAN, LIMITS, START, "report"),
        ({**CLEAN, "high": 1, "ci_pass": False}, LIMITS, START, "solve"),
        ({**CLEAN, "critical": 1, "ci_pass": False}, {**LIMITS, "can_fix": False}, START, "report"),
        ({**CLEAN, "medium": 2, "ci_pass": False}, LIMITS, START, "solve"),
        (CLEAN, LIMITS, {**START, "iteration": 3}, "stop"),
        (CLEAN, LIMITS, {**START, "elapsed_seconds": 60.0}, "stop"),
        ({"critical": 0}, LIMITS, START, "stop"),
        ({**CLEAN, "huge": 1}, LIMITS, START, "stop"),
        ({**CLEAN, "ci_pass": "yes"}, LIMITS, START, "stop"),
    ],
)
def test_the_next_action(
    summary: dict[str, object], policy: dict[str, object], used: dict[str, object], action: str
) -> None:
    """Blocking findings start solving in every mode but report_only; malformed input stops."""
    decision = decide_next_action(summary, policy, used)
    assert decision["action"] == action
    assert decision["reason"]


SOLVED = {"status": "solved", "diff_files": ["a.py"], "summary": ""}
GREEN = {"ci_pass": True, "critical": 0, "high": 0}
CHECKING = {"phase": "post_checks", "iteration": 1}


def test_checks_decide_a_round() -> None:
    """Green checks over a change are done; red ones are not."""
    assert record_and_verify(SOLVED, GREEN, CHECKING) == {
        "phase": "complete",
        "done": True,
        "blocker": None,
    }
    assert not record_and_verify(SOLVED, {**GREEN, "ci_pass": False}, CHECKING)["done"]
    assert not record_and_verify({**SOLVED, "diff_files": []}, GREEN, CHECKING)["done"]


def test_output_without_checks_is_a_failure_that_runs_them_again() -> None:
    """A patch that was generated is not a fix that was verified."""
    verdict = record_and_verify(SOLVED, None, CHECKING)
    assert (verdict["phase"], verdict["done"]) == ("post_checks", False)


def test_done_over_failing_checks_is_a_contradiction() -> None:
    """Complete over red is a HIGH finding, not an end."""
    verdict = record_and_verify(
        SOLVED, {**GREEN, "ci_pass": False}, {**CHECKING, "phase": "complete"}
    )
    assert not verdict["done"]
    assert "HIGH" in str(verdict["blocker"])


def test_the_lock_is_read_anew(tmp_path: Path) -> None:
    """A lock that is set while a run goes on is seen at its next step."""
    lock = Lock(tmp_path)
    policy = RulePolicy(mode="auto_solve_full", flags={}, overrides=Overrides(), lock=lock)
    assert policy.resolve().can_execute
    lock.set("release freeze")
    assert policy.locked() == "release freeze"
    assert policy.resolve().hard_stops
    assert lock.clear()
    assert not lock.clear()
    assert policy.resolve().can_execute


def test_a_lock_of_the_checkout_alone_holds_there_until_it_is_unlocked(tmp_path: Path) -> None:
    """One that was made by hand, or before locks were shared; unlocking leaves nothing of either."""
    own, other, shared = (tmp_path / name for name in ("own", "other", "shared"))
    for folder in (own, other, shared):
        folder.mkdir()
    (own / "lock").write_text("by hand\n")
    assert (Lock(own, shared).reason(), Lock(other, shared).reason()) == ("by hand", None)
    Lock(other, shared).set("for all")
    assert (Lock(own, shared).reason(), Lock(other, shared).reason()) == ("for all", "for all")
    assert Lock(own, shared).clear()
    assert not any(list(folder.iterdir()) for folder in (own, other, shared))


def test_a_lock_that_cannot_be_set_is_told_with_the_mend(tmp_path: Path) -> None:
    """E.g. where the place is a file."""
    (tmp_path / "file").touch()
    with pytest.raises(EnvironmentBrokenError, match="make the place writable"):
        Lock(tmp_path, tmp_path / "file").set("x")


def test_a_lock_that_has_no_room_is_none(tmp_path: Path) -> None:
    """What is told not to be set does not lock."""
    lock = Lock(tmp_path)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        with pytest.raises(EnvironmentBrokenError, match="free space"):
            lock.set("x")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert lock.reason() is None


def test_a_lock_that_is_not_text_is_a_lock(tmp_path: Path) -> None:
    """Its bytes that are not UTF-8 are replaced, and it can be opened again."""
    lock = Lock(tmp_path)
    (tmp_path / "lock").write_bytes("d\xe9ploiement\n".encode("latin-1"))
    assert lock.reason() == "d\ufffdploiement"
    assert lock.clear()
    assert lock.reason() is None


def test_a_lock_says_the_same_under_every_locale(tmp_path: Path) -> None:
    """It is written as UTF-8 where the locale would have it otherwise, and where it lacks the characters."""
    program = r"""
import sys
from pathlib import Path
from surefoot.policy import Lock
Lock(Path(sys.argv[1])).set("d\xe9ploiement \u2713")
"""
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    subprocess.run(
        [sys.executable, "-c", program, tmp_path], env={**os.environ, **plain}, check=True
    )
    assert Lock(tmp_path).reason() == "d\xe9ploiement \u2713"


def test_an_issue_is_a_reason_to_solve_a_clean_tree(tmp_path: Path) -> None:
    """A clean audit does not end a run that was given an issue."""
    policy = RulePolicy(
        mode="auto_solve_full", flags={}, overrides=Overrides(), lock=Lock(tmp_path)
    )
    clean = AuditSummary(critical=0, high=0, medium=0, low=0, info=0, ci_pass=True)
    assert policy.next_action(clean, Spend(), asked=True).action == "solve"
    assert policy.next_action(clean, Spend(), asked=False).action == "report"


def test_defaults_of_the_modes(tmp_path: Path) -> None:
    """auto_fix_safe: 3 iterations, 20 min, 5 files; auto_solve_full: 8, 60 min, 40; all can be set."""
    lock = Lock(tmp_path)
    safe = RulePolicy(mode="auto_fix_safe", flags={}, overrides=Overrides(), lock=lock).resolve()
    full = RulePolicy(mode="auto_solve_full", flags={}, overrides=Overrides(), lock=lock).resolve()
    own = RulePolicy(
        mode="auto_solve_full", flags={}, overrides=Overrides(max_iterations=2, time_s=5), lock=lock
    ).resolve()
    assert (safe.ceilings.max_iterations, safe.ceilings.time_s, safe.ceilings.max_files) == (
        3,
        1200,
        5,
    )
    assert (full.ceilings.max_iterations, full.ceilings.time_s, full.ceilings.max_files) == (
        8,
        3600,
        40,
    )
    assert (own.ceilings.max_iterations, own.ceilings.time_s) == (2, 5)
