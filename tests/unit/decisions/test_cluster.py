"""Findings by the domain of their cause."""

import pytest

from surefoot.decisions.cluster import clusters, domain_of
from surefoot.findings.raw import Raw, findings_of
from surefoot.values import Severity


def failing(message: str) -> str:
    raw = Raw(rule="failing-test", file="t.py", message=message, identity="t.py::t")
    (finding,) = findings_of("tests", [raw], None)
    return domain_of(finding)


@pytest.mark.parametrize(
    ("message", "domain"),
    [
        ("t.py::t: AssertionError: assert 1 == 2", "tests"),
        ("t.py::t: ModuleNotFoundError: No module named 'x'", "integration"),
        ("t.py::t: ImportError: cannot import name 'f' from 'm'", "integration"),
        ("t.py::t: fixture 'db' not found", "integration"),
        ("t.py::t: TypeError: f() missing 1 required positional argument: 'x'", "integration"),
        ("t.py::t: TypeError: f() takes 1 positional argument but 2 were given", "integration"),
        ("t.py::t: AttributeError: module 'm' has no attribute 'f'", "integration"),
        ("t.py::t: SyntaxError: invalid syntax", "lint"),
        ("t.py::t: NameError: name 'x' is not defined", "lint"),
        ("t.py::t: TypeError: unsupported operand type(s)", "tests"),
    ],
)
def test_where_a_failing_test_comes_from(message: str, domain: str) -> None:
    """A failing test belongs to the domain of its cause, not of its messenger."""
    assert failing(message) == domain


def test_worst_first() -> None:
    """Clusters come by severity, then by what settles the others; findings by place."""
    raws = [
        Raw(rule="F401", file="b.py", line=1, column=1, message="unused"),
        Raw(rule="F401", file="a.py", line=5, column=1, message="unused"),
        Raw(rule="E711", file="a.py", line=2, column=1, message="none"),
    ]
    types = [Raw(rule="arg-type", file="a.py", line=3, column=1, message="type")]
    keys = [Raw(rule="aws", file="k", line=1, column=1, message="key", identity="h")]
    made = clusters(
        [
            *findings_of("ruff", raws, None),
            *findings_of("mypy", types, None),
            *findings_of("secrets", keys, None),
        ]
    )
    assert [c.domain for c in made] == ["security", "typing", "lint"]
    lint = made[-1]
    assert lint.severity is Severity.LOW
    assert lint.files == ("a.py", "b.py")
    assert lint.rules == (("ruff", "E711"), ("ruff", "F401"))
    assert [(f.file, f.line) for f in lint.findings] == [("a.py", 2), ("a.py", 5), ("b.py", 1)]
    assert clusters([]) == ()
