"""JUnit's XML, as its many writers write it: suites in suites, with or without files, classes and counts."""

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import PurePosixPath
from typing import Final
from xml.etree import ElementTree as ET  # documents with a DTD are refused before they are read

from surefoot.suite.formats.parsed import Parsed, Place, broken, finite, numbered, result
from surefoot.values import ReportState, TestOutcome, TestResult

_DTD: Final = re.compile(r"<!\s*(DOCTYPE|ENTITY)", re.IGNORECASE)
_BAD: Final = {"error": TestOutcome.ERROR, "failure": TestOutcome.FAILED}
_WARNING: Final = "warning"
"""With what PHPUnit says that a case is no success, beside the failures that it counts."""
_NO_SUCCESS: Final = frozenset({"error", "fail", "failed", "failure"})
"""What writers say in an attribute of a test that failed."""
_NOT_RUN: Final = frozenset({"disabled", "notrun", "skipped", "suppressed"})
"""What GoogleTest and CTest say in an attribute of a test that did not run."""
_HOOK: Final = re.compile(r'"(?:before|after) (?:all|each)" hook\b')
"""How mocha names a hook."""
_DIGITS: Final = 9
"""Of a count; `int` refuses thousands of them."""


class _Tree:
    """The tree, with its files by their names, as each case of a report may ask for one."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self._by_stem: dict[str, list[PurePosixPath]] = defaultdict(list)
        for path in place.files:
            self._by_stem[path.stem].append(path)
        self.file_of = cache(self._file_of)

    def _file_of(self, group: str) -> str:
        """The one file of the tree that a class is named after (`com.acme.AddTest`); empty when there is none."""
        words = tuple(group.partition("$")[0].split("."))
        # `package.module.Class`, as Python's writers say it, ends with what is not a file.
        for tail in (words, words[:-1]):
            found = [p for p in self._by_stem.get(tail[-1] if tail else "", ()) if _named(p, tail)]
            if len(found) == 1:
                return found[0].as_posix()
        return ""


def _named(path: PurePosixPath, words: tuple[str, ...]) -> bool:
    return (*path.parent.parts, path.stem)[-len(words) :] == words


def parse(text: bytes, place: Place) -> Parsed:
    """A whole report: well-formed, and each suite holds as many cases, failures and errors as it counts."""
    # Read as UTF-8 whatever it says of itself, so that no DTD hides in another encoding.
    source = text.decode("utf-8", "replace").strip()
    if not source:
        return broken(ReportState.UNPARSABLE, "no JUnit report was written")
    if _DTD.search(source):
        return broken(ReportState.UNPARSABLE, "a JUnit report with a DTD is not read")
    try:
        top = ET.fromstring(source)  # noqa: S314  # as above
    except ET.ParseError as error:
        return broken(ReportState.UNPARSABLE, f"not well-formed JUnit XML: {error}")
    if top.tag not in {"testsuites", "testsuite"}:
        return broken(ReportState.UNPARSABLE, f"<{top.tag}> is not a JUnit report")
    for suite in top.iter("testsuite"):
        if why := _miscounted(suite):
            return broken(ReportState.UNPARSABLE, why)
    suites = [top] if top.tag == "testsuite" else list(top)
    tree = _Tree(place)
    return Parsed(results=numbered(r for each in suites for r in _read(each, tree)))


def _miscounted(suite: ET.Element) -> str:
    """Why the counts of a suite are not right; some writers count its own cases only, some those below it too."""
    cases = list(suite.iter("testcase"))
    own = suite.findall("testcase")
    # node's own writer counts the suites among its tests
    points = len(cases) + len(list(suite.iter("testsuite"))) - 1
    # mocha's writer does not count a hook that failed, which is a case of its own
    tests = len(cases) - sum(
        _is_bad(c) and _HOOK.match(c.get("name", "")) is not None for c in cases
    )
    counts = {len(cases), len(own), len(own) + len(suite.findall("testsuite")), points, tests}
    said = suite.get("tests")
    if said is not None and not (said.isdecimal() and int(said[:_DIGITS]) in counts):
        return f"suite {suite.get('name')!r} counts {said[:_DIGITS]} tests and holds {len(cases)}"
    bad = sum(len(each.findall(tag)) for each in suite.iter("testsuite") for tag in _BAD)
    bad += sum(map(_is_bad, cases))
    for attribute in ("failures", "errors"):
        # Each by itself, of both kinds: some count a failure among the errors, too, or a case under both.
        number = suite.get(attribute, "")
        if number.isdecimal() and int(number[:_DIGITS]) > bad:
            return (
                f"suite {suite.get('name')!r} counts {number[:_DIGITS]} {attribute} and holds {bad}"
            )
    return ""


def _is_bad(case: ET.Element) -> bool:
    return any(case.find(tag) is not None for tag in _BAD) or bool(_said(case) & _NO_SUCCESS)


def _said(case: ET.Element) -> set[str]:
    """What its attributes say of how it went, in lower case."""
    return {case.get(name, "").lower() for name in ("result", "status")}


def _read(element: ET.Element, tree: _Tree) -> Iterator[TestResult]:
    if element.tag == "testcase":
        yield _case(element, (), element, tree)
        return
    yield from _suite(element, (), element, tree)


def _suite(
    suite: ET.Element, names: tuple[str, ...], top: ET.Element, tree: _Tree
) -> Iterator[TestResult]:
    for child in suite:
        if child.tag in _BAD:
            yield _outside(child, names, suite, tree)
        elif child.tag == "testcase":
            yield _case(child, names, suite if suite.get("file") else top, tree)
        elif child.tag == "testsuite":
            yield from _suite(child, (*names, child.get("name", "")), top, tree)


def _outside(
    told: ET.Element, names: tuple[str, ...], suite: ET.Element, tree: _Tree
) -> TestResult:
    """What went wrong in a suite outside of its cases, under the suite's own name."""
    name = suite.get("name", "")
    file = suite.get("file") or suite.get("filepath")
    where = tree.place.relative(file) if file else tree.file_of(name)
    parts = [where, *names, name]
    test_id = "::".join(dict.fromkeys(p for p in parts if p)) or suite.tag
    return _result(test_id, TestOutcome.ERROR, told, tree, wall_s=0.0)


def _case(case: ET.Element, names: tuple[str, ...], suite: ET.Element, tree: _Tree) -> TestResult:
    group = case.get("classname", "")
    file = case.get("file") or suite.get("file") or suite.get("filepath")
    where = tree.place.relative(file) if file else tree.file_of(group)
    parts = [where, *names, group, case.get("name", "")]
    # A file or a suite that is its own group is said once.
    test_id = "::".join(dict.fromkeys(p for p in parts if p))
    outcome, told = _outcome(case)
    return _result(test_id, outcome, told, tree, wall_s=finite(case.get("time")))


def _result(
    test_id: str, outcome: TestOutcome, told: ET.Element | None, tree: _Tree, *, wall_s: float
) -> TestResult:
    said = told.get("message") or "" if told is not None else ""
    detail = "".join(told.itertext()) if told is not None else ""
    first = detail.strip().partition("\n")[0]
    return result(
        test_id,
        outcome,
        wall_s=wall_s,
        message=said or first,
        detail=detail,
        frames=tree.place.frames(detail),
    )


def _outcome(case: ET.Element) -> tuple[TestOutcome, ET.Element | None]:
    """What a case did, and the element that says why. A skip that also failed is a failure that is expected."""
    skipped = case.find("skipped")
    said = _said(case)
    for tag, outcome in _BAD.items():
        if (told := case.find(tag)) is not None:
            return (outcome if skipped is None else TestOutcome.XFAILED), told
    if skipped is not None or said & _NOT_RUN:
        return TestOutcome.SKIPPED, skipped
    told = case.find(_WARNING)
    if told is not None or said & _NO_SUCCESS:
        return TestOutcome.FAILED, told
    return TestOutcome.PASSED, None
