"""The JSON report of jest (`--json`), which vitest's `--reporter=json` writes too."""

import json
from collections.abc import Iterator, Mapping
from typing import Final

from surefoot.suite.formats.parsed import Parsed, Place, broken, finite, numbered, result
from surefoot.values import ReportState, TestOutcome, TestResult

_OUTCOMES: Final[Mapping[str, TestOutcome]] = {
    "passed": TestOutcome.PASSED,
    "failed": TestOutcome.FAILED,
    "pending": TestOutcome.SKIPPED,
    "skipped": TestOutcome.SKIPPED,
    "disabled": TestOutcome.SKIPPED,
    "todo": TestOutcome.SKIPPED,
}


def parse(text: bytes, place: Place) -> Parsed:
    """A whole report: as many tests, passes and failures as it counts. A file without a test that failed is broken."""
    try:
        report = json.loads(text)
    except ValueError:
        why = "the runner wrote no JSON report" if not text.strip() else "the JSON report is cut"
        return broken(ReportState.UNPARSABLE, why)
    match report:
        case {
            "numTotalTests": int(total),
            "numPassedTests": int(passed),
            "testResults": list(files),
        }:
            pass
        case _:
            return broken(ReportState.UNPARSABLE, "the JSON is not a report of jest's kind")
    try:
        tests = numbered(r for file in files for r in _file(file, place))
    except (KeyError, TypeError) as error:
        return broken(ReportState.UNPARSABLE, f"an entry of the JSON report lacks {error}")
    good = sum(r.outcome is TestOutcome.PASSED for r in tests)
    errors = [r for r in tests if r.outcome is TestOutcome.ERROR]
    if (len(tests) - len(errors), good) != (total, passed):
        why = f"{total} tests and {passed} passes are counted, {len(tests)} and {good} reported"
        return broken(ReportState.UNPARSABLE, why)
    if errors:
        why = f"cannot be collected: {', '.join(r.test_id for r in errors[:5])}"
        return broken(ReportState.COLLECTION_ERROR, why, tests)
    return Parsed(results=tests)


def _file(file: Mapping[str, object], place: Place) -> Iterator[TestResult]:
    path = place.relative(str(file["name"]))
    tests = file["assertionResults"]
    if not isinstance(tests, list):
        raise TypeError("a list of tests")
    if file["status"] == "failed" and not any(t["status"] == "failed" for t in tests):
        said = str(file.get("message", ""))
        first = said.strip().partition("\n")[0]
        yield result(path, TestOutcome.ERROR, message=first, detail=said)
    for test in tests:
        outcome = _OUTCOMES.get(test["status"], TestOutcome.ERROR)
        detail = "\n".join(str(m) for m in test.get("failureMessages") or ())
        yield result(
            "::".join([path, *map(str, test["ancestorTitles"]), str(test["title"])]),
            outcome,
            wall_s=finite(test.get("duration")) / 1000,
            message=detail.partition("\n    at ")[0],
            detail=detail,
            frames=place.frames(detail),
        )
