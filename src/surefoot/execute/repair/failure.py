"""What a failing test says: how to show it in few words, and how near a candidate came. Pure."""

import ast
import difflib
import re
from collections.abc import Sequence
from typing import Final

from surefoot.execute.repair.examples import value_of
from surefoot.execute.repair.localise import function_of
from surefoot.execute.source import Source, unit_nodes
from surefoot.values import ReportState, TestOutcome, TestReport, TestResult

_COMPARED: Final = re.compile(r"assert (.+?) == (.+?)(?:\n|$)", re.DOTALL)
_WHERE: Final = re.compile(r"where (.+?) = (\w[\w.]*\(.*\))\s*$", re.MULTILINE)
_DETAILS: Final = re.compile(r"^\s*$", re.MULTILINE)
"""What parts an assertion's values from pytest's own account of how they differ."""
_SHOWN_TEST_LINES: Final = 14
_SHOWN_MESSAGE: Final = 400
_EXCEPTION_CLOSENESS: Final = 0.05


def told(result: TestResult, tests: Sequence[Source]) -> str:
    """A failing check for a prompt: its statement, then what it saw."""
    return "\n".join(p for p in (_statement(result, tests), _saw(result.message)) if p)


def _statement(result: TestResult, tests: Sequence[Source]) -> str:
    """The test's body when it is short, else the statement that failed."""
    path, name = function_of(result.test_id)
    for source in tests:
        for unit, node in unit_nodes(source):
            if source.path != path or unit.name != name:
                continue
            rows = source.lines(node.body[0].lineno, unit.last_line).rstrip().split("\n")
            if len(rows) <= _SHOWN_TEST_LINES:
                return _dedented(rows)
            lines = [f.line for f in result.frames if f.path == path]
            here = [s for s in ast.walk(node) if isinstance(s, ast.stmt) and s.lineno in lines]
            return source.segment(here[-1]) if here else ""
    return ""


def _dedented(rows: Sequence[str]) -> str:
    indent = min(len(r) - len(r.lstrip()) for r in rows if r.strip())
    return "\n".join(r[indent:] for r in rows)


def _saw(message: str) -> str:
    """`f(x)` gave y, expected z; else the message itself without the details that pytest adds, shortened."""
    message = message.strip()
    compared, where = _COMPARED.search(message), _WHERE.search(message)
    if compared is not None and where is not None and len(message) <= _SHOWN_MESSAGE:
        got, expected = compared[1].strip(), compared[2].strip()
        if where[1].strip() == got:
            return f"`{where[2]}` gave `{got}`, expected `{expected}`"
    if "assert" in message:
        message = _DETAILS.split(message)[0].rstrip()
    if len(message) <= _SHOWN_MESSAGE:
        return message
    half = _SHOWN_MESSAGE // 2
    return f"{message[:half]} ... {message[-half:]}"


# --- how near ------------------------------------------------------------------------------------


def first_failure(report: TestReport) -> TestResult | None:
    """The first test that failed, when the run came so far."""
    bad = (TestOutcome.FAILED, TestOutcome.ERROR)
    return next((r for r in report.results if r.outcome in bad), None)


def passed_all(report: TestReport, tests: Sequence[str]) -> bool:
    """Whether a trial is trustworthy and all of `tests` passed in it."""
    return report.state is ReportState.COMPLETE and set(tests) <= report.passed(tests)


def closeness(result: TestResult | None) -> float:
    """How near a failing check came, 0..1: 0 for a broken run, little for an exception, else likeness of the values."""
    if result is None:
        return 0.0
    if result.outcome is TestOutcome.PASSED:
        return 1.0
    if "assert" not in result.message.lower():
        return _EXCEPTION_CLOSENESS
    compared = _COMPARED.search(result.message)
    if compared is None:
        return 2 * _EXCEPTION_CLOSENESS
    return 0.1 + 0.85 * likeness(compared[1].strip(), compared[2].strip())


def compared(message: str) -> tuple[object, object] | None:
    """The two values of an assertion that calls them equal; None where it shows no literals, or not all of them."""
    found = _COMPARED.search(message)
    if found is None or "..." in found[0]:
        return None
    try:
        return value_of(found[1].strip()), value_of(found[2].strip())
    except ValueError:
        return None


def likeness(got: str, expected: str) -> float:
    """How alike two values are, given as literals, 0..1; two truth values that differ are not alike at all."""
    a, b = _value(got), _value(expected)
    if isinstance(a, bool) or isinstance(b, bool):
        return 0.0
    if isinstance(a, int | float) and isinstance(b, int | float):
        return 1 / (1 + abs(a - b) / (1 + abs(b)) * 4)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        first, second = [repr(x) for x in a], [repr(x) for x in b]
        return difflib.SequenceMatcher(None, first, second, autojunk=False).ratio()
    if type(a) is not type(b):
        return 0.0
    return difflib.SequenceMatcher(None, got[:200], expected[:200], autojunk=False).ratio()


def _value(text: str) -> object:
    try:
        return value_of(text)
    except ValueError:
        return None
