"""Units are made only where something can prove them."""

import pytest

from surefoot.decisions.planning import RulePlanner, Ways, code_words, related
from surefoot.events.envelope import Event
from surefoot.events.orchestration import Decided
from surefoot.values import (
    Audit,
    AuditorResult,
    AuditorState,
    Digest,
    EventId,
    Finding,
    Frame,
    Issue,
    ReportState,
    Severity,
    TestOutcome,
    TestReport,
    TestResult,
    Unit,
)


class Notes:
    """Keeps which decisions are recorded."""

    def __init__(self) -> None:
        self.decisions: list[str] = []

    def record(self, event: Event, *, cause: EventId | None = None) -> EventId:
        assert isinstance(event, Decided)
        self.decisions.append(event.decision)
        return EventId("r:1")

    def put(self, data: bytes) -> Digest:
        return Digest("0" * 64)


def failing(test_id: str, *functions: str, message: str = "") -> TestResult:
    """A failing test whose failure ran through these functions."""
    frames = tuple(Frame(path="a.py", line=1, function=f) for f in functions)
    return TestResult(test_id=test_id, outcome=TestOutcome.FAILED, frames=frames, message=message)


BASELINE = TestReport(
    command=("pytest",),
    state=ReportState.COMPLETE,
    exit_code=1,
    results=(
        failing("tests/test_a.py::test_total", "test_total", "add_up", message="assert 3 == 4"),
        failing("tests/test_b.py::test_net[1]", "test_net", "fetch_page"),
        TestResult(test_id="tests/test_a.py::test_ok", outcome=TestOutcome.PASSED),
    ),
)


FILES = ("a.py", "data.py", "src/pkg/a.py", "tests/test_a.py")


def plan(issue: Issue) -> tuple[Unit, ...] | str:
    """What the planner makes of an issue on the baseline."""
    notes = Notes()
    made = RulePlanner(lambda _finding: True).plan(issue, BASELINE, Audit(results=()), FILES, notes)
    sized = 0 if isinstance(made, str) else len(made)
    assert notes.decisions == [*(["task_complexity"] * sized), "planning"]
    return made


def targets(issue: Issue) -> tuple[str, ...]:
    """Failing tests of the one unit."""
    made = plan(issue)
    assert not isinstance(made, str)
    assert len(made) == 1
    return made[0].failing


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("`add_up` gives 3, expected 4", ("tests/test_a.py::test_total",)),
        ("add_up([1, 2]) is wrong", ("tests/test_a.py::test_total",)),
        ("test_net fails", ("tests/test_b.py::test_net[1]",)),
        ("Please add a subtraction to the menu", ()),
    ],
)
def test_a_failing_test_belongs_to_the_issue_that_names_its_code(
    text: str, expected: tuple[str, ...]
) -> None:
    """Failing tests that have nothing to do with the issue are left alone."""
    assert targets(Issue(source="text", text=text)) == expected


def test_a_named_test_is_the_target_with_all_its_parameters() -> None:
    """`--test` takes an id, a parametrised test, a class or a file."""
    assert targets(Issue(source="test", tests=("tests/test_b.py::test_net",))) == (
        "tests/test_b.py::test_net[1]",
    )
    assert targets(Issue(source="test", tests=("tests/test_a.py",))) == (
        "tests/test_a.py::test_total",
    )


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("tests/test_a.py::test_ok", "passes already"),
        ("tests/test_z.py::test_q", "commit it first"),
    ],
)
def test_a_test_that_cannot_show_a_problem_is_refused_in_words(name: str, told: str) -> None:
    """A passing or a missing test is no work, and the reason says which."""
    made = plan(Issue(source="test", tests=(name,)))
    assert isinstance(made, str)
    assert told in made


def test_every_unit_can_be_proved() -> None:
    """Each unit carries steps with acceptance criteria and a way to verify them."""
    made = plan(Issue(source="audit"))
    assert not isinstance(made, str)
    for unit in made:
        assert all(step.acceptance for step in unit.plan.steps)
        assert unit.plan.verification


@pytest.mark.parametrize(
    ("text", "complexity", "files"),
    [
        ("`add_up` gives 3, see data.py", "low", ("data.py",)),
        ("`add_up` in /home/x/src/pkg/a.py: " + "x" * 500, "high", ("src/pkg/a.py",)),
        ("Redesign `add_up`; no a.pyx, no ba.py", "high", ()),
        ("add a menu " + "x" * 200, "medium", ()),
    ],
)
def test_a_plan_is_as_complex_as_its_issue_is_classified_and_aimed_at_the_files_it_names(
    text: str, complexity: str, files: tuple[str, ...]
) -> None:
    """What routing weighs and what a unit's budget is reserved by comes from the classifier, as every size here."""
    made = plan(Issue(source="text", text=text))
    assert not isinstance(made, str)
    assert made[0].plan.complexity == complexity
    aimed = {s.intent: s.target_files for s in made[0].plan.steps}
    assert aimed == {"investigate": (), "modify": files, "verify": ()}


def test_a_plan_is_aimed_at_few_files_however_many_an_issue_names() -> None:
    """The size of the task counts them all."""
    files = tuple(f"src/m{n}.py" for n in range(30))
    issue = Issue(source="text", text=" ".join(files[:25]))
    made = RulePlanner(lambda _f: True).plan(issue, GREEN, Audit(results=()), files, Notes())
    assert not isinstance(made, str)
    assert made[0].plan.changes_in == files[:20]
    assert made[0].plan.complexity == "high"


def test_findings_aim_a_plan_at_their_files() -> None:
    """Whatever the issue names beside them."""
    result = AuditorResult(tool="x", state=AuditorState.OK, findings=(LINT,))
    made = RulePlanner(lambda _f: True).plan(
        Issue(source="audit"), GREEN, Audit(results=(result,)), FILES, Notes()
    )
    assert not isinstance(made, str)
    assert made[0].plan.steps[1].target_files == ("a.py",)


def test_code_words_are_names_not_prose() -> None:
    """Only what looks like code counts as a name of code."""
    assert code_words("the `parse_date` of fooBar and a.b_c, total()") >= {
        "parse_date",
        "fooBar",
        "total",
    }
    assert code_words("`bf` is wrong `if` called as bf(1)") == {"bf"}
    assert not code_words("Please make it work again")
    assert not related(Issue(source="text", text="make it work"), BASELINE.results[0])


def found(tool: str, rule: str, severity: Severity, category: str) -> Finding:
    """A finding with a fingerprint of its own."""
    return Finding(
        finding_id=f"{tool}:{rule}",
        tool=tool,
        rule=rule,
        severity=severity,
        category=category,  # type: ignore[arg-type]
        file="a.py",
        line=1,
        column=1,
        message="m",
        fingerprint=f"{tool}{rule}",
    )


LINT = found("ruff", "F401", Severity.LOW, "lint")
WEAK = found("bandit", "B324", Severity.HIGH, "security")
SHELL = found("bandit", "B602", Severity.HIGH, "security")
GREEN = TestReport(command=("pytest",), state=ReportState.COMPLETE, exit_code=0)


def audited(*findings: Finding, ways: Ways | None = None, earlier: tuple[Unit, ...] = ()) -> object:
    """(id, strategy, rules) of each unit of an audit's round, or the reason why there is none."""
    result = AuditorResult(tool="x", state=AuditorState.OK, findings=findings)
    planner = RulePlanner(lambda f: f.rule != "B602", ways)
    made = planner.plan(
        Issue(source="audit"), GREEN, Audit(results=(result,)), (), Notes(), earlier=earlier
    )
    if isinstance(made, str):
        return made
    return [(u.unit_id, u.strategy, [f.rule for f in u.findings]) for u in made]


def test_a_cluster_is_a_unit_and_the_worst_comes_first() -> None:
    """By cause, without what nothing mends; a strong model gets what blocks and is left."""
    fixed = [("fix-security", "fixer", ["B324"]), ("fix-lint", "fixer", ["F401"])]
    assert audited(LINT, WEAK, SHELL) == fixed
    hard = ("solve-security", "agent", ["B602"])
    assert audited(LINT, WEAK, SHELL, ways=Ways(hard="agent")) == [fixed[0], hard, fixed[1]]


def test_a_round_tries_nothing_twice_in_the_same_way() -> None:
    """What a fix left goes to the model where there is one, under another name; then a person is told of it."""
    first = RulePlanner(lambda _f: True).plan(
        Issue(source="audit"),
        GREEN,
        Audit(results=(AuditorResult(tool="x", state=AuditorState.OK, findings=(WEAK, LINT)),)),
        (),
        Notes(),
    )
    assert isinstance(first, tuple)
    told = audited(WEAK, LINT, earlier=first)
    assert isinstance(told, str)
    assert told.startswith("1 blocking findings that no safe fix mends; a person has to: a.py:1")
    assert audited(WEAK, ways=Ways(hard="agent"), earlier=first) == [
        ("solve-security", "agent", ["B324"])
    ]
    assert audited(LINT, earlier=first) == (
        "1 findings, none blocking, and none that can be mended without a model"
    )
