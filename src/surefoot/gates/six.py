"""The gates in their order. What a gate cannot establish it does not pass."""

import json
import tomllib
from collections.abc import Mapping

from surefoot.decisions.redacted import adds_mark
from surefoot.errors import EnvironmentBrokenError, SandboxError
from surefoot.kernel.contradictions import over_checks
from surefoot.kernel.ports import Gate, GateInput
from surefoot.plans import covered
from surefoot.syntax import parse
from surefoot.values import (
    CheckpointOutcome,
    Classification,
    Evidence,
    FailureClass,
    GateName,
    GateOutcome,
    GateResult,
    Mode,
    ModelFault,
    SandboxLevel,
    Unit,
)


def _pass(gate: GateName, reason: str, evidence: tuple[Evidence, ...] = ()) -> GateResult:
    return GateResult(
        gate=gate, outcome=GateOutcome.PASS, failure=None, reason=reason, evidence=evidence
    )


def _stop(gate: GateName, failure: FailureClass, reason: str) -> GateResult:
    return GateResult(gate=gate, outcome=GateOutcome.HARD_FAIL, failure=failure, reason=reason)


def _again(
    gate: GateName, failure: FailureClass, reason: str, evidence: tuple[Evidence, ...] = ()
) -> GateResult:
    return GateResult(
        gate=gate,
        outcome=GateOutcome.RETRYABLE_FAIL,
        failure=failure,
        reason=reason,
        evidence=evidence,
    )


class PolicyGate:
    """Lock, mode and sandbox, before anything runs."""

    name = GateName.POLICY

    def evaluate(self, state: GateInput) -> GateResult:
        """Refuse what the policy does not allow at all."""
        if state.locked:
            return _stop(
                self.name, FailureClass.POLICY, f"the repository is locked: {state.locked}"
            )
        if state.mode is Mode.REPORT_ONLY:
            return _stop(self.name, FailureClass.POLICY, "mode report_only changes nothing")
        if state.sandbox is SandboxLevel.NONE and not state.unsandboxed_allowed:
            reason = "no sandbox encloses commands here; see `surefoot doctor`"
            return _stop(self.name, FailureClass.POLICY, reason)
        return _pass(self.name, f"mode {state.mode}, sandbox {state.sandbox}")


class InputGate:
    """The unit's contract is complete enough to be proved."""

    name = GateName.INPUT

    def evaluate(self, state: GateInput) -> GateResult:
        """Refuse a unit without steps or without a way to verify it."""
        unit = state.unit
        if not unit.plan.steps:
            return _stop(self.name, FailureClass.INPUT, f"unit {unit.unit_id} has no steps")
        if not any(step.acceptance for step in unit.plan.steps):
            reason = f"unit {unit.unit_id} has no acceptance criterion"
            return _stop(self.name, FailureClass.INPUT, reason)
        if not unit.plan.verification:
            reason = f"unit {unit.unit_id} has no verification strategy"
            return _stop(self.name, FailureClass.INPUT, reason)
        return _pass(self.name, f"{len(unit.plan.steps)} steps, {len(unit.failing)} failing tests")


_WAITABLE = frozenset(
    {
        ModelFault.RATE_LIMIT,
        ModelFault.OVERLOAD,
        ModelFault.TIMEOUT,
        ModelFault.BROKEN_STREAM,
        ModelFault.UNREACHABLE,
    }
)


_TOOL_CODES = frozenset({EnvironmentBrokenError.code, SandboxError.code})
"""Errors of what the executor works with, rather than of the executor."""


class ExecutionGate:
    """The executor ended by itself, with something to look at."""

    name = GateName.EXECUTION

    def evaluate(self, state: GateInput) -> GateResult:
        """Refuse a pass that threw, or that ended in a failure of the model."""
        if state.error is not None:
            code = state.error.partition(":")[0]
            kind = FailureClass.TOOL if code in _TOOL_CODES else FailureClass.EXECUTION
            return _again(self.name, kind, f"the executor failed: {state.error}")
        output = state.output
        if output is None:
            return _stop(self.name, FailureClass.EXECUTION, "the executor gave no output")
        failure = output.failure
        if failure is not None and not (state.diff and state.diff.files):
            kind = (
                FailureClass.TIMEOUT if failure.fault is ModelFault.TIMEOUT else FailureClass.MODEL
            )
            word = "transient" if failure.fault in _WAITABLE else "lasting"
            reason = f"{failure.model} failed ({failure.fault}, {word}): {failure.message}"
            return _again(self.name, kind, reason)
        return _pass(self.name, f"{output.effective_actions} effective actions")


class ArtifactGate:
    """What the turn wrote exists, parses, and stays within what the unit and the mode may touch."""

    name = GateName.ARTIFACT

    def evaluate(self, state: GateInput) -> GateResult:
        """Refuse broken files and files out of bounds."""
        diff, whole = state.diff, state.run_diff
        if diff is None or whole is None:
            return _stop(self.name, FailureClass.ARTIFACT, "the turn has no diff")
        allowed = state.unit.writes
        outside = [p for p in diff.paths if allowed and not covered(allowed, p)]
        if outside:
            reason = f"{outside[0]} is not among the files that the unit may write"
            return _again(self.name, FailureClass.ARTIFACT, reason)
        if len(whole.files) > state.max_files:
            reason = f"{len(whole.files)} files changed, {state.max_files} allowed in {state.mode}"
            return _again(self.name, FailureClass.POLICY, reason)
        for path, (before, after) in sorted((state.contents or {}).items()):
            mark = adds_mark(before, after or "")
            if mark is not None:
                reason = f"{path} would hold {mark}, which stands for a secret that was not shown"
                return _again(self.name, FailureClass.ARTIFACT, reason)
            broken = parse_error(path, after)
            if broken:
                return _again(self.name, FailureClass.ARTIFACT, f"{path} does not parse: {broken}")
        return _pass(self.name, f"{len(diff.files)} files")


_HARM = frozenset({"protected-files", "base-tests", "tests-apart", "changed-files"})
"""Proofs without which nothing is kept, however much else was won."""


class VerificationGate:
    """Recorded proofs decide; the solver's word alone never does."""

    name = GateName.VERIFICATION

    def evaluate(self, state: GateInput) -> GateResult:
        """Complete needs every proof; less is kept only when strictly fewer tests fail and none new."""
        if state.diff is None or not state.diff.files:
            return self._without_change(state)
        against = [p for p in state.evidence if not p.passed]
        harm = [p for p in against if p.kind in _HARM]
        if not state.evidence:
            reason = "the change was not tested"
            return _again(self.name, FailureClass.VERIFICATION, reason)
        if harm:
            return self._refuse(harm[0], state)
        if not against:
            return _pass(self.name, "every proof holds", state.evidence)
        return self._still_open(against, state)

    def _still_open(self, against: list[Evidence], state: GateInput) -> GateResult:
        done = state.checkpoint is not None and state.checkpoint.outcome == "complete"
        clash = over_checks(done=done, proofs=state.evidence)
        if clash is not None:
            return _stop(self.name, FailureClass.VERIFICATION, clash.message)
        if state.gain:
            reason = (
                f"kept: it is better than before; still open: {against[0].kind}: {against[0].after}"
            )
            return _pass(self.name, reason, state.evidence)
        return self._refuse(against[0], state)

    def _without_change(self, state: GateInput) -> GateResult:
        checkpoint = state.checkpoint
        if checkpoint and checkpoint.classification is Classification.COMPLETE:
            reason = "complete was said, but nothing changed"
            return _again(self.name, FailureClass.VERIFICATION, reason)
        return _pass(self.name, "nothing changed, so nothing to verify")

    def _refuse(self, proof: Evidence, state: GateInput) -> GateResult:
        if proof.kind == "protected-files":
            reason = f"{proof.after}; tests, CI and tool settings need allow_test_changes or allow_ci_changes"
            return _again(self.name, FailureClass.TEST, reason, state.evidence)
        reason = f"{proof.kind}: {proof.after}"
        if repeats_itself(state.unit):
            return _stop(self.name, FailureClass.CODE, reason)
        return _again(self.name, FailureClass.CODE, reason, state.evidence)


class CloseoutGate:
    """The turn's end in git is what the record will say; the solver's blockers end a unit here."""

    name = GateName.CLOSEOUT

    def evaluate(self, state: GateInput) -> GateResult:
        """Refuse a commit that did not happen, and pass on the solver's blocker."""
        if state.error is not None and state.error.startswith("git:"):
            return _again(self.name, FailureClass.GIT, state.error)
        if state.error is not None and state.error.startswith("closeout:"):
            return _again(self.name, FailureClass.CLOSEOUT, state.error)
        checkpoint = state.checkpoint
        if checkpoint is None or state.error is not None:
            return _pass(self.name, "no commit due")
        if repeats_itself(state.unit) and checkpoint.outcome is not CheckpointOutcome.COMPLETE:
            open_ones = [p.after for p in state.evidence if not p.passed]
            left = open_ones[0] if open_ones else checkpoint.summary
            return _stop(self.name, FailureClass.CODE, f"no safe fix mends what is left: {left}")
        if checkpoint.outcome is CheckpointOutcome.BLOCKER:
            return self._blocker(checkpoint.classification, checkpoint.summary)
        return _pass(self.name, f"commit {state.commit}" if state.commit else "no commit due")

    def _blocker(self, classification: Classification, summary: str) -> GateResult:
        retryable = {
            Classification.EXECUTOR_REFUSED,
            Classification.BLOCKER_INFRASTRUCTURE,
            Classification.BLOCKER_SOLVER_UNREACHABLE,
        }
        if classification in retryable:
            return _again(self.name, FailureClass.MODEL, summary)
        if classification is Classification.EXECUTOR_NOOP:
            return _again(self.name, FailureClass.EXECUTION, summary)
        return _stop(self.name, FailureClass.VERIFICATION, summary)


def repeats_itself(unit: Unit) -> bool:
    """Whether another turn of the unit would do the same again: its strategy asks no model."""
    return unit.strategy == "fixer"


def parse_error(path: str, text: str | None) -> str | None:
    """Why a file of a known kind does not parse, or None."""
    if text is None:
        return None
    try:
        if path.endswith(".py"):
            parse(text)
        elif path.endswith(".json"):
            json.loads(text)
        elif path.endswith(".toml"):
            tomllib.loads(text)
    except (SyntaxError, ValueError, RecursionError) as error:
        return str(error)
    return None


def default_gates() -> Mapping[GateName, Gate]:
    """All six."""
    gates: tuple[Gate, ...] = (
        PolicyGate(),
        InputGate(),
        ExecutionGate(),
        ArtifactGate(),
        VerificationGate(),
        CloseoutGate(),
    )
    return {gate.name: gate for gate in gates}
