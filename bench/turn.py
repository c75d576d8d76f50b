"""What a turn costs by itself: scheduler, gates, solver's rules, ledger and git, without model calls and checks.

    python -m bench.turn --turns 60

The kernel, the file ledger (every event fsynced), the git workspace, the gates and the rules of the solver are the product's own.
The executor writes one file; the project's tests are answered from that file at once, so that no check costs anything. Each
turn mends one more test, so each ends as a commit. Checking the tree out for the tests is counted, as git.
"""

import argparse
import contextlib
import os
import statistics
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

from bench.repository import opened
from surefoot.decisions.planning import RulePlanner
from surefoot.gates import default_gates
from surefoot.gates.review import RuleReviewer
from surefoot.gitops import Repository
from surefoot.gitops.workspace import GitWorkspace, open_workspace
from surefoot.interrupts import end_on_signals
from surefoot.kernel.journal import Journal
from surefoot.kernel.metering import MeteredModel
from surefoot.kernel.ports import (
    Answer,
    Asker,
    Notebook,
    TrialWorker,
    TurnInput,
    TurnOutput,
    Workspace,
)
from surefoot.kernel.proof import Prover
from surefoot.kernel.run import Run, RunPorts
from surefoot.kernel.turn import TurnPorts
from surefoot.ledger import FileLedger
from surefoot.models.catalogue import unlisted
from surefoot.models.router import PolicyRouter
from surefoot.models.select import RoutingPolicy, Rules
from surefoot.policy import Lock
from surefoot.policy.rules import Overrides, RulePolicy
from surefoot.preflight import SyntaxCritic
from surefoot.solver import RuleSolver
from surefoot.system import SystemClock
from surefoot.testing.model import ScriptedModel
from surefoot.testing.repository import ScratchRepository
from surefoot.values import (
    Audit,
    Diff,
    FileEdit,
    Issue,
    ReportState,
    RunId,
    SandboxLevel,
    TestOutcome,
    TestReport,
    TestResult,
)

MENDED = "mended.txt"


@dataclass(slots=True)
class AtOnce:
    """A `Suite` whose tests pass from the first to the one that a file names."""

    tests: int

    @property
    def command(self) -> tuple[str, ...]:
        """As the port says."""
        return ("true",)

    def run(self, root: Path, tests: Sequence[str] | None = None, *, room: int = 1) -> TestReport:
        """As the port says; nothing here takes time or memory, so there is no room to give."""
        del room
        mended = int((root / MENDED).read_text())
        results = tuple(
            TestResult(
                test_id=f"tests/test_it.py::test_{n:04}",
                outcome=TestOutcome.PASSED if n < mended else TestOutcome.FAILED,
                message="" if n < mended else f"assert {mended} > {n}",
            )
            for n in range(self.tests)
        )
        wanted = results if tests is None else tuple(r for r in results if r.test_id in tests)
        exit_code = int(any(r.outcome is TestOutcome.FAILED for r in wanted))
        return TestReport(
            command=self.command, state=ReportState.COMPLETE, exit_code=exit_code, results=wanted
        )

    def is_test_path(self, path: str) -> bool:
        """As the port says."""
        return path.startswith("tests/")

    def is_control_path(self, path: str) -> bool:
        """As the port says."""
        return path == "pyproject.toml"

    def watch(self, root: Path) -> Mapping[str, frozenset[str]]:
        """As the port says; nothing here runs a function."""
        del root
        return {}

    def worker(self, root: Path, tests: Sequence[str]) -> AbstractContextManager[TrialWorker]:
        """Never asked here."""
        raise NotImplementedError(f"nothing is tried here: {root}, {len(tests)} tests")


@dataclass(slots=True)
class OneMore:
    """An `Executor` that mends one more test a turn and notes when it began and ended."""

    starts: list[float] = field(default_factory=list)
    ends: list[float] = field(default_factory=list)

    def run_turn(
        self, task: TurnInput, workspace: Workspace, asker: Asker, notebook: Notebook
    ) -> TurnOutput:
        """Mend one more."""
        del task, asker, notebook
        self.starts.append(time.perf_counter())
        workspace.apply([FileEdit(path=MENDED, text=str(len(self.starts)))])
        self.ends.append(time.perf_counter())
        return TurnOutput(transcript="One more.", claim="none", effective_actions=1)


class Nobody:
    """A `Person` who is not there."""

    def ask(
        self, question: str, why: str, *, approval: bool = True, diff: Diff | None = None
    ) -> Answer:
        """Say no."""
        del approval, diff
        return Answer(approved=False, text=f"{question} {why}", who="nobody")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=60)
    parser.add_argument("--files", type=int, default=100, help="files in the repository")
    options = parser.parse_args()
    end_on_signals()  # as every command that runs turns does
    with tempfile.TemporaryDirectory(prefix="surefoot-bench-") as folder:
        times = measure(Path(folder), options.turns, options.files)
    times.sort()
    median, p95 = statistics.median(times), times[int(len(times) * 0.95)]
    print(f"a turn's own cost, {len(times)} turns: p50 {median:.1f} ms, p95 {p95:.1f} ms")


def measure(folder: Path, turns: int, files: int) -> list[float]:
    """Milliseconds of each turn, from one executor's end to the next one's start."""
    user = ScratchRepository.create(folder, os.environ["PATH"])
    texts = {f"pkg{n % 10}/module_{n}.py": f"VALUE = {n}\n" for n in range(files)}
    user.commit({**texts, MENDED: "0"})
    repository = Repository.discover(user.root, user.env)
    executor = OneMore()
    clock = SystemClock()
    run_id = RunId("bench")
    file = folder / "events.jsonl"
    kept = FileLedger.open(file, blobs=folder / "blobs", trace_id=run_id, clock=clock, redact=str)
    with (
        contextlib.closing(kept) as ledger,
        open_workspace(repository, run_id, home=user.home) as workspace,
    ):
        journal = Journal(ledger, clock)
        journal.record(opened(repository, Issue(source="text", text="Every test fails.")))
        Run(_ports(journal, workspace, executor, folder, turns)).run()
    gaps = zip(executor.ends, executor.starts[1:], strict=False)
    return [(after - before) * 1000 for before, after in gaps]


def _ports(
    journal: Journal, workspace: GitWorkspace, executor: OneMore, folder: Path, turns: int
) -> RunPorts:
    policy = RulePolicy(
        mode="auto_solve_full",
        flags={},
        overrides=Overrides(max_iterations=turns),
        lock=Lock(folder),
    )
    asker = MeteredModel(ScriptedModel(()), journal, policy.resolve().ceilings, SystemClock())
    routing = RoutingPolicy(cards=(unlisted(asker.model),), rules=Rules(pinned=asker.model))
    prover = Prover(
        journal=journal,
        workspace=workspace,
        suite=AtOnce(turns),
        audit=lambda _root: Audit(results=()),
    )
    turn = TurnPorts(
        journal=journal,
        workspace=workspace,
        prover=prover,
        executors={"repair": executor},
        solver=RuleSolver(),
        solver_asker=asker,
        gates=dict(default_gates()),
        policy=policy,
        person=Nobody(),
        clock=SystemClock(),
        sandbox=SandboxLevel.BUBBLEWRAP,
        unsandboxed_allowed=False,
    )
    return RunPorts(
        turn=turn,
        planner=RulePlanner(lambda _finding: False),
        critic=SyntaxCritic(lambda path: path.startswith("test")),
        reviewers=(RuleReviewer(()),),
        router=PolicyRouter(routing, lambda _name: asker),
    )


if __name__ == "__main__":
    main()
