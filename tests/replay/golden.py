"""Adds to `v1/events.jsonl` one event of each given kind that it lacks; run it after adding an event type.

Lines that are there never change: they are what ledgers in the field look like.
"""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import get_args

from surefoot import artifacts as a
from surefoot import judgements as j
from surefoot import nodes as n
from surefoot import plans as p
from surefoot import values as v
from surefoot.events.calls import (
    BudgetPressure,
    BudgetRefused,
    BudgetReserved,
    BudgetSettled,
    CacheHit,
    CallRead,
    ModelAsked,
    ModelChosen,
    ModelFailed,
    ModelGrounded,
    ModelOpened,
    ModelPulled,
    ModelReplied,
    ModelWaited,
    ProviderSwitched,
    SolverPinned,
    TokensCounted,
)
from surefoot.events.envelope import Event
from surefoot.events.orchestration import (
    AnswerGiven,
    CheckpointWritten,
    Decided,
    ExecutorEnded,
    GateDecided,
    LedgerRepaired,
    NodeDeferred,
    NodeSettled,
    NodeStarted,
    NoFlyAdded,
    PhaseChanged,
    PlanClarified,
    PlanGated,
    PlanMade,
    PlanRevised,
    PlanWritten,
    QuestionAnswered,
    QuestionAsked,
    ReviewGiven,
    RunAccepted,
    RunOpened,
    RunRejected,
    RunResumed,
    RunsCollected,
    RunStopped,
    ScheduleOpened,
    SelfFeedback,
    SourceRead,
    TurnClosed,
    TurnStarted,
)
from surefoot.events.plans import (
    ChildEnded,
    ChildStarted,
    MergeConflicted,
    MilestoneClaimed,
    MilestoneReleased,
    PartVerified,
    PlanAdopted,
    RunArchived,
    UnitBlocked,
)
from surefoot.events.policy import (
    ActionDecided,
    BoundariesChecked,
    EnforcementApproved,
    LifecycleForced,
    LockChanged,
    LockMet,
    ModelAllowed,
    ModelDenied,
    PolicyDenied,
    PolicyResolved,
    PolicyWarning,
    PromotionDecided,
    PromotionPolicySet,
    RoundDecided,
    RoundVerified,
    SandboxEnforced,
    SettingsTrusted,
)
from surefoot.events.work import (
    ArtifactStored,
    ArtifactUsed,
    AuditorFinished,
    CandidatesRejected,
    CandidateTried,
    CommandRan,
    DiffTaken,
    FactLearned,
    GitStage,
    ImpactChecked,
    MutantsTried,
    TestsRan,
    TestsWatched,
    ToolCalled,
    ToolFinished,
    ToolsOffered,
)
from surefoot.ledger import FileLedger, read_events
from surefoot.testing.clock import FakeClock

GOLDEN = Path(__file__).parent / "v1" / "events.jsonl"
RUN = v.RunId("20260101-000000-0001")
TREE, COMMIT = v.TreeId("7e" * 20), v.CommitId("c0" * 20)
BLOB, TURN, UNIT = v.Digest("ab" * 32), v.TurnId("t1"), v.UnitId("fix-1")
USAGE = v.Usage(prompt_tokens=120, cached_tokens=100, completion_tokens=30, cost_usd=0.000125)

FINDING = v.Finding(
    finding_id="ruff:F821:1a2b",
    tool="ruff",
    rule="F821",
    severity=v.Severity.HIGH,
    category="lint",
    file="src/häß lich.py",
    line=3,
    column=1,
    message='Undefined name "x"',
    fingerprint="1a2b3c",
)
EVIDENCE = v.Evidence(
    kind="failing-tests",
    command="pytest -q",
    before="1 failed",
    after="1 passed",
    passed=True,
    events=(v.EventId(f"{RUN}:1"),),
)
PLAN = v.PlanIR(
    analysis="off by one",
    steps=(v.PlanStep(step_id="s1", description="fix", intent=v.StepIntent.MODIFY),),
    verification=("tests/test_a.py::test_b",),
    complexity=v.Complexity.LOW,
    confidence=0.75,
)
ISSUE = v.Issue(source="test", text="# It breaks", tests=("tests/test_a.py::test_b",))
VERSION = a.VersionId(interface=a.Interface(kind="tool", name="notes", method="add"), artifact=BLOB)
RECORD = a.DecisionRecord(
    version=VERSION,
    incumbent=None,
    decision=a.Decision.CONTINUE_PROBATION,
    before=a.LifecycleState.PROBATION,
    after=a.LifecycleState.PROBATION,
    policy="solver_promotion_v1",
    window="medium:200",
    enforced=False,
    calls=7,
    conditions=(
        a.Condition(name="calls", value=7, needed=10, met=False),
        a.Condition(name="contract_pass_rate", value=None, needed=0.95, met=False),
    ),
)
SAMPLES: tuple[Event, ...] = (
    RunOpened(
        issue=ISSUE,
        mode="auto_solve_full",
        model="embedded",
        repo="/home/somebody/project",
        branch="refs/heads/main",
        base=COMMIT,
        base_tree=TREE,
        settings=BLOB,
        seed=7,
        version="0.1.0",
    ),
    RunResumed(interrupted_turn=TURN),
    RunStopped(status=v.RunStatus.COMPLETE, reason="all gates passed", elapsed_s=12.5),
    RunAccepted(commit=COMMIT, onto=COMMIT, branch="refs/heads/main"),
    RunRejected(reason="not wanted"),
    PhaseChanged(before="auditing", after="planning", trigger="blocking", reason="1 failing test"),
    PlanMade(
        units=(
            v.Unit(
                unit_id=UNIT,
                unit_type=v.UnitType.FIX,
                strategy="repair",
                issue=ISSUE,
                plan=PLAN,
                failing=("tests/test_a.py::test_b",),
                findings=(FINDING,),
            ),
        )
    ),
    PlanClarified(
        clarified=p.Clarified(
            question=p.Question(
                question_id="Q1",
                text="Which total?",
                options=("shop.py", "till.py"),
                recommended=0,
                default=None,
                why="two files define it",
            ),
            answer="till.py",
            by="ursula",
            at="2026-01-01T00:00:00+00:00",
        )
    ),
    SourceRead(
        source=p.Source(where="httpx 0.28.1: _client.py", fact="Client(timeout=…)", digest=BLOB)
    ),
    PlanGated(
        plan=BLOB,
        attempt=2,
        refusals=(
            p.Refusal(
                code="acceptance", subject="U1", message="unit U1 has no acceptance criterion"
            ),
        ),
    ),
    PlanWritten(plan=BLOB, files=("ROADMAP.md", "plan.json")),
    PlanAdopted(plan_id="p1", plan=BLOB, milestones=("p1/M1",), order=(UNIT,), jobs=2),
    ChildStarted(
        node="unit",
        unit_id=UNIT,
        run=v.RunId(f"{RUN}.fix-1.1"),
        attempt=1,
        base=COMMIT,
        base_tree=TREE,
        tokens=1000,
        cost_usd=0.5,
        reason="mend it",
    ),
    ChildEnded(
        unit_id=UNIT,
        run=v.RunId(f"{RUN}.fix-1.1"),
        status=v.RunStatus.COMPLETE,
        reason="every proof holds",
        ledger_head="ef" * 32,
        base_tree=TREE,
        tree=TREE,
        commit=COMMIT,
        usage=USAGE,
        model_calls=3,
        facts=("high src/a.py:3 wrong",),
    ),
    UnitBlocked(unit_id=UNIT, reason="it needs U1, which failed"),
    MergeConflicted(
        unit_id=UNIT,
        run=v.RunId(f"{RUN}.fix-1.1"),
        commit=COMMIT,
        onto=TREE,
        paths=("src/a.py",),
    ),
    PartVerified(
        part="S1",
        level="slice",
        tree=TREE,
        commit=COMMIT,
        passed=True,
        reason="2 tests pass",
        tests=("tests/test_a.py::test_b",),
        report=v.EventId(f"{RUN}:1"),
    ),
    MilestoneClaimed(milestone="p1/M1", node=n.NodeKind.TEAM_WORKER, run=RUN, worker="4711:120044"),
    MilestoneReleased(milestone="p1/M1", run=RUN, branch="refs/heads/main"),
    TurnStarted(unit_id=UNIT, number=1, tree=TREE),
    ExecutorEnded(output=BLOB, error="GitError: `git add` ended with 1"),
    CheckpointWritten(
        checkpoint=v.Checkpoint(
            outcome=v.CheckpointOutcome.COMPLETE,
            classification=v.Classification.COMPLETE,
            summary="fixed",
            completed_items=("fix",),
            verification_evidence=(
                v.EvidenceRef(claim="it passes", event_id=v.EventId(f"{RUN}:1")),
            ),
            pdd=v.Pdd(purpose="correct sums"),
            excerpts=("1 passed",),
        )
    ),
    SelfFeedback(
        before=v.Classification.PROGRESS, after=v.Classification.BLOCKER_STALL, evidence=BLOB
    ),
    NoFlyAdded(unit_id=UNIT, unit_type=v.UnitType.FIX, model="embedded", reason="refused"),
    TurnClosed(
        unit_id=UNIT,
        number=1,
        ended_as="commit",
        tree=TREE,
        commit=COMMIT,
        classification=v.Classification.COMPLETE,
        outcome="pass",
        reason="all six gates passed",
        elapsed_s=3.25,
    ),
    GateDecided(
        result=v.GateResult(
            gate=v.GateName.VERIFICATION,
            outcome=v.GateOutcome.PASS,
            failure=None,
            reason="1 failing test passes",
            evidence=(EVIDENCE,),
        )
    ),
    ReviewGiven(
        review=v.Review(verdict="FAIL", action="BLOCK", reason="a veto", findings=(FINDING,))
    ),
    QuestionAsked(question="May tests change?", why="the plan announces it"),
    QuestionAnswered(approved=False, text="", who="nobody"),
    AnswerGiven(question="May tests change?", diff=BLOB, approved=True, text="yes", who="ursula"),
    Decided(
        decision="candidate_edit",
        inputs=BLOB,
        output=BLOB,
        decided_by="model",
        policy_bundle="builtin-1",
        usage=USAGE,
    ),
    LedgerRepaired(dropped_bytes=17, dropped=BLOB),
    RunArchived(run_id=RUN, file=f"{RUN}.zip", sha256="cd" * 32, head="ef" * 32),
    RunsCollected(runs=(RUN,), worktrees=("worktrees/a",), refs=("refs/heads/surefoot/a",)),
    BudgetReserved(purpose="candidate_edit", tokens=900, cost_usd=0.0),
    BudgetRefused(purpose="candidate_edit", what="tokens", asked=900.0, left=12.0),
    BudgetSettled(reservation=v.EventId(f"{RUN}:2"), usage=USAGE),
    BudgetPressure(what="tokens", share=0.5),
    ModelAsked(
        purpose="candidate_edit",
        model="embedded",
        request=BLOB,
        reservation=v.EventId(f"{RUN}:2"),
    ),
    ModelReplied(
        request=BLOB, reply=BLOB, model="qwen2.5-coder-1.5b", finish="stop", usage=USAGE, wall_s=1.5
    ),
    ModelFailed(
        request=BLOB,
        failure=BLOB,
        fault=v.ModelFault.RATE_LIMIT,
        model="openai/x",
        message="slow down",
        usage=v.Usage(),
    ),
    CacheHit(request=BLOB, reply=BLOB),
    ToolCalled(tool="file_edit", params=BLOB),
    CommandRan(
        tool="shell",
        argv=("make", "test"),
        exit_code=None,
        stdout=BLOB,
        stderr=BLOB,
        wall_s=60.0,
        sandbox=v.SandboxLevel.BUBBLEWRAP,
    ),
    AuditorFinished(
        tree=TREE,
        result=v.AuditorResult(tool="ruff", state=v.AuditorState.OK, findings=(FINDING,)),
    ),
    CandidateTried(
        candidate=BLOB, generator="ast:compare", passed=True, fixed=1, broken=0, score=0.9
    ),
    FactLearned(topic="suspects", text="a.py:3 add\na.py:9 sum"),
    TestsRan(
        tree=TREE,
        purpose="baseline",
        report=BLOB,
        state="complete",
        passed=40,
        failed=1,
        collected=41,
        exit_code=1,
        command=("python", "-m", "pytest"),
    ),
    GitStage(stage="checkpoint", ok=True, tree=TREE, commit=COMMIT),
    DiffTaken(diff=BLOB, files=("a.py",)),
    PolicyResolved(
        mode="auto_fix_safe",
        can_execute=True,
        can_fix=True,
        can_escalate=False,
        max_iterations=3,
        time_s=1200.0,
        max_files=5,
        tokens=None,
        cost_usd=None,
        risk_flags=(),
        hard_stops=("locked",),
    ),
    PolicyDenied(rule="B3", what="allow_network"),
    PolicyWarning(rule="B1", what="unknown mode 'fast'"),
    SandboxEnforced(level=v.SandboxLevel.LANDLOCK, detail="12 of 12 probes refused"),
    ActionDecided(action="solve", reason="1 blocking finding"),
    RoundVerified(phase="complete", done=True, blocker=None, evidence=(EVIDENCE,)),
    LockChanged(locked=True, why="release", who="somebody"),
    LockMet(why="release"),
    SettingsTrusted(keys=("base_url",), who="somebody"),
    CandidatesRejected(what="single edits of m.py::f", count=100, listing=BLOB),
    ModelWaited(model="openai/m", fault=v.ModelFault.RATE_LIMIT, wait_s=7.5, attempt=1),
    ModelGrounded(
        model="openai/m",
        fault=v.ModelFault.OVERLOAD,
        until=datetime(2026, 1, 1, 0, 5, tzinfo=UTC),
        reason="overloaded",
    ),
    ModelChosen(unit_id=UNIT, model="embedded", chain=("embedded",), reason="1 of 1 eligible"),
    SolverPinned(chain=("embedded",), reason="no solver is configured"),
    ProviderSwitched(before="openai/m", after="embedded", reason="overloaded"),
    ModelAllowed(unit_id=UNIT, model="embedded", rule="listed"),
    ModelDenied(unit_id=UNIT, model="openai/m", rule="credential", reason="there is no key"),
    ModelOpened(model="embedded", context_tokens=4096, parallel=1),
    ModelPulled(model="embedded", file_name="m.gguf", sha256=BLOB, size_bytes=1000, who="somebody"),
    TokensCounted(model="embedded", counts=BLOB),
    PlanRevised(unit_id=UNIT, plan=PLAN, plan_hash=BLOB, reason="planned by the model"),
    ToolFinished(
        tool="file_read",
        params=BLOB,
        step_id="change",
        outcome=BLOB,
        ok=True,
        step_utility=0.5,
        verification_delta=0,
        was_repeated=False,
        score=0.15,
        cost_tokens=500,
        label_source="rule",
        policy_bundle="tool_call/1",
        wall_s=0.25,
    ),
    ScheduleOpened(graph=BLOB, nodes=3, jobs=2, seed=7),
    NodeStarted(node_id=n.NodeId("U1"), node_kind=n.NodeKind.UNIT, attempt=1),
    NodeSettled(
        node_id=n.NodeId("U1"),
        outcome=n.NodeOutcome.REPLACED,
        cause="a.py: merge conflict",
        used=n.Cost(tokens=900, cost_usd=0.000125, iterations=2),
        added=(
            n.Node(
                node_id=n.NodeId("U1/again"),
                kind=n.NodeKind.REPROCESS,
                needs=(n.NodeId("U0"),),
                after=(n.NodeId("U2"),),
                reads=("src/**",),
                writes=("a.py",),
                reserve=n.Cost(tokens=1000, iterations=1),
            ),
        ),
    ),
    TestsWatched(tree=TREE, count=40, reach=BLOB),
    MutantsTried(
        tree=TREE,
        possible=30,
        mutants=(
            j.Mutant(
                file="a.py",
                line=3,
                operator="compare",
                patch="--- a/a.py\n+++ b/a.py\n@@ -3 +3 @@\n-x < 1\n+x <= 1",
                ended="killed",
                by=("tests/test_a.py::test_b",),
            ),
        ),
        untried=1,
        tests=4,
        apart=("tests/test_new.py::test_c",),
        unread=("page.js",),
        problem="the time for it was up",
        maker="mutants/1 CPython 3.11",
    ),
    ImpactChecked(
        level="slice",
        tree=TREE,
        selected=3,
        total=41,
        missed=("tests/test_a.py::test_b",),
        reason="3 of 41 tests by imports",
        levels="levels/1",
    ),
    BoundariesChecked(
        tree=TREE,
        files=("a.py",),
        boundaries=(
            j.Boundary(
                kind="signature",
                place="a.py:1",
                contract="f: its parameters are (x), not (x, y)",
                problem="`f(1, 2)` at b.py:3 does not bind: too many positional arguments",
            ),
        ),
    ),
    RoundDecided(
        number=1,
        tree=TREE,
        gates=(
            j.DecisionGate(
                gate="G2",
                asks="contracts hold",
                passed=False,
                reason="a.py:1",
                events=(v.EventId("20260101-000000-0001:9"),),
            ),
        ),
        go=False,
    ),
    NodeDeferred(node_id=n.NodeId("U3"), what="tokens", asked=900.0, left=12.0),
    ToolsOffered(offer=BLOB, count=3),
    ArtifactStored(version=VERSION, capability="note keeping"),
    ArtifactUsed(
        version=VERSION,
        call=a.CallFacts(
            session="ab12",
            ok=False,
            contract=True,
            faults=(a.Fault.PROVENANCE,),
            reads=("notes",),
            writes=("notes",),
        ),
        chosen="incumbent",
        wall_s=0.25,
    ),
    PromotionDecided(record=RECORD),
    LifecycleForced(
        version=VERSION,
        act=a.OperatorAct.DEMOTE,
        before=a.LifecycleState.DURABLE,
        after=a.LifecycleState.DEGRADED,
        reason="it lost lines",
        who="somebody",
    ),
    PromotionPolicySet(
        version="solver_promotion_v1",
        policy=BLOB,
        capability="log analysis",
        reason="trend of false holds",
        who="somebody",
    ),
    EnforcementApproved(missing=("2 of 3 domains",), reason="trial", who="somebody"),
    CallRead(
        model="openai/m",
        form="native",
        why="it has native tool calls, and 0 replies say nothing against them",
        came="invalid",
        complaint="no tool was called; call one of file_read, done, ask",
    ),
)


def main() -> None:
    """Append what is missing."""
    present = {record.event.kind for record in read_events(GOLDEN)} if GOLDEN.exists() else set()
    begin = datetime(2026, 1, 1, 0, 0, 0, 250_000, tzinfo=UTC)
    clock = FakeClock(begin + timedelta(seconds=len(present)), step_s=1.0)
    start = datetime(2026, 1, 1, 0, 0, 0, 250_000, tzinfo=UTC) + timedelta(seconds=len(present))
    clock = FakeClock(start, step_s=1.0)
    first = datetime(2026, 1, 1, microsecond=250_000, tzinfo=UTC)
    clock = FakeClock(first + timedelta(seconds=len(present)), step_s=1.0)
    ledger = FileLedger.open(
        GOLDEN, blobs=GOLDEN.parent / "blobs", trace_id=RUN, clock=clock, redact=str
    )
    for sample in SAMPLES:
        if sample.kind not in present:
            ledger.append(sample, turn=None if sample.kind.startswith("run.") else TURN)
    ledger.close()
    for missing in set(get_args(Event)) - {type(sample) for sample in SAMPLES}:
        raise SystemExit(f"{__file__} has no sample of {missing.__name__}; add one")


if __name__ == "__main__":
    main()
