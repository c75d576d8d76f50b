"""One turn of the step loop: plan, then step by step ToolCall, tool, ToolResult, label, loop control (SPEC E2, E3).

Each prompt is rebuilt from the plan, the facts, the tests and what the present step did. After every change the tests are
run; what they say goes into the next prompt and into the call's label. When the plan is through and something still stands
against the work, the failure is triaged, which changes the plan or ends the turn.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Final, Literal

from surefoot.codec import canonical, digest_of, encode
from surefoot.decisions.build_status import BUILD_STATUS, build_status, facts_of
from surefoot.decisions.complexity import (
    COMPLEXITY,
    ComplexityAnswer,
    ComplexityQuestion,
    clear_case,
    deep_due,
    files_named,
    without_model,
)
from surefoot.decisions.environment import (
    ENVIRONMENT,
    EnvironmentAnswer,
    EnvironmentQuestion,
    assess,
)
from surefoot.decisions.failure_triage import (
    SHOWN_OUTPUT,
    TRIAGE,
    TriageAnswer,
    TriageQuestion,
    clear_failure,
    diagnose,
    misses_own,
    named_by_words,
    revised,
    told_of,
    unfit,
)
from surefoot.decisions.plan_ir import (
    DEEP_PLANNING,
    MOST_ITERATIONS,
    PLANNING,
    PlannedStep,
    PlanningAnswer,
    PlanningQuestion,
    ordered,
    plan_of,
    problem,
)
from surefoot.decisions.signature import Unanswered, decide, ruled
from surefoot.decisions.solution_verifier import is_retry
from surefoot.decisions.tool_call import (
    ASK,
    DONE,
    SHAPED_CALL,
    TOOL_CALL,
    ToolCallAnswer,
    shape_of,
)
from surefoot.decisions.tool_result import TOOL_RESULT, ToolResultQuestion, step_score, value
from surefoot.errors import GitError
from surefoot.events.orchestration import PlanRevised
from surefoot.events.work import ToolCalled, ToolFinished
from surefoot.execute.agent.asking import Asked, Asking
from surefoot.execute.agent.checks import Checked, Checks, unkept
from surefoot.execute.agent.guides import Guides, worked_on
from surefoot.execute.agent.prompt import Scene, Taken, cut, moved, offered, outdated, remembered
from surefoot.kernel.asking import ask
from surefoot.kernel.evidence import is_whole
from surefoot.kernel.ports import (
    Answer,
    Asker,
    Clock,
    Notebook,
    Person,
    Suite,
    Toolbox,
    TurnInput,
    TurnOutput,
    Workspace,
)
from surefoot.values import (
    Complexity,
    ModelFailure,
    PlanIR,
    PlanStep,
    ReportState,
    SandboxLevel,
    StepIntent,
    ToolCall,
    ToolOutcome,
    TreeId,
    Usage,
)
from surefoot.vocabulary import is_unicode

_PLAN_CHARACTERS: Final = 12_000
_SHOWN: Final = 160
_MOST_FACTS: Final = 30
_FACT_CHARACTERS: Final = 1_000
_MAP_SHARE: Final = 6
"""Of a model's context, the map of the repository takes one part in so many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentLimits:
    """How far one turn goes."""

    calls: int = 60
    """Tool calls of a turn."""
    revisions: int = 4
    """How often a failed check may change the plan."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What the turn is told of the place of work, and whom it may ask."""

    system: str
    """Operating system and interpreter, in words."""
    sandbox: SandboxLevel
    overview: Callable[[Workspace, TreeId, str, int], str]
    """A map of the repository: workspace, tree, issue text, tokens."""
    read: Callable[[ToolCall, Workspace], ToolOutcome]
    """Does a call of `file_read` once more; no call of the turn, so that it is on no record."""
    redact: Callable[[str], str]
    """Hides secrets in what is cut before a model is shown it: half of one looks like none."""
    person: Person
    clock: Clock


class AgentExecutor:
    """Works as an agent; see the module."""

    def __init__(
        self,
        suite: Suite,
        tools: Callable[[], AbstractContextManager[Toolbox]],
        around: Surroundings,
        limits: AgentLimits | None = None,
        *,
        capture: bool = False,
    ) -> None:
        """`capture`: each call is recorded with the shape of its decision (SPEC D1)."""
        self._suite, self._tools, self._around = suite, tools, around
        self._limits, self._capture = limits or AgentLimits(), capture

    def run_turn(
        self, task: TurnInput, workspace: Workspace, asker: Asker, notebook: Notebook
    ) -> TurnOutput:
        """One attempt; leaves in the worktree whatever it did, for the kernel to prove or to roll back."""
        with self._tools() as toolbox:
            ports = _Ports(
                task=task,
                workspace=workspace,
                asker=asker,
                notebook=notebook,
                toolbox=toolbox,
                checks=Checks(task, self._suite, workspace, notebook),
                around=self._around,
                command=self._suite.command,
                capture=self._capture,
            )
            return _Turn(ports, self._limits).run()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ports:
    task: TurnInput
    workspace: Workspace
    asker: Asker
    notebook: Notebook
    toolbox: Toolbox
    checks: Checks
    around: Surroundings
    command: tuple[str, ...]
    capture: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stop:
    """Why the turn ends before its plan does."""

    reason: str
    failure: ModelFailure | None = None
    question: str = ""
    """That nobody answered."""


class _Turn:
    """One turn; lives as long as it."""

    def __init__(self, ports: _Ports, limits: AgentLimits) -> None:
        self._p, self._limits = ports, limits
        self._said: list[str] = []
        self._told = _known_from(ports.task)
        self._earlier = ports.task.learned
        self._facts: list[str] = []
        self._passed_over: frozenset[str] = frozenset()
        self._left: frozenset[str] = frozenset()
        self._taken: list[Taken] = []
        self._seen: set[tuple[ToolCall, TreeId]] = set()
        self._repeated = False
        self._effective = 0
        self._place = self._assess()
        shaped = ports.capture and not self._place.small_model
        self._asking = Asking(
            SHAPED_CALL if shaped else TOOL_CALL,
            ports.asker,
            ports.notebook,
            record=ports.task.calls,
            seed=ports.task.seed,
        )
        self._guides = Guides(ports.workspace, ports.task.base_tree, ports.around.redact)
        task, asker = ports.task, ports.asker
        self._map = ports.around.overview(
            ports.workspace, task.tree, self._issue(), asker.context_tokens // _MAP_SHARE
        )
        self._tree, self._is_kept = task.tree, True
        self._checked = ports.checks.look(task.tree)

    def run(self) -> TurnOutput:
        """Plan, work, check; again while the triage of a failure says so."""
        plan = self._plan()
        if not isinstance(plan, _Stop):
            plan = self._asked_again(plan)
        if isinstance(plan, _Stop):
            return self._output(plan)
        for attempt in range(self._limits.revisions + 1):
            stop = self._work(plan)
            if stop is not None:
                return self._output(stop)
            self._look()
            if not self._checked.complaints:
                return self._output(None)
            again = self._triage(plan, attempt)
            if isinstance(again, _Stop):
                return self._output(again)
            plan = again
        return self._output(_Stop(reason="the checks still hold something against the work"))

    # --- before the loop -------------------------------------------------------------------------

    def _assess(self) -> EnvironmentAnswer:
        p = self._p
        question = EnvironmentQuestion(
            system=p.around.system,
            files=tuple(filter(is_unicode, p.workspace.files(p.task.base_tree))),
            test_command=(PurePosixPath(p.command[0]).name, *p.command[1:]),
            sandbox=p.around.sandbox,
            model=p.asker.model,
            context_tokens=p.asker.context_tokens,
            parallel=p.asker.parallel,
        )
        return ruled(ENVIRONMENT, question, p.notebook, assess)

    def _issue(self) -> str:
        unit = self._p.task.unit
        said = [unit.issue.text.strip() or unit.issue.title]
        if unit.failing:
            said.append(
                "Named for this work: tests of the project that fail now and have to pass at its end, whether the issue "
                f"speaks of them or not: {', '.join(unit.failing)}"
            )
        said += [f"{f.file}:{f.line} {f.rule} {f.message}" for f in unit.findings]
        return "\n".join(said)

    def _plan(self) -> PlanIR | _Stop:
        """The unit's own plan for a small task or a small model, else the model's; a deep one when that is due."""
        p, unit = self._p, self._p.task.unit
        files = p.workspace.files(p.task.tree)
        facts = ComplexityQuestion(
            repository=cut(self._map, _PLAN_CHARACTERS),
            issue=cut(unit.issue.text.strip() or unit.issue.title, _PLAN_CHARACTERS),
            files=len(files),
            files_named=files_named(unit.issue.text, files),
            failing=len(unit.failing),
        )
        size = decide(
            COMPLEXITY,
            facts,
            p.asker,
            p.notebook,
            rule=without_model if self._place.small_model else clear_case,
            otherwise=without_model,
        )
        # What no model could say is said by rule: an estimate is no reason to give a turn up.
        judged = without_model(facts) if isinstance(size, Unanswered) else size.answer
        small_task = judged.complexity == Complexity.LOW.value and not p.task.refuted
        if small_task or self._place.small_model:
            return self._revise(self._own_plan(judged), "the unit's plan as one step")
        made = decide(
            DEEP_PLANNING if deep_due(judged) else PLANNING,
            PlanningQuestion(
                environment=self._place.summary,
                conventions=self._guides.about(unit.plan.changes_in),
                repository=cut(self._map, _PLAN_CHARACTERS),
                issue=cut(self._issue(), _PLAN_CHARACTERS),
                tests=cut(self._tests(), _PLAN_CHARACTERS // 2),
                refuted=p.task.refuted,
            ),
            p.asker,
            p.notebook,
            otherwise=lambda _: self._own_answer(),
            check=problem,
            seed=p.task.seed,
        )
        if isinstance(made, Unanswered):
            return _Stop(reason=made.reason, failure=made.failure)
        return self._revise(
            plan_of(made.answer, Complexity(judged.complexity)), "planned by the model"
        )

    def _asked_again(self, plan: PlanIR) -> PlanIR:
        """The plan with a step for what the verifier asked to have done again; the gates end the work where it asked too often."""
        asked = [told for told in self._p.task.refuted if is_retry(told)]
        if not asked:
            return plan
        facts = TriageQuestion(
            complaints=(asked[-1],),
            output="",
            exit_code=None,
            timed_out=False,
            ran_whole=True,
            attempt=len(asked) - 1,
            most_attempts=len(asked),
        )
        found = ruled(TRIAGE, facts, self._p.notebook, diagnose)
        left = revised(plan, facts, found.action)
        why = f"{found.action}, {found.category}: {told_of(found, by_model=False)}"
        return self._revise(replace(plan, steps=(*plan.steps, *left.steps)), why)

    def _own_plan(self, judged: ComplexityAnswer) -> PlanIR:
        """The unit's plan as one step, as complex as it was judged."""
        size = Complexity(judged.complexity)
        made = plan_of(self._own_answer(), size)
        return replace(self._p.task.unit.plan, steps=made.steps, complexity=size)

    def _own_answer(self) -> PlanningAnswer:
        """What the rule plans: one step for the whole change, which must not end as the last attempt did."""
        unit, refuted = self._p.task.unit, self._p.task.refuted
        modifies = [s for s in unit.plan.steps if s.intent is StepIntent.MODIFY]
        step = PlannedStep(
            id="change",
            description=f"make the change that the issue asks for: {unit.issue.title}",
            intent="modify",
            target_files=list(unit.plan.changes_in),
            depends_on=[],
            max_iterations=MOST_ITERATIONS,
            acceptance=[
                *(told for s in modifies for told in s.acceptance),
                *(f"not again: {told}" for told in refuted),
            ],
        )
        return PlanningAnswer(
            analysis=unit.plan.analysis,
            steps=[step],
            verification=list(unit.plan.verification),
            risk_factors=list(unit.plan.risk_factors),
            confidence=unit.plan.confidence,
        )

    def _revise(self, plan: PlanIR, reason: str) -> PlanIR:
        self._p.notebook.record(
            PlanRevised(
                unit_id=self._p.task.unit.unit_id,
                plan=plan,
                plan_hash=digest_of(plan),
                reason=reason,
            )
        )
        return plan

    # --- the loop --------------------------------------------------------------------------------

    def _work(self, plan: PlanIR) -> _Stop | None:
        """All steps that are still to be done, each after those it depends on."""
        done = self._passed_over = self._left = frozenset[str]()
        for step in ordered(plan.steps) or plan.steps:
            shown = step.intent is StepIntent.VERIFY and bool(self._taken)
            # The tests ran after the last change: where they hold nothing against it, there is nothing to verify.
            if shown and not self._checked.complaints:
                self._passed_over |= {step.step_id}
            else:
                stop = self._step(plan, step, done)
                if stop is not None:
                    return stop
            done |= {step.step_id}
        return None

    def _step(self, plan: PlanIR, step: PlanStep, done: frozenset[str]) -> _Stop | None:
        for _ in range(step.max_iterations):
            halted = self._halted()
            if halted:
                return _Stop(reason=halted)
            decision = self._ask(plan, step, done)
            if isinstance(decision, Unanswered):
                return _Stop(reason=decision.reason, failure=decision.failure)
            answer = decision.answer
            self._said.append(f"[{step.step_id}] {answer.thought}")
            self._learn(answer.learned)
            if answer.tool == DONE:
                return None
            if answer.tool != ASK:
                if not self._call(step, answer, decision.usage):
                    self._leave(step, "it asks what it asked before")
                    return None
            elif not self._person(answer.expected_outcome, approval=False).text:
                return _waiting(answer.expected_outcome)
        self._leave(step, "its calls are used up")
        return None

    def _leave(self, step: PlanStep, why: str) -> None:
        """A step that ended without being done; those after it know, and the checks decide."""
        self._left |= {step.step_id}
        self._said.append(f"[{step.step_id}] left: {why}")

    def _halted(self) -> str:
        """Why there is no further call; empty when there may be one."""
        if why := self._p.task.halted():
            return why
        if len(self._taken) >= self._limits.calls:
            return f"{len(self._taken)} tool calls were not enough"
        return ""

    def _ask(self, plan: PlanIR, step: PlanStep, done: frozenset[str]) -> Asked:
        p = self._p
        specs = offered(p.toolbox.specs, step.intent, small=self._place.small_model)
        scene = Scene(
            environment=self._place.summary,
            conventions=self._guides.about(worked_on(step.target_files, self._taken)),
            repository=self._map,
            issue=self._issue(),
            plan=plan,
            done=done,
            passed_over=self._passed_over,
            left=self._left,
            facts=(*self._remembered(), *self._told, *self._facts),
            tests=self._tests(),
            step=step,
            taken=tuple(self._taken),
            now={place: self._again(self._taken[place]) for place in outdated(self._taken)},
            specs=specs,
        )
        return self._asking.ask(scene)

    def _call(self, step: PlanStep, answer: ToolCallAnswer, usage: Usage) -> bool:
        """Run one call; look at the tests when it changed something; label it; whether the step may go on."""
        p, clock = self._p, self._p.around.clock
        call = ToolCall(tool=answer.tool, parameters=canonical(answer.params).decode())
        params = p.notebook.put(call.parameters.encode())
        spec = next(s for s in p.toolbox.specs if s.name == call.tool)
        called = p.notebook.record(
            ToolCalled(
                tool=call.tool,
                params=params,
                shown=call.parameters[:_SHOWN],
                artifact=spec.artifact,
                shape=p.notebook.put(encode(shape_of(answer))) if p.capture else None,
            )
        )
        repeated = (call, self._tree) in self._seen
        self._seen.add((call, self._tree))
        was, tree, began = self._checked, self._tree, clock.monotonic()
        outcome = p.toolbox.call(call, p.workspace)
        wall_s = clock.monotonic() - began
        if outcome.changed or not self._is_kept:
            self._look()
        known = remembered(call, p.workspace.path)
        self._taken.append(Taken(call=known, outcome=outcome, tree=tree))
        result = ruled(
            TOOL_RESULT,
            ToolResultQuestion(
                step_id=step.step_id,
                tool=call.tool,
                effect="read" if spec.looks and not outcome.changed else spec.effect,
                outcome=outcome,
                was_repeated=repeated,
                repeated_before=self._repeated,
                failing_before=was.failing,
                failing_after=_of_known(self._checked, was),
            ),
            p.notebook,
            value,
        )
        self._effective += result.success != "no"
        tokens = usage.prompt_tokens - usage.cached_tokens + usage.completion_tokens
        p.notebook.record(
            ToolFinished(
                tool=call.tool,
                params=params,
                step_id=step.step_id,
                outcome=p.notebook.put(encode(outcome)),
                ok=outcome.ok,
                params_valid=outcome.fits,
                exit_code=outcome.exit_code,
                step_utility=result.step_utility,
                verification_delta=result.verification_delta,
                was_repeated=repeated,
                score=round(step_score(result, was_repeated=repeated, cost_tokens=tokens), 4),
                cost_tokens=tokens,
                label_source="rule",
                policy_bundle=self._asking.bundle,
                wall_s=round(wall_s, 3),
            ),
            cause=called,
        )
        self._repeated = repeated
        return result.should_continue

    def _person(self, question: str, *, approval: bool) -> Answer:
        """Ask the person for approval, or for words; both are recorded, and words are known from then on."""
        p = self._p
        why = "the executor cannot go on without a person's word"
        diff = p.workspace.diff(p.task.tree, self._tree) if approval else None
        answer = ask(p.around.person, p.notebook, question, why, approval=approval, diff=diff)
        if answer.text:
            said = p.around.redact(f"{answer.who} said to {question!r}: {answer.text}")
            self._facts.append(said)
        return answer

    def _learn(self, learned: list[str]) -> None:
        """Keep what the model wants to remember; only it reads that again, so it is no fact of the run."""
        fresh = [cut(fact, _FACT_CHARACTERS) for fact in learned if fact.strip()]
        known = {*self._facts, *self._earlier}
        self._facts = [*self._facts, *(f for f in fresh if f not in known)][-_MOST_FACTS:]

    def _remembered(self) -> list[str]:
        """What earlier turns learned; it may speak of files that are no longer as they were then."""
        gone = "Learned in a turn whose work is gone: " if _is_gone(self._p.task) else ""
        return [f"{gone}{fact}" for fact in self._earlier]

    # --- checks ----------------------------------------------------------------------------------

    def _look(self) -> None:
        """See what the tests say of the worktree; where no tree can hold it, that is what stands against it."""
        try:
            self._tree = self._p.workspace.snapshot()
        except GitError as error:
            self._is_kept = False
            self._checked = unkept(self._checked, error)
        else:
            self._is_kept = True
            self._checked = self._p.checks.look(self._tree)

    def _again(self, one: Taken) -> str:
        """What a read gives by now."""
        was, now = (self._lines(tree, one.path) for tree in (one.tree, self._tree))
        outcome = self._p.around.read(moved(one.call, now - was), self._p.workspace)
        return outcome.output if outcome.ok else outcome.error

    def _lines(self, tree: TreeId, path: str) -> int:
        return (self._p.workspace.read(tree, path) or b"").count(b"\n")

    def _tests(self) -> str:
        return self._p.checks.told(self._checked)

    def _triage(self, plan: PlanIR, attempt: int) -> PlanIR | _Stop:
        """What the failed checks mean: a changed plan, more room for the checks, or the end of the turn."""
        report = self._checked.report
        build = ruled(
            BUILD_STATUS, facts_of(report, report.failing), self._p.notebook, build_status
        )
        printed = "\n".join((report.output, *self._checked.complaints))
        facts = TriageQuestion(
            complaints=self._checked.complaints,
            output=report.output[-SHOWN_OUTPUT:],
            words=named_by_words(printed),
            exit_code=report.exit_code,
            timed_out=report.state is ReportState.TIMEOUT,
            ran_whole=is_whole(report, self._p.task.baseline),
            build_error=build.error_type,
            may_be_machine=build.status != "Success" and not build.actionable,
            attempt=attempt,
            most_attempts=self._limits.revisions,
            is_own=misses_own(printed, self._p.workspace.files(self._tree)),
        )
        found, by_model = self._diagnosed(facts)
        said = told_of(found, by_model=by_model)
        told = said if by_model else ""  # what a rule says are the complaints, which the step has
        left = revised(plan, facts, found.action, told)
        self._revise(left, f"{found.action}, {found.category}: {said}")
        if found.action == "Abort":
            return _Stop(reason=f"given up after {attempt} changes of the plan: {said}")
        if found.action == "Escalate":
            question = f"{found.category}: {said}. May the work go on?"
            answer = self._person(question, approval=True)
            if answer.approved:
                going_on = revised(plan, facts, "FixAndRetry", told)
                return self._revise(going_on, f"{answer.who} lets it go on")
            if answer.is_silence:
                return _waiting(question)
            return _Stop(reason=f"{answer.who} does not let it go on: {question}")
        if left.room > plan.room:
            self._p.checks.give(left.room)
        return left

    def _diagnosed(self, facts: TriageQuestion) -> tuple[TriageAnswer, bool]:
        """What a failure is, and whether a model says so: asked only where no rule knows the failure, and large enough."""
        p = self._p
        said = decide(
            TRIAGE,
            facts,
            p.asker,
            p.notebook,
            rule=diagnose if self._place.small_model else clear_failure,
            otherwise=diagnose,
            check=lambda answer: unfit(facts, answer),
            seed=p.task.seed,
        )
        if isinstance(said, Unanswered):
            return ruled(TRIAGE, facts, p.notebook, diagnose), False
        return said.answer, said.decided_by == "model"

    # --- what is said ----------------------------------------------------------------------------

    def _output(self, stop: _Stop | None) -> TurnOutput:
        if stop is not None:
            self._said.append(stop.reason)
        claim: Literal["none", "done", "wait"] = "done" if stop is None else "none"
        return TurnOutput(
            transcript="\n".join(self._said),
            claim="wait" if stop is not None and stop.question else claim,
            effective_actions=self._effective,
            failure=stop.failure if stop is not None else None,
            unanswered=stop.question if stop is not None else "",
            learned=(*self._earlier, *self._facts)[-_MOST_FACTS:],
        )


def _known_from(task: TurnInput) -> tuple[str, ...]:
    """What became of the turn before: what its checkpoint says, what was held against it, and what is left of it."""
    last = task.last
    if last is None:
        return ()
    known = [f"The turn before ended as {last.outcome}: {cut(last.summary, _FACT_CHARACTERS)}"]
    if last.remaining_items:
        known.append(f"Left open by it: {', '.join(last.remaining_items[:_MOST_FACTS])}")
    known += [f"Held against it: {cut(told, _FACT_CHARACTERS)}" for told in task.refuted]
    if _is_gone(task):
        known.append("Nothing of it was kept: the files are as they were before it.")
    return tuple(known)


def _is_gone(task: TurnInput) -> bool:
    """Whether the work of the turn before was thrown away: that turn's, or with it all that was there."""
    return not task.kept or task.tree == task.base_tree


def _of_known(now: Checked, before: Checked) -> tuple[str, ...] | None:
    """What fails of the tests that were there before: one that is new and fails makes nothing worse."""
    known = frozenset(before.report.collected)
    usable = before.failing is not None and now.failing is not None
    return tuple(t for t in now.failing or () if t in known) if usable else now.failing


def _waiting(question: str) -> _Stop:
    return _Stop(reason=f"a person has to answer: {question}", question=question)
