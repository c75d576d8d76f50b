"""Ids that vary on one tree are compared by number; all others one by one."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from surefoot.kernel import evidence
from surefoot.kernel.steady import alike, passing_s, steadied, varying
from surefoot.values import ReportState, TestOutcome, TestReport, TestResult

P, F = TestOutcome.PASSED, TestOutcome.FAILED


def report(**outcomes: TestOutcome) -> TestReport:
    """A complete run."""
    results = tuple(TestResult(test_id=k, outcome=v) for k, v in outcomes.items())
    return TestReport(command=("pytest",), state=ReportState.COMPLETE, exit_code=0, results=results)


BEFORE = report(**{"t.py::a[x1]": P, "t.py::a[x2]": F, "t.py::b": P, "t.py::c[1]": P})
AGAIN = report(**{"t.py::a[x3]": F, "t.py::a[x1]": P, "t.py::b": P, "t.py::c[1]": P})


def test_only_functions_whose_ids_differ_vary() -> None:
    """A test without parameters never does."""
    assert varying(BEFORE, AGAIN) == {"t.py::a"}
    assert varying(BEFORE, BEFORE) == frozenset()
    assert varying(report(**{"t.py::b": P}), report(**{"t.py::z": P})) == frozenset()


def holds(after: TestReport) -> bool:
    """Whether the base's own tests count as unbroken."""
    loose = varying(BEFORE, AGAIN)
    return evidence.base_tests(steadied(BEFORE, loose), steadied(after, loose), (), ()).passed


def test_as_many_have_to_pass_as_before() -> None:
    """Other ids of such a function are no loss; fewer passes and fewer tests are."""
    rest = {"t.py::b": P, "t.py::c[1]": P}
    assert holds(report(**{"t.py::a[x7]": P, "t.py::a[x8]": F}, **rest))
    assert holds(report(**{"t.py::a[x7]": P, "t.py::a[x8]": P}, **rest))
    assert not holds(report(**{"t.py::a[x7]": F, "t.py::a[x8]": F}, **rest))
    assert not holds(report(**{"t.py::a[x7]": P}, **rest))


def test_a_steady_function_is_still_held_id_by_id() -> None:
    """A renamed parameter of a test that does not vary is a lost test."""
    assert not holds(report(**{"t.py::a[x1]": P, "t.py::a[x2]": F, "t.py::b": P, "t.py::c[2]": P}))


def test_a_varying_function_can_be_run_again_as_a_whole() -> None:
    """Under its own name and with its whole time, as long as nothing of it is bad; all others keep their ids."""
    ran = report(
        **{"t.py::a[x1]": P, "t.py::a[x2]": P, "t.py::b[1]": P, "t.py::b[2]": F, "t.py::c": P}
    )
    slow = replace(ran, results=tuple(replace(r, wall_s=0.5) for r in ran.results))
    assert passing_s(slow, {"t.py::a"}) == {"t.py::a": 1.0, "t.py::b[1]": 0.5, "t.py::c": 0.5}
    assert passing_s(slow, {"t.py::a", "t.py::b"}) == {"t.py::a": 1.0, "t.py::c": 0.5}


def test_runs_are_alike_in_whatever_order_and_words() -> None:
    """Another outcome, another id or another end is another answer."""
    turned = replace(BEFORE, results=BEFORE.results[::-1], wall_s=9.0, output="other words")
    assert alike(BEFORE, turned)
    assert not alike(BEFORE, AGAIN)
    assert not alike(BEFORE, replace(BEFORE, state=ReportState.TIMEOUT))
    assert not alike(BEFORE, report(**{r.test_id: P for r in BEFORE.results}))


@given(
    st.permutations(["x1", "x2", "x3"]), st.lists(st.sampled_from([P, F]), min_size=3, max_size=3)
)
def test_names_do_not_matter_outcomes_do(names: list[str], outcomes: list[TestOutcome]) -> None:
    """However the ids are dealt, the numbered report is the same."""
    one = report(**{f"t.py::a[{n}]": o for n, o in zip(names, outcomes, strict=True)})
    other = report(**{f"t.py::a[{n}]": o for n, o in zip("abc", outcomes, strict=True)})
    told = [
        {r.test_id: r.outcome for r in steadied(each, {"t.py::a"}).results} for each in (one, other)
    ]
    assert told[0] == told[1]
