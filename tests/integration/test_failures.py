"""Every gate decides, and every class of failure comes to a stated end (SPEC C5)."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import pytest
from tests.integration.test_run import (
    FIXED,
    HALF_FIXED,
    TESTS,
    Bench,
    Reckoned,
    Work,
    fails,
    fresh,
    raises,
    writes,
)

from surefoot.errors import GitError, SandboxError, UsageError
from surefoot.explain import tell
from surefoot.kernel.failures import REPROCESSING
from surefoot.kernel.gatekeeper import decide
from surefoot.kernel.ports import GateInput, Workspace
from surefoot.kernel.state import fold
from surefoot.policy.rules import Overrides
from surefoot.values import (
    CommitId,
    FailureClass,
    GateName,
    GateOutcome,
    GateResult,
    ModelFault,
    RunStatus,
    TreeId,
)

__all__ = ["fresh"]


@pytest.fixture
def bench(fresh: Callable[[], Bench]) -> Bench:
    """A repository with two bugs, whose tests need no process."""
    made = fresh()
    made.suite = Reckoned()
    made.overrides = Overrides(max_iterations=20)
    return made


@dataclass(frozen=True)
class Stub:
    """A gate that answers what it is told to."""

    name: GateName
    answer: Callable[[], Any]

    def evaluate(self, state: GateInput) -> GateResult:
        """Say it, whatever it is."""
        return cast("GateResult", self.answer())


def broken() -> None:
    raise RuntimeError("gate is broken")


def leaves() -> None:
    raise SystemExit(0)


def says_of(name: GateName, **changes: Any) -> Callable[[], GateResult]:
    result = GateResult(gate=name, outcome=GateOutcome.HARD_FAIL, failure=None, reason="no")
    return lambda: replace(result, **changes)


def misbehaviour(name: GateName) -> Mapping[str, tuple[Callable[[], Any], str]]:
    """What a gate may do instead of deciding, and what the record must say of it."""
    passes = says_of(name, outcome=GateOutcome.PASS)
    other = next(n for n in GateName if n is not name)
    return {
        "always hard-fail": (says_of(name), "no"),
        "throws": (broken, "RuntimeError: gate is broken"),
        "ends the process": (leaves, "SystemExit"),
        "says nothing": (lambda: None, "gave no decision but None"),
        "says true": (lambda: True, "gave no decision but True"),
        "prints nonsense": (lambda: "PASS", "gave no decision but"),
        "speaks for another gate": (
            lambda: replace(passes(), gate=other),
            "cannot be read",
        ),
        "passes in another word": (lambda: replace(passes(), outcome="pass"), "cannot be read"),
        "passes with a failure": (
            lambda: replace(passes(), failure=FailureClass.CODE),
            "with the failure",
        ),
    }


@pytest.mark.parametrize("kind", list(misbehaviour(GateName.POLICY)))
@pytest.mark.parametrize("name", list(GateName))
def test_what_is_no_decision_has_failed(name: GateName, kind: str) -> None:
    """Whatever a gate does instead of deciding, its result is a hard failure with a class and a reason."""
    answer, told = misbehaviour(name)[kind]
    result = decide(Stub(name, answer), name, cast("GateInput", None), deadline_s=5)
    assert (result.gate, result.outcome) == (name, GateOutcome.HARD_FAIL)
    assert result.failure is FailureClass.UNKNOWN
    assert told in result.reason


@pytest.mark.parametrize("kind", ["always hard-fail", "throws", "prints nonsense"])
@pytest.mark.parametrize("name", list(GateName))
def test_a_gate_that_does_not_decide_stops_the_unit(
    bench: Bench, name: GateName, kind: str
) -> None:
    """Replaced by one that always fails, throws or says nonsense, each of the six fails the unit, in words."""
    answer, told = misbehaviour(name)[kind]
    bench.gates[name] = Stub(name, answer)
    assert bench.run(writes("calc.py", FIXED)) is RunStatus.BLOCKED
    ended(bench, told)
    assert bench.turns[-1].gate is name


@pytest.mark.parametrize("name", list(GateName))
def test_a_gate_that_hangs_has_failed(bench: Bench, name: GateName) -> None:
    """A gate that does not come back within its deadline fails the unit."""
    free = threading.Event()
    bench.gates[name] = Stub(name, free.wait)
    bench.gate_s = 0.2
    try:
        assert bench.run(writes("calc.py", FIXED)) is RunStatus.BLOCKED
    finally:
        free.set()
    ended(bench, "did not decide within 0.2 s")


def ended(bench: Bench, told: str) -> None:
    """The run and its unit have ended, with the reason in turn, state and story, and nothing is left open."""
    state = bench.journal.state
    (unit,) = state.units.values()
    assert unit.ended == "blocked"
    assert unit.blocker
    assert state.status is RunStatus.BLOCKED
    assert state.turn is None
    assert state == fold(bench.ledger.events())
    assert all(turn.reason for turn in bench.turns)
    assert told in " ".join([bench.reason, unit.blocker, *(t.reason for t in bench.turns)])
    assert told in "\n".join(tell(tuple(bench.ledger.events())))
    tree = state.head_tree
    assert tree == (bench.turns[-1].tree if bench.turns else tree)


class Stuck:
    """A worktree whose commits go wrong."""

    def __init__(self, inner: Workspace, error: Exception | None) -> None:
        self._inner, self._error = inner, error

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def commit(self, tree: TreeId, message: str, trailers: Mapping[str, str]) -> CommitId:
        if self._error is not None:
            raise self._error
        return CommitId("0" * 40)


def git_breaks(bench: Bench) -> Work:
    error = GitError(("git", "commit-tree"), 128, "no space left on device")
    bench.wrap = lambda inner: cast("Workspace", Stuck(inner, error))
    return writes("calc.py", FIXED)


def branch_stays(bench: Bench) -> Work:
    bench.wrap = lambda inner: cast("Workspace", Stuck(inner, None))
    return writes("calc.py", FIXED)


def locked(bench: Bench) -> Work:
    bench.gates[GateName.POLICY] = Stub(
        GateName.POLICY, says_of(GateName.POLICY, failure=FailureClass.POLICY)
    )
    return writes("calc.py", FIXED)


def no_contract(bench: Bench) -> Work:
    real = bench.gates[GateName.INPUT]

    class Blind:
        name = GateName.INPUT

        def evaluate(self, state: GateInput) -> GateResult:
            bare = replace(state.unit, plan=replace(state.unit.plan, verification=()))
            return real.evaluate(replace(state, unit=bare))

    bench.gates[GateName.INPUT] = Blind()
    return writes("calc.py", FIXED)


def untested(bench: Bench) -> Work:
    real = bench.gates[GateName.VERIFICATION]

    class Blind:
        name = GateName.VERIFICATION

        def evaluate(self, state: GateInput) -> GateResult:
            return real.evaluate(replace(state, evidence=()))

    bench.gates[GateName.VERIFICATION] = Blind()
    return writes("calc.py", FIXED)


def for_a_person(bench: Bench) -> Work:
    bench.gates[GateName.ARTIFACT] = Stub(
        GateName.ARTIFACT,
        says_of(
            GateName.ARTIFACT,
            outcome=GateOutcome.MANUAL_ATTENTION,
            failure=FailureClass.MANUAL_ATTENTION,
        ),
    )
    return writes("calc.py", FIXED)


def odd_gate(bench: Bench) -> Work:
    bench.gates[GateName.ARTIFACT] = Stub(GateName.ARTIFACT, broken)
    return writes("calc.py", FIXED)


def tries(*texts: str) -> Callable[[Bench], Work]:
    """Another text each turn, so that only the class of failure can end the unit."""

    def inject(_bench: Bench) -> Work:
        left = list(texts)
        return lambda task: writes("calc.py", f"{left[0]}# {task.number}\n")(task)

    return inject


FAULTS: Mapping[FailureClass, tuple[Callable[[Bench], Work], str]] = {
    FailureClass.POLICY: (locked, "no"),
    FailureClass.INPUT: (no_contract, "no verification strategy"),
    FailureClass.EXECUTION: (lambda _b: raises(UsageError("no such option")), "no such option"),
    FailureClass.CODE: (tries(FIXED.replace("x / 2", "x")), "broken: "),
    FailureClass.TEST: (
        lambda _b: (
            lambda t: writes(
                "tests/test_calc.py", f"{TESTS.replace('== 2', '== 2.0')}# {t.number}\n"
            )(t)
        ),
        "tests/test_calc.py",
    ),
    FailureClass.ARTIFACT: (lambda _b: writes("data.json", "{"), "does not parse"),
    FailureClass.VERIFICATION: (untested, "was not tested"),
    FailureClass.CLOSEOUT: (branch_stays, "the branch stands at"),
    FailureClass.GIT: (git_breaks, "no space left on device"),
    FailureClass.TIMEOUT: (lambda _b: fails(ModelFault.TIMEOUT), "timeout"),
    FailureClass.MODEL: (lambda _b: fails(ModelFault.AUTH), "left alone"),
    FailureClass.TOOL: (lambda _b: raises(SandboxError("bwrap is gone")), "bwrap is gone"),
    FailureClass.MANUAL_ATTENTION: (for_a_person, "not approved"),
    FailureClass.UNKNOWN: (odd_gate, "gate is broken"),
}


def test_every_class_has_its_fault() -> None:
    """All fourteen are injected below."""
    assert set(FAULTS) == set(FailureClass) == set(REPROCESSING)
    assert len(FAULTS) == 14


@pytest.mark.parametrize("kind", list(FailureClass))
def test_a_fault_of_each_class_comes_to_its_end(bench: Bench, kind: FailureClass) -> None:
    """The unit is terminal, its record whole, its end explained, and no more was tried than the table allows."""
    inject, told = FAULTS[kind]
    work = inject(bench)
    if kind is FailureClass.TIMEOUT:
        # It passes by itself, so the run waits, asks ever less often, and pauses for a resume.
        assert bench.run(work) is RunStatus.PAUSED
        assert told in bench.reason or told in bench.turns[-1].reason
        assert bench.journal.state == fold(bench.ledger.events())
        assert bench.journal.state.turn is None
        return
    assert bench.run(work) is RunStatus.BLOCKED
    ended(bench, told)
    (unit,) = bench.journal.state.units.values()
    assert kind in unit.failures
    assert len(bench.turns) <= REPROCESSING[kind].extra_attempts + 1
    assert not any(turn.ended_as == "commit" for turn in bench.turns)
    assert bench.journal.state.head_tree == bench.repository.tree


def test_a_class_ends_the_unit_at_its_own_count(bench: Bench) -> None:
    """Retryable classes get exactly what the table says, and a success in between is kept."""
    assert bench.run(writes("calc.py", HALF_FIXED), git_breaks(bench)) is RunStatus.BLOCKED
    assert len(bench.turns) == REPROCESSING[FailureClass.GIT].extra_attempts + 1
