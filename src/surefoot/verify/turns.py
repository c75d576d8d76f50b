"""Turns again: each gate is evaluated once more on what the ledger and the trees say, and has to decide the same."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from surefoot.codec import decode, difference, plain
from surefoot.decisions.redacted import MARK
from surefoot.events.envelope import Recorded
from surefoot.events.orchestration import (
    CheckpointWritten,
    ExecutorEnded,
    GateDecided,
    RunResumed,
    TurnClosed,
    TurnStarted,
)
from surefoot.events.policy import SandboxEnforced
from surefoot.events.work import DiffTaken, GitStage
from surefoot.gates import default_gates
from surefoot.kernel import evidence
from surefoot.kernel.ports import Gate, GateInput, Trees, TurnOutput
from surefoot.kernel.state import RunState, UnitState, units_done
from surefoot.kernel.turn import BRANCH_MOVED, observation
from surefoot.kernel.whole import ends_of
from surefoot.solver import by_rule
from surefoot.values import (
    Checkpoint,
    CommitId,
    Diff,
    Evidence,
    FailureClass,
    GateName,
    GateOutcome,
    GateResult,
    Mode,
    SandboxLevel,
    TreeId,
)
from surefoot.verify.record import Proofs, Reader

_ORDER = tuple(GateName)
_TREE_GATES = frozenset({GateName.ARTIFACT, GateName.VERIFICATION})


@dataclass(slots=True, kw_only=True)
class _Turn:
    """What is known of the turn that is open."""

    started: TurnStarted
    base: TreeId
    unit: UnitState
    output: TurnOutput | None = None
    error: str | None = None
    tree: TreeId | None = None
    diff: Diff | None = None
    checkpoint: Checkpoint | None = None
    commit: CommitId | None = None
    decided: list[GateResult] = field(default_factory=list)
    evidence: tuple[Evidence, ...] = ()
    gain: bool = False
    run_diff: Diff | None = None
    contents: Mapping[str, tuple[str | None, str | None]] | None = None


@dataclass(slots=True, kw_only=True)
class TurnCheck:
    """Every event of a turn is where the kernel would have written it, and says what it would have said."""

    get: Reader
    proofs: Proofs
    trees: Trees
    is_there: Mapping[TreeId, bool]
    """Whether git still has what each tree holds; one that a turn was put back from may be gone."""
    unsandboxed: bool
    noop_characters: int
    """By which the solver told an idle turn."""
    gates: Mapping[GateName, Gate] = field(default_factory=default_gates)
    underived: int = 0
    """Turns that were put back and of which git no longer has the tree."""
    _turn: _Turn | None = None
    _sandbox: SandboxLevel = SandboxLevel.NONE

    def look(self, state: RunState, recorded: Recorded) -> str:
        """As `Check.look`."""
        self.proofs.note(recorded)
        event = recorded.event
        if isinstance(event, TurnStarted):
            return self._started(state, event)
        if isinstance(event, SandboxEnforced):
            self._sandbox = event.level
        elif isinstance(event, RunResumed):
            self._turn = None
        turn = self._turn
        return "" if turn is None else self._within(state, turn, recorded)

    def _started(self, state: RunState, event: TurnStarted) -> str:
        base, start = ends_of(state)
        unit = state.units.get(event.unit_id)
        if unit is None:
            return f"unit_id was {event.unit_id!r}, which no plan holds"
        if unit.ended != "open":
            return f"unit_id was {event.unit_id!r}, which has ended as {unit.ended}"
        wanted = (state.turns_closed + 1, start)
        if (event.number, event.tree) != wanted:
            return f"number and tree were {(event.number, event.tree)}, are {wanted}"
        self._turn = _Turn(started=event, base=base, unit=unit)
        return ""

    def _within(self, state: RunState, turn: _Turn, recorded: Recorded) -> str:
        event = recorded.event
        if isinstance(event, ExecutorEnded):
            turn.output, turn.error = decode(TurnOutput, self.get(event.output)), event.error
        elif isinstance(event, GitStage):
            return self._stage(turn, event)
        elif isinstance(event, DiffTaken):
            return self._diff(turn, event)
        elif isinstance(event, CheckpointWritten):
            turn.checkpoint = event.checkpoint
            return self._checkpoint(state, turn, event.checkpoint)
        elif isinstance(event, GateDecided):
            return self._gate(state, turn, event.result)
        elif isinstance(event, TurnClosed):
            self._turn = None
            return _closed(turn, event)
        return ""

    def _stage(self, turn: _Turn, event: GitStage) -> str:
        if event.stage == "stage":
            turn.tree = event.tree
            turn.error = turn.error or event.error or None
        elif event.stage == "checkpoint":
            passed = [r.gate for r in turn.decided if r.outcome is GateOutcome.PASS]
            if tuple(passed) != _ORDER[:-1]:
                return f"stage was 'checkpoint', but only {[str(g) for g in passed]} had passed"
            if event.tree != turn.tree:
                return f"tree was {event.tree}, is {turn.tree}"
            turn.commit = event.commit if event.ok else None
            if not event.ok:
                kind = "closeout" if event.error.startswith(BRANCH_MOVED) else "git"
                turn.error = f"{kind}: {event.error}"
        return ""

    def _diff(self, turn: _Turn, event: DiffTaken) -> str:
        diff = decode(Diff, self.get(event.diff))
        turn.diff = diff
        start = turn.started.tree
        if (diff.before, diff.after) != (start, turn.tree):
            return f"diff was of {diff.before}..{diff.after}, is of {start}..{turn.tree}"
        if event.files != diff.paths:
            return f"files were {event.files}, are {diff.paths}"
        if not self._has(turn):
            self.underived += 1
            return ""
        found = self.trees.diff(diff.before, diff.after)
        if MARK.search(diff.patch):
            found = replace(found, patch=diff.patch)
        differs = difference(plain(diff), plain(found))
        return f"diff: {differs}" if differs else ""

    def _checkpoint(self, state: RunState, turn: _Turn, said: Checkpoint) -> str:
        if turn.output is None or turn.diff is None:
            return ""
        missing = [e for e in said.excerpts if e not in turn.output.transcript]
        if missing:
            return f"checkpoint.excerpts: {missing[0][:80]!r} is not in the transcript"
        if not self._has(turn):
            return ""
        prover = self.proofs.at(state, state.policy.risk_flags if state.policy else ())
        turn.run_diff = self.trees.diff(turn.base, turn.diff.after)
        turn.contents = prover.contents(turn.diff)
        if turn.diff.files:
            turn.evidence = prover.turn_proofs(
                turn.diff.after, turn.base, turn.unit.unit, units_done(state)
            )
        seen = observation(
            prover,
            turn.unit,
            model=turn.started.model,
            output=turn.output,
            start=turn.started.tree,
            base=turn.base,
            diff=turn.diff,
            proofs=turn.evidence,
        )
        turn.gain = seen.after is not None and evidence.improves(seen.before, seen.after)
        turn.gain = turn.gain or (
            bool(turn.diff.files)
            and prover.fewer_findings(turn.started.tree, turn.diff.after, turn.unit.unit.findings)
        )
        turn.gain = turn.gain or prover.is_firmer(turn.started.tree, turn.diff.after)
        derived = by_rule(seen, self.noop_characters)
        if derived is None or MARK.search(turn.output.transcript):
            return _claims(said)
        differs = difference(plain(said), plain(derived))
        return f"checkpoint: {differs}" if differs else ""

    def _gate(self, state: RunState, turn: _Turn, said: GateResult) -> str:
        due = _due(turn.decided)
        turn.decided.append(said)
        if said.gate is not due:
            return f"result.gate was {str(said.gate)!r}, is {str(due)!r}"
        if said.failure is FailureClass.UNKNOWN:  # the gate itself broke, which stopped the turn
            return "" if said.outcome is GateOutcome.HARD_FAIL else "result.outcome: a broken gate"
        lacks_output = said.gate is GateName.EXECUTION and turn.output is None
        if lacks_output or (said.gate in _TREE_GATES and not self._has(turn)):
            return ""
        derived = self.gates[said.gate].evaluate(self._input(state, turn, said.gate))
        differs = difference(plain(said), plain(derived))
        return f"result.{differs}" if differs else ""

    def _input(self, state: RunState, turn: _Turn, gate: GateName) -> GateInput:
        policy = state.policy
        back = gate is GateName.CLOSEOUT and turn.commit is None
        return GateInput(
            unit=turn.unit.unit,
            mode=Mode(policy.mode) if policy else Mode.REPORT_ONLY,
            locked=turn.started.locked,
            risk_flags=frozenset(policy.risk_flags if policy else ()),
            max_files=policy.max_files if policy else 0,
            sandbox=self._sandbox,
            unsandboxed_allowed=self.unsandboxed,
            tree=turn.started.tree if back else turn.tree or turn.started.tree,
            output=turn.output,
            error=turn.error,
            diff=turn.diff,
            run_diff=turn.run_diff,
            contents=turn.contents,
            evidence=turn.evidence,
            gain=turn.gain,
            checkpoint=None if gate is GateName.EXECUTION else turn.checkpoint,
            commit=turn.commit,
        )

    def _has(self, turn: _Turn) -> bool:
        return turn.tree is None or self.is_there[turn.tree]


def _claims(said: Checkpoint) -> str:
    """What no rule can derive may say less than complete, and never that."""
    if said.decided_by != "model" or said.classification != "complete":
        return ""
    return "checkpoint.classification was 'complete', which no model may say"


def _due(decided: list[GateResult]) -> GateName | None:
    """The gate that has to decide next."""
    if not decided:
        return _ORDER[0]
    if decided[-1].gate is GateName.CLOSEOUT:
        return None
    if decided[-1].outcome is not GateOutcome.PASS:
        return GateName.CLOSEOUT
    return _ORDER[_ORDER.index(decided[-1].gate) + 1]


def _closed(turn: _Turn, said: TurnClosed) -> str:
    """The record of a turn is what its gates and its commit make of it."""
    if _due(turn.decided) is not None:
        return "the turn closes before its closeout gate has decided"
    against = next((r for r in turn.decided if r.outcome is not GateOutcome.PASS), None)
    changed = turn.diff is not None and bool(turn.diff.files)
    ended: Literal["commit", "noop", "rollback"] = "noop"
    if changed:
        ended = "commit" if turn.commit else "rollback"
    result, checkpoint = against or turn.decided[-1], turn.checkpoint
    kept = turn.tree if turn.commit else turn.started.tree
    failure = turn.output.failure if turn.output and not changed else None
    derived = replace(
        said,
        unit_id=turn.started.unit_id,
        number=turn.started.number,
        ended_as=ended,
        tree=kept or turn.started.tree,
        commit=turn.commit,
        classification=checkpoint.classification if checkpoint else None,
        outcome=result.outcome.value,
        reason=checkpoint.summary if checkpoint and against is None else result.reason,
        gate=against.gate if against else None,
        model=turn.started.model,
        unit_type=turn.unit.unit.unit_type,
        fault=failure.fault if failure else None,
        retry_after_s=failure.retry_after_s if failure else None,
        unanswered=turn.output.unanswered if turn.output else "",
    )
    if turn.output is None and turn.diff is not None:  # from before outputs were recorded
        derived = replace(
            derived, fault=said.fault, retry_after_s=said.retry_after_s, unanswered=said.unanswered
        )
    return difference(plain(said), plain(derived))
