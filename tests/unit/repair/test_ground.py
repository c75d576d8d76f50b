"""What a repair turn knows before it searches."""

from collections.abc import Mapping

from surefoot.execute.repair.ground import Files, subjects_of, wider_tests
from surefoot.execute.source import Source, parse
from surefoot.values import ReportState, TestOutcome, TestReport, TestResult


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
