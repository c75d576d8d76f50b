"""What git costs in a turn: snapshot, commit and rollback, beside a plain `git add -A && git commit`.

    python -m bench.gitops --turns 100 --files 200

Every turn changes one file and adds another, and is durable: objects and refs are fsynced. Surefoot's turn and the plain one are
interleaved, so that a busy machine slows both down alike; processor time tells what a busy machine hides. The plain one
runs with git's own defaults (no fsync of objects, so it promises less).
"""

import argparse
import os
import resource
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from surefoot.gitops import Repository
from surefoot.gitops.workspace import open_workspace
from surefoot.testing.repository import ScratchRepository
from surefoot.values import FileEdit, RunId


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What one piece of work took, in milliseconds."""

    wall: float
    cpu: float
    """Of this process and of the git commands."""

    def __add__(self, other: "Sample") -> "Sample":
        return Sample(wall=self.wall + other.wall, cpu=self.cpu + other.cpu)


def timed(work: Callable[[], object]) -> Sample:
    """Do it, and say what it took."""
    wall, cpu = time.perf_counter(), cpu_s()
    work()
    return Sample(wall=(time.perf_counter() - wall) * 1000, cpu=(cpu_s() - cpu) * 1000)


def cpu_s() -> float:
    """Processor seconds so far."""
    used = (resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(u.ru_utime + u.ru_stime for u in used)


def show(name: str, samples: list[Sample]) -> None:
    """One line: median and 95th percentile, and the median of processor time."""
    wall = sorted(sample.wall for sample in samples)
    p95 = wall[int(len(wall) * 0.95)]
    cpu = statistics.median(sample.cpu for sample in samples)
    print(f"{name:<32} p50 {statistics.median(wall):6.1f} ms  p95 {p95:6.1f} ms  cpu {cpu:5.1f} ms")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=60)
    parser.add_argument("--files", type=int, default=100, help="files in the repository")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="surefoot-bench-") as folder:
        user = ScratchRepository.create(Path(folder), os.environ["PATH"])
        user.commit({f"pkg{n % 10}/module_{n}.py": f"VALUE = {n}\n" for n in range(options.files)})
        plain = user.at(Path(folder) / "plain")
        user.git("clone", "-q", ".", str(plain.root))
        measure(user, plain, options.turns)


def measure(user: ScratchRepository, plain: ScratchRepository, turns: int) -> None:
    """Interleave both kinds of turns and print the table."""
    repository = Repository.discover(user.root, user.env)
    discovered = timed(lambda: Repository.discover(user.root, user.env))
    start = time.perf_counter()
    with open_workspace(repository, RunId("bench"), home=user.home) as workspace:
        opened = (time.perf_counter() - start) * 1000
        snapshots: list[Sample] = []
        commits: list[Sample] = []
        rollbacks: list[Sample] = []
        others: list[Sample] = []
        for number in range(turns):
            edits = {"pkg1/module_1.py": f"VALUE = -{number}\n", f"new/m{number}.py": "N = 1\n"}
            workspace.apply([FileEdit(path=path, text=text) for path, text in edits.items()])
            snapshots.append(timed(workspace.snapshot))
            tree = workspace.snapshot()
            commits.append(timed(partial(workspace.commit, tree, "turn", {"Turn": "1"})))
            workspace.apply([FileEdit(path="pkg1/module_1.py", text="broken\n")])
            rollbacks.append(timed(partial(workspace.restore, tree)))
            plain.write(edits)
            others.append(timed(lambda: commit_plainly(plain)))
    totals = [first + second for first, second in zip(snapshots, commits, strict=True)]
    print(f"{turns} turns on {len(list(user.root.rglob('*.py')))} files")
    print(f"{'find the repository':<32}     {discovered.wall:6.1f} ms")
    print(f"{'begin a run (worktree, files)':<32}     {opened:6.1f} ms")
    show("snapshot", snapshots)
    show("commit", commits)
    show("turn transaction (both)", totals)
    show("rollback", rollbacks)
    show("plain git add -A && git commit", others)
    for what in ("wall", "cpu"):
        ours, plainly = (statistics.median(getattr(s, what) for s in x) for x in (totals, others))
        print(f"turn transaction / plain, medians of {what}: {ours / plainly:.2f}")


def commit_plainly(plain: ScratchRepository) -> None:
    """What a person's script would do."""
    for command in (["add", "-A"], ["commit", "-q", "-m", "turn"]):
        subprocess.run(
            ["git", *command], cwd=plain.root, env=dict(plain.env), check=True, capture_output=True
        )


if __name__ == "__main__":
    main()
