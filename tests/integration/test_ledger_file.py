"""The ledger against real processes and a disk that refuses."""

import errno
import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, TypeAlias

import pytest
from tests.integration.disks import file_size_limit

from surefoot import codec
from surefoot.errors import LedgerError
from surefoot.events.orchestration import LedgerRepaired
from surefoot.events.policy import LockChanged
from surefoot.events.work import CommandRan, FactLearned
from surefoot.interrupts import end_on_signals
from surefoot.kernel.journal import Journal
from surefoot.kernel.state import fold
from surefoot.ledger import FileLedger, read_events, verify_chain
from surefoot.ledger.blobs import BlobStore
from surefoot.ledger.disk import told
from surefoot.ledger.scrub import scrub_blob, scrub_event
from surefoot.policy.redaction import Redactor
from surefoot.testing.clock import FakeClock
from surefoot.values import Digest, RunId, SandboxLevel

TraceFunction: TypeAlias = Callable[[FrameType, str, Any], Any]
RUN = RunId("run-1")
HOLDER = """
import fcntl, sys
file = open(sys.argv[1], "r+b")
fcntl.flock(file, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


def opened(root: Path, trace: RunId = RUN) -> FileLedger:
    return FileLedger.open(
        root / "events.jsonl", blobs=root / "blobs", trace_id=trace, clock=FakeClock(), redact=str
    )


def test_a_ledger_that_is_soon_let_go_of_is_waited_for(tmp_path: Path) -> None:
    """Two acts outside a run meet; the later one is recorded behind the earlier one."""
    first = opened(tmp_path)
    path = tmp_path / "events.jsonl"

    def second() -> None:
        later = FileLedger.open(
            path, blobs=tmp_path / "b", trace_id=RUN, clock=FakeClock(), redact=str, wait_s=60.0
        )
        later.append(fact("later"))
        later.close()

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(second)
        with pytest.raises(LedgerError, match="in use by another process"):
            opened(tmp_path)  # who does not wait is told at once
        first.append(fact("earlier"))
        first.close()
        waiting.result(timeout=60)
    assert texts(path) == ["earlier", "later"]


def fact(text: str) -> FactLearned:
    return FactLearned(topic="t", text=text)


def texts(path: Path) -> list[str]:
    return [r.event.text for r in read_events(path) if isinstance(r.event, FactLearned)]


def interrupted_at(line: int, work: Callable[[], object]) -> bool:
    """Whether `work` has so many lines in ledger and journal; ctrl-C comes at that one."""
    seen = 0

    def trace(frame: FrameType, event: str, _: object) -> TraceFunction | None:
        nonlocal seen
        if not frame.f_code.co_filename.endswith(("ledger/file.py", "kernel/journal.py")):
            return None
        if event == "line":
            seen += 1
            if seen == line:
                signal.raise_signal(signal.SIGINT)
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        with suppress(KeyboardInterrupt):
            work()
    finally:
        sys.settrace(before)
    return seen >= line


def test_an_interruption_leaves_ledger_and_state_as_one(tmp_path: Path) -> None:
    """At whatever line ctrl-C comes, an event is recorded whole and known, or it is neither."""
    ledger = opened(tmp_path)
    journal = Journal(ledger, FakeClock())
    line = 1
    while interrupted_at(line, partial(journal.record, fact("x" * (300 - 7 * line % 300)))):
        line += 1
    assert line > 20
    assert len(texts(tmp_path / "events.jsonl")) > 20
    assert verify_chain(tmp_path / "events.jsonl") is None
    assert journal.state == fold(read_events(tmp_path / "events.jsonl"))
    ledger.close()


def test_reopening_goes_on_where_it_was_left(tmp_path: Path) -> None:
    """Head, numbers and causes continue."""
    first = opened(tmp_path)
    record = first.append(fact("a"))
    first.close()
    second = opened(tmp_path)
    assert second.head == record.hash
    assert second.append(fact("b")).caused_by == record.event_id
    second.close()
    assert verify_chain(tmp_path / "events.jsonl") is None


def test_the_repositorys_own_ledger_is_the_same_thing(tmp_path: Path) -> None:
    """Acts outside a run have the trace `repo`."""
    ledger = opened(tmp_path / ".surefoot", RunId("repo"))
    record = ledger.append(LockChanged(locked=True, why="release", who="somebody"))
    ledger.close()
    assert (record.event_id, record.trace_id) == ("repo:1", "repo")


def test_a_ledger_in_use_is_refused_and_readable(tmp_path: Path) -> None:
    """One writer; the second is told which run is in use, a reader needs no lock."""
    ledger = opened(tmp_path)
    ledger.append(fact("a"))
    with pytest.raises(LedgerError, match="run 'run-1' is in use"):
        opened(tmp_path)
    assert texts(tmp_path / "events.jsonl") == ["a"]
    ledger.close()
    opened(tmp_path).close()


def test_a_process_that_has_it_keeps_others_out(tmp_path: Path) -> None:
    """The lock is the kernel's: it holds between processes and goes with its owner."""
    opened(tmp_path).close()
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            HOLDER,
            tmp_path / "events.jsonl",
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        with pytest.raises(LedgerError, match="in use"):
            opened(tmp_path)
        holder.kill()
    opened(tmp_path).close()


def test_a_failed_open_lets_go_of_the_lock(tmp_path: Path) -> None:
    """Whoever mends the file can open it in the same process."""
    opened(tmp_path).close()
    (tmp_path / "events.jsonl").write_bytes(b"{}\n{}\n")
    with pytest.raises(LedgerError, match="line 1"):
        opened(tmp_path)
    with (tmp_path / "events.jsonl").open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_ledger_of_another_trace_is_refused(tmp_path: Path) -> None:
    """Both are named."""
    ledger = opened(tmp_path)
    ledger.append(fact("a"))
    ledger.close()
    with pytest.raises(LedgerError, match="belongs to 'run-1', not to 'run-2'"):
        opened(tmp_path, RunId("run-2"))


def test_what_was_acknowledged_survives_sigkill(tmp_path: Path) -> None:
    """Every event whose append had returned is there after kill -9, and the chain holds."""
    program = """
import sys
from pathlib import Path
from surefoot.events.work import CommandRan, FactLearned
from surefoot.interrupts import end_on_signals
from surefoot.kernel.journal import Journal
from surefoot.kernel.state import fold
from surefoot.ledger import FileLedger
from surefoot.testing.clock import FakeClock
root = Path(sys.argv[1])
ledger = FileLedger.open(root / "events.jsonl", blobs=root / "blobs", trace_id="run-1", clock=FakeClock(), redact=str)
for number in range(10**6):
    ledger.append(FactLearned(topic="t", text=str(number)))
    print(number, flush=True)
"""
    writer = subprocess.Popen([sys.executable, "-c", program, tmp_path], stdout=subprocess.PIPE)
    assert writer.stdout is not None
    with writer:
        for _ in range(25):
            said = writer.stdout.readline()
        writer.send_signal(signal.SIGKILL)
        said = writer.stdout.read().rpartition(b"\n")[0].rpartition(b"\n")[2] or said
    acknowledged = int(said)
    opened(tmp_path).close()
    assert texts(tmp_path / "events.jsonl")[: acknowledged + 1] == [
        str(number) for number in range(acknowledged + 1)
    ]
    assert verify_chain(tmp_path / "events.jsonl") is None


def test_a_file_that_is_removed_between_open_and_lock_is_not_written(tmp_path: Path) -> None:
    """As `surefoot gc` removes a run that never began: the one that begins makes another file, and what it writes is there."""
    program = """
import shutil, sys
from pathlib import Path
from surefoot.events.work import CommandRan, FactLearned
from surefoot.ledger import FileLedger
from surefoot.testing.clock import FakeClock
root = Path(sys.argv[1])
removed = []
def remove(event, _):
    if event == "fcntl.flock" and not removed:
        removed.append(True)
        shutil.rmtree(root / "run-1")
sys.addaudithook(remove)
ledger = FileLedger.open(root / "run-1/events.jsonl", blobs=root / "blobs", trace_id="run-1", clock=FakeClock(), redact=str)
assert removed
ledger.append(FactLearned(topic="t", text="here"))
"""
    subprocess.run([sys.executable, "-c", program, tmp_path], check=True)
    assert texts(tmp_path / "run-1" / "events.jsonl") == ["here"]


def test_a_torn_line_is_replaced_by_its_record(tmp_path: Path) -> None:
    """Also a torn one that is longer than the record; its bytes are kept as a blob."""
    ledger = opened(tmp_path)
    ledger.append(fact("a"))
    ledger.close()
    torn = b'{"caused_by":"run-1:1","class":"tool","payload":{"text":"' + b"x" * 5000
    with (tmp_path / "events.jsonl").open("ab") as file:
        file.write(torn)
    ledger = opened(tmp_path)
    (_, last) = ledger.events()
    assert isinstance(last.event, LedgerRepaired)
    assert (last.event.dropped_bytes, ledger.get(last.event.dropped)) == (len(torn), torn)
    ledger.close()
    assert verify_chain(tmp_path / "events.jsonl") is None


def test_a_damaged_middle_is_never_repaired(tmp_path: Path) -> None:
    """It is reported with its line and the file stays as it is."""
    ledger = opened(tmp_path)
    ledger.append_all([fact("a"), fact("b"), fact("c")])
    ledger.close()
    path = tmp_path / "events.jsonl"
    damaged = path.read_bytes().replace(b'"b"', b'"B"')
    path.write_bytes(damaged)
    for attempt in (lambda: opened(tmp_path), lambda: list(read_events(path))):
        with pytest.raises(LedgerError, match="line 2"):
            attempt()
    assert path.read_bytes() == damaged


@pytest.mark.parametrize("order", [(0, 2), (1, 0), (0, 1, 1)], ids=["gap", "swapped", "twice"])
def test_whole_lines_in_the_wrong_place_are_a_fault_and_never_torn(
    tmp_path: Path, order: tuple[int, ...]
) -> None:
    """Removed, swapped and repeated lines break the chain; none of them is cut off."""
    ledger = opened(tmp_path)
    ledger.append_all([fact("a"), fact("b"), fact("c")])
    ledger.close()
    path = tmp_path / "events.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[place] for place in order))
    fault = verify_chain(path)
    assert fault is not None
    assert not fault.torn
    with pytest.raises(LedgerError, match=f"line {fault.line}"):
        opened(tmp_path)


def test_a_line_that_was_replaced_with_the_right_hash_breaks_the_chain_after_it(
    tmp_path: Path,
) -> None:
    """Rewriting history means rewriting all of it, and the head in the commits with it."""
    ledger = opened(tmp_path)
    ledger.append_all([fact("a"), fact("b"), fact("c")])
    ledger.close()
    path = tmp_path / "events.jsonl"
    first, second, third = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + _sealed(second, b'"b"', b'"B"') + third)
    fault = verify_chain(path)
    assert fault is not None
    assert (fault.line, fault.torn) == (3, False)
    assert "not the line before" in fault.reason


def test_damage_to_the_hash_itself_is_damage(tmp_path: Path) -> None:
    """A last line whose hash has lost its end is set aside like any torn one."""
    ledger = opened(tmp_path)
    ledger.append_all([fact("a"), fact("b")])
    head = ledger.head.encode()
    ledger.close()
    path = tmp_path / "events.jsonl"
    path.write_bytes(path.read_bytes().replace(head + b'"', head + b"'"))
    fault = verify_chain(path)
    assert fault is not None
    assert (fault.line, fault.torn) == (2, True)


def test_a_disk_that_takes_half_a_line_leaves_no_half_line(tmp_path: Path) -> None:
    """The append fails with a sentence, later ones too, and a new open goes on with all that was recorded."""
    ledger = opened(tmp_path)
    ledger.append(fact("a"))
    path = tmp_path / "events.jsonl"
    size = path.stat().st_size
    with file_size_limit(size + 100), pytest.raises(LedgerError, match=r"cannot write.*try again"):
        ledger.append(fact("b"))
    assert path.stat().st_size == size
    with pytest.raises(LedgerError, match="cannot write"):
        ledger.append(fact("c"))
    ledger.close()
    ledger = opened(tmp_path)
    ledger.append(fact("d"))
    ledger.close()
    assert texts(path) == ["a", "d"]


def test_a_blob_that_the_disk_does_not_take_leaves_nothing(tmp_path: Path) -> None:
    """No half blob under a digest's name, and no unfinished file."""
    store = BlobStore(tmp_path)
    with file_size_limit(10), pytest.raises(LedgerError, match="cannot store a blob"):
        store.put(b"more than ten bytes")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_secret_that_looks_like_a_digest_is_hidden_where_it_is_known() -> None:
    """Many services issue 40 or 64 hexadecimal digits; another such string is a digest, whatever it stands under."""
    token, digest = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b", "0" * 40
    redact = Redactor([token])
    event = CommandRan(
        tool="verification",
        argv=("./deploy", "--token", token, digest),
        exit_code=0,
        stdout=Digest("0" * 64),
        stderr=Digest("0" * 64),
        wall_s=1.0,
        sandbox=SandboxLevel.NONE,
    )
    _, data = scrub_event(event, redact)
    blob = scrub_blob(codec.canonical({"token": digest, "pattern": token}), redact)
    for kept in (data, blob):
        assert token.encode() not in kept
        assert digest.encode() in kept


def test_a_blob_is_stored_once_and_a_half_one_is_completed(tmp_path: Path) -> None:
    """A second put writes nothing but the time of its use; a file of another length under the name is replaced."""
    store = BlobStore(tmp_path)
    digest = store.put(b"content")
    path = tmp_path / digest[:2] / digest
    written = path.stat().st_ino
    os.utime(path, (0, 0))
    assert store.put(b"content") == digest
    assert path.stat().st_ino == written
    assert path.stat().st_mtime > 0
    for damaged in (b"con", b"CONTENT"):
        path.write_bytes(damaged)
        store.put(b"content")
        assert store.get(digest) == b"content"


def test_a_changed_blob_is_an_error(tmp_path: Path) -> None:
    """Its name says what its bytes must be."""
    store = BlobStore(tmp_path)
    digest = store.put(b"content")
    (tmp_path / digest[:2] / digest).write_bytes(b"CONTENT")
    with pytest.raises(LedgerError, match="was changed"):
        store.get(digest)
    with pytest.raises(LedgerError, match="is not in"):
        store.get(Digest("0" * 64))


def test_a_ledger_that_cannot_be_made_says_where_and_why(tmp_path: Path) -> None:
    """A file stands where the directory should be."""
    (tmp_path / "runs").write_text("")
    with pytest.raises(LedgerError, match=r"cannot open the ledger .*runs.*move it away"):
        opened(tmp_path / "runs")


@pytest.mark.parametrize(
    ("number", "mend"),
    [
        (errno.ENOSPC, "free some space"),
        (errno.EROFS, "mounted read-only"),
        (errno.EACCES, "write permission"),
        (errno.EIO, "see to the disk"),
    ],
)
def test_a_refusal_of_the_disk_names_the_mend(number: int, mend: str) -> None:
    """What, where, why and what to do, in one sentence."""
    with pytest.raises(LedgerError) as caught, told("write the ledger", Path("x/events.jsonl")):
        raise OSError(number, os.strerror(number))
    assert str(caught.value).startswith(
        f"cannot write the ledger x/events.jsonl: {os.strerror(number)}; "
    )
    assert mend in str(caught.value)


def test_a_missing_ledger_is_one_sentence(tmp_path: Path) -> None:
    """Reading does not create it."""
    with pytest.raises(LedgerError, match=r"cannot read the ledger .*check it"):
        list(read_events(tmp_path / "events.jsonl"))
    assert not (tmp_path / "events.jsonl").exists()


def test_lines_of_a_newer_ledger_are_refused_and_never_cut(tmp_path: Path) -> None:
    """An unknown type, or a newer schema whatever its hash, asks for an upgrade, also as the last line."""
    ledger = opened(tmp_path)
    ledger.append(fact("a"))
    ledger.close()
    path = tmp_path / "events.jsonl"
    first = path.read_bytes()
    for line, says in (
        (_sealed(first, b"fact.learned", b"fact.unlearned"), "'fact.unlearned' is not known"),
        (_sealed(first, b'"schema":1', b'"schema":2'), "schema is 2"),
        (first.replace(b'"schema":1', b'"schema":2'), "schema is 2"),
    ):
        path.write_bytes(line)
        for attempt in (lambda: opened(tmp_path), lambda: list(read_events(path))):
            with pytest.raises(LedgerError, match=f"{says}.*upgrade"):
                attempt()
        assert path.read_bytes() == line


def _sealed(line: bytes, old: bytes, new: bytes) -> bytes:
    """A line with something else in it and the hash that fits."""
    before, _, after = line.rstrip(b"\n").replace(old, new).partition(b',"hash":"')
    body = before + after[65:]
    return before + b',"hash":"' + codec.digest(body).encode() + b'"' + after[65:] + b"\n"


def test_an_interruption_waits_under_the_handlers_of_the_commands_too(tmp_path: Path) -> None:
    """The same where a command has said how signals end it, which is the cheap way."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {n: signal.getsignal(n) for n in numbers}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    end_on_signals()
    try:
        test_an_interruption_leaves_ledger_and_state_as_one(tmp_path)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
