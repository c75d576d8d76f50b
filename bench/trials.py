"""How many candidates the trial worker tries a second, beside fresh runs of pytest.

    python -m bench.trials --count 300

Warm: a changed function body is swapped into a fork. Cold: a changed constant starts pytest afresh in a fork. Fresh: the
deciding run, a sandboxed process of its own. The project is one tiny function with one test, so the figures are the
overhead. Processor time of a busy machine's others is not taken out: run it on an idle one.
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from bench.fence import processes
from surefoot import codec
from surefoot.suite import PytestSuite, SuitePlan, detect, nothing_tracked
from surefoot.values import Candidate, FileEdit, Limits

CODE = "LIMIT = 10\n\n\ndef add(a, b):\n    return a - b\n"
TEST = "from calc import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n"
ID = "test_calc.py::test_add"


def candidate(text: str) -> Candidate:
    """A candidate that makes the module read so."""
    edits = (FileEdit(path="calc.py", text=text),)
    return Candidate(
        candidate_id=codec.digest(text.encode()), generator="bench", edits=edits, description=""
    )


def wrong(count: int) -> Iterator[Candidate]:
    """Changed bodies that fail."""
    return (candidate(CODE.replace("a - b", f"a + b + {n}")) for n in range(1, count + 1))


def right(count: int) -> Iterator[Candidate]:
    """Changed bodies that pass."""
    return (candidate(CODE.replace("a - b", f"a + b + {n} - {n}")) for n in range(count))


def constants(count: int) -> Iterator[Candidate]:
    """Changed constants, for which the module has to be imported again."""
    return (candidate(CODE.replace("10", f"1{n}")) for n in range(count))


def show(name: str, works: list[Callable[[], object]]) -> None:
    """One line: rate, median and 95th percentile."""
    samples = []
    for work in works:
        start = time.perf_counter()
        work()
        samples.append(time.perf_counter() - start)
    samples.sort()
    median, p95 = statistics.median(samples), samples[int(len(samples) * 0.95)]
    print(f"{name:<28} {len(samples) / sum(samples):7.1f} a second", end="")
    print(f"   p50 {median * 1000:7.1f} ms   p95 {p95 * 1000:7.1f} ms")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=300, help="candidates of each kind")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="surefoot-bench-") as folder:
        root = Path(folder) / "project"
        root.mkdir()
        (root / "calc.py").write_text(CODE)
        (root / "test_calc.py").write_text(TEST)
        plan = detect(
            root, python=sys.executable, command=None, environ={}, is_tracked=nothing_tracked
        )
        assert isinstance(plan, SuitePlan)
        suite = PytestSuite(plan, processes(), original=root, scratch=Path(folder), limits=Limits())
        with suite.worker(root, [ID]) as worker:
            show("first (opens the worker)", [lambda: worker.attempt(candidate(CODE))])
            for name, made in (
                ("warm, failing", wrong(options.count)),
                ("warm, passing", right(options.count)),
                ("cold, failing", constants(options.count // 10)),
            ):
                show(name, [partial(worker.attempt, each) for each in made])
            show("trace", [lambda: worker.trace(ID, ["calc.py"])] * 10)
        show("fresh run", [lambda: suite.run(root, [ID])] * 5)


if __name__ == "__main__":
    main()
