"""What the strength measurement costs a run: mutants of the true fixes of real bugs, on their packages' own tests.

    python -m bench.strength [NAME …]        as root, with cgroup v1's cpuacct

Each patient's fix, as its maintainers released it, is the change. Its mutants meet the tests as at the end of a run, in
the product's prover, sandbox and trial worker. Beside it stands one whole run of the package's tests, which a run makes
several times in any case. Seconds are of the processor, with those of all processes that were started, since the clock on
the wall tells more of the machine; both are printed.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from bench.patients.catalogue import Patient
from bench.patients.stage import python_of, stage, unpacked
from bench.patients.verify import chosen
from bench.repository import opened
from surefoot.events.work import MutantsTried
from surefoot.execute import PythonMutator
from surefoot.gitops import Repository
from surefoot.gitops.workspace import open_workspace
from surefoot.kernel.journal import Journal
from surefoot.kernel.proof import Prover
from surefoot.kernel.strength import Meter, unnoticed
from surefoot.patients import materialise
from surefoot.sandbox import open_processes
from surefoot.suite import PytestSuite, SuitePlan, detect, nothing_tracked
from surefoot.system import SystemClock
from surefoot.testing.ledger import MemoryLedger
from surefoot.values import (
    Audit,
    FileEdit,
    Issue,
    Limits,
    RunId,
)

T = TypeVar("T")
_ACCOUNTS: Final = Path("/sys/fs/cgroup/cpuacct")
_BUNDLED: Final = "daybook"
_BUNDLED_FIX: Final = (
    "daybook/spans.py",
    "Span(merged[-1].start, span.end)",
    "Span(merged[-1].start, max(merged[-1].end, span.end))",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Took:
    """Seconds that something took."""

    processor_s: float
    wall_s: float

    def __str__(self) -> str:
        return f"{self.processor_s:6.1f} ({self.wall_s:.0f}) s"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One patient."""

    tests: int
    suite: Took
    mutants: Took
    tried: MutantsTried


@contextmanager
def accounted() -> Iterator[Callable[[], float]]:
    """Processor seconds of this process and of all that it starts from here on.

    A group of the kernel's cpuacct controller counts them. `getrusage` would miss the trial worker, whose fence ends it
    together with the name space that it lives in, so that nobody waits for it.
    """
    group = _ACCOUNTS / f"strength-{os.getpid()}"
    group.mkdir()
    try:
        (group / "tasks").write_text(str(os.getpid()))
        yield lambda: int((group / "cpuacct.usage").read_text()) / 1e9
    finally:
        (_ACCOUNTS / "tasks").write_text(str(os.getpid()))
        with suppress(OSError):  # something of a fence still ends
            group.rmdir()


def taking(used_s: Callable[[], float], work: Callable[[], T]) -> tuple[T, Took]:
    """Do it, and what it took, the processes that it started included."""
    before, began = used_s(), time.monotonic()
    made = work()
    return made, Took(processor_s=used_s() - before, wall_s=time.monotonic() - began)


def measure(root: Path, python: Path, fix: Mapping[str, str], folder: Path) -> Measured:
    """The mutants of `fix` in the repository at `root`, whose tests `python` runs."""
    repository, clock = Repository.discover(root), SystemClock()
    plan = detect(root, python=str(python), command=None, environ={}, is_tracked=nothing_tracked)
    assert isinstance(plan, SuitePlan)  # a Python package, and no command was named
    journal = Journal(MemoryLedger(clock=clock), clock)
    issue = Issue(source="text", text="the fix as it was released")
    journal.record(opened(repository, issue))

    limits = Limits(wall_s=900)
    with (
        accounted() as used_s,
        closing(open_processes(scratch=folder)) as processes,
        open_workspace(repository, RunId("strength"), home=folder / "home") as workspace,
    ):
        suite = PytestSuite(plan, processes, original=root, scratch=folder, limits=limits)
        prover = Prover(
            journal=journal,
            workspace=workspace,
            suite=suite,
            audit=lambda _root: Audit(results=()),
            meter=Meter(mutator=PythonMutator(), suite=suite, clock=clock),
        )
        workspace.apply([FileEdit(path=p, text=text) for p, text in fix.items()])
        tree, base = workspace.snapshot(), repository.tree
        (report, _), whole = taking(used_s, lambda: prover.tests(tree, "base-tests"))
        tried, took = taking(used_s, lambda: prover.strength(tree, base))
    assert tried is not None  # there is a meter
    return Measured(tests=len(report.collected), suite=whole, mutants=took, tried=tried)


def of_bundled(folder: Path) -> Measured:
    """The patient that Surefoot brings along."""
    root = materialise(_BUNDLED, folder / _BUNDLED)
    path, was, right = _BUNDLED_FIX
    fix = {path: (root / path).read_text("utf-8").replace(was, right)}
    return measure(root, Path(sys.executable), fix, folder)


def of_released(patient: Patient, folder: Path) -> Measured:
    """A real bug, with the files that its maintainers changed as they changed them."""
    root = stage(patient)
    fixed = unpacked(patient.package, patient.fixed, folder / "fixed")
    fix = {path: (fixed / path).read_text("utf-8") for path in patient.mends.split(", ")}
    return measure(root, python_of(patient), fix, folder)


def main(argv: Sequence[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.strength", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="default: all")
    names: list[str] = parser.parse_args(argv).names
    print(f"{'patient':<26} {'tests':>6} {'tried':>9} {'unnoticed':>9}  one suite       mutants")
    for name, work in _works(names):
        with tempfile.TemporaryDirectory(prefix="strength-") as folder:
            found = work(Path(folder))
        tried = found.tried
        print(
            f"{name:<26} {found.tests:>6} {len(tried.mutants):>3} of {tried.possible:<3} "
            f"{len(unnoticed(tried)):>8}  {found.suite} {found.mutants}  {tried.problem}",
            flush=True,
        )


def _works(names: Sequence[str]) -> Iterator[tuple[str, Callable[[Path], Measured]]]:
    if not names or _BUNDLED in names:
        yield _BUNDLED, of_bundled
    released = chosen([n for n in names if n != _BUNDLED]) if names != [_BUNDLED] else ()
    for patient in released:
        yield patient.name, partial(of_released, patient)


if __name__ == "__main__":
    main()
