"""A process's records become a verdict that only agreement makes complete."""

import hashlib
from collections.abc import Iterator

import pytest

from surefoot.suite.verdict import Verdict, hear, judge
from surefoot.values import ReportState

KEY = b"k" * 32
CONTROLS = {"test_c1": "passed", "test_c2": "failed"}
Record = dict[str, object]


def record(test_id: str, outcome: str, witness: str = "returned") -> Record:
    return {
        "kind": "test",
        "id": test_id,
        "outcome": outcome,
        "wall_s": 0.1,
        "witness": witness,
        "message": "",
        "detail": "",
        "frames": [],
    }


def good() -> list[Record]:
    return [
        {"kind": "collected", "ids": ["t.py::a", "t.py::b"]},
        record("t.py::test_c1", "passed"),
        record("t.py::a", "passed"),
        {"kind": "failed", "id": "t.py::b"},
        record("t.py::b", "failed", "raised"),
        record("t.py::test_c2", "failed", "raised"),
        {"kind": "foreign", "files": []},
        {"kind": "end", "exit_code": 1},
    ]


def signed(records: list[Record], key: bytes = KEY) -> bytes:
    def lines() -> Iterator[bytes]:
        for number, fields in enumerate(records):
            body = ascii({"n": number, **fields}).encode()
            mac = hashlib.blake2b(body, key=key, digest_size=16).hexdigest().encode()
            yield mac + b" " + body + b"\n"

    return b"".join(lines())


def verdict(
    channel: bytes,
    *,
    exit_code: int | None = 1,
    spent: str = "",
    expected: list[str] | None = None,
) -> Verdict:
    return judge(
        hear(channel, KEY),
        exit_code=exit_code,
        spent=spent,
        controls=CONTROLS,
        expected=expected,
    )


def test_agreement_is_complete_and_the_controls_are_left_out() -> None:
    """Only the project's own tests are in the results."""
    found = verdict(signed(good()), expected=["t.py::a", "t.py::b"])
    assert found.state is ReportState.COMPLETE
    assert [r.test_id for r in found.results] == ["t.py::a", "t.py::b"]


def without(kind: str, test_id: str = "") -> list[Record]:
    return [r for r in good() if not (r["kind"] == kind and r.get("id", "") == test_id)]


def changed(test_id: str, **fields: object) -> list[Record]:
    return [r | fields if r.get("id") == test_id else r for r in good()]


@pytest.mark.parametrize(
    ("records", "state", "words"),
    [
        (without("end"), ReportState.CRASHED, "ended with 1"),
        (without("test", "t.py::b"), ReportState.UNPARSABLE, "t.py::b"),
        (without("test", "t.py::test_c2"), ReportState.FORGED, "not run"),
        (changed("t.py::test_c2", outcome="passed"), ReportState.FORGED, "must be 'failed'"),
        (changed("t.py::test_c1", outcome="skipped"), ReportState.FORGED, "must be 'passed'"),
        (changed("t.py::a", witness="raised"), ReportState.FORGED, "its function raised"),
        (changed("t.py::a", witness="not-called"), ReportState.FORGED, "not called"),
        ([*good()[:4], good()[2], *good()[4:]], ReportState.UNPARSABLE, "more than once: t.py::a"),
        ([*good(), {"kind": "tampered", "name": "x.y"}], ReportState.FORGED, "x.y"),
        ([*good(), {"kind": "failed", "id": "t.py::a"}], ReportState.FORGED, "as passed"),
        ([*good(), {"kind": "failed", "id": "t.py::c"}], ReportState.FORGED, "as nothing"),
        ([*good(), {"kind": "news"}], ReportState.FORGED, "'news'"),
        ([*good(), {"kind": "internal-error", "message": "oh"}], ReportState.CRASHED, "oh"),
        ([*good(), {"kind": "foreign", "files": ["/o/x.py"]}], ReportState.FOREIGN_CODE, "/o/x.py"),
        ([{"kind": "tool-missing", "tool": "pytest"}], ReportState.TOOL_MISSING, "pytest"),
        ([], ReportState.CRASHED, "ended with 1"),
    ],
)
def test_any_disagreement_is_not_complete(
    records: list[Record], state: ReportState, words: str
) -> None:
    """Each has its state and names what is wrong."""
    found = verdict(signed(records))
    assert (found.state, words in found.reason) == (state, True), found


def test_an_exit_code_of_the_process_must_be_the_runners() -> None:
    """A runner that said 1 in a process that ended with 0 was not alone in it."""
    assert verdict(signed(good()), exit_code=0).state is ReportState.FORGED
    zero = [*good()[:-1], {"kind": "end", "exit_code": 0}]
    assert verdict(signed(zero), exit_code=0).state is ReportState.FORGED


def test_a_time_out_keeps_what_was_finished_and_names_what_ran() -> None:
    """Partial results are shown, not trusted."""
    records = [*good()[:3], {"kind": "start", "id": "t.py::b"}]
    found = verdict(signed(records), exit_code=None, spent="the time was up")
    assert (found.state, len(found.results)) == (ReportState.TIMEOUT, 1)
    assert "t.py::b" in found.reason


@pytest.mark.parametrize(
    "channel",
    [
        signed(good(), key=b"other" * 6),
        signed(good())[:10] + b"0" + signed(good())[11:],
        signed(good()) + b"hello\n",
        signed(good())[: -len(signed(good()).split(b"\n")[-2]) - 1] * 2,
        b"".join(signed(good()).splitlines(keepends=True)[1:]),
    ],
    ids=["other key", "changed byte", "extra line", "replayed", "first line missing"],
)
def test_a_record_that_is_not_signed_in_sequence_is_a_forgery(channel: bytes) -> None:
    """Nothing in such a report counts."""
    found = verdict(channel)
    assert (found.state, found.results) == (ReportState.FORGED, ())


def test_expected_ids_are_exact_or_stand_for_what_they_hold() -> None:
    """A file, class or parametrised function may be asked for; a prefix of a name may not."""
    records = [
        {"kind": "collected", "ids": ["t.py::a[1]", "t.py::C::m"]},
        record("t.py::test_c1", "passed"),
        record("t.py::a[1]", "passed"),
        record("t.py::C::m", "passed"),
        record("t.py::test_c2", "failed", "raised"),
        {"kind": "end", "exit_code": 1},
    ]
    channel = signed(records)
    for expected in (["t.py"], ["t.py::a", "t.py::C"], ["t.py::a[1]", "t.py::C::m"]):
        assert verdict(channel, expected=expected).state is ReportState.COMPLETE
    for expected in (["t.py::a"], ["t.p", "t.py::C"], ["t.py", "t.py::z"], []):
        assert verdict(channel, expected=expected).state is ReportState.UNPARSABLE


def test_a_collection_error_is_an_entry_of_its_file() -> None:
    """The other tests' results stand beside it."""
    broken = {"kind": "collect-error", "id": "u.py", "message": "no x", "detail": "", "frames": []}
    found = verdict(signed([broken, *good()]))
    assert found.state is ReportState.COLLECTION_ERROR
    assert [r.test_id for r in found.results] == ["t.py::a", "t.py::b", "u.py"]


@pytest.mark.parametrize(("end", "state"), [(2, ReportState.CRASHED), (1, ReportState.UNPARSABLE)])
def test_a_run_with_tests_left_out_is_none_with_a_file_that_cannot_be_collected(
    end: int, state: ReportState
) -> None:
    """What did not run has no result, and the file that it stands in must not pass for what did."""
    broken = {"kind": "collect-error", "id": "u.py", "message": "no x", "detail": "", "frames": []}
    left = [r for r in good() if r.get("id") != "t.py::b" and r["kind"] != "end"]
    channel = signed([broken, *left, {"kind": "end", "exit_code": end}])
    assert verdict(channel, exit_code=end).state is state


@pytest.mark.parametrize("kind", ["collect-skip", "collect-error"])
@pytest.mark.parametrize("end", [2, 4])
def test_a_run_that_is_ended_while_files_are_read_is_not_believed(end: int, kind: str) -> None:
    """No test ran, whatever was said of single files before: neither a whole run nor one with a file less."""
    entry = {"kind": kind, "id": "u.py", "message": "no x", "detail": "", "frames": []}
    channel = signed([entry, {"kind": "end", "exit_code": end}])
    found = verdict(channel, exit_code=end)
    assert (found.state, f"ended with {end}" in found.reason) == (ReportState.CRASHED, True), found
