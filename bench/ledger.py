"""Ledger throughput: durable appends one by one and in batches, and queries over a large projection."""

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from surefoot.events.calls import ModelReplied
from surefoot.events.envelope import Event
from surefoot.events.work import CandidateTried, GitStage, TestsRan
from surefoot.ledger import FileLedger, Projection
from surefoot.policy.redaction import Redactor
from surefoot.system import SystemClock
from surefoot.values import Digest, EventId, RunId, TreeId, TurnId, Usage

BATCH = 1_000
TURN_EVENTS = 1_000
RUN_EVENTS = 20_000


def sample(number: int) -> Event:
    """An event such as a run is full of."""
    digest = Digest(f"{number:064x}")
    tree = TreeId(f"{number:040x}")
    kinds: tuple[Event, ...] = (
        CandidateTried(
            candidate=digest,
            generator="ast:compare",
            passed=False,
            fixed=0,
            broken=1,
            score=0.25,
            message="AssertionError: assert 3 == 4",
        ),
        ModelReplied(
            request=digest,
            reply=digest,
            model="embedded",
            finish="stop",
            usage=Usage(prompt_tokens=900, cached_tokens=700, completion_tokens=80),
            wall_s=2.5,
        ),
        GitStage(stage="checkpoint", ok=True, tree=tree),
        TestsRan(
            tree=tree,
            purpose="turn",
            report=digest,
            state="complete",
            passed=40,
            failed=1,
            collected=41,
            exit_code=1,
            command=("python", "-m", "pytest", "-q"),
        ),
    )
    return kinds[number % len(kinds)]


def open_ledger(root: Path, name: str) -> FileLedger:
    """A ledger as a run has it: redacted, with a handful of known secrets."""
    return FileLedger.open(
        root / "runs" / name / "events.jsonl",
        blobs=root / "blobs",
        trace_id=RunId(name),
        clock=SystemClock(),
        redact=Redactor(f"not-a-real-secret-{number}" for number in range(5)),
    )


def timed(work: Callable[[], object]) -> float:
    """Seconds that the work takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def one_by_one(root: Path, count: int) -> tuple[float, float]:
    """Appends a second, and bare write+fsync a second with lines of the same size; interleaved, so the load is equal."""
    ledger = open_ledger(root, "one-by-one")
    line = b"x" * 620 + b"\n"
    bare = os.open(root / "bare", os.O_WRONLY | os.O_CREAT, 0o600)
    ours = theirs = 0.0
    for number in range(count):
        ours += timed(partial(ledger.append, sample(number)))
        start = time.perf_counter()
        os.pwrite(bare, line, number * len(line))
        os.fsync(bare)
        theirs += time.perf_counter() - start
    os.close(bare)
    ledger.close()
    return count / ours, count / theirs


def batched(root: Path, count: int) -> tuple[float, float]:
    """Events a second in batches, and events a second of processor time."""
    ledger = open_ledger(root, "batched")
    batches = [
        [sample(number) for number in range(start, start + BATCH)]
        for start in range(0, count, BATCH)
    ]
    start, cpu = time.perf_counter(), time.process_time()
    for batch in batches:
        ledger.append_all(batch)
    wall, cpu = time.perf_counter() - start, time.process_time() - cpu
    ledger.close()
    return count / wall, count / cpu


def fill(root: Path, count: int) -> None:
    """Runs of `RUN_EVENTS` events in turns of `TURN_EVENTS`."""
    for first in range(0, count, RUN_EVENTS):
        ledger = open_ledger(root, f"run-{first // RUN_EVENTS:04d}")
        for start in range(first, min(first + RUN_EVENTS, count), TURN_EVENTS):
            turn = TurnId(f"{ledger.trace_id}.{start}")
            events = [sample(number) for number in range(start, min(start + TURN_EVENTS, count))]
            ledger.append_all(events, turn=turn)
        ledger.close()


def queries(projection: Projection, count: int) -> Iterator[tuple[str, Callable[[], object]]]:
    """The questions that `surefoot events` asks, each with a page of 100."""
    run = RunId(f"run-{count // RUN_EVENTS // 2:04d}")
    turn = TurnId(f"{run}.{count // RUN_EVENTS // 2 * RUN_EVENTS}")
    middle = EventId(f"{run}:{min(count, RUN_EVENTS) // 2}")
    yield "everything, first page", lambda: projection.query(limit=100)
    yield "everything, a middle page", lambda: projection.query(after=middle, limit=100)
    yield "a trace", lambda: projection.query(trace=run, limit=100)
    yield "a turn", lambda: projection.query(turn=turn, limit=100)
    yield "a class", lambda: projection.query(event_class="git", limit=100)
    yield "a kind in a trace", lambda: projection.query(trace=run, kind="tests.ran", limit=100)
    yield "a kind in a turn", lambda: projection.query(turn=turn, kind="tests.ran", limit=100)
    yield (
        "a kind, a middle page",
        lambda: projection.query(kind="git.stage", after=middle, limit=100),
    )
    yield "a cause", lambda: projection.query(cause=middle, limit=100)
    yield "a cause that nothing has", lambda: projection.query(cause=EventId("none:1"), limit=100)


def row(what: str, figure: str, note: str = "") -> None:
    """One line of the table."""
    print(f"{what:<34} {figure:>14}  {note}".rstrip())


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000, help="events in the projection")
    parser.add_argument("--appends", type=int, default=3_000, help="durable appends to time")
    parser.add_argument("--dir", type=Path, help="a directory on the disk to measure")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.dir, prefix="ledger-bench-") as name:
        root = Path(name)
        ours, bare = one_by_one(root, options.appends)
        row("durable appends, one by one", f"{ours:,.0f} /s", "target 3,000")
        row("bare write+fsync, same bytes", f"{bare:,.0f} /s", f"ratio {ours / bare:.2f}")
        wall, cpu = batched(root, 100 * BATCH)
        row("durable appends, batches of 1,000", f"{wall:,.0f} /s", "target 50,000")
        row("the same by processor time", f"{cpu:,.0f} /s")
        corpus = root / "corpus"
        seconds = timed(lambda: fill(corpus, options.events))
        row("events written for the queries", f"{options.events:,}", f"{seconds:.0f} s")
        with Projection(corpus / "ledger.db") as projection:
            seconds = timed(lambda: projection.refresh(corpus / "runs"))
            row("projected", f"{options.events / seconds:,.0f} /s", f"{seconds:.0f} s")
            row("projection", f"{(corpus / 'ledger.db').stat().st_size / 1e6:,.0f} MB")
            for what, ask in queries(projection, options.events):
                times = sorted(timed(ask) * 1000 for _ in range(30))
                worst = f"worst {times[-1]:.1f} ms, target 50"
                row(f"query: {what}", f"{statistics.median(times):.1f} ms", worst)


if __name__ == "__main__":
    main()
