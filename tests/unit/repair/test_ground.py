"""What a repair turn knows before it searches."""

from collections.abc import Mapping

from tests.turns import first_turn

from surefoot.execute.repair.ground import Files, subjects_of, suspects_of, wider_tests
from surefoot.execute.source import Source, parse
from surefoot.kernel.ports import Coverage
from surefoot.values import (
    Complexity,
    Issue,
    PlanIR,
    PlanStep,
    ReportState,
    StepIntent,
    TestOutcome,
    TestReport,
    TestResult,
    Unit,
    UnitId,
    UnitType,
)


def sources(**files: str) -> dict[str, Source]:
    found = {f"tests/{name}.py": parse(f"tests/{name}.py", text) for name, text in files.items()}
    return {path: source for path, source in found.items() if source is not None}


def passed(*tests: str, wall_s: Mapping[str, float] = {}) -> TestReport:
    return TestReport(
        command=("pytest",),
        state=ReportState.COMPLETE,
        exit_code=0,
        results=tuple(
            TestResult(test_id=t, outcome=TestOutcome.PASSED, wall_s=wall_s.get(t, 0.1))
            for t in tests
        ),
    )


PRODUCT = parse(
    "m.py", "class Box:\n    def put(self): ...\n\n\ndef near(): ...\n\n\ndef far(): ...\n"
)
FAILING = "tests/test_new.py::test_it[a]"


def test_subjects_are_what_failing_tests_call_of_the_project() -> None:
    """Methods and classes too; what the project does not define is nobody's subject."""
    tests = sources(
        test_new="def test_it(a):\n    assert len(Box().put(a)) == 2\n\n\ndef test_b(): far()\n"
    )
    assert PRODUCT is not None
    assert subjects_of(tests, [FAILING], [PRODUCT]) == {"Box", "put"}


def test_tests_of_the_same_functions_come_first() -> None:
    """Within the time for them: a candidate that breaks the function's own tests must meet them, wherever they stand."""
    tests = sources(test_new="def test_it(a): near()\n\n\ndef test_other(): far()\n")
    beside = sources(
        test_old="class TestNear:\n    def test_near(self): m.near()\n\n    def test_far(self): m.far()\n"
    )
    files = Files(product={}, tests=tests, paths=(), beside=beside, subjects=frozenset({"near"}))
    names = (
        "tests/test_a.py::test_a",
        "tests/test_new.py::test_other",
        "tests/test_old.py::TestNear::test_near",
    )
    report = passed(*names, wall_s={names[2]: 2.0})
    assert wider_tests(report, [FAILING], files, most_s=2.15) == (names[2], names[1])
    assert wider_tests(report, [FAILING], files, most_s=9.0) == (names[2], names[1], names[0])
    slowed = passed(*names, wall_s={names[2]: 99.0})
    assert wider_tests(slowed, [FAILING], files, most_s=9.0) == (names[1], names[0])


def step(intent: StepIntent, *paths: str) -> PlanStep:
    return PlanStep(
        step_id=f"{intent}-{len(paths)}", description="", intent=intent, target_files=paths
    )


def plan(*steps: PlanStep) -> PlanIR:
    return PlanIR(
        analysis="", steps=steps, verification=(), complexity=Complexity.LOW, confidence=1.0
    )


def test_a_plan_changes_what_its_modify_steps_name() -> None:
    """Each file once, in the order of the steps; what is only read or run is not changed."""
    made = plan(
        step(StepIntent.INVESTIGATE, "read.py"),
        step(StepIntent.MODIFY, "b.py", "a.py", "b.py"),
        step(StepIntent.VERIFY, "tests/test_a.py"),
        step(StepIntent.MODIFY, "a.py", "c.py", "d.py"),
    )
    assert made.changes_in == ("b.py", "a.py", "c.py", "d.py")
    assert plan(step(StepIntent.INVESTIGATE, "a.py")).changes_in == ()


def test_a_file_that_the_plan_only_reads_is_no_likelier_to_hold_the_bug() -> None:
    """The search begins where the plan means to change something."""
    code = "def total(a):\n    return sum(a)\n"
    product = {p: s for p in ("a.py", "b.py", "c.py") if (s := parse(p, code)) is not None}
    made = plan(step(StepIntent.INVESTIGATE, "b.py"), step(StepIntent.MODIFY, "c.py"))
    unit = Unit(
        unit_id=UnitId("fix"),
        unit_type=UnitType.FIX,
        strategy="repair",
        issue=Issue(source="text", text="it fails"),
        plan=made,
    )
    task = first_turn(unit, passed())
    ran = Coverage(test_id=FAILING, passed=False, lines=dict.fromkeys(product, (2,)))
    found = suspects_of(task, Files(product=product, tests={}, paths=()), (), (ran,))
    assert [s.path for s in found if s.unit is not None] == ["c.py", "a.py", "b.py"]
