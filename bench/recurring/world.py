"""A place to run tasks as `surefoot solve` does, without the cost of a test runner.

Kernel, ledger, git, gates, the step loop, its tools and the sandbox are the product's own. The tests of the tasks are
answered from the files that they would look at, at once; the model is a rule.
"""

import ast
import contextlib
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from bench.recurring.needs import Task
from bench.repository import opened
from bench.turn import Nobody
from surefoot.decisions.planning import RulePlanner, Ways
from surefoot.events.envelope import Event, Recorded
from surefoot.gates import default_gates
from surefoot.gates.review import RuleReviewer
from surefoot.gitops import Repository
from surefoot.gitops.workspace import GitWorkspace, open_workspace
from surefoot.kernel.journal import Journal
from surefoot.kernel.metering import MeteredModel
from surefoot.kernel.ports import TrialWorker
from surefoot.kernel.promotion import session_of
from surefoot.kernel.proof import Prover
from surefoot.kernel.run import Run, RunPorts
from surefoot.kernel.selection import Rollout
from surefoot.kernel.turn import TurnPorts
from surefoot.ledger import FileLedger
from surefoot.ledger.blobs import BlobStore
from surefoot.models.catalogue import unlisted
from surefoot.models.router import PolicyRouter
from surefoot.models.select import RoutingPolicy, Rules
from surefoot.policy import Lock
from surefoot.policy.rules import Overrides, RulePolicy
from surefoot.preflight import SyntaxCritic
from surefoot.registry import Follower, Registry
from surefoot.sandbox import open_processes
from surefoot.shelf import RepositoryShelf, ToolPlaces
from surefoot.solver import RuleSolver
from surefoot.suite import CommandPlan
from surefoot.system import SystemClock
from surefoot.testing.model import ScriptedModel
from surefoot.testing.repository import ScratchRepository
from surefoot.values import (
    Audit,
    Issue,
    ModelAnswer,
    ModelFailure,
    ModelFault,
    ModelReply,
    ModelRequest,
    ReportState,
    RunId,
    RunStatus,
    SandboxLevel,
    TestOutcome,
    TestReport,
    TestResult,
    Usage,
)
from surefoot.workbench import Forging, Workbench

SYSTEM = "Linux, Python 3"
"""What the model is told, wherever this runs."""


@dataclass(slots=True)
class Answers:
    """A `Suite` with one test a task, which holds the task's file against the right answer."""

    tasks: Sequence[Task]

    @property
    def command(self) -> tuple[str, ...]:
        """As the port says."""
        return ("answers",)

    def run(self, root: Path, tests: Sequence[str] | None = None, *, room: int = 1) -> TestReport:
        """As the port says; nothing here takes time or memory."""
        del room
        results = tuple(_result(task, root) for task in self.tasks)
        wanted = results if tests is None else tuple(r for r in results if r.test_id in tests)
        failed = any(r.outcome is TestOutcome.FAILED for r in wanted)
        return TestReport(
            command=self.command,
            state=ReportState.COMPLETE,
            exit_code=int(failed),
            results=wanted,
        )

    def watch(self, root: Path) -> Mapping[str, frozenset[str]]:
        """As the port says; nothing here runs a function."""
        del root
        return {}

    def is_test_path(self, path: str) -> bool:
        """As the port says."""
        return path.startswith("tests/")

    def is_control_path(self, path: str) -> bool:
        """As the port says."""
        return path == "surefoot.toml"

    def worker(self, root: Path, tests: Sequence[str]) -> AbstractContextManager[TrialWorker]:
        """Never asked here."""
        raise NotImplementedError(f"nothing is tried here: {root}, {len(tests)} tests")


def _result(task: Task, root: Path) -> TestResult:
    try:
        (assigned,) = ast.parse((root / task.place).read_text()).body
        right = isinstance(assigned, ast.Assign) and _equal(assigned, task.drawn.answer)
    except (OSError, SyntaxError, ValueError):
        right = False
    outcome = TestOutcome.PASSED if right else TestOutcome.FAILED
    message = "" if right else f"{task.place} has not the right ANSWER"
    return TestResult(test_id=task.test, outcome=outcome, message=message)


def _equal(assigned: ast.Assign, answer: object) -> bool:
    return bool(ast.literal_eval(assigned.value) == answer)


@dataclass(frozen=True, slots=True, kw_only=True)
class Solved:
    """How a task went."""

    task: Task
    run: RunId
    status: RunStatus
    model_calls: int
    prompt_tokens: int


class World:
    """A repository with every task's data, and a user who has one after the other solved."""

    def __init__(self, folder: Path, tasks: Sequence[Task], rollout: Rollout | None = None) -> None:
        """`rollout` is None where nothing is forged, and nothing recorded for it."""
        self.folder, self.tasks = folder, tasks
        self.rollout = rollout
        self.user = ScratchRepository.create(folder, os.environ["PATH"])
        files = {path: text for task in tasks for path, text in task.drawn.files.items()}
        self.user.commit({**files, **{t.test.partition("::")[0]: "" for t in tasks}})
        self.store = folder / "store"
        self.registry = Registry(folder / "lifecycle.db", BlobStore(self.store / "blobs").get)
        self._processes = open_processes(scratch=folder / "scratch")
        self.requests: list[ModelRequest] = []
        """All that the model was asked in the last run."""

    def close(self) -> None:
        """Let go of the registry and of the fence."""
        self.registry.close()
        self._processes.close()

    def _follow(self, recorded: Recorded) -> Iterable[Event]:
        if self.rollout is None:
            return ()
        return Follower(self.registry, self.rollout).follow(recorded)

    def ledger(self, run: RunId) -> Path:
        """Of a run."""
        return self.store / "runs" / run / "events.jsonl"

    def solve(self, task: Task, say: Callable[[str], str]) -> Solved:
        """Have one task solved by a model that answers prompts so."""
        run_id = RunId(f"20260101-000000-{task.number:04}")
        clock = SystemClock()
        repository = Repository.discover(self.user.root, self.user.env)
        self.ledger(run_id).parent.mkdir(parents=True)
        ledger = FileLedger.open(
            self.ledger(run_id),
            blobs=self.store / "blobs",
            trace_id=run_id,
            clock=clock,
            redact=str,
        )
        with (
            contextlib.closing(ledger),
            open_workspace(repository, run_id, home=self.user.home) as workspace,
        ):
            journal = Journal(ledger, clock, self._follow)
            issue = Issue(source="text", text=task.issue)
            journal.record(opened(repository, issue))
            Run(self._ports(journal, workspace, task, say)).run()
            spend = journal.spend()
            status = journal.state.status or RunStatus.ERROR
        return Solved(
            task=task,
            run=run_id,
            status=status,
            model_calls=spend.model_calls,
            prompt_tokens=spend.usage.prompt_tokens,
        )

    def _ports(
        self, journal: Journal, workspace: GitWorkspace, task: Task, say: Callable[[str], str]
    ) -> RunPorts:
        suite, clock = Answers((task,)), SystemClock()
        policy = RulePolicy(
            mode="auto_solve_full",
            flags={},
            overrides=Overrides(max_iterations=3),
            lock=Lock(self.folder),
        )
        model = _Speaker(say, self.requests)
        asker = MeteredModel(model, journal, policy.resolve().ceilings, clock)
        routing = RoutingPolicy(cards=(unlisted(asker.model),), rules=Rules(pinned=asker.model))
        turn = TurnPorts(
            journal=journal,
            workspace=workspace,
            prover=Prover(
                journal=journal,
                workspace=workspace,
                suite=suite,
                audit=lambda _root: Audit(results=()),
            ),
            executors={
                "agent": self._workbench(
                    suite, journal, session_of(Issue(source="text", text=task.issue))
                ).agent(workspace)
            },
            solver=RuleSolver(),
            solver_asker=asker,
            gates=dict(default_gates()),
            policy=policy,
            person=Nobody(),
            clock=clock,
            sandbox=SandboxLevel.BUBBLEWRAP,
            unsandboxed_allowed=False,
        )
        return RunPorts(
            turn=turn,
            critic=SyntaxCritic(lambda _path: False),
            planner=RulePlanner(lambda _finding: False, Ways(fix="agent")),
            reviewers=(RuleReviewer(()),),
            router=PolicyRouter(routing, lambda _name: asker),
        )

    def _workbench(self, suite: Answers, journal: Journal, session: str) -> Workbench:
        plan = CommandPlan(
            command=suite.command,
            format="tap",
            argv=suite.command,
            path=(Path(sys.executable).parent,),
            reads=(Path(sys.prefix), Path(sys.base_prefix)),
        )
        return Workbench(
            processes=self._processes,
            plan=plan,
            suite=suite,
            cache=self.folder / "cache",
            original=self.user.root,
            environ={"PATH": os.environ["PATH"], "HOME": str(self.folder)},
            servers=(),
            languages=(),
            person=Nobody(),
            clock=SystemClock(),
            system=SYSTEM,
            sandbox=SandboxLevel.BUBBLEWRAP,
            warn=print,
            redact=str,
            tools=lambda box: box,
            forging=self._forging(journal, session),
            capture=self.rollout is not None,
        )

    def _forging(self, journal: Journal, session: str) -> Forging | None:
        if self.rollout is None:
            return None
        shelf = RepositoryShelf(ToolPlaces(root=self.folder), self.registry, self.rollout)
        return Forging(shelf=shelf, notebook=journal, python=Path(sys.executable), session=session)


class _Speaker(ScriptedModel):
    """Answers each prompt by a function, and notes what it was asked."""

    def __init__(self, say: Callable[[str], str], requests: list[ModelRequest]) -> None:
        super().__init__(())
        self._say, self._requests = say, requests

    def complete(self, requests: Sequence[ModelRequest]) -> tuple[ModelAnswer, ...]:
        """As the port says."""
        self._requests += requests
        return tuple(self._spoken(request) for request in requests)

    def _spoken(self, request: ModelRequest) -> ModelAnswer:
        if request.purpose != "tool_call":
            return ModelFailure(
                fault=ModelFault.NOT_FOUND, message=f"asked for {request.purpose}", model=self.name
            )
        text = self._say(request.messages[-1].content)
        return ModelReply(
            text=text,
            model=self.name,
            finish="stop",
            usage=Usage(
                prompt_tokens=self.count_tokens(request.messages), completion_tokens=len(text) // 4
            ),
        )
