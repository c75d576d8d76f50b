"""The state of a run: a fold of its ledger, and nothing else (promise 4).

The live run and a resumed one get their state from the same `apply`, so they cannot disagree.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import singledispatch
from typing import Final, Literal

from surefoot.events.calls import (
    BudgetRefused,
    BudgetReserved,
    BudgetSettled,
    CallRead,
    ModelAsked,
    ModelChosen,
    ModelGrounded,
    ModelOpened,
    ModelReplied,
    SolverPinned,
)
from surefoot.events.envelope import Recorded
from surefoot.events.orchestration import (
    AnswerGiven,
    CheckpointWritten,
    ExecutorEnded,
    GateDecided,
    NoFlyAdded,
    PhaseChanged,
    PlanMade,
    QuestionAnswered,
    QuestionAsked,
    RunOpened,
    RunResumed,
    RunStopped,
    TurnClosed,
    TurnStarted,
)
from surefoot.events.plans import ChildEnded, ChildStarted, UnitBlocked
from surefoot.events.policy import LockMet, PolicyResolved
from surefoot.events.work import (
    AuditorFinished,
    CandidateTried,
    FactLearned,
    MutantsTried,
    TestsRan,
    TestsWatched,
    ToolCalled,
)
from surefoot.kernel.calls import counted, joined
from surefoot.kernel.lifecycle import Phase, Trigger
from surefoot.kernel.plan_state import PlanState, follow
from surefoot.kernel.ports import ToolPattern
from surefoot.values import (
    Audit,
    CallRecord,
    Checkpoint,
    Classification,
    CommitId,
    Digest,
    EventId,
    FailureClass,
    GateOutcome,
    RunStatus,
    Spend,
    TreeId,
    TurnId,
    Unit,
    UnitId,
    Usage,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitState:
    """What is known of one unit."""

    unit: Unit
    turns: int = 0
    checkpoints: tuple[Checkpoint, ...] = ()
    trees: tuple[TreeId, ...] = ()
    """Trees after its closed turns."""
    tried: Mapping[Digest, str] = field(default_factory=dict)
    """Candidates of closed turns, with what the tests said."""
    failures: Mapping[FailureClass, int] = field(default_factory=dict)
    last_failures: tuple[FailureClass, ...] = ()
    """Failure classes of the last turn."""
    refuted: tuple[str, ...] = ()
    """What gates held against the last turn."""
    learned: tuple[str, ...] = ()
    """What the executor wanted to remember at the end of the last turn."""
    kept: bool = True
    """Whether the last turn ended in a commit."""
    patterns: tuple[ToolPattern, ...] = ()
    """What its closed turns called; those that an outage ended are left out, since they are done again."""
    escalations: int = 0
    model: str = ""
    """Of the last turn."""
    idle: int = 0
    """How many turns in a row, the last one included, that model did nothing."""
    ended: Literal["open", "done", "blocked"] = "open"
    blocker: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenTurn:
    """A turn that has started and not closed."""

    turn_id: TurnId
    unit_id: UnitId
    number: int
    tree: TreeId
    checkpoint: Checkpoint | None = None
    tried: Mapping[Digest, str] = field(default_factory=dict)
    facts: tuple[str, ...] = ()
    called: ToolPattern = ()
    calls: CallRecord = field(default_factory=dict)
    """What came of the tool calls that its model was asked for."""
    refuted: tuple[str, ...] = ()
    learned: tuple[str, ...] = ()
    failures: tuple[FailureClass, ...] = ()
    short: str = ""
    """Why a call was not made, when the budget refused one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TestRunKey:
    """What makes a recorded test run usable again."""

    __test__ = False

    tree: TreeId
    purpose: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedAudit:
    """What the ledger holds of an audit of one tree; whole when it has `of` results."""

    audit: Audit
    of: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RunState:
    """Everything that the loops decide on."""

    opened: RunOpened | None = None
    phase: Phase = Phase.AUDITING
    round: int = 1
    planned: int = 0
    """The last round that a plan was made for."""
    units: Mapping[UnitId, UnitState] = field(default_factory=dict)
    turn: OpenTurn | None = None
    closed: TurnClosed | None = None
    """The last turn, until a step that follows from it is recorded."""
    short: str = ""
    """What the budget refused in that turn."""
    turns_closed: int = 0
    head_tree: TreeId | None = None
    head_commit: CommitId | None = None
    """The last closed turn's commit; None while there is none."""
    tests: Mapping[TestRunKey, Digest] = field(default_factory=dict)
    """Blob of the last report by tree and purpose."""
    test_events: Mapping[TestRunKey, EventId] = field(default_factory=dict)
    reach: Mapping[TreeId, Digest] = field(default_factory=dict)
    """Blob of what the watched tests of a base run something of."""
    mutants: Mapping[TreeId, MutantsTried] = field(default_factory=dict)
    """What mutants of its changed lines showed, by tree."""
    audits: Mapping[TreeId, RecordedAudit] = field(default_factory=dict)
    opened_models: Mapping[str, ModelOpened] = field(default_factory=dict)
    """What the run goes by of each model."""
    calls: Mapping[str, CallRecord] = field(default_factory=dict)
    """By model, what came of the tool calls that it was asked for in closed turns."""
    facts: tuple[str, ...] = ()
    """`topic: text` of what was established outside any turn."""
    flaky: Mapping[TreeId, frozenset[str]] = field(default_factory=dict)
    """Of these, the tests that fail by chance, by the tree on which they did."""
    replies: Mapping[tuple[TurnId | None, Digest], Digest] = field(default_factory=dict)
    """Recorded model replies by turn and request."""
    reservations: Mapping[EventId, tuple[int, float]] = field(default_factory=dict)
    spend: Spend = Spend()
    policy: PolicyResolved | None = None
    locked: str | None = None
    """Why the repository is locked, as the run met it last."""
    no_fly: frozenset[tuple[UnitId, str]] = frozenset()
    grounded: Mapping[str, datetime | None] = field(default_factory=dict)
    """Models that failed, with the time from when on they may be asked again; None: not in this run."""
    groundings: Mapping[str, int] = field(default_factory=dict)
    """How often each was grounded since it last answered a whole turn."""
    chosen: Mapping[UnitId, ModelChosen] = field(default_factory=dict)
    solver: tuple[str, ...] = ()
    """The judges, as pinned last."""
    plan: PlanState = field(default_factory=PlanState)
    """Of a run that executes a plan."""
    asked_last: str = ""
    """The model of the last turn."""
    asked: QuestionAsked | None = None
    """The last question, while nobody has answered it."""
    answers: Mapping[tuple[str, Digest | None], QuestionAnswered | AnswerGiven] = field(
        default_factory=dict
    )
    """What holds of what was answered, by question and diff: approvals, and what was said while nobody worked."""
    status: RunStatus | None = None
    reason: str = ""
    """Of the last step."""
    segment_start: datetime | None = None
    last_time: datetime | None = None
    earlier_s: float = 0.0
    """Active time of earlier processes."""

    def elapsed_s(self, now: datetime) -> float:
        """Active seconds so far; time between processes does not count."""
        if self.segment_start is None:
            return self.earlier_s
        return self.earlier_s + max(0.0, (now - self.segment_start).total_seconds())


def apply(state: RunState, recorded: Recorded) -> RunState:
    """The state after one more event."""
    after = _apply(recorded.event, state, recorded)
    return replace(after, plan=follow(after.plan, recorded), last_time=recorded.time)


def units_done(state: RunState) -> tuple[Unit, ...]:
    """The units whose work is shown."""
    return tuple(u.unit for u in state.units.values() if u.ended == "done")


def unproved(state: RunState) -> RunState:
    """The state without what was found out by running something, for who runs it anew."""
    return replace(state, tests={}, test_events={}, audits={}, mutants={})


def fold(events: Iterable[Recorded]) -> RunState:
    """The state that a ledger stands for."""
    state = RunState()
    for recorded in events:
        state = apply(state, recorded)
    return state


@singledispatch
def _apply(event: object, state: RunState, recorded: Recorded) -> RunState:
    """Events without a rule of their own leave the state as it is."""
    del event, recorded
    return state


@_apply.register
def _(event: RunOpened, state: RunState, recorded: Recorded) -> RunState:
    return replace(
        state,
        opened=event,
        phase=Phase.DISCOVER if event.planning else state.phase,
        head_tree=event.base_tree,
        segment_start=recorded.time,
    )


@_apply.register
def _(event: RunResumed, state: RunState, recorded: Recorded) -> RunState:
    opened = state.opened
    if opened is not None and event.settings is not None:
        opened = replace(opened, settings=event.settings, model=event.model or opened.model)
    earlier = state.elapsed_s(state.last_time or recorded.time)
    # Calls that were open when the process died are counted in full: they may have been billed. What is reserved for a
    # child run stays so until that run has gone on and ended, since its own ledger knows what it spent.
    kept = {k: v for k, v in state.reservations.items() if k in state.plan.reservations}
    lost = [v for k, v in state.reservations.items() if k not in kept]
    lost_tokens = sum(tokens for tokens, _ in lost)
    lost_usd = sum(usd for _, usd in lost)
    usage = state.spend.usage
    spend = replace(
        state.spend,
        usage=replace(
            usage,
            prompt_tokens=usage.prompt_tokens + lost_tokens,
            cost_usd=usage.cost_usd + lost_usd,
        ),
        reserved_tokens=sum(tokens for tokens, _ in kept.values()),
        reserved_usd=sum(usd for _, usd in kept.values()),
    )
    return replace(
        state,
        opened=opened,
        turn=None,
        asked=None,
        status=None,
        earlier_s=earlier,
        segment_start=recorded.time,
        reservations=kept,
        spend=spend,
        grounded={m: until for m, until in state.grounded.items() if m != event.model},
        groundings={m: often for m, often in state.groundings.items() if m != event.model},
    )


@_apply.register
def _(event: ModelOpened, state: RunState, recorded: Recorded) -> RunState:
    del recorded
    return replace(state, opened_models={**state.opened_models, event.model: event})


@_apply.register
def _(event: RunStopped, state: RunState, recorded: Recorded) -> RunState:
    earlier = state.elapsed_s(recorded.time)
    # A blocked run is never taken up again, so none of its units is waiting for anything.
    units = {
        key: replace(unit, ended="blocked", blocker=event.reason)
        if unit.ended == "open" and event.status is RunStatus.BLOCKED
        else unit
        for key, unit in state.units.items()
    }
    return replace(
        state,
        units=units,
        status=event.status,
        reason=event.reason,
        earlier_s=earlier,
        segment_start=None,
    )


@_apply.register
def _(event: PhaseChanged, state: RunState, recorded: Recorded) -> RunState:
    del recorded
    failed = event.before == Phase.DELTA_CRITIQUE and event.trigger == Trigger.CRITIQUE_FAILED
    again = event.after == Phase.AUDITING and event.trigger != Trigger.RESUME
    sent_back = event.before in _JUDGES and event.after == Phase.SOLVING
    # What follows from a turn still follows when the run was interrupted before that was recorded.
    cancelled = event.trigger == Trigger.CANCEL
    after = replace(
        state,
        phase=Phase(event.after),
        round=state.round + again,
        reason=event.reason,
        closed=None if event.before == Phase.SOLVING and not cancelled else state.closed,
    )
    return _undone(after, event.reason) if sent_back or failed else after


_JUDGES: Final = frozenset({Phase.REVIEW, Phase.POST_CHECKS})


def _undone(state: RunState, reason: str) -> RunState:
    """The work was refused as a whole: the next turn starts from the base again, knowing why."""
    units = {
        key: replace(unit, ended="open", refuted=(*unit.refuted, reason))
        if unit.ended == "done"
        else unit
        for key, unit in state.units.items()
    }
    tree = state.opened.base_tree if state.opened else state.head_tree
    return replace(state, units=units, head_tree=tree)


@_apply.register
def _(event: QuestionAsked, state: RunState, recorded: Recorded) -> RunState:
    del recorded
    return replace(state, asked=event)


@_apply.register
def _(event: QuestionAnswered, state: RunState, recorded: Recorded) -> RunState:
    del recorded
    asked = state.asked
    if asked is None or not (event.approved or event.text):
        return state
    answers = state.answers
    if event.approved and event.diff is not None:
        answers = {**answers, (asked.question, event.diff): event}
    return replace(state, asked=None, answers=answers)


@_apply.register
def _(event: AnswerGiven, state: RunState, recorded: Recorded) -> RunState:
    del recorded
    answers = {**state.answers, (event.question, event.diff): event}
    return replace(state, asked=None, answers=answers)


@_apply.register
def _(event: PolicyResolved, state: RunState, recorded: Recorded) -> RunState:
    del recorded
    return replace(state, policy=event)


@_apply.register
def _(event: LockMet, state: RunState, recorded: Recorded) -> RunState:
    del recorded
    return replace(state, locked=event.why)


@_apply.register
def _(event: PlanMade, state: RunState, recorded: Recorded) -> RunState:
    del recorded
    units = {unit.unit_id: UnitState(unit=unit) for unit in event.units}
    return replace(state, units={**state.units, **units}, planned=state.round)


@_apply.register
def _(event: TurnStarted, state: RunState, recorded: Recorded) -> RunState:
    if recorded.turn_id is None:
        return state
    turn = OpenTurn(
        turn_id=recorded.turn_id, unit_id=event.unit_id, number=event.number, tree=event.tree
    )
    return replace(state, turn=turn)


@_apply.register
def _(event: CheckpointWritten, state: RunState, recorded: Recorded) -> RunState:
    del recorded
    if state.turn is None:
        return state
    return replace(state, turn=replace(state.turn, checkpoint=event.checkpoint))


@_apply.register
def _(event: CandidateTried, state: RunState, recorded: Recorded) -> RunState:
    del recorded
    if state.turn is None:
        return state
    tried = {**state.turn.tried, event.candidate: event.message}
    return replace(state, turn=replace(state.turn, tried=tried))


@_apply.register
def _(event: ToolCalled, state: RunState, recorded: Recorded) -> RunState:
    del recorded
    if state.turn is None:
        return state
    called = (*state.turn.called, (event.tool, event.params))
    return replace(state, turn=replace(state.turn, called=called))


@_apply.register
def _(event: CallRead, state: RunState, recorded: Recorded) -> RunState:
    del recorded
    if state.turn is None:
        return state
    return replace(state, turn=replace(state.turn, calls=counted(state.turn.calls, event)))


def _with_flaky(state: RunState, event: FactLearned) -> Mapping[TreeId, frozenset[str]]:
    # Older versions named no tree for what they had seen on the base.
    tree = event.tree or (state.opened.base_tree if state.opened else None)
    if event.topic != "flaky" or tree is None:
        return state.flaky
    return {**state.flaky, tree: state.flaky.get(tree, frozenset()) | {event.text}}


@_apply.register
def _(event: FactLearned, state: RunState, recorded: Recorded) -> RunState:
    del recorded
    if state.turn is None:
        told = (*state.facts, f"{event.topic}: {event.text}")
        return replace(state, facts=told, flaky=_with_flaky(state, event))
    facts = (*state.turn.facts, f"{event.topic}: {event.text}")
    return replace(state, turn=replace(state.turn, facts=facts))


@_apply.register
def _(event: GateDecided, state: RunState, recorded: Recorded) -> RunState:
    del recorded
    result = event.result
    if state.turn is None or result.outcome is GateOutcome.PASS or result.failure is None:
        return state
    turn = replace(
        state.turn,
        refuted=(*state.turn.refuted, f"{result.gate} gate: {result.reason}"),
        failures=(*state.turn.failures, result.failure),
    )
    return replace(state, turn=turn)


@_apply.register
def _(event: NoFlyAdded, state: RunState, recorded: Recorded) -> RunState:
    del recorded
    before = state.units.get(event.unit_id)
    units = dict(state.units)
    if before is not None:
        units[event.unit_id] = replace(before, escalations=before.escalations + 1)
    no_fly = state.no_fly | {(event.unit_id, event.model)}
    return replace(state, no_fly=no_fly, units=units, closed=None)


@_apply.register
def _(event: BudgetRefused, state: RunState, recorded: Recorded) -> RunState:
    del recorded
    if state.turn is None:
        return state
    told = f"{event.what}: {event.asked:g} asked, {max(event.left, 0):g} left"
    return replace(state, turn=replace(state.turn, short=told))


@_apply.register
def _(event: ModelGrounded, state: RunState, recorded: Recorded) -> RunState:
    del recorded
    often = state.groundings.get(event.model, 0) + 1
    return replace(
        state,
        grounded={**state.grounded, event.model: event.until},
        groundings={**state.groundings, event.model: often},
        closed=None,
    )


@_apply.register
def _(event: SolverPinned, state: RunState, recorded: Recorded) -> RunState:
    del recorded
    return replace(state, solver=event.chain)


@_apply.register
def _(event: ExecutorEnded, state: RunState, recorded: Recorded) -> RunState:
    del recorded
    turn = state.turn
    return state if turn is None else replace(state, turn=replace(turn, learned=event.learned))


@_apply.register
def _(event: ModelChosen, state: RunState, recorded: Recorded) -> RunState:
    del recorded
    return replace(state, chosen={**state.chosen, event.unit_id: event})


@_apply.register
def _(event: TurnClosed, state: RunState, recorded: Recorded) -> RunState:
    del recorded
    turn, before = state.turn, state.units.get(event.unit_id)
    if turn is None or before is None:
        return state
    failures = dict(before.failures)
    for failure in dict.fromkeys(
        turn.failures
    ):  # two gates that stop for one reason are one failure
        failures[failure] = failures.get(failure, 0) + 1
    checkpoints = before.checkpoints + ((turn.checkpoint,) if turn.checkpoint else ())
    unit = replace(
        before,
        turns=before.turns + 1,
        checkpoints=checkpoints,
        trees=(*before.trees, event.tree),
        tried={**before.tried, **turn.tried},
        failures=failures,
        last_failures=turn.failures,
        refuted=turn.refuted,
        learned=turn.learned,
        kept=event.commit is not None,
        patterns=(*before.patterns, turn.called) if _counts(event) else before.patterns,
        model=event.model,
        idle=_idle(before, event),
        ended=_ended(event),
        blocker=event.reason if _ended(event) == "blocked" else "",
    )
    return replace(
        state,
        units={**state.units, event.unit_id: unit},
        turn=None,
        closed=event,
        short=turn.short,
        turns_closed=state.turns_closed + 1,
        calls={
            **state.calls,
            event.model: joined(state.calls.get(event.model, {}), turn.calls),
        }
        if turn.calls
        else state.calls,
        head_tree=event.tree,
        head_commit=event.commit or state.head_commit,
        # A turn that a model's fault ended is done again, not counted (SPEC A4).
        spend=replace(state.spend, iterations=state.spend.iterations + _counts(event)),
        groundings={
            model: often
            for model, often in state.groundings.items()
            if model != event.model or event.fault is not None
        },
        asked_last=event.model,
    )


def _counts(event: TurnClosed) -> bool:
    """Whether a turn is one of the run's iterations; one that executor's or solver's model could not end is not."""
    unreachable = Classification.BLOCKER_SOLVER_UNREACHABLE
    return event.fault is None and event.classification is not unreachable


def _idle(before: UnitState, event: TurnClosed) -> int:
    # An executor that broke was not idle: its own gate stopped the turn before the solver's word did.
    if event.classification is not Classification.EXECUTOR_NOOP or event.gate != "closeout":
        return 0
    return before.idle + 1 if event.model == before.model else 1


def _ended(event: TurnClosed) -> Literal["open", "done", "blocked"]:
    if event.outcome == "pass":
        return "done" if event.classification is Classification.COMPLETE else "open"
    return "open" if event.outcome == "retryable-fail" else "blocked"


@_apply.register
def _(event: TestsRan, state: RunState, recorded: Recorded) -> RunState:
    key = TestRunKey(tree=event.tree, purpose=event.purpose)
    return replace(
        state,
        tests={**state.tests, key: event.report},
        test_events={**state.test_events, key: recorded.event_id},
    )


@_apply.register
def _(event: TestsWatched, state: RunState, recorded: Recorded) -> RunState:
    del recorded
    return replace(state, reach={**state.reach, event.tree: event.reach})


@_apply.register
def _(event: MutantsTried, state: RunState, recorded: Recorded) -> RunState:
    del recorded
    return replace(state, mutants={**state.mutants, event.tree: event})


@_apply.register
def _(event: AuditorFinished, state: RunState, recorded: Recorded) -> RunState:
    del recorded
    before = state.audits.get(event.tree)
    # A tool that answers again (an audit cut off by a crash) replaces its first answer.
    others = [r for r in before.audit.results if r.tool != event.result.tool] if before else []
    audit = Audit(results=(*others, event.result), baseline=event.baseline)
    entry = RecordedAudit(audit=audit, of=event.of)
    return replace(state, audits={**state.audits, event.tree: entry})


@_apply.register
def _(event: ChildStarted, state: RunState, recorded: Recorded) -> RunState:
    known = state.plan.children.get(event.run)
    # A child that a killed process had begun goes on under a reservation of its own.
    free = state if known is None else _settled(state, known.started, Usage())
    return _reserved(free, recorded.event_id, event.tokens, event.cost_usd)


@_apply.register
def _(event: BudgetReserved, state: RunState, recorded: Recorded) -> RunState:
    return _reserved(state, recorded.event_id, event.tokens, event.cost_usd)


def _reserved(state: RunState, reservation: EventId, tokens: int, cost_usd: float) -> RunState:
    spend = replace(
        state.spend,
        reserved_tokens=state.spend.reserved_tokens + tokens,
        reserved_usd=state.spend.reserved_usd + cost_usd,
    )
    open_ones = {**state.reservations, reservation: (tokens, cost_usd)}
    return replace(state, spend=spend, reservations=open_ones)


@_apply.register
def _(event: BudgetSettled, state: RunState, recorded: Recorded) -> RunState:
    del recorded
    return _settled(state, event.reservation, event.usage)


@_apply.register
def _(event: ChildEnded, state: RunState, recorded: Recorded) -> RunState:
    del recorded
    child = state.plan.children.get(event.run)
    after = _settled(state, child.started if child else EventId(""), event.usage)
    calls = after.spend.model_calls + event.model_calls
    return replace(after, spend=replace(after.spend, model_calls=calls))


@_apply.register
def _(event: UnitBlocked, state: RunState, recorded: Recorded) -> RunState:
    del recorded
    before = state.units.get(event.unit_id)
    if before is None:
        return state
    unit = replace(before, ended="blocked", blocker=event.reason)
    return replace(state, units={**state.units, event.unit_id: unit})


def _settled(state: RunState, reservation: EventId, usage: Usage) -> RunState:
    tokens, usd = state.reservations.get(reservation, (0, 0.0))
    left = {k: v for k, v in state.reservations.items() if k != reservation}
    spend = replace(
        state.spend,
        usage=state.spend.usage + usage,
        reserved_tokens=state.spend.reserved_tokens - tokens,
        reserved_usd=state.spend.reserved_usd - usd if left else 0.0,
    )
    return replace(state, spend=spend, reservations=left)


@_apply.register
def _(event: ModelAsked, state: RunState, recorded: Recorded) -> RunState:
    del event, recorded
    return replace(state, spend=replace(state.spend, model_calls=state.spend.model_calls + 1))


@_apply.register
def _(event: ModelReplied, state: RunState, recorded: Recorded) -> RunState:
    key = (recorded.turn_id, event.request)
    return replace(state, replies={**state.replies, key: event.reply})
