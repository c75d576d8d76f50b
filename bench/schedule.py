"""A graph of empty nodes under the scheduler with its ledger, and the same graph under dask's threads.

    python -m bench.schedule                     # 25,000, 50,000 and 100,000 nodes, each in a process of its own
    python -m bench.schedule --count 100000 --who surefoot

The work of a node is to return. Surefoot records each start and each end durably, holds paths and budget, and could be
killed at any moment; dask does none of this, and is the floor that bookkeeping is held against. Needs the `bench` extra.
"""

import argparse
import random
import resource
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from surefoot.kernel.dispatch import Ending, Settled, drive, open_schedule
from surefoot.ledger import FileLedger
from surefoot.nodes import Cost, Node, NodeId, NodeKind, NodeOutcome
from surefoot.policy.redaction import Redactor
from surefoot.values import Ceilings, RunId

COUNTS = (25_000, 50_000, 100_000)
DONE = Settled(outcome=NodeOutcome.SUCCEEDED, used=Cost(tokens=1))


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """The present."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds that only grow."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Let time go by."""
        time.sleep(seconds)


def edges(count: int) -> list[tuple[int, ...]]:
    """Milestones of a hundred nodes: up to three earlier ones of the same for each; the same for every scheduler.

    Not across milestones, because the order that dask looks for first takes more than linear time then: 40 s for 12,000
    nodes, and memory to match.
    """
    rng = random.Random(count)
    return [
        tuple(sorted({n - rng.randint(1, n % 100) for _ in range(rng.randint(0, 3))}))
        if n % 100
        else ()
        for n in range(count)
    ]


def graph(count: int) -> tuple[Node, ...]:
    """Nodes that also write a file each, ten nodes to a file, and reserve budget."""
    return tuple(
        Node(
            node_id=NodeId(f"n{number}"),
            kind=NodeKind.UNIT,
            needs=tuple(NodeId(f"n{other}") for other in needs),
            writes=(f"src/m{number % 97}/f{number % (count // 10)}.py",),
            reserve=Cost(tokens=1),
        )
        for number, needs in enumerate(edges(count))
    )


def surefoot(count: int, jobs: int) -> tuple[float, float]:
    """Seconds from the nodes to the last settled one, on the disk; of the clock and of the processor."""
    nodes = graph(count)
    ceilings = Ceilings(max_iterations=1, time_s=1, max_files=1, tokens=count)
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        root = Path(folder)
        ledger = FileLedger.open(
            root / "events.jsonl",
            blobs=root / "blobs",
            trace_id=RunId("bench"),
            clock=SystemClock(),
            redact=Redactor("not-a-real-secret"),
        )
        began, busy = time.perf_counter(), time.process_time()
        schedule = open_schedule(nodes, jobs=jobs, seed=1, ceilings=ceilings, ledger=ledger)
        ending = drive(schedule, lambda _node, _attempt: DONE, ledger=ledger, stop=lambda: False)
        took = time.perf_counter() - began, time.process_time() - busy
        ledger.close()
    assert ending is Ending.DONE
    assert schedule.used.tokens == count
    return took


def dask(count: int, jobs: int) -> tuple[float, float]:
    """Seconds of the same graph under `dask.threaded.get`."""
    from dask.threaded import get  # noqa: PLC0415  # only this needs it

    def work(*_needs: int) -> int:
        return 1

    tasks = {f"n{n}": (work, *(f"n{o}" for o in needs)) for n, needs in enumerate(edges(count))}
    began, busy = time.perf_counter(), time.process_time()
    got = get(tasks, list(tasks), num_workers=jobs)
    took = time.perf_counter() - began, time.process_time() - busy
    assert sum(got) == count
    return took


WHO = {"surefoot": surefoot, "dask": dask}


def main() -> None:
    """Print one line a measurement, and how the time grows with the graph."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int)
    parser.add_argument("--jobs", type=int, default=32)
    parser.add_argument("--who", choices=WHO)
    args = parser.parse_args()
    if args.count and args.who:
        times = WHO[args.who](args.count, args.jobs)
        print(*times, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
        return
    print(f"{args.jobs} jobs, {sum(map(len, edges(COUNTS[-1])))} edges in the largest graph")
    for who in [args.who] if args.who else WHO:
        before: float | None = None
        for count in [args.count] if args.count else COUNTS:
            command = [sys.executable, "-m", "bench.schedule", "--jobs", str(args.jobs)]
            command += ["--who", who, "--count", str(count)]
            out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            took, busy, peak = map(float, out.split())
            growth = f", {busy / before:.2f} times the processor time before" if before else ""
            each = busy / count * 1e6
            print(
                f"{who:9}{count:8} nodes {took:7.2f} s, of the processor {busy:6.2f} s, "
                f"{each:4.0f} us each, {peak:4.0f} MB{growth}"
            )
            before = busy


if __name__ == "__main__":
    main()
