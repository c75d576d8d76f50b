"""The SQLite projection follows the files, whatever happens to either."""

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from surefoot.errors import LedgerError, UsageError
from surefoot.events.envelope import Event
from surefoot.events.orchestration import LedgerRepaired
from surefoot.events.policy import PolicyDenied
from surefoot.events.work import FactLearned
from surefoot.ledger import FileLedger, Projection
from surefoot.testing.clock import FakeClock
from surefoot.values import EventId, RunId, TurnId


class Repo:
    """A `.surefoot` directory."""

    def __init__(self, root: Path) -> None:
        self.root, self.runs, self.db = root, root / "runs", root / "ledger.db"
        self.own = root / "events.jsonl"
        self.runs.mkdir()

    def file(self, run: str) -> Path:
        return self.own if run == "repo" else self.runs / run / "events.jsonl"

    def append(self, run: str, *events: Event, turn: str | None = None) -> None:
        ledger = FileLedger.open(
            self.file(run),
            blobs=self.root / "blobs",
            trace_id=RunId(run),
            clock=FakeClock(),
            redact=str,
        )
        ledger.append_all(events, turn=TurnId(turn) if turn else None)
        ledger.close()


def fact(text: str) -> FactLearned:
    return FactLearned(topic="t", text=text)


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return Repo(tmp_path)


@pytest.fixture
def projection(repo: Repo) -> Iterator[Projection]:
    with Projection(repo.db) as opened:
        yield opened


def texts(projection: Projection) -> list[tuple[str, str]]:
    return [
        (record.trace_id, record.event.text)
        for record in projection.query()
        if isinstance(record.event, FactLearned)
    ]


def test_it_holds_runs_and_the_repositorys_own_ledger(repo: Repo, projection: Projection) -> None:
    """Ordered by trace, then by place."""
    repo.append("run-2", fact("c"))
    repo.append("run-1", fact("a"), fact("b"))
    repo.append("repo", PolicyDenied(rule="B3", what="x"))
    assert projection.refresh(repo.runs, extra=[repo.own]) == ()
    ids = [record.event_id for record in projection.query()]
    assert ids == ["repo:1", "run-1:1", "run-1:2", "run-2:1"]


def test_before_the_first_run_it_is_empty(repo: Repo, projection: Projection) -> None:
    """A missing directory or ledger is no error."""
    assert projection.refresh(repo.root / "nowhere", extra=[repo.own]) == ()
    assert projection.query() == ()


def test_a_refresh_reads_only_what_was_added(repo: Repo, projection: Projection) -> None:
    """Known lines are not read again: one that was damaged behind its back stays as it was read."""
    repo.append("run-1", fact("aaaa"), fact("b"))
    projection.refresh(repo.runs)
    with repo.file("run-1").open("r+b") as file:
        data = file.read().replace(b"aaaa", b"AAAA")
        file.seek(0)
        file.write(data)
    projection.refresh(repo.runs)
    assert texts(projection) == [("run-1", "aaaa"), ("run-1", "b")]


def test_a_trace_whose_past_changed_is_read_again(repo: Repo, projection: Projection) -> None:
    """A run that was replaced by another history shows the new one."""
    repo.append("run-1", fact("a"), fact("b"))
    projection.refresh(repo.runs)
    repo.file("run-1").unlink()
    repo.append("run-1", fact("x"), fact("y"), fact("z"))
    projection.refresh(repo.runs)
    assert texts(projection) == [("run-1", "x"), ("run-1", "y"), ("run-1", "z")]


def test_a_run_that_is_gone_is_forgotten(repo: Repo, projection: Projection) -> None:
    """The projection holds exactly what the files hold."""
    repo.append("run-1", fact("a"))
    repo.append("run-2", fact("b"))
    projection.refresh(repo.runs)
    repo.file("run-1").unlink()
    projection.refresh(repo.runs)
    assert texts(projection) == [("run-2", "b")]


def test_a_torn_line_waits_for_its_repair(repo: Repo, projection: Projection) -> None:
    """A run that writes at this moment is no fault, and after the repair nothing is missing."""
    repo.append("run-1", fact("a"), fact("b"))
    whole = repo.file("run-1").read_bytes()
    repo.file("run-1").write_bytes(whole[:-5])
    assert projection.refresh(repo.runs) == ()
    assert texts(projection) == [("run-1", "a")]
    repo.append("run-1", fact("c"))
    projection.refresh(repo.runs)
    kinds = [type(record.event) for record in projection.query()]
    assert kinds == [FactLearned, LedgerRepaired, FactLearned]


def test_a_damaged_ledger_is_held_up_to_its_fault_and_named(
    repo: Repo, projection: Projection
) -> None:
    """One bad run does not hide the others, and every refresh says so again."""
    repo.append("run-1", fact("a"), fact("b"), fact("c"))
    repo.append("run-2", fact("d"))
    data = repo.file("run-1").read_bytes()
    repo.file("run-1").write_bytes(data.replace(b'"b"', b'"B"'))
    for _ in range(2):
        (fault,) = projection.refresh(repo.runs)
        assert (fault.path.parent.name, fault.fault.line) == ("run-1", 2)
        assert texts(projection) == [("run-1", "a"), ("run-2", "d")]
    repo.file("run-1").write_bytes(data)
    assert projection.refresh(repo.runs) == ()
    assert len(projection.query(trace=RunId("run-1"))) == 3


def test_a_copied_run_is_named_and_not_mixed_in(repo: Repo, projection: Projection) -> None:
    """Two files of one trace cannot both be it."""
    repo.append("run-1", fact("a"))
    (repo.runs / "run-1-copy").mkdir()
    (repo.runs / "run-1-copy" / "events.jsonl").write_bytes(repo.file("run-1").read_bytes())
    (fault,) = projection.refresh(repo.runs)
    assert fault.path.parent.name == "run-1-copy"
    assert "run-1/events.jsonl" in fault.fault.reason
    assert texts(projection) == [("run-1", "a")]


@pytest.mark.parametrize("rubbish", [b"not a database, but long enough to be looked at" * 50, b"x"])
def test_a_file_that_is_no_database_is_made_again(repo: Repo, rubbish: bytes) -> None:
    """It holds nothing that the ledgers do not hold."""
    repo.append("run-1", fact("a"))
    repo.db.write_bytes(rubbish)
    with Projection(repo.db) as projection:
        projection.refresh(repo.runs)
        assert texts(projection) == [("run-1", "a")]


def test_a_projection_of_another_version_is_made_again(repo: Repo) -> None:
    """Its tables may mean something else."""
    repo.append("run-1", fact("a"))
    other = sqlite3.connect(repo.db)
    other.execute("CREATE TABLE events (something TEXT)")
    other.execute("PRAGMA user_version = 99")
    other.close()
    with Projection(repo.db) as projection:
        projection.refresh(repo.runs)
        assert texts(projection) == [("run-1", "a")]


def test_where_no_database_can_be_the_sentence_says_so(repo: Repo) -> None:
    """A directory stands in its place."""
    repo.db.mkdir()
    with pytest.raises(LedgerError, match=r"cannot use the projection .*ledger\.db"):
        Projection(repo.db)


@pytest.mark.parametrize("after", ["nonsense", "run-1:", ":3", "run-1:x", "run-1:" + "9" * 30])
def test_a_page_after_something_that_is_no_event_id_is_refused(
    projection: Projection, after: str
) -> None:
    """With what one looks like."""
    with pytest.raises(UsageError, match="is not an event id"):
        projection.query(after=EventId(after))


def test_processes_that_refresh_at_once_agree(repo: Repo) -> None:
    """Nobody fails on a locked database, and no event is there twice."""
    for run in range(6):
        repo.append(f"run-{run}", *(fact(str(number)) for number in range(20)))
    program = """
import sys
from pathlib import Path
from surefoot.ledger import Projection
with Projection(Path(sys.argv[1]) / "ledger.db") as projection:
    assert projection.refresh(Path(sys.argv[1]) / "runs") == ()
    print(len(projection.query()))
"""
    command = [sys.executable, "-c", program, repo.root]
    several = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(3)]
    assert [process.communicate()[0] for process in several] == [b"120\n"] * 3


def test_every_filter_is_answered_from_an_index_without_a_sort(
    repo: Repo, projection: Projection
) -> None:
    """Answers stay fast however many events there are: nothing is scanned, nothing is sorted."""
    repo.append("run-1", fact("a"), turn="t1")
    projection.refresh(repo.runs)
    asked: list[str] = []
    projection._db.set_trace_callback(asked.append)
    run, turn, last = RunId("run-1"), TurnId("t1"), EventId("run-1:0")
    projection.query(trace=run)
    projection.query(turn=turn, kind="fact.learned")
    projection.query(event_class="tool", after=last)
    projection.query(kind="fact.learned", trace=run, event_class="tool", after=last)
    projection.query(cause=last, kind="fact.learned")
    projection.query(after=last, limit=5)
    projection._db.set_trace_callback(None)
    assert len(asked) == 6
    for sql in asked:
        plan = [row[3] for row in projection._db.execute(f"EXPLAIN QUERY PLAN {sql}")]
        assert len(plan) == 1, (sql, plan)
        assert plan[0].startswith("SEARCH events"), (sql, plan)
