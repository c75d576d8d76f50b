"""A run told in plain words, event by event, with reasons (SPEC B11). Pure."""

from collections.abc import Iterator, Sequence
from functools import singledispatch

from surefoot.events.calls import (
    BudgetRefused,
    CallRead,
    ModelChosen,
    ModelFailed,
    ModelGrounded,
    ModelWaited,
    ProviderSwitched,
    SolverPinned,
)
from surefoot.events.envelope import Recorded
from surefoot.events.orchestration import (
    AnswerGiven,
    CheckpointWritten,
    GateDecided,
    LedgerRepaired,
    NodeDeferred,
    NodeSettled,
    NoFlyAdded,
    PhaseChanged,
    PlanClarified,
    PlanGated,
    PlanRevised,
    PlanWritten,
    QuestionAnswered,
    QuestionAsked,
    ReviewGiven,
    RunAccepted,
    RunOpened,
    RunRejected,
    RunResumed,
    RunStopped,
    SelfFeedback,
    SourceRead,
    TurnClosed,
    TurnStarted,
)
from surefoot.events.plans import (
    ChildEnded,
    ChildStarted,
    MergeConflicted,
    PartVerified,
    PlanAdopted,
    UnitBlocked,
)
from surefoot.events.policy import ActionDecided, ModelDenied, PolicyDenied, PolicyWarning
from surefoot.events.work import (
    CandidatesRejected,
    CandidateTried,
    FactLearned,
    GitStage,
    MutantsTried,
    TestsRan,
    ToolCalled,
    ToolFinished,
)
from surefoot.kernel.strength import in_words
from surefoot.nodes import NodeOutcome
from surefoot.values import GateOutcome


def tell(events: Sequence[Recorded]) -> Iterator[str]:
    """One line an event that a person would ask about; failed candidates are counted, not listed."""
    failed = 0
    for recorded in events:
        event = recorded.event
        if isinstance(event, CandidateTried) and not event.passed:
            failed += 1
            continue
        if isinstance(event, CandidatesRejected):
            failed += event.count
            continue
        text = _tell(event)
        if text is None:
            continue
        if failed:
            yield f"{'':>12}  {failed} candidates did not pass"
            failed = 0
        number = recorded.event_id.rsplit(":", 1)[-1]
        yield f"{recorded.time:%H:%M:%S} #{number:<4} {text}"


@singledispatch
def _tell(event: object) -> str | None:
    del event
    return None


@_tell.register
def _(event: RunOpened) -> str:
    word = "planning" if event.planning else "run"
    return f"{word} on {event.branch} at {event.base[:10]}: {event.issue.title} ({event.mode})"


@_tell.register
def _(event: RunResumed) -> str:
    told = f"resumed with {event.model}, named anew" if event.model else "resumed"
    turn = event.interrupted_turn
    return f"{told}; turn {turn} was not finished and is done again" if turn else told


@_tell.register
def _(event: RunStopped) -> str:
    return f"stopped: {event.status}: {event.reason}"


@_tell.register
def _(event: RunAccepted) -> str:
    return f"accepted onto {event.branch} as {event.commit[:10]}"


@_tell.register
def _(event: RunRejected) -> str:
    return f"rejected{': ' + event.reason if event.reason else ''}"


@_tell.register
def _(event: PhaseChanged) -> str:
    return f"{event.before} -> {event.after} ({event.trigger}): {event.reason}"


@_tell.register
def _(event: PlanAdopted) -> str:
    units = ", ".join(event.order)
    return f"plan {event.plan_id}, {event.jobs} at once, is merged in the order {units}"


@_tell.register
def _(event: ChildStarted) -> str:
    kept = f", {event.tokens} tokens reserved" if event.tokens else ""
    kept += f", {event.cost_usd:.2f} USD reserved" if event.cost_usd else ""
    again = f" again (attempt {event.attempt})" if event.node == "reprocess" else ""
    return f"{event.node} {event.unit_id} begins{again} as run {event.run} on {event.base[:10]}{kept}: {event.reason}"


@_tell.register
def _(event: ChildEnded) -> str:
    spent = event.usage.prompt_tokens + event.usage.completion_tokens
    return f"run {event.run} ended as {event.status}, {spent} tokens: {event.reason} (`surefoot explain {event.run}`)"


@_tell.register
def _(event: UnitBlocked) -> str:
    return f"unit {event.unit_id} is blocked: {event.reason}"


@_tell.register
def _(event: MergeConflicted) -> str:
    kept = f"commit {event.commit[:10]}" if event.commit else "its work"
    return f"the work of run {event.run} conflicts in {', '.join(event.paths)}; {kept} stays under its refs"


@_tell.register
def _(event: PartVerified) -> str:
    word = "holds" if event.passed else "does not hold"
    return f"{event.level} {event.part} {word}: {event.reason}"


@_tell.register
def _(event: NodeDeferred) -> str:
    return f"{event.node_id} is left: {event.what} {event.asked:g} asked, {event.left:g} left"


@_tell.register
def _(event: NodeSettled) -> str | None:
    if event.outcome in (NodeOutcome.SUCCEEDED, NodeOutcome.FAILED):
        return None
    return f"{event.node_id} is {event.outcome}: {event.cause}"


@_tell.register
def _(event: TurnStarted) -> str:
    return f"turn {event.number} on {event.unit_id} begins from tree {event.tree[:10]}"


@_tell.register
def _(event: TurnClosed) -> str:
    return f"turn {event.number} ends as {event.ended_as} ({event.outcome}): {event.reason}"


@_tell.register
def _(event: TestsRan) -> str:
    return (
        f"tests for {event.purpose} on {event.tree[:10]}: {event.passed} passed, {event.failed} failed "
        f"of {event.collected} [{event.state}]"
    )


@_tell.register
def _(event: MutantsTried) -> str:
    return f"strength of the tests: {in_words(event)}"


@_tell.register
def _(event: PlanClarified) -> str:
    clarified = event.clarified
    return f"{clarified.question.question_id} is answered by {clarified.by}: {clarified.answer}"


@_tell.register
def _(event: SourceRead) -> str:
    return f"read {event.source.where}: {event.source.fact}"


@_tell.register
def _(event: PlanGated) -> str:
    told = "; ".join(refusal.message for refusal in event.refusals)
    return f"the plan gate {'refuses' if told else 'passes'} draft {event.attempt}{': ' if told else ''}{told}"


@_tell.register
def _(event: PlanWritten) -> str:
    return f"written: {', '.join(event.files)}"


@_tell.register
def _(event: PlanRevised) -> str:
    steps = "; ".join(f"{s.step_id} ({s.intent})" for s in event.plan.steps)
    return (
        f"plan {event.plan_hash[:8]} for {event.unit_id}: {steps or 'as before'} ({event.reason})"
    )


@_tell.register
def _(event: ToolCalled) -> str:
    return f"{event.tool} {event.shown}"


@_tell.register
def _(event: ToolFinished) -> str:
    tests = f", failing tests {-event.verification_delta:+d}" if event.verification_delta else ""
    again = ", asked before" if event.was_repeated else ""
    went = "worked" if event.ok else "did not work"
    if event.ok and event.exit_code not in (None, 0):
        # A search without a match, a red test run: the tool did its work, which is not to say that the command did.
        went = f"ended with exit code {event.exit_code}"
    return f"{event.tool} {went}, worth {event.step_utility:+g}{tests}{again}"


@_tell.register
def _(event: FactLearned) -> str | None:
    return None if event.topic == "flaky-checked" else f"{event.topic}: {event.text}"


@_tell.register
def _(event: CandidateTried) -> str:
    return (
        f"candidate by {event.generator} passes (score {event.score:.2f}) {event.message}".rstrip()
    )


@_tell.register
def _(event: CheckpointWritten) -> str:
    word = event.checkpoint
    shown = f' ("{word.excerpts[0]}")' if word.excerpts else ""
    return f"the solver says {word.classification}, by {word.decided_by}: {word.summary}{shown}"


@_tell.register
def _(event: SelfFeedback) -> str:
    return f"the solver judged the same evidence as {event.before} before and as {event.after} now"


@_tell.register
def _(event: NoFlyAdded) -> str:
    return f"{event.model} is not asked for {event.unit_id} again: {event.reason}"


@_tell.register
def _(event: GateDecided) -> str | None:
    result = event.result
    if result.outcome is GateOutcome.PASS:
        return None
    return f"the {result.gate} gate says {result.outcome}: {result.reason}"


@_tell.register
def _(event: ReviewGiven) -> str:
    return f"review: {event.review.verdict}, {event.review.action}: {event.review.reason}"


@_tell.register
def _(event: QuestionAsked) -> str:
    return f"a person is asked: {event.question} ({event.why})"


@_tell.register
def _(event: QuestionAnswered) -> str:
    if not event.text and not event.approved:
        return f"{event.who} answered"
    about = f" diff {event.diff[:12]}" if event.diff else ""
    return (
        f"{event.who} {'approved' if event.approved else 'did not approve'}{about}: {event.text!r}"
    )


@_tell.register
def _(event: AnswerGiven) -> str:
    word = "approved" if event.approved else "answered"
    about = f" diff {event.diff[:12]}" if event.diff else ""
    return f"{event.who} {word}{about} while the run was paused: {event.text!r}"


@_tell.register
def _(event: ActionDecided) -> str:
    return f"decided to {event.action}: {event.reason}"


@_tell.register
def _(event: PolicyDenied) -> str:
    return f"refused by {event.rule}: {event.what}"


@_tell.register
def _(event: PolicyWarning) -> str:
    return f"warning ({event.rule}): {event.what}"


@_tell.register
def _(event: BudgetRefused) -> str:
    return f"no budget for {event.purpose}: {event.asked:g} {event.what} asked, {event.left:g} left"


@_tell.register
def _(event: SolverPinned) -> str:
    return f"judged by {', '.join(event.chain)}: {event.reason}"


@_tell.register
def _(event: ModelDenied) -> str:
    return f"{event.model} may not be asked for {event.unit_id} ({event.rule}): {event.reason}"


@_tell.register
def _(event: ModelChosen) -> str | None:
    if not event.model:
        return f"nobody is asked for {event.unit_id}: {event.reason}"
    after = f", then {', '.join(event.chain[1:4])}" if event.chain[1:] else ""
    return f"{event.model} is asked for {event.unit_id}{after}: {event.reason}"


@_tell.register
def _(event: CallRead) -> str | None:
    if event.came == "valid":
        return None
    told = "turned down" if event.came == "turned-down" else "of no use"
    return f"{event.model}: a {event.form} tool call was {told}: {event.complaint}"


@_tell.register
def _(event: ModelWaited) -> str:
    return f"waited {event.wait_s:g} s for {event.model} ({event.fault}) after call {event.attempt}"


@_tell.register
def _(event: ModelGrounded) -> str:
    when = f"until {event.until:%H:%M:%S} UTC" if event.until else "in this run"
    return f"{event.model} is not asked {when}: {event.reason}"


@_tell.register
def _(event: ProviderSwitched) -> str:
    return f"{event.after} answers instead of {event.before}: {event.reason}"


@_tell.register
def _(event: ModelFailed) -> str:
    return f"{event.model} failed ({event.fault}): {event.message}"


@_tell.register
def _(event: GitStage) -> str | None:
    return None if event.ok else f"git {event.stage} failed: {event.error}"


@_tell.register
def _(event: LedgerRepaired) -> str:
    return f"a torn last line of {event.dropped_bytes} bytes was cut off"
