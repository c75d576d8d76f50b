"""The six gates decide, and what cannot be established does not pass (SPEC C5)."""

from dataclasses import replace
from typing import Literal

import pytest
from tests.unit.reports import GREEN

from surefoot.assembly import rule_reviewers
from surefoot.gates import default_gates
from surefoot.gates.review import FLAG_OF, RuleReviewer, objection
from surefoot.kernel.ports import GateInput, ReviewInput, TurnOutput
from surefoot.kernel.vetoes import heard
from surefoot.values import (
    RISK_FLAGS,
    Checkpoint,
    CheckpointOutcome,
    Classification,
    Complexity,
    Diff,
    Evidence,
    FileChange,
    GateName,
    GateOutcome,
    Issue,
    Mode,
    ModelFailure,
    ModelFault,
    PlanIR,
    PlanStep,
    Review,
    SandboxLevel,
    StepIntent,
    TreeId,
    Unit,
    UnitId,
    UnitType,
)

STEP = PlanStep(
    step_id="s", description="d", intent=StepIntent.MODIFY, acceptance=("the test passes",)
)
PLAN = PlanIR(
    analysis="", steps=(STEP,), verification=("t",), complexity=Complexity.LOW, confidence=1.0
)
UNIT = Unit(
    unit_id=UnitId("u"),
    unit_type=UnitType.FIX,
    strategy="repair",
    issue=Issue(source="text", text="x"),
    plan=PLAN,
)


def diff(*paths: str) -> Diff:
    """A diff that changes these files."""
    files = tuple(FileChange(path=p, status="M", added=1, removed=1) for p in paths)
    return Diff(before=TreeId("a"), after=TreeId("b"), files=files, patch="")


def proof(kind: str = "failing-tests", *, passed: bool = True) -> Evidence:
    """One proof."""
    return Evidence(kind=kind, command="c", before="b", after="a", passed=passed)  # type: ignore[arg-type]


def word(kind: Classification, outcome: CheckpointOutcome) -> Checkpoint:
    """A checkpoint."""
    return Checkpoint(outcome=outcome, classification=kind, summary="s")


GOOD = GateInput(
    unit=UNIT,
    mode=Mode.AUTO_SOLVE_FULL,
    locked=None,
    risk_flags=frozenset(),
    max_files=2,
    sandbox=SandboxLevel.BUBBLEWRAP,
    unsandboxed_allowed=False,
    tree=TreeId("b"),
    output=TurnOutput(transcript="", claim="none", effective_actions=1),
    diff=diff("a.py"),
    run_diff=diff("a.py"),
    contents={"a.py": ("x = 1", "x = 2")},
    evidence=(proof(), proof("base-tests"), proof("protected-files")),
    checkpoint=word(Classification.COMPLETE, CheckpointOutcome.COMPLETE),
)
OVERLOAD = ModelFailure(fault=ModelFault.OVERLOAD, message="busy", model="m")
HARD, AGAIN = GateOutcome.HARD_FAIL, GateOutcome.RETRYABLE_FAIL
NO_DIFF = diff()

CASES: list[tuple[GateName, dict[str, object], GateOutcome, str]] = [
    (GateName.POLICY, {"locked": "freeze"}, HARD, "policy"),
    (GateName.POLICY, {"mode": Mode.REPORT_ONLY}, HARD, "policy"),
    (GateName.POLICY, {"sandbox": SandboxLevel.NONE}, HARD, "policy"),
    (GateName.INPUT, {"unit": replace(UNIT, plan=replace(PLAN, steps=()))}, HARD, "input"),
    (GateName.INPUT, {"unit": replace(UNIT, plan=replace(PLAN, verification=()))}, HARD, "input"),
    (
        GateName.INPUT,
        {"unit": replace(UNIT, plan=replace(PLAN, steps=(replace(STEP, acceptance=()),)))},
        HARD,
        "input",
    ),
    (GateName.EXECUTION, {"error": "internal: broke"}, AGAIN, "execution"),
    (GateName.EXECUTION, {"output": None}, HARD, "execution"),
    (
        GateName.EXECUTION,
        {
            "output": replace(
                GOOD.output or TurnOutput(transcript="", claim="none"), failure=OVERLOAD
            ),
            "diff": NO_DIFF,
        },
        AGAIN,
        "model",
    ),
    (GateName.ARTIFACT, {"diff": None}, HARD, "artifact"),
    (GateName.ARTIFACT, {"unit": replace(UNIT, writes=("b.py",))}, AGAIN, "artifact"),
    (GateName.ARTIFACT, {"run_diff": diff("a", "b", "c")}, AGAIN, "policy"),
    (GateName.ARTIFACT, {"contents": {"a.py": ("", "def (")}}, AGAIN, "artifact"),
    (GateName.ARTIFACT, {"contents": {"a.json": ("", "{")}}, AGAIN, "artifact"),
    (GateName.ARTIFACT, {"contents": {"a.toml": ("", "= 1")}}, AGAIN, "artifact"),
    (GateName.VERIFICATION, {"evidence": ()}, AGAIN, "verification"),
    (
        GateName.VERIFICATION,
        {
            "evidence": (proof(passed=False),),
            "checkpoint": word(Classification.PROGRESS, CheckpointOutcome.CONTINUE),
        },
        AGAIN,
        "code",
    ),
    (
        GateName.VERIFICATION,
        {"evidence": (proof(), proof("base-tests", passed=False)), "gain": True},
        AGAIN,
        "code",
    ),
    (
        GateName.VERIFICATION,
        {"evidence": (proof(), proof("protected-files", passed=False))},
        AGAIN,
        "test",
    ),
    (GateName.VERIFICATION, {"diff": NO_DIFF}, AGAIN, "verification"),
    (GateName.CLOSEOUT, {"error": "git: no space"}, AGAIN, "git"),
    (
        GateName.CLOSEOUT,
        {"checkpoint": word(Classification.BLOCKER_STALL, CheckpointOutcome.BLOCKER)},
        HARD,
        "verification",
    ),
    (
        GateName.CLOSEOUT,
        {"checkpoint": word(Classification.EXECUTOR_REFUSED, CheckpointOutcome.BLOCKER)},
        AGAIN,
        "model",
    ),
]


@pytest.mark.parametrize("name", list(GateName))
def test_a_good_turn_passes(name: GateName) -> None:
    """Each of the six lets an honest turn through."""
    assert default_gates()[name].evaluate(GOOD).outcome is GateOutcome.PASS


@pytest.mark.parametrize(("name", "changes", "outcome", "failure"), CASES)
def test_a_bad_turn_is_stopped(
    name: GateName, changes: dict[str, object], outcome: GateOutcome, failure: str
) -> None:
    """Each fault is stopped by its gate with its class and a reason."""
    result = default_gates()[name].evaluate(replace(GOOD, **changes))  # type: ignore[arg-type]
    assert (result.outcome, result.failure) == (outcome, failure)
    assert result.reason


def test_less_than_complete_is_kept_only_with_a_gain() -> None:
    """Strictly fewer failures and no harm: kept. No gain: rolled back."""
    partial = replace(
        GOOD,
        evidence=(proof(passed=False), proof("base-tests")),
        checkpoint=word(Classification.PROGRESS, CheckpointOutcome.CONTINUE),
    )
    gate = default_gates()[GateName.VERIFICATION]
    assert gate.evaluate(replace(partial, gain=True)).outcome is GateOutcome.PASS
    assert gate.evaluate(partial).outcome is AGAIN


REVIEW = ReviewInput(
    issue=UNIT.issue,
    diff=diff("a.py"),
    contents={"a.py": ("x = 1", "x = 2")},
    evidence=(proof(),),
    mode=Mode.AUTO_SOLVE_FULL,
    risk_flags=frozenset(),
    test_paths=frozenset(),
    control_paths=frozenset(),
    tests=GREEN,
    failing_before=frozenset(),
)


def test_a_reviewer_vetoes_what_an_inspector_finds() -> None:
    """An inspector's word is a veto with a place; without one there is no objection."""
    reviewer = RuleReviewer([lambda seen: [objection("odd", p, "is odd") for p in seen.diff.paths]])
    assert reviewer.review(REVIEW).action == "BLOCK"
    assert reviewer.review(REVIEW).findings[0].file == "a.py"
    assert RuleReviewer([]).review(REVIEW).verdict == "PASS"


@pytest.mark.parametrize(("rule", "flag"), sorted(FLAG_OF.items()))
def test_a_rule_with_a_flag_stops_with_its_name_and_is_lifted_by_it(rule: str, flag: str) -> None:
    """Deny by default: the reason names the flag, and exactly that flag lifts the veto."""
    reviewer = RuleReviewer([lambda _seen: [objection(rule, "a.py", "m")]])
    assert flag in reviewer.review(REVIEW).reason
    others = frozenset(RISK_FLAGS) - {flag}
    assert reviewer.review(replace(REVIEW, risk_flags=others)).action == "BLOCK"
    assert reviewer.review(replace(REVIEW, risk_flags=frozenset({flag}))).action == "PROCEED"


def test_a_deleted_file_and_changed_dependencies_need_their_flags() -> None:
    """What is removed or upgraded is named before it is let through."""
    gone = FileChange(path="old.py", status="D", added=0, removed=9)
    lock = FileChange(path="poetry.lock", status="M", added=1, removed=1)
    seen = replace(REVIEW, diff=replace(REVIEW.diff, files=(gone, lock)))
    rules = {f.rule for f in RuleReviewer([]).review(seen).findings}
    assert rules == {"file-deleted", "dependency-changed"}


class Broken:
    """A reviewer that breaks, while it is interrupted or not."""

    def __init__(self, *, interrupted: bool) -> None:
        self._interrupted = interrupted

    def review(self, seen: ReviewInput) -> Review:
        """No word."""
        try:
            if self._interrupted:
                raise KeyboardInterrupt
        finally:
            raise ValueError(f"no rules for {seen.mode}")


def test_a_reviewer_that_breaks_has_objected_and_hides_no_interruption() -> None:
    """What breaks is no approval, and ctrl-C is no veto."""
    review = heard(Broken(interrupted=False), REVIEW)
    assert (review.verdict, review.action, len(review.findings)) == ("FAIL", "BLOCK", 1)
    assert "ValueError: no rules for auto_solve_full" in review.reason
    with pytest.raises(KeyboardInterrupt):
        heard(Broken(interrupted=True), REVIEW)


@pytest.mark.parametrize(
    "changes",
    [
        {"diff": NO_DIFF, "contents": {}},
        {"test_paths": frozenset({"a.py"})},
        {"control_paths": frozenset({"a.py"})},
        {"evidence": (proof(passed=False),)},
    ],
)
def test_a_reviewer_vetoes_by_itself(changes: dict[str, object]) -> None:
    """An empty change, a changed test, a changed control file and an open proof are vetoed."""
    assert RuleReviewer([]).review(replace(REVIEW, **changes)).action == "BLOCK"  # type: ignore[arg-type]


def test_flags_lift_the_guard_on_tests_and_ci() -> None:
    """With its flag on, a changed test or CI file is no veto by itself."""
    guarded = replace(REVIEW, test_paths=frozenset({"a.py"}), control_paths=frozenset({"a.py"}))
    flags = frozenset({"allow_test_changes", "allow_ci_changes"})
    assert RuleReviewer([]).review(replace(guarded, risk_flags=flags)).action == "PROCEED"


def test_complete_over_a_failing_proof_is_a_contradiction() -> None:
    """Whatever was gained, done over failing checks fails hard."""
    claimed = replace(GOOD, evidence=(proof(passed=False), proof("base-tests")), gain=True)
    result = default_gates()[GateName.VERIFICATION].evaluate(claimed)
    assert (result.outcome, result.failure) == (HARD, "verification")
    assert "done is said over failing checks" in result.reason


FIXER = replace(UNIT, strategy="fixer")


def test_a_strategy_that_repeats_itself_gets_one_turn() -> None:
    """What asks no model would do the same again: the unit ends with what is left, and a gain stays committed."""
    half = replace(
        GOOD,
        unit=FIXER,
        evidence=(proof("findings", passed=False), proof("base-tests")),
        checkpoint=word(Classification.PROGRESS, CheckpointOutcome.CONTINUE),
    )
    gates = default_gates()
    assert gates[GateName.VERIFICATION].evaluate(half).outcome is HARD
    assert gates[GateName.VERIFICATION].evaluate(replace(half, gain=True)).outcome is (
        GateOutcome.PASS
    )
    assert gates[GateName.CLOSEOUT].evaluate(replace(half, gain=True)).outcome is HARD
    assert gates[GateName.CLOSEOUT].evaluate(replace(GOOD, unit=FIXER)).outcome is GateOutcome.PASS


@pytest.mark.parametrize(
    ("error", "failure"),
    [("sandbox: gone", "tool"), ("environment: no git", "tool"), ("ValueError: x", "execution")],
)
def test_what_the_executor_works_with_is_a_class_of_its_own(error: str, failure: str) -> None:
    """A broken sandbox or environment is the tools' failure, not the executor's."""
    result = default_gates()[GateName.EXECUTION].evaluate(replace(GOOD, error=error))
    assert (result.outcome, result.failure) == (AGAIN, failure)


def test_a_branch_that_did_not_move_is_a_failed_closeout() -> None:
    """A commit that the branch does not stand at was not made."""
    result = default_gates()[GateName.CLOSEOUT].evaluate(replace(GOOD, error="closeout: it stands"))
    assert (result.outcome, result.failure) == (AGAIN, "closeout")


@pytest.mark.parametrize(
    ("path", "status", "told"),
    [
        ("a.py", "M", True),
        ("a.php", "A", True),
        ("run", "T", True),
        ("a.py", "D", False),
        ("a.png", "A", False),
    ],
)
def test_a_program_that_is_no_text_is_named(
    path: str, status: Literal["A", "M", "D", "T"], *, told: bool
) -> None:
    """What nobody can read no rule can let pass; what is gone or is no program is none."""
    change = FileChange(path=path, status=status, added=0, removed=0)
    seen = replace(
        REVIEW, diff=replace(REVIEW.diff, files=(change,)), contents={path: ("x = 1", None)}
    )
    found = [f for reviewer in rule_reviewers() for f in reviewer.review(seen).findings]
    assert [f.file for f in found if "cannot be checked" in f.message] == [path] * told
