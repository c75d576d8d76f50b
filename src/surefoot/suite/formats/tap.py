"""The Test Anything Protocol, versions 12 to 14, with nested subtests (testanything.org/tap-version-14-specification.html).

A test point above subtests is their sum; it is a result of its own only when it fails and none of them does.
It comes behind them, or, as node-tap writes it for tests that ran at once, before them: `ok 1 - name {`, and `}` behind
them; where it has diagnostics, the `{` has a line of its own behind these. A name may end with a brace as well.
"""

import re
from dataclasses import dataclass, field
from typing import Final

from surefoot.suite.formats.parsed import LINE, Parsed, Place, broken, numbered, result
from surefoot.values import ReportState, TestOutcome, TestResult

_POINT: Final = re.compile(r"(not )?ok\b(?:[ \t]+(\d+))?(?:[ \t]+-)?[ \t]*(.*)")
_PLAN: Final = re.compile(r"1\.\.(\d+)(?:[ \t]*#.*)?$")
_DIRECTIVE: Final = re.compile(r"(?<!\\)[ \t]#[ \t]*(skip\S*|todo\b)[ \t]*(.*)$", re.IGNORECASE)
"""`SKIP` may go on to the next space (TAP 13), as in `# SKIPPED: no network`."""
_TIME: Final = re.compile(r"(?<!\\)[ \t]#[ \t]*time=[\d.]+m?s[ \t]*$")
"""How long a point took, as node-tap says it behind the name."""
_OPENS: Final = re.compile(r"(?:^|(?<=[ \t])){[ \t]*$")
_STEP: Final = 4
_FAILED: Final = frozenset({TestOutcome.FAILED, TestOutcome.ERROR})


@dataclass(slots=True, kw_only=True)
class _Level:
    """The points of one level of nesting, until the point that sums them up."""

    plan: int | None = None
    count: int = 0
    results: list[TestResult] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Open:
    """A point whose subtests may follow in braces."""

    depth: int
    point: re.Match[str]
    told: TestResult | None = None
    """Its result with its diagnostics, where it has some."""


class _Broken(Exception):  # noqa: N818  # never leaves this module
    """The report is not whole; the text says why."""


def parse(text: bytes, place: Place) -> Parsed:
    """A whole report: every level has a plan, and as many points, numbered in their order, as it announces."""
    del place
    reader = _Reader()
    try:
        for line in text.decode("utf-8", "replace").splitlines():
            reader.read(line[:LINE])
        return Parsed(results=numbered(reader.end()))
    except _Broken as why:
        return broken(ReportState.UNPARSABLE, f"not a whole TAP report: {why}")


class _Reader:
    def __init__(self) -> None:
        self._levels = [_Level()]
        self._yaml: list[str] | None = None
        self._margin = ""
        self._open: list[_Open] = []
        self._last: _Open | None = None
        """The point that was counted last, without subtests."""

    def read(self, line: str) -> None:
        if self._yaml is not None:
            self._read_yaml(line)
            return
        bare = line.lstrip(" ").rstrip()
        indent = len(line) - len(line.lstrip(" "))
        depth, odd = divmod(indent, _STEP)
        if bare == "---" and self._levels:
            self._end_open(depth)
            self._yaml, self._margin = [], line[:indent]
        elif bare.startswith("Bail out!"):
            raise _Broken(bare)
        elif not odd:
            self._read_line(depth, bare)

    def _read_line(self, depth: int, line: str) -> None:
        if line == "{":
            self._reopen(depth)
        elif line == "}":
            self._shut(depth)
        elif line.startswith("# Subtest"):
            self._end_open(depth)
        elif plan := _PLAN.match(line):
            self._end_open(depth)
            self._plan(depth, int(plan[1]))
        elif point := _POINT.match(line):
            self._end_open(depth)
            if _OPENS.search(point[3]):
                self._open.append(_Open(depth=depth, point=point))
            else:
                self._point(depth, point)

    def _reopen(self, depth: int) -> None:
        """Count the last point only behind the subtests that follow it."""
        last = self._last
        if last is not None and last.depth == depth == len(self._levels) - 1:
            level = self._levels[depth]
            level.count -= 1
            self._open.append(_Open(depth=depth, point=last.point, told=level.results.pop()))
            self._last = None

    def _shut(self, depth: int) -> None:
        """End the point whose subtests are in the braces that end here; other braces are a test's own words."""
        if self._open and self._open[-1].depth == depth:
            ended = self._open.pop()
            bare = _POINT.match(_OPENS.sub("", ended.point[0]))
            self._point(depth, bare or ended.point, ended.told)

    def _end_open(self, depth: int) -> None:
        """Points at this level or below it that no subtests follow: the brace was part of the name."""
        while self._open and self._open[-1].depth >= depth:
            ended = self._open.pop()
            if len(self._levels) > ended.depth + 1:
                raise _Broken(f"the subtests of {ended.point[0]!r} do not end")
            self._point(ended.depth, ended.point, ended.told)

    def _read_yaml(self, line: str) -> None:
        if line == f"{self._margin}...":
            self._explain("\n".join(self._yaml or ()))
            self._yaml = None
        elif self._yaml is not None:
            self._yaml.append(line.removeprefix(self._margin))

    def _explain(self, text: str) -> None:
        """Give the last point its diagnostics."""
        depth = len(self._margin) // _STEP
        if depth < len(self._levels) and self._levels[depth].results:
            last = self._levels[depth].results[-1]
            if last.outcome in _FAILED:
                said = _said(text) or last.message
                self._levels[depth].results[-1] = result(
                    last.test_id, last.outcome, message=said, detail=text
                )

    def _level(self, depth: int) -> _Level:
        while len(self._levels) <= depth:
            self._levels.append(_Level())
        return self._levels[depth]

    def _plan(self, depth: int, count: int) -> None:
        level = self._level(depth)
        if level.plan is not None:
            raise _Broken(f"a second plan, 1..{count}")
        level.plan = count

    def _point(self, depth: int, point: re.Match[str], told: TestResult | None = None) -> None:
        level = self._level(depth)
        level.count += 1
        if point[2] is not None and int(point[2]) != level.count:
            raise _Broken(f"test point {point[2]} where {level.count} was due: {point[0]!r}")
        name, outcome, why = _read_point(point)
        below = self._close(depth + 1)
        failed = any(r.outcome in _FAILED for r in below)
        level.results += [
            result(f"{name}::{r.test_id}", r.outcome, message=r.message, detail=r.detail)
            for r in below
        ]
        if not below or (outcome is TestOutcome.FAILED and not failed):
            level.results.append(told or result(name, outcome, message=why))
        elif outcome is not TestOutcome.FAILED and failed:
            raise _Broken(f"{name!r} is ok, and a test inside it is not")
        self._last = None if below else _Open(depth=depth, point=point)

    def _close(self, depth: int) -> list[TestResult]:
        """The results of the level below, whose sum is at hand."""
        if len(self._levels) <= depth:
            return []
        if len(self._levels) > depth + 1:
            raise _Broken("subtests without the test that holds them")
        level = self._levels.pop()
        _check(level)
        return level.results

    def end(self) -> list[TestResult]:
        if self._yaml is not None:
            raise _Broken("it ends inside the text of a failure")
        self._end_open(0)
        if len(self._levels) > 1:
            raise _Broken("it ends inside subtests")
        _check(self._levels[0])
        return self._levels[0].results


def _check(level: _Level) -> None:
    if level.plan is None:
        raise _Broken(
            "there is no plan (1..N)" if level.count else "it holds no test point and no plan"
        )
    if level.plan != level.count:
        raise _Broken(f"{level.plan} tests are planned, {level.count} are reported")


def _read_point(point: re.Match[str]) -> tuple[str, TestOutcome, str]:
    """Name, outcome, and the reason that a directive gives."""
    bad, words = point[1] is not None, _TIME.sub("", f" {point[3]}")
    directive = _DIRECTIVE.search(words)
    name = (words if directive is None else words[: directive.start()]).strip()
    name = name.replace("\\#", "#").replace("\\\\", "\\") or f"test {point[2] or ''}".strip()
    if directive is None:
        return name, TestOutcome.FAILED if bad else TestOutcome.PASSED, "not ok" if bad else ""
    if directive[1].lower() != "todo":
        return name, TestOutcome.SKIPPED, directive[2]
    return name, TestOutcome.XFAILED if bad else TestOutcome.XPASSED, directive[2]


def _said(yaml: str) -> str:
    """The message among the diagnostics, read without a YAML parser: the value of `error` or `message`."""
    match = re.search(
        r"^ *(?:error|message): *(?:[|>][-+]?\n((?:[ \t]+.*\n?|[ \t]*\n)+)|(.+))",
        yaml,
        re.MULTILINE,
    )
    if match is None:
        return ""
    return " ".join((match[1] or match[2]).split()).strip("'\"")
