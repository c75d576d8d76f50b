"""What every reader of reports gives, and what it may know of the tree."""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Final

from surefoot.plain_files import read_plain
from surefoot.values import Frame, ReportState, TestOutcome, TestResult

DETAIL: Final = 8_000
"""Characters kept of a failure's text."""
MESSAGE: Final = 1_000
FRAMES: Final = 30
LINE: Final = 4_000
"""Characters of a line that are read: patterns may take the square of a line's length."""
_STACK_CHARACTERS: Final = 50_000
_STACK_LINE: Final = 500
_WORST_FIRST: Final = (
    TestOutcome.ERROR,
    TestOutcome.FAILED,
    TestOutcome.SKIPPED,
    TestOutcome.XFAILED,
    TestOutcome.XPASSED,
    TestOutcome.PASSED,
)
_STACK: Final = re.compile(
    r"^\s*at (?:(?P<function>[^\n()]+?) )?\(?(?:file://)?(?P<path>[^\s():]+):(?P<line>\d+):\d+\)?$"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """A report by test id. `results` mean something in the states `complete` and `collection-error` only."""

    results: tuple[TestResult, ...] = ()
    state: ReportState = ReportState.COMPLETE
    reason: str = ""
    """Why the report is not whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The tree that the tests ran on, and how its report was sealed."""

    root: Path
    files: tuple[PurePosixPath, ...]
    """Its files."""
    key: bytes = b""
    """With which the runner's records are signed, for the formats that are."""

    def relative(self, path: str) -> str:
        """A path of the tree relative to its root; other paths as they are."""
        plain = path.removeprefix("file://")
        pure = PurePosixPath(plain)
        if pure.is_absolute() and pure.is_relative_to(self.root):
            return pure.relative_to(self.root).as_posix()
        return plain.removeprefix("./")

    def text(self, path: PurePosixPath) -> str:
        """A file's text; empty when it is none, or one that the tests have put a pipe or a device in the place of."""
        try:
            return read_plain(self.root / path).decode("utf-8", "replace")
        except OSError:
            return ""

    def frames(self, stack: str) -> tuple[Frame, ...]:
        """The frames of a JavaScript stack that are in the tree, outermost first."""
        found: list[Frame] = []
        for line in stack[:_STACK_CHARACTERS].splitlines():
            match = _STACK.match(line[:_STACK_LINE])
            if match is None:
                continue
            path = self.relative(match["path"])
            if not path.startswith(("/", "node:", "node_modules/")):
                function = match["function"] or ""
                found.append(Frame(path=path, line=int(match["line"]), function=function))
        return tuple(reversed(found[:FRAMES]))


def broken(state: ReportState, reason: str, results: Sequence[TestResult] = ()) -> Parsed:
    """A report that is not whole."""
    return Parsed(state=state, reason=_sound(reason), results=tuple(results))


def finite(value: object) -> float:
    """A number of a report, as one or in text; 0 for what is none, or has no end."""
    try:
        found = float(value) if isinstance(value, int | float | str) else 0.0
    except (OverflowError, ValueError):
        return 0.0
    return found if math.isfinite(found) else 0.0


def _sound(text: str) -> str:
    """Text that can be recorded: JSON may hold halves of surrogate pairs, as of an emoji that JavaScript cut."""
    return text.encode("utf-8", "replace").decode()


def result(
    test_id: str,
    outcome: TestOutcome,
    *,
    wall_s: float = 0.0,
    message: str = "",
    detail: str = "",
    frames: tuple[Frame, ...] = (),
) -> TestResult:
    """A result within its limits that can be recorded; what passed says nothing."""
    if outcome is TestOutcome.PASSED:
        message = detail = ""
        frames = ()
    return TestResult(
        test_id=_sound(test_id),
        outcome=outcome,
        wall_s=round(max(wall_s, 0.0), 6),
        message=_sound(message.strip()[:MESSAGE]),
        detail=_sound(detail.strip("\n")[:DETAIL]),
        frames=tuple(replace(f, path=_sound(f.path), function=_sound(f.function)) for f in frames),
    )


def numbered(results: Iterable[TestResult]) -> tuple[TestResult, ...]:
    """The results with ids that are unique: of two named `a`, one becomes `a #2`.

    The worse keeps the name. Code under test can register a test of its own under the name of one that fails, and must
    not take its place.
    """
    by_id: dict[str, list[TestResult]] = {}
    for each in results:
        by_id.setdefault(each.test_id, []).append(each)
    found = []
    for test_id, same in by_id.items():
        worst_first = sorted(same, key=lambda r: _WORST_FIRST.index(r.outcome))
        found += [
            replace(each, test_id=test_id if count == 1 else f"{test_id} #{count}")
            for count, each in enumerate(worst_first, 1)
        ]
    return tuple(found)
