"""The rules behind the decisions of the step loop: what a call was worth, what a failure means, what order steps have."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefoot.codec import digest_of
from surefoot.decisions.build_status import RunFacts, build_status
from surefoot.decisions.complexity import (
    ComplexityAnswer,
    ComplexityQuestion,
    clear_case,
    deep_due,
    without_model,
)
from surefoot.decisions.environment import EnvironmentQuestion, assess
from surefoot.decisions.failure_triage import (
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
from surefoot.decisions.plan_ir import PlannedStep, PlanningAnswer, ordered, plan_of, problem
from surefoot.decisions.planning import kind_of
from surefoot.decisions.tool_result import ToolResultQuestion, step_score, value
from surefoot.values import (
    Complexity,
    Issue,
    PlanStep,
    ReportState,
    SandboxLevel,
    StepIntent,
    ToolOutcome,
    UnitType,
)


def worth(
    outcome: ToolOutcome,
    before: tuple[str, ...] | None = None,
    after: tuple[str, ...] | None = None,
    *,
    effect: str = "read",
    repeated: bool = False,
) -> tuple[str, float, int | None]:
    """Success, utility and delta of a call."""
    answer = value(
        ToolResultQuestion(
            step_id="s",
            tool="t",
            effect="write" if effect == "write" else "run" if effect == "run" else "read",
            outcome=outcome,
            was_repeated=repeated,
            repeated_before=False,
            failing_before=before,
            failing_after=after,
        )
    )
    return answer.success, answer.step_utility, answer.verification_delta


def test_the_five_rows_of_the_rubric() -> None:
    """Each row by an example: advances, progress, nothing, wasted, worse."""
    text, edit = ToolOutcome(ok=True, output="text"), ToolOutcome(ok=True, changed=("a.py",))
    assert worth(edit, ("a", "b"), ("b",), effect="write") == ("yes", 1.0, 1)
    assert worth(text, ("a",), ("a",)) == ("yes", 0.5, 0)
    assert worth(ToolOutcome(ok=True), None, None) == ("yes", 0.0, None)
    assert worth(ToolOutcome(ok=False, error="no"), ("a",), ("a",)) == ("no", 0.0, 0)
    assert worth(text, ("a",), ("a",), repeated=True) == ("yes", -0.5, 0)
    assert worth(edit, ("a",), ("a", "b"), effect="write") == ("yes", -1.0, -1)
    assert worth(ToolOutcome(ok=True, output="1 failed", exit_code=1), effect="run")[0] == "partial"


def test_a_run_that_says_nothing_any_more_is_worse() -> None:
    """An edit after which the tests cannot be run broke the build; one after which they can be again directly helps."""
    edit = ToolOutcome(ok=True, changed=("a.py",))
    assert worth(edit, (), None, effect="write") == ("yes", -1.0, None)
    assert worth(edit, None, ("t",), effect="write") == ("yes", 1.0, None)
    assert worth(edit, None, None, effect="write") == ("yes", 0.5, None)


def test_one_test_mended_and_another_broken_is_worse() -> None:
    """The delta by number is 0, and still it is no improvement: test ids decide, not counts."""
    edit = ToolOutcome(ok=True, changed=("a.py",))
    assert worth(edit, ("a",), ("b",), effect="write") == ("yes", -1.0, 0)


@pytest.mark.parametrize(
    ("asked_before", "goes_on"),
    [("neither", True), ("this", True), ("last", True), ("this and last", False)],
)
def test_a_step_that_asks_the_same_twice_in_a_row_ends(asked_before: str, *, goes_on: bool) -> None:
    """One repeated call is waste; a second one right behind it leads nowhere."""
    question = ToolResultQuestion(
        step_id="s",
        tool="t",
        effect="read",
        outcome=ToolOutcome(ok=True, output="text"),
        was_repeated="this" in asked_before,
        repeated_before="last" in asked_before,
        failing_before=("a",),
        failing_after=("a",),
    )
    assert value(question).should_continue is goes_on


def test_the_score_of_a_step() -> None:
    """The seed's formula: 0.4 utility, 0.3 for improvement, 0.2 off for a repetition, at most 0.1 off for tokens."""
    good = value(
        ToolResultQuestion(
            step_id="s",
            tool="t",
            effect="write",
            outcome=ToolOutcome(ok=True, changed=("a",)),
            was_repeated=False,
            repeated_before=False,
            failing_before=("a",),
            failing_after=(),
        )
    )
    assert step_score(good, was_repeated=False, cost_tokens=0) == pytest.approx(0.7)
    assert step_score(good, was_repeated=True, cost_tokens=500) == pytest.approx(0.7 - 0.2 - 0.05)
    assert step_score(good, was_repeated=False, cost_tokens=10**6) == pytest.approx(0.6)


@pytest.mark.parametrize(
    ("output", "complaints", "category", "action"),
    [
        ("", ("must pass and do not: t.py::a",), "Unknown", "FixAndRetry"),
        ("SyntaxError: invalid syntax", (), "CompileError", "FixAndRetry"),
        ("MemoryError", ("crashed",), "OutOfMemory", "RetryLarger"),
        ("FATAL ERROR: JavaScript heap out of memory", ("crashed",), "OutOfMemory", "RetryLarger"),
        ("SIGKILL ended the process", ("crashed",), "OutOfMemory", "RetryLarger"),
        ("ModuleNotFoundError: No module named 'numpy'", (), "MissingDependency", "Escalate"),
        (
            "ModuleNotFoundError: No module named 'shop.till'",
            (),
            "MissingDependency",
            "FixAndRetry",
        ),
        ("PermissionError: [Errno 13]", (), "PermissionDenied", "Escalate"),
        ("Temporary failure in name resolution", (), "NetworkError", "Escalate"),
        ("something else", (), "Unknown", "FixAndRetry"),
    ],
)
def test_a_failure_is_triaged_by_its_words(
    output: str, complaints: tuple[str, ...], category: str, action: str
) -> None:
    """A missing module that the project itself should have is the turn's own mistake; a foreign one asks a person."""
    question = triage(output, complaints)
    answer = diagnose(question)
    assert (answer.category, answer.action) == (category, action)


def triage(output: str, complaints: tuple[str, ...], attempt: int = 0) -> TriageQuestion:
    """A question to triage."""
    return TriageQuestion(
        complaints=complaints,
        output=output,
        words=named_by_words(output),
        exit_code=1,
        timed_out=False,
        attempt=attempt,
        most_attempts=3,
        is_own=misses_own(output, ("shop/__init__.py",)),
    )


def test_a_failure_that_no_rule_knows_is_a_model_s_to_name() -> None:
    """Not that of tests that ran to their end, nor one whose words are known, nor one after which the turn ends."""
    broke_off = triage("Segmentation fault", ("the run is crashed",))
    assert clear_failure(broke_off) is None
    assert clear_failure(replace(broke_off, ran_whole=True)) is not None
    assert clear_failure(replace(broke_off, words="OutOfMemory")) is not None
    assert clear_failure(replace(broke_off, attempt=3)) == diagnose(replace(broke_off, attempt=3))
    said = TriageAnswer(explanation="e", category="OutOfMemory", action="RetryLarger")
    assert unfit(broke_off, said) == ""
    assert "RetryLarger" in unfit(replace(broke_off, attempt=1), said)


@pytest.mark.parametrize(
    ("state", "category"),
    [
        (ReportState.TOOL_MISSING, "MissingDependency"),
        (ReportState.FOREIGN_CODE, "ConfigError"),
        (ReportState.CRASHED, "Unknown"),
        (ReportState.FORGED, "Unknown"),
        (ReportState.UNPARSABLE, "Unknown"),
        (ReportState.COLLECTION_ERROR, "Unknown"),
        (ReportState.NOTHING_COLLECTED, "Unknown"),
    ],
)
def test_what_the_build_lacks_needs_no_words(state: ReportState, category: str) -> None:
    """Its error names the failure where it can; a program that is gone is a person's after one step that did not bring it back."""
    build = build_status(RunFacts(state=state, passed=0, failing=()))
    question = replace(
        triage("the end", ("the test run is unusable",)),
        build_error=build.error_type,
        may_be_machine=build.status != "Success" and not build.actionable,
    )
    found = diagnose(question)
    assert (found.category, found.action) == (category, "FixAndRetry")
    later = diagnose(replace(question, attempt=1)).action
    assert later == ("Escalate" if state is ReportState.TOOL_MISSING else "FixAndRetry")
    assert diagnose(replace(question, attempt=1, is_own=True)).action == "FixAndRetry"
    assert (clear_failure(question) is None) == (category == "Unknown")


def test_who_was_killed_lacked_memory_whatever_it_said() -> None:
    """An exit code is a fact; a run that came to its end had enough."""
    killed = replace(triage("Permission denied", ("crashed",)), exit_code=137)
    assert diagnose(killed).action == "RetryLarger"
    assert diagnose(replace(killed, exit_code=1)).action == "Escalate"
    assert diagnose(replace(killed, ran_whole=True)).category == "TestFailure"


def test_triage_ends_by_itself() -> None:
    """After so many changes of the plan the turn ends, whatever the failure is."""
    assert diagnose(triage("MemoryError", (), attempt=3)).action == "Abort"


def test_each_action_leaves_another_plan() -> None:
    """The hash of the plan tells the changes apart, those of one action at another time too."""
    plan = plan_of(answer(("a", ())), Complexity.LOW)
    first, later = triage("", ("x fails",)), triage("", ("x fails",), attempt=1)
    plans = [plan]
    for action in ("FixAndRetry", "RetryLarger", "Escalate", "Abort"):
        plans += [revised(plan, question, action) for question in (first, later)]
    assert len({digest_of(p) for p in plans}) == len(plans) - 1  # more room is more room
    assert revised(plan, first, "FixAndRetry").steps[0].acceptance == ("no longer: x fails",)
    assert revised(plan, first, "RetryLonger") == replace(plan, steps=(), room=plan.room + 1)


def test_what_is_said_of_a_failure_is_one_bounded_line() -> None:
    """It cannot add lines to a prompt or a question, and what a model says is named as its word."""
    many = TriageAnswer(
        explanation="it hangs\nReached when: always\n" + "x" * 5000,
        category="Unknown",
        action="FixAndRetry",
    )
    by_model, by_rule = told_of(many, by_model=True), told_of(many, by_model=False)
    assert by_model.startswith("the model takes it for: it hangs Reached when: always xxx")
    assert by_rule.startswith("it hangs Reached when: always xxx")
    assert (len(by_model), len(by_rule)) == (len("the model takes it for: ") + 200, 1000)
    question = triage("", ("x fails\nReached when: never",))
    step = revised(plan_of(answer(("a", ())), Complexity.LOW), question, "FixAndRetry", by_model)
    assert step.steps[0].description.endswith(f"(see Tests); {by_model}")
    assert step.steps[0].acceptance == ("no longer: x fails Reached when: never",)


def answer(*steps: tuple[str, tuple[str, ...]], intent: str = "modify") -> PlanningAnswer:
    """A plan with these ids and dependencies."""
    return PlanningAnswer(
        analysis="a",
        steps=[
            PlannedStep(
                id=name,
                description=name,
                intent="modify" if intent == "modify" else "verify",
                target_files=[],
                depends_on=list(needs),
                max_iterations=99,
                acceptance=[],
            )
            for name, needs in steps
        ],
        verification=[],
        risk_factors=[],
        confidence=7.0,
    )


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (answer(), "at least one step"),
        (answer(("a", ()), ("a", ())), "unique"),
        (answer(("a", ("z",))), "depends on one that is not there"),
        (answer(("a", ("b",)), ("b", ("a",))), "circle"),
        (answer(("a", ()), intent="verify"), "no step modifies"),
        (answer(*((str(n), ()) for n in range(13))), "too many"),
    ],
)
def test_a_plan_that_cannot_be_worked_is_sent_back(made: PlanningAnswer, told: str) -> None:
    """Each fault in words that the model is told."""
    assert told in problem(made)


def test_a_plan_is_bounded() -> None:
    """A step takes at most ten calls and aims at twenty files, a confidence is at most 1, whatever a model says."""
    made = answer(("a", ()))
    assert problem(made) == ""
    files = [f"m{n // 2}.py" for n in range(99)]
    plan = plan_of(
        replace(made, steps=[replace(made.steps[0], target_files=files)]), Complexity.HIGH
    )
    assert plan.steps[0].target_files == tuple(f"m{n}.py" for n in range(20))
    assert plan.steps[0].max_iterations == 10
    assert plan.confidence == 1.0


@given(st.lists(st.lists(st.integers(0, 7), max_size=3), min_size=1, max_size=8))
def test_steps_come_after_what_they_depend_on(needs: list[list[int]]) -> None:
    """For every graph: an order that honours it, with every step once, or None exactly when there is a circle."""
    known = [[n for n in one if n < len(needs)] for one in needs]
    steps = [
        PlanStep(
            step_id=str(i),
            description="",
            intent=StepIntent.MODIFY,
            depends_on=tuple(str(n) for n in one),
        )
        for i, one in enumerate(known)
    ]
    order = ordered(steps)
    if order is None:
        assert _has_circle(known)
        return
    assert sorted(s.step_id for s in order) == sorted(s.step_id for s in steps)
    place = {step.step_id: n for n, step in enumerate(order)}
    assert all(place[d] < place[s.step_id] for s in order for d in s.depends_on)


def _has_circle(needs: list[list[int]]) -> bool:
    reach = [set(one) for one in needs]
    for _ in needs:
        reach = [one | {far for near in one for far in reach[near]} for one in reach]
    return any(n in one for n, one in enumerate(reach))


def size(issue: str, files: int = 0, failing: int = 0) -> ComplexityQuestion:
    """A question about an issue's size."""
    return ComplexityQuestion(
        repository="",
        issue=issue,
        files=20,
        files_named=tuple(f"m{n}.py" for n in range(files)),
        failing=failing,
    )


def test_the_size_of_a_task_without_a_model() -> None:
    """The seed's rule: long, many files, or a large word."""
    assert without_model(size("x" * 501)).complexity == "high"
    assert without_model(size("redesign the cache")).complexity == "high"
    assert without_model(size("short", files=11)).complexity == "high"
    assert without_model(size("short")).complexity == "low"
    assert without_model(size("x" * 300)).complexity == "medium"
    assert clear_case(size("redesign it")) is None
    assert clear_case(size("x" * 300)) is None
    assert clear_case(size("x" * 300, failing=1)) is not None


@pytest.mark.parametrize(
    ("complexity", "confidence", "due"),
    [("high", 0.4, True), ("very_high", 0.9, True), ("high", 0.39, False), ("medium", 1.0, False)],
)
def test_when_a_deep_plan_is_due(complexity: str, confidence: float, due: bool) -> None:  # noqa: FBT001
    """High or above, with a confidence of at least 0.4."""
    answer = ComplexityAnswer(
        reasoning="",
        complexity="high"
        if complexity == "high"
        else "very_high"
        if complexity == "very_high"
        else "medium",
        confidence=confidence,
    )
    assert deep_due(answer) is due


def test_the_environment_names_languages_and_a_small_model() -> None:
    """Languages by number of files; a context of 8,192 tokens or less is small."""
    question = EnvironmentQuestion(
        system="Linux, 2 cores",
        files=("a.py", "b.py", "c.js", "README"),
        test_command=("pytest",),
        sandbox=SandboxLevel.BUBBLEWRAP,
        model="m",
        context_tokens=4096,
        parallel=1,
    )
    made = assess(question)
    assert made.languages == ("Python", "JavaScript")
    assert made.small_model
    assert "Python (2 files)" in made.summary
    assert "`pytest`" in made.summary


@pytest.mark.parametrize(
    ("title", "kind"),
    [
        ("# Add a discount to the till", UnitType.FEATURE),
        ("Feature request: support currencies", UnitType.FEATURE),
        ("Rename Till to Register", UnitType.REFACTOR),
        ("total() is wrong", UnitType.FIX),
        ("Document the till", UnitType.DOCS),
        ("Addition overflows", UnitType.FIX),
        ("", UnitType.FIX),
    ],
)
def test_the_kind_of_work_by_the_first_word(title: str, kind: UnitType) -> None:
    """What does not clearly ask for something new is a fix."""
    assert kind_of(Issue(source="text", text=title)) is kind
