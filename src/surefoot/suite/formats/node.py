"""The signed records of `inside/node_reporter.mjs`, which runs beside node's test runner, not in the tests' processes."""

import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from typing import Final

from surefoot.suite.formats.parsed import Parsed, Place, broken, finite, numbered, result
from surefoot.values import ReportState, TestOutcome, TestResult

_OF_TESTS_INSIDE: Final = "subtestsFailed"


def parse(text: bytes, place: Place) -> Parsed:
    """A whole report: each record signed, in sequence, to the last; each file's process came to its own end.

    node calls a file passed whose process ended early with exit code 0, so that end is looked at by a witness in it.
    """
    records: list[Mapping[str, object]] = []
    for number, line in enumerate(text.split(b"\n")[:-1]):
        mac, _, body = line.partition(b" ")
        ours = hmac.new(place.key, body, hashlib.sha256).hexdigest().encode()
        if not hmac.compare_digest(mac, ours):
            why = f"line {number + 1} of the report was not written by the runner"
            return broken(ReportState.FORGED, why)
        record = json.loads(body)
        if record["n"] != number:
            return broken(
                ReportState.FORGED, f"record {number} of the report is missing or doubled"
            )
        records.append(record)
    if not records or records[-1]["kind"] != "end":
        return broken(ReportState.CRASHED, "node ended before it said that it had finished")
    return _judge(records[:-1], records[-1], place)


def _judge(
    records: Sequence[Mapping[str, object]], end: Mapping[str, object], place: Place
) -> Parsed:
    results: list[TestResult] = []
    broken_files: list[TestResult] = []
    for record in records:
        found = _result(record, place)
        if record["file_level"] and found.outcome is not TestOutcome.PASSED:
            broken_files.append(found)
        elif not _is_sum(record):
            results.append(found)
    failed = {r.test_id for r in broken_files}
    early = [p for p in map(place.relative, _strings(end["early"])) if p not in failed]
    tests = numbered(results)
    if early:
        why = f"ended early, e.g. by process.exit(): {', '.join(early[:5])}"
        return broken(ReportState.CRASHED, why, tests)
    if broken_files:
        why = f"cannot be run to the end: {', '.join(sorted(failed)[:5])}"
        return broken(ReportState.COLLECTION_ERROR, why, (*tests, *numbered(broken_files)))
    return Parsed(results=tests)


def _is_sum(record: Mapping[str, object]) -> bool:
    """Whether a record only sums up the tests inside a suite; a suite that fails by itself is a result."""
    if not record["suite"]:
        return False
    return record["outcome"] != "failed" or record["failure"] == _OF_TESTS_INSIDE


def _result(record: Mapping[str, object], place: Place) -> TestResult:
    file = place.relative(str(record["file"]))
    names = [] if record["file_level"] else _strings(record["names"])
    stack = str(record["stack"])
    outcome = TestOutcome(str(record["outcome"]))
    if record["file_level"] and outcome is TestOutcome.FAILED:
        outcome = TestOutcome.ERROR
    return result(
        "::".join([file, *names]),
        outcome,
        wall_s=finite(record["wall_ms"]) / 1000,
        message=str(record["message"]),
        detail=stack,
        frames=place.frames(stack),
    )


def _strings(value: object) -> list[str]:
    return [str(v) for v in value] if isinstance(value, list) else []
