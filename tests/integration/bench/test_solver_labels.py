"""The solver's rules on turns that were labelled by hand (SPEC A8)."""

from bench.solver import IDLE, WORK, told, turns

from surefoot.solver.classify import classify


def test_no_refusal_no_op_or_false_claim_counts_as_work() -> None:
    idle = [t for t in turns() if t.label in IDLE]
    assert len(idle) >= 35
    assert [t.name for t in idle if told(classify(t.seen)) in WORK] == []


def test_work_counts_as_work() -> None:
    work = [t for t in turns() if t.label in WORK]
    assert len(work) >= 14
    assert sum(told(classify(t.seen)) not in WORK for t in work) < 0.05 * len(work)
