"""The Test Anything Protocol, versions 12 to 14, with nested subtests (testanything.org/tap-version-14-specification.html).

A test point above subtests is their sum; it is a result of its own only when it fails and none of them does.
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
_STEP: Final = 4
_FAILED: Final = frozenset({TestOutcome.FAILED, TestOutcome.ERROR})


@dataclass(slots=True, kw_only=True)
class _Level:
    """The points of one level of nesting, until the point that sums them up."""

    plan: int | None = None
    count: int = 0
    results: list[TestResult] = field(default_factory=list)


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

    def read(self, line: str) -> None:
        if self._yaml is not None:
            self._read_yaml(line)
            return
        bare = line.lstrip(" ")
        indent = len(line) - len(bare)
        if bare.rstrip() == "---" and self._levels:
            self._yaml, self._margin = [], line[:indent]
        elif bare.startswith("Bail out!"):
            raise _Broken(bare.strip())
        elif indent % _STEP == 0 and (plan := _PLAN.match(bare)):
            self._plan(indent // _STEP, int(plan[1]))
        elif indent % _STEP == 0 and (point := _POINT.match(bare)):
            self._point(indent // _STEP, point)

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

    def _point(self, depth: int, point: re.Match[str]) -> None:
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
            level.results.append(result(name, outcome, message=why))
        elif outcome is not TestOutcome.FAILED and failed:
            raise _Broken(f"{name!r} is ok, and a test inside it is not")

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
