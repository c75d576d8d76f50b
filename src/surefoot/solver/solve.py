"""The `Solver` port: rules where they are certain, the pinned model where text has to be read."""

from typing import Literal

from surefoot.decisions.solver_checkpoint import SolverAnswer, SolverQuestion, ask_solver
from surefoot.kernel.ports import Asker, Notebook, Observation
from surefoot.kernel.thresholds import NOOP_CHARACTERS
from surefoot.solver.classify import Verdict, agrees, classify
from surefoot.values import (
    Checkpoint,
    CheckpointOutcome,
    Classification,
    EvidenceRef,
    ModelFailure,
    Pdd,
)

Decider = Literal["rule", "model", "fast-path", "synthesised"]


class RuleSolver:
    """Observes, classifies, writes the checkpoint; edits nothing, chooses no model."""

    def __init__(self, noop_characters: int = NOOP_CHARACTERS) -> None:
        """`noop_characters`: as `classify`."""
        self._noop_characters = noop_characters

    def judge(self, seen: Observation, asker: Asker, notebook: Notebook) -> Checkpoint:
        """The canonical checkpoint of the turn. The model is asked only when the rules are not certain."""
        certain = by_rule(seen, self._noop_characters)
        if certain is not None:
            return certain
        verdict = classify(seen, self._noop_characters)
        instead = SolverAnswer(
            classification=verdict.classification, summary=verdict.summary, excerpt=verdict.excerpt
        )
        answer = ask_solver(_question(seen, verdict), asker, notebook, by_rule=instead)
        if isinstance(answer, ModelFailure):
            unreachable = Verdict(
                classification=Classification.BLOCKER_SOLVER_UNREACHABLE,
                outcome=CheckpointOutcome.BLOCKER,
                summary=f"the solver model {answer.model} could not be asked: {answer.message}",
            )
            return _checkpoint(seen, unreachable, "synthesised")
        if answer is None:
            return _checkpoint(seen, verdict, "rule")
        read = Verdict(
            classification=answer.classification,
            outcome=_OUTCOMES[answer.classification],
            summary=answer.summary,
            excerpt=answer.excerpt,
        )
        return _checkpoint(seen, read, "model")


def by_rule(seen: Observation, noop_characters: int = NOOP_CHARACTERS) -> Checkpoint | None:
    """The checkpoint where rules are certain of it, so that the same turn always has the same one; else None."""
    verdict = classify(seen, noop_characters)
    if agrees(seen.output.advice, verdict):
        return _checkpoint(seen, verdict, "fast-path")
    return _checkpoint(seen, verdict, "rule") if verdict.certain else None


_OUTCOMES = {
    Classification.EXECUTOR_REFUSED: CheckpointOutcome.BLOCKER,
    Classification.EXECUTOR_WAIT: CheckpointOutcome.CONTINUE,
    Classification.BLOCKER_STALL: CheckpointOutcome.CONTINUE,
}
"""What a model may read out of prose without work; progress and completion are not among it."""


def _question(seen: Observation, verdict: Verdict) -> SolverQuestion:
    last = seen.history[-1] if seen.history else None
    return SolverQuestion(
        unit_type=seen.unit.unit_type,
        unit_id=seen.unit.unit_id,
        transcript=seen.output.transcript,
        last=last,
        state=(
            f"turn {seen.number}; {seen.output.effective_actions} effective actions; "
            f"{len(seen.diff.files)} files changed; by rule: {verdict.summary}"
        ),
        choices=tuple(_OUTCOMES),
    )


def _checkpoint(seen: Observation, verdict: Verdict, decided_by: Decider) -> Checkpoint:
    completed, remaining = _items(seen)
    refs: tuple[EvidenceRef, ...] = ()
    if seen.after_event is not None:
        refs = (EvidenceRef(claim=verdict.summary, event_id=seen.after_event),)
    return Checkpoint(
        outcome=verdict.outcome,
        classification=verdict.classification,
        summary=verdict.summary,
        completed_items=completed,
        remaining_items=remaining,
        verification_evidence=refs,
        pdd=_pdd(seen),
        excerpts=(verdict.excerpt,) if verdict.excerpt else (),
        decided_by=decided_by,
    )


def _items(seen: Observation) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if seen.after is None:
        return (), tuple(seen.unit.failing)
    passed = seen.after.passed(seen.unit.failing)
    return (
        tuple(t for t in seen.unit.failing if t in passed),
        tuple(t for t in seen.unit.failing if t not in passed),
    )


def _pdd(seen: Observation) -> Pdd:
    unit = seen.unit
    return Pdd(
        purpose=unit.issue.title,
        consumer="; ".join(unit.failing[:3]) or "the user who filed the issue",
        contract="; ".join(a for step in unit.plan.steps for a in step.acceptance)[:500],
        failure_boundary="the worktree is put back to the turn's start and the reason is recorded",
        evidence="; ".join(unit.plan.verification[:3]),
        non_goals="changing existing tests, CI or tool configuration",
        invariants="tests that passed on the base pass on the result",
        assumptions="the base commit's tests say what the project means",
    )
