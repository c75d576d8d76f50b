"""What the parent makes of a test process: its signed records, its exit code, and nothing else it says.

Pure. The process ran code of the project, so a report is `complete` only when everything agrees: each record signed and
in sequence, the runner ended by itself with the exit code that its results demand, every control test did what it must,
every test that passed was seen to return, no function of the runner was replaced, and the ids are the expected ones.
"""

import ast
import hashlib
import hmac
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from surefoot.suite.environment import signal_name
from surefoot.syntax import parse
from surefoot.values import Frame, ReportState, TestOutcome, TestResult

FAILED: Final = frozenset({TestOutcome.FAILED, TestOutcome.ERROR})
SHOWN: Final = 5


@dataclass(slots=True, kw_only=True)
class Heard:
    """What a test process said, sorted by kind."""

    forged: str = ""
    """Why the records cannot be believed; empty when they can."""
    collected: tuple[str, ...] | None = None
    results: list[TestResult] = field(default_factory=list)
    witness: dict[str, str] = field(default_factory=dict)
    broken: list[TestResult] = field(default_factory=list)
    """Files that could not be collected."""
    failed: list[str] = field(default_factory=list)
    """Tests of which a phase was seen to fail, at the moment when it did."""
    tampered: list[str] = field(default_factory=list)
    internal: str = ""
    tool_missing: str = ""
    foreign: tuple[str, ...] = ()
    ran: dict[str, frozenset[str]] = field(default_factory=dict)
    """Files that each watched test ran a function of; under "" those that count for all."""
    running: str = ""
    """The test that had started and not ended."""
    end: int | None = None
    """Exit code as the runner gave it, when it came to its end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """State, results without the controls, and why."""

    state: ReportState
    results: tuple[TestResult, ...] = ()
    foreign: tuple[str, ...] = ()
    reason: str = ""


def hear(channel: bytes, key: bytes) -> Heard:
    """Check and sort the records of one process; a line that is not ours makes the whole a forgery."""
    heard = Heard()
    lines = channel.split(b"\n")
    for number, line in enumerate(lines[:-1]):
        mac, _, body = line.partition(b" ")
        ours = hashlib.blake2b(body, key=key, digest_size=16).hexdigest().encode()
        if not hmac.compare_digest(mac, ours):
            heard.forged = f"line {number + 1} of the report was not written by the runner"
            return heard
        record = ast.literal_eval(parse(body, "eval"))
        if record["n"] != number:
            heard.forged = f"record {number} of the report is missing or doubled"
            return heard
        _sort_in(heard, record)
    return heard


def _sort_in(heard: Heard, record: Mapping[str, object]) -> None:
    match record:
        case {"kind": "test", "witness": str(witness)}:
            result = result_of(record)
            heard.results.append(result)
            heard.witness[result.test_id] = witness
            heard.running = ""
        case {"kind": "collect-error"}:
            heard.broken.append(result_of({**record, "outcome": "error"}))
        case {"kind": "collect-skip"}:
            heard.results.append(result_of({**record, "outcome": "skipped"}))
        case {"kind": "tampered", "name": str(name)}:
            heard.tampered.append(name)
        case _:
            _sort_in_fact(heard, record)


def _sort_in_fact(heard: Heard, record: Mapping[str, object]) -> None:
    match record:
        case {"kind": "collected", "ids": list(ids)}:
            heard.collected = tuple(str(i) for i in ids)
        case {"kind": "start", "id": str(test_id)}:
            heard.running = test_id
        case {"kind": "failed", "id": str(test_id)}:
            heard.failed.append(test_id)
        case {"kind": "internal-error", "message": str(text)}:
            heard.internal = text
        case {"kind": "tool-missing", "tool": str(tool)}:
            heard.tool_missing = tool
        case {"kind": "foreign", "files": list(files)}:
            heard.foreign = tuple(str(f) for f in files)
        case {"kind": "ran", "id": str(test_id), "files": list(files)}:
            heard.ran[test_id] = frozenset(str(f) for f in files)
        case {"kind": "end", "exit_code": int(code)}:
            heard.end = code
        case _:
            heard.forged = f"the report holds an unknown record {record.get('kind')!r}"


def result_of(record: Mapping[str, object]) -> TestResult:
    """A test's record as a value."""
    wall_s = record.get("wall_s", 0.0)
    return TestResult(
        test_id=str(record["id"]),
        outcome=TestOutcome(str(record["outcome"])),
        wall_s=round(wall_s, 6) if isinstance(wall_s, float) else 0.0,
        message=str(record["message"]),
        detail=str(record.get("detail", "")),
        frames=_frames(record.get("frames")),
    )


def _frames(frames: object) -> tuple[Frame, ...]:
    if not isinstance(frames, list | tuple):
        return ()
    return tuple(Frame(path=str(p), line=int(n), function=str(f)) for p, n, f in frames)


def judge(
    heard: Heard,
    *,
    exit_code: int | None,
    spent: str = "",
    controls: Mapping[str, str],
    expected: Sequence[str] | None,
) -> Verdict:
    """The verdict on one process.

    Args:
        heard: What it said.
        exit_code: How it ended; minus a signal's number.
        spent: Which limit of time ended it, in words; empty when none did.
        controls: The outcome that each control test must have, by name.
        expected: The ids that were asked for; None is all.
    """
    results = tuple(r for r in heard.results if _name(r.test_id) not in controls)
    given = (*results, *heard.broken)
    if heard.forged:
        return Verdict(state=ReportState.FORGED, reason=heard.forged)
    if heard.tool_missing:
        mend = f"install {heard.tool_missing} there or name another interpreter in `[test] python`"
        why = f"the interpreter has no {heard.tool_missing}: {mend}"
        return Verdict(state=ReportState.TOOL_MISSING, reason=why)
    if spent:
        why = f"{spent} in {heard.running or 'no test'}"
        return Verdict(state=ReportState.TIMEOUT, results=given, reason=why)
    if heard.end is None:
        how = f"the process ended with {exit_code}"
        if exit_code is not None and exit_code < 0:
            how = f"{signal_name(-exit_code)} ended the process"
        why = f"{how} in {heard.running or 'no test'}"
        return Verdict(state=ReportState.CRASHED, results=given, reason=why)
    if lie := _forgery(heard, exit_code, controls):
        return Verdict(state=ReportState.FORGED, results=given, reason=lie)
    return _complete(heard, results, expected)


def _complete(
    heard: Heard, results: tuple[TestResult, ...], expected: Sequence[str] | None
) -> Verdict:
    given = (*results, *heard.broken)
    if heard.foreign:
        why = (
            f"{_some(heard.foreign)} was imported from your checkout; let the package's folder have the name that it is "
            "imported by, and name the folder above it in `[tool.pytest.ini_options] pythonpath` of pyproject.toml"
        )
        return Verdict(
            state=ReportState.FOREIGN_CODE, results=given, foreign=heard.foreign, reason=why
        )
    if heard.internal or _is_broken_off(heard, given, expected):
        why = heard.internal or f"the runner ended with {heard.end}: {BROKEN_OFF[heard.end or 2]}"
        return Verdict(state=ReportState.CRASHED, results=given, reason=why)
    if wrong := _wrong_ids(heard, results, None if heard.broken else expected):
        return Verdict(state=ReportState.UNPARSABLE, results=given, reason=wrong)
    if heard.broken:
        why = f"cannot be collected: {_some(tuple(r.test_id for r in heard.broken))}"
        return Verdict(state=ReportState.COLLECTION_ERROR, results=given, reason=why)
    if not results:
        why = f"no test was found (exit code {heard.end}"
        why += f": {BROKEN_OFF[heard.end]})" if heard.end in BROKEN_OFF else ")"
        return Verdict(state=ReportState.NOTHING_COLLECTED, reason=why)
    return Verdict(state=ReportState.COMPLETE, results=given)


def _forgery(heard: Heard, exit_code: int | None, controls: Mapping[str, str]) -> str | None:
    """Why a finished run is not to be believed, or None."""
    if heard.end != exit_code:
        return f"the runner ended with {heard.end}, its process with {exit_code}"
    if heard.tampered:
        return f"the code under test replaced {_some(tuple(heard.tampered))}"
    if heard.collected:
        seen = Counter((_name(r.test_id), r.outcome.value) for r in heard.results)
        for name, outcome in controls.items():
            if seen[name, outcome] != 1 and heard.end not in BROKEN_OFF:
                got = [o for n, o in seen if n == name]
                return f"a control test that must be {outcome!r} was {got or 'not run'!r}"
        if heard.end == 0:
            return "the runner ended with 0 although a control test failed"
    for result in heard.results:
        ended = heard.witness.get(result.test_id, "none")
        if result.outcome is TestOutcome.PASSED and ended not in {"returned", "none"}:
            return f"{result.test_id} is reported as passed, but its function {ended.replace('-', ' ')}"
    return _softened(heard)


def _softened(heard: Heard) -> str | None:
    """Which test was seen to fail and is reported as something better, or is none at all; None where all agree."""
    bad = {r.test_id for r in heard.results if r.outcome in FAILED}
    told = {r.test_id: r.outcome.value for r in heard.results}
    missing = set(heard.collected or ()) - set(told)
    for test_id in heard.failed:
        if test_id not in bad | missing:
            return f"{test_id} was seen to fail, and is reported as {told.get(test_id, 'nothing')}"
    return None


_USAGE: Final = 4
BROKEN_OFF: Final = {
    2: "somebody ended it early, e.g. `pytest.exit()` or ctrl-C",
    3: "it broke",
    _USAGE: "it does not accept its configuration or arguments",
}
"""pytest's exit codes for a run that did not come to its end."""


def _is_broken_off(
    heard: Heard, given: tuple[TestResult, ...], expected: Sequence[str] | None
) -> bool:
    """Whether tests ran or would have, and the run did not come to its end.

    It may end while files are still read, so that nothing is collected and only files have results. Of ids that it was
    asked for and does not find pytest says 4, too; those are told one by one.
    """
    if heard.end not in BROKEN_OFF:
        return False
    not_found = heard.end == _USAGE and expected is not None
    return bool(heard.collected) or (bool(given) and not not_found)


def _wrong_ids(
    heard: Heard, results: tuple[TestResult, ...], expected: Sequence[str] | None
) -> str | None:
    counts = Counter(r.test_id for r in results)
    if doubled := tuple(i for i, n in counts.items() if n > 1):
        return f"reported more than once: {_some(doubled)}"
    if unfinished := tuple(i for i in heard.collected or () if i not in counts):
        return f"collected but not reported: {_some(unfinished)}"
    if expected is None:
        return None
    if missing := tuple(i for i in expected if not any(is_of(r, i) for r in counts)):
        return f"asked for but not reported: {_some(missing)}"
    if extra := tuple(r for r in counts if not any(is_of(r, i) for i in expected)):
        return f"reported but not asked for: {_some(extra)}"
    return None


def is_of(test_id: str, asked: str) -> bool:
    """Whether a test is the one asked for, or inside the file, class or parametrised function asked for."""
    return test_id == asked or test_id.startswith((f"{asked}::", f"{asked}["))


def _name(test_id: str) -> str:
    return test_id.rpartition("::")[2]


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:SHOWN])
    return f"{shown} and {len(names) - SHOWN} more" if len(names) > SHOWN else shown
