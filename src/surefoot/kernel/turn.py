"""One attempt at a unit (promise 3): gates, executor, proof, solver, and a git transaction that commits or rolls back.

    policy gate -> input gate -> executor (execution gate) -> proof -> solver's checkpoint
        -> artifact gate -> verification gate -> commit or rollback -> closeout gate -> turn record

Whatever happens in between, the worktree ends as the commit that the record names. A process that dies leaves an open
turn; the next one restores the tree that it started from and does it again.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from surefoot.codec import digest, encode
from surefoot.errors import DiskError, GitError, LedgerError, SurefootError
from surefoot.events.orchestration import (
    CheckpointWritten,
    ExecutorEnded,
    GateDecided,
    SelfFeedback,
    TurnClosed,
    TurnStarted,
)
from surefoot.events.work import DiffTaken, GitStage
from surefoot.interrupts import raise_hidden
from surefoot.kernel import evidence
from surefoot.kernel.asking import ask
from surefoot.kernel.gatekeeper import DEADLINE_S, decide
from surefoot.kernel.journal import Journal
from surefoot.kernel.ports import (
    Asker,
    Clock,
    Executor,
    Gate,
    GateInput,
    Observation,
    Person,
    Policy,
    Reviewer,
    Solver,
    TurnInput,
    TurnOutput,
    Workspace,
)
from surefoot.kernel.proof import Prover
from surefoot.kernel.state import UnitState, units_done
from surefoot.kernel.whole import objections
from surefoot.values import (
    Checkpoint,
    Classification,
    CommitId,
    Diff,
    Evidence,
    GateName,
    GateOutcome,
    GateResult,
    Resolution,
    SandboxLevel,
    TreeId,
    TurnId,
    Unit,
)
from surefoot.vocabulary import is_unicode

TURN_TRAILER: Final = "Surefoot-Turn"
LEDGER_TRAILER: Final = "Surefoot-Ledger"
"""Hash of the ledger's last line before the commit was made."""

BRANCH_MOVED: Final = "the branch stands at"
"""How a checkpoint's error begins when somebody else moved the run's branch."""
_HOUSEKEEPING = ("flaky:", "flaky-checked:", "loose ids:")
"""Facts that the kernel itself notes; they are no progress of the executor."""


Push: TypeAlias = Callable[[CommitId], str]
"""Makes a commit the run's branch elsewhere; returns why it did not arrive, empty when it did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Publisher:
    """Where the run's branch goes beside this repository. What fails there never fails the work."""

    push: Push
    every_turn: bool
    """Else only the work that is complete."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnPorts:
    """What a turn plays with."""

    journal: Journal
    workspace: Workspace
    prover: Prover
    executors: Mapping[str, Executor]
    solver: Solver
    solver_asker: Asker
    gates: Mapping[GateName, Gate]
    policy: Policy
    person: Person
    clock: Clock
    sandbox: SandboxLevel
    unsandboxed_allowed: bool
    gate_s: float = DEADLINE_S
    """Longest time for one gate, wall-clock seconds."""
    publisher: Publisher | None = None
    """Puts the run's branch elsewhere; None: it stays here."""
    readers: Sequence[Reviewer] = ()
    """Reviewers that judge by the change's text alone; an executor may hear them before the review."""


def publish(ports: TurnPorts, commit: CommitId) -> None:
    """Put a commit of the run where its branch is to go; how that went is an event."""
    if ports.publisher is not None:
        error = ports.publisher.push(commit)
        ports.journal.record(GitStage(stage="publish", ok=not error, commit=commit, error=error))


class Turn:
    """One turn, from `TurnStarted` to `TurnClosed`."""

    def __init__(
        self, ports: TurnPorts, unit: UnitState, asker: Asker, resolution: Resolution
    ) -> None:
        state = ports.journal.state
        assert state.opened is not None  # noqa: S101  # the run loop opens before it turns
        self._p = ports
        self._unit = unit
        self._asker = asker
        self._base = state.opened.base_tree
        self._seed = state.opened.seed
        self._start = state.head_tree or self._base
        self._number = state.turns_closed + 1
        self._resolution = resolution
        self._began = ports.clock.monotonic()
        self._input = GateInput(
            unit=unit.unit,
            mode=resolution.mode,
            locked=ports.policy.locked(),
            risk_flags=resolution.risk_flags,
            max_files=resolution.ceilings.max_files,
            sandbox=ports.sandbox,
            unsandboxed_allowed=ports.unsandboxed_allowed,
            tree=self._start,
        )

    def run(self) -> TurnClosed:
        """Do it; the record that is returned is already in the ledger."""
        journal = self._p.journal
        turn_id = TurnId(f"{self._unit.unit.unit_id}.t{self._number}")
        journal.record(
            TurnStarted(
                unit_id=self._unit.unit.unit_id,
                number=self._number,
                tree=self._start,
                model=self._asker.model,
                locked=self._input.locked,
            ),
            turn=turn_id,
        )
        self._p.workspace.restore(self._start)
        journal.record(GitStage(stage="turn-start", ok=True, tree=self._start))
        for name in (GateName.POLICY, GateName.INPUT):
            result = self._gate(name)
            if result.outcome is not GateOutcome.PASS:
                return self._close(result, None, None)
        self._execute()
        checkpoint = self._observe()
        # After the diff is known: work that is there counts, also when the model failed after it.
        result = self._gate(GateName.EXECUTION)
        self._input = replace(self._input, checkpoint=checkpoint)
        for name in (GateName.ARTIFACT, GateName.VERIFICATION):
            if result.outcome is GateOutcome.PASS:
                result = self._gate(name)
        commit = self._transact(result, checkpoint)
        return self._close(result, checkpoint, commit)

    def _gate(self, name: GateName) -> GateResult:
        """Evaluate one gate and record what it decided."""
        result = decide(self._p.gates[name], name, self._input, deadline_s=self._p.gate_s)
        if result.outcome is GateOutcome.MANUAL_ATTENTION:
            result = self._by_person(result)
        self._p.journal.record(GateDecided(result=result))
        return result

    def _by_person(self, result: GateResult) -> GateResult:
        """What a gate leaves to a person passes by a plain yes to this very diff, and else not."""
        why = f"the {result.gate} gate asks for a person"
        answer = ask(self._p.person, self._p.journal, result.reason, why, diff=self._input.diff)
        if not answer.approved:
            return result
        told = f"approved by {answer.who}: {result.reason}"
        return replace(result, outcome=GateOutcome.PASS, failure=None, reason=told)

    def _execute(self) -> None:
        executor = self._p.executors[self._unit.unit.strategy]
        baseline, _ = self._p.prover.baseline(self._base)
        task = TurnInput(
            unit=self._unit.unit,
            number=self._unit.turns + 1,
            seed=self._seed,
            tree=self._start,
            base_tree=self._base,
            mode=self._resolution.mode,
            baseline=baseline,
            last=self._unit.checkpoints[-1] if self._unit.checkpoints else None,
            tried=self._unit.tried,
            refuted=(*self._unit.refuted, *self._weaknesses()),
            calls=self._p.journal.state.calls.get(self._asker.model, {}),
            left_s=lambda: self._resolution.ceilings.time_s - self._p.journal.spend().time_s,
            locked=self._p.policy.locked,
            weak=self._p.prover.weak(self._start),
            learned=self._unit.learned,
            kept=self._unit.kept,
            audited=lambda tree: self._p.prover.turn_audit(tree, self._base, self._unit.unit),
            objections=lambda tree: objections(
                self._p.journal.state, self._p.prover, self._resolution, self._p.readers, tree
            ),
        )
        try:
            output = executor.run_turn(task, self._p.workspace, self._asker, self._p.journal)
        except (LedgerError, DiskError):
            raise  # nothing may happen that cannot be recorded, and no work is to blame for a full disk
        except Exception as error:  # noqa: BLE001  # named boundary: a broken executor is a failed turn
            raise_hidden(error)
            code = error.code if isinstance(error, SurefootError) else type(error).__name__
            output = TurnOutput(transcript=str(error), claim="none")
            self._input = replace(self._input, error=f"{code}: {error}")
        self._input = replace(self._input, output=output)
        journal = self._p.journal
        journal.record(
            ExecutorEnded(
                output=journal.put(encode(output)),
                error=self._input.error,
                learned=output.learned,
            )
        )

    def _weaknesses(self) -> tuple[str, ...]:
        """What is still open when all but the strength of the tests is shown, for an executor that works by words."""
        return tuple(
            f"every test passes on this wrong change; add a new test file with a test that fails on it:\n{m.patch}"
            for m in self._p.prover.weak(self._start)
        )

    def _observe(self) -> Checkpoint:
        """Prove what the worktree holds, let the solver judge, and write the checkpoint."""
        journal, workspace = self._p.journal, self._p.workspace
        tree = self._staged()
        diff = workspace.diff(self._start, tree)
        run_diff = workspace.diff(self._base, tree)
        journal.record(DiffTaken(diff=journal.put(encode(diff)), files=diff.paths))
        proofs: tuple[Evidence, ...] = ()
        if diff.files:
            proofs = self._p.prover.turn_proofs(
                tree, self._base, self._unit.unit, units_done(self._p.journal.state)
            )
        self._input = replace(
            self._input,
            tree=tree,
            diff=diff,
            run_diff=run_diff,
            contents=self._p.prover.contents(diff),
            evidence=proofs,
        )
        assert self._input.output is not None  # noqa: S101  # set by _execute
        seen = observation(
            self._p.prover,
            self._unit,
            model=self._asker.model,
            output=self._input.output,
            start=self._start,
            base=self._base,
            diff=diff,
            proofs=proofs,
        )
        gain = seen.after is not None and evidence.improves(seen.before, seen.after)
        gain = gain or (
            bool(diff.files)
            and self._p.prover.fewer_findings(self._start, tree, self._unit.unit.findings)
        )
        gain = gain or self._p.prover.is_firmer(self._start, tree)
        self._input = replace(self._input, gain=gain)
        checkpoint = self._p.solver.judge(seen, self._p.solver_asker, journal)
        journal.record(CheckpointWritten(checkpoint=checkpoint))
        self._note_flip(seen, checkpoint)
        return checkpoint

    def _staged(self) -> TreeId:
        """The worktree as a tree; where it holds what no tree can, the turn has failed and is put back."""
        journal = self._p.journal
        try:
            tree = self._p.workspace.snapshot()
        except (LedgerError, DiskError):
            raise
        except SurefootError as error:
            return self._put_back(error.code, str(error))
        odd = [p for p in self._p.workspace.diff(self._start, tree).paths if not is_unicode(p)]
        if odd:  # no record could name it
            told = f"the name {odd[0]!r} is not UTF-8; give the file another one"
            return self._put_back(GitError.code, told)
        journal.record(GitStage(stage="stage", ok=True, tree=tree))
        return tree

    def _put_back(self, code: str, why: str) -> TreeId:
        self._p.workspace.restore(self._start)
        told = f"{code}: what the turn left cannot be kept: {why}"
        self._input = replace(self._input, error=self._input.error or told)
        self._p.journal.record(GitStage(stage="stage", ok=False, tree=self._start, error=told))
        return self._start

    def _note_flip(self, seen: Observation, now: Checkpoint) -> None:
        if not self._unit.checkpoints or not self._unit.trees:
            return
        last = self._unit.checkpoints[-1]
        same_evidence = self._unit.trees[-1] == seen.diff.after and not seen.diff.files
        judged_work = last.classification is not Classification.PROGRESS
        if same_evidence and judged_work and last.classification is not now.classification:
            shown = digest(encode(seen.diff))
            self._p.journal.record(
                SelfFeedback(before=last.classification, after=now.classification, evidence=shown)
            )

    def _transact(self, result: GateResult, checkpoint: Checkpoint) -> CommitId | None:
        """Commit what the gates let through, else put the tree back; the record follows the command."""
        journal, workspace = self._p.journal, self._p.workspace
        tree, diff = self._input.tree, self._input.diff
        keep = result.outcome is GateOutcome.PASS and diff is not None and bool(diff.files)
        if not keep:
            workspace.restore(self._start)
            journal.record(GitStage(stage="rollback", ok=True, tree=self._start))
            self._input = replace(self._input, tree=self._start)
            return None
        try:
            message = commit_message(self._unit.unit, checkpoint)
            commit = workspace.commit(tree, message, self._trailers())
        except DiskError:
            raise
        except SurefootError as error:
            journal.record(GitStage(stage="checkpoint", ok=False, tree=tree, error=str(error)))
            workspace.restore(self._start)
            journal.record(GitStage(stage="rollback", ok=True, tree=self._start))
            self._input = replace(self._input, tree=self._start, error=f"git: {error}")
            return None
        if workspace.head != (commit, tree):
            told = f"{BRANCH_MOVED} {workspace.head[0]}, not at the turn's commit {commit}"
            journal.record(GitStage(stage="checkpoint", ok=False, tree=tree, error=told))
            workspace.restore(self._start)
            journal.record(GitStage(stage="rollback", ok=True, tree=self._start))
            self._input = replace(self._input, tree=self._start, error=f"closeout: {told}")
            return None
        journal.record(GitStage(stage="checkpoint", ok=True, tree=tree, commit=commit))
        if self._p.publisher is not None and self._p.publisher.every_turn:
            publish(self._p, commit)
        self._input = replace(self._input, commit=commit)
        return commit

    def _trailers(self) -> Mapping[str, str]:
        state = self._p.journal.state
        return {
            TURN_TRAILER: str(state.turn.turn_id if state.turn else ""),
            LEDGER_TRAILER: self._p.journal.head,
        }

    def _close(
        self, result: GateResult, checkpoint: Checkpoint | None, commit: CommitId | None
    ) -> TurnClosed:
        closeout = self._gate(GateName.CLOSEOUT)
        if result.outcome is GateOutcome.PASS:
            result = closeout
        ended: Literal["commit", "noop", "rollback"] = "commit" if commit else "rollback"
        failure = self._input.output.failure if self._input.output else None
        if self._input.diff is None or not self._input.diff.files:
            ended = "noop"
        else:
            failure = None  # the model failed at the end of a turn that worked
        record = TurnClosed(
            unit_id=self._unit.unit.unit_id,
            number=self._number,
            ended_as=ended,
            tree=self._input.tree if commit else self._start,
            commit=commit,
            classification=checkpoint.classification if checkpoint else None,
            outcome=result.outcome.value,
            reason=checkpoint.summary
            if checkpoint and result.outcome is GateOutcome.PASS
            else result.reason,
            elapsed_s=round(self._p.clock.monotonic() - self._began, 3),
            gate=result.gate if result.outcome is not GateOutcome.PASS else None,
            model=self._asker.model,
            unit_type=self._unit.unit.unit_type,
            fault=failure.fault if failure else None,
            retry_after_s=failure.retry_after_s if failure else None,
            unanswered=self._input.output.unanswered if self._input.output else "",
        )
        self._p.journal.record(record)
        return record


def commit_message(unit: Unit, checkpoint: Checkpoint) -> str:
    """What a turn's commit says above its trailers."""
    return f"{unit.unit_type}: {unit.issue.title}\n\n{checkpoint.summary}"


def observation(
    prover: Prover,
    unit: UnitState,
    *,
    model: str,
    output: TurnOutput,
    start: TreeId,
    base: TreeId,
    diff: Diff,
    proofs: tuple[Evidence, ...],
) -> Observation:
    """What the solver is shown of the turn that is open in the prover's journal."""
    before, after, after_event = prover.around(start, diff.after, base)
    turn = prover.journal.state.turn
    facts = turn.facts if turn else ()
    return Observation(
        unit=unit.unit,
        number=unit.turns + 1,
        model=model,
        output=output,
        diff=diff,
        seen_diffs=unit.trees,
        before=before,
        after=after,
        after_event=after_event,
        history=unit.checkpoints,
        facts=tuple(f for f in facts if not f.startswith(_HOUSEKEEPING)),
        evidence=proofs,
        called=turn.called if turn else (),
        patterns=unit.patterns,
    )
