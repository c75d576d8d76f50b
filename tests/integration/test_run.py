"""Whole runs over real git, real tests and the real sandbox, with executors that do what each case is about."""

import itertools
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import cast

import pytest

from surefoot.assembly import rule_reviewers
from surefoot.decisions.planning import RulePlanner
from surefoot.errors import DiskError, UsageError
from surefoot.events.calls import ModelGrounded, ProviderSwitched
from surefoot.events.envelope import Event, Recorded
from surefoot.events.orchestration import (
    NoFlyAdded,
    PhaseChanged,
    RunOpened,
    RunResumed,
    RunStopped,
    SelfFeedback,
    TurnClosed,
)
from surefoot.events.policy import PolicyResolved
from surefoot.events.work import ToolCalled
from surefoot.gates import default_gates
from surefoot.gates.review import Inspector, RuleReviewer, objection
from surefoot.gitops import Repository
from surefoot.gitops.workspace import open_workspace, reopen_workspace
from surefoot.kernel.journal import Journal
from surefoot.kernel.metering import MeteredModel
from surefoot.kernel.ports import (
    Answer,
    Asker,
    Executor,
    Gate,
    Notebook,
    Person,
    Processes,
    Suite,
    TrialWorker,
    TurnInput,
    TurnOutput,
    Workspace,
)
from surefoot.kernel.proof import Prover
from surefoot.kernel.run import Run, RunPorts
from surefoot.kernel.state import fold
from surefoot.kernel.strength import Meter
from surefoot.kernel.turn import TurnPorts
from surefoot.models.catalogue import Card
from surefoot.models.router import PolicyRouter
from surefoot.models.select import RoutingPolicy, Rules
from surefoot.models.unavailable import UnavailableModel
from surefoot.policy import Lock
from surefoot.policy.rules import Overrides, RulePolicy
from surefoot.preflight import SyntaxCritic
from surefoot.sandbox import open_processes
from surefoot.solver import RuleSolver
from surefoot.suite import PytestSuite, detect, nothing_tracked
from surefoot.testing.clock import FakeClock
from surefoot.testing.ledger import MemoryLedger
from surefoot.testing.model import ScriptedModel
from surefoot.values import (
    Audit,
    Ceilings,
    Classification,
    Diff,
    Digest,
    FileEdit,
    GateName,
    Issue,
    Limits,
    ModelFailure,
    ModelFault,
    ReportState,
    RunId,
    RunStatus,
    TestOutcome,
    TestReport,
    TestResult,
    Tier,
)

pytestmark = pytest.mark.campaign

BUGGY = """def double(x):
    return x * 3


def triple(x):
    return x * 2


def half(x):
    return x / 2
"""
TESTS = """from calc import double, half, triple


def test_double():
    assert double(2) == 4


def test_triple():
    assert triple(2) == 6


def test_half():
    assert half(4) == 2
"""
FIXED = BUGGY.replace("x * 3", "x * 4").replace("x * 2", "x * 3").replace("x * 4", "x * 2")
HALF_FIXED = BUGGY.replace("x * 3", "x * 2", 1)
Work = Callable[[TurnInput], "tuple[Sequence[FileEdit], TurnOutput]"]
DONE = TurnOutput(transcript="I fixed it.", claim="done", effective_actions=1)


@dataclass
class Doing:
    """An executor that does one thing a turn, in order; the last one again and again."""

    works: list[Work]
    models: list[str] = field(default_factory=list)

    def run_turn(
        self, task: TurnInput, workspace: Workspace, asker: Asker, notebook: Notebook
    ) -> TurnOutput:
        """Do the next thing."""
        self.models.append(asker.model)
        work = self.works.pop(0) if len(self.works) > 1 else self.works[0]
        edits, output = work(task)
        workspace.apply(edits)
        return output


def writes(path: str, text: str, output: TurnOutput = DONE) -> Work:
    """Write one file."""
    return lambda _task: ([FileEdit(path=path, text=text)], output)


def says(output: TurnOutput) -> Work:
    """Only talk."""
    return lambda _task: ([], output)


def raises(error: BaseException) -> Work:
    """Break."""

    def work(_task: TurnInput) -> tuple[Sequence[FileEdit], TurnOutput]:
        raise error

    return work


class Refusing:
    """Nobody approves."""

    def ask(
        self, question: str, why: str, *, approval: bool = True, diff: Diff | None = None
    ) -> Answer:
        """Say no."""
        del approval, diff
        return Answer(approved=False, text="", who="nobody")


@dataclass
class Bench:
    """What runs are made of here."""

    repository: Repository
    processes: Processes
    tmp: Path
    journal: Journal = field(init=False)
    gate_s: float = 30.0
    wrap: Callable[[Workspace], Workspace] = lambda workspace: workspace
    """Puts something between the run and its worktree."""
    ledger: MemoryLedger = field(init=False)
    gates: dict[GateName, Gate] = field(default_factory=lambda: dict(default_gates()))
    models: tuple[str, ...] = ("light",)
    """Each named by its tier, with something after a dash where there are several of one."""
    judge: Callable[[Ceilings], Asker] | None = None
    clock: FakeClock = field(default_factory=FakeClock)
    person: Person = field(default_factory=Refusing)

    def __post_init__(self) -> None:
        self.ledger = MemoryLedger(clock=self.clock)

    overrides: Overrides = field(default_factory=Overrides)
    inspectors: tuple[Inspector, ...] = ()
    suite: Suite | None = None
    """In place of real tests."""
    meter: Callable[[Suite], Meter] | None = None
    """Measures the strength of the tests."""
    strict: bool = False
    issue: Issue = field(
        default_factory=lambda: Issue(source="text", text="`double` and `triple` are wrong")
    )

    @property
    def lock(self) -> Lock:
        """The execution lock."""
        return Lock(self.tmp)

    def run(self, *works: Work) -> RunStatus:
        """Open a run and drive it to its stop."""
        return self.start(Doing(list(works)))

    def start(self, executor: Executor) -> RunStatus:
        """The same with any executor."""
        self.journal = Journal(self.ledger, self.clock)
        self.journal.record(
            RunOpened(
                issue=self.issue,
                mode="auto_solve_full",
                model=self.models[0],
                repo=str(self.repository.root),
                branch=self.repository.branch,
                base=self.repository.head,
                base_tree=self.repository.tree,
                settings=Digest("0" * 64),
                seed=0,
                version="0",
            )
        )
        with open_workspace(self.repository, RunId("r1"), home=self.tmp / "home") as workspace:
            return Run(self.ports(self.wrap(workspace), executor)).run()

    def resume(self, executor: Executor) -> RunStatus:
        """Take the run up from what the ledger holds."""
        self.journal = Journal(self.ledger, self.clock)
        opened = self.journal.state.opened
        assert opened is not None
        self.journal.record(RunResumed(interrupted_turn=None))
        with reopen_workspace(
            self.repository,
            RunId("r1"),
            home=self.tmp / "home",
            head=self.journal.state.head_commit or opened.base,
            base=opened.base,
        ) as workspace:
            return Run(self.ports(workspace, executor)).run()

    def ports(self, workspace: Workspace, executor: Executor) -> RunPorts:
        """Real parts around one executor."""
        plan = detect(
            self.repository.root,
            python=sys.executable,
            command=None,
            environ={},
            is_tracked=nothing_tracked,
        )
        suite = self.suite or PytestSuite(
            plan,
            self.processes,
            original=self.repository.root,
            scratch=self.tmp,
            limits=Limits(wall_s=60),
        )
        policy = RulePolicy(
            mode="auto_solve_full", flags={}, overrides=self.overrides, lock=self.lock
        )
        ceilings = policy.resolve().ceilings
        clock = self.clock

        def asker(name: str) -> MeteredModel:
            return MeteredModel(ScriptedModel((), name=name), self.journal, ceilings, clock)

        cards = tuple(
            Card(name=name, provider="scripted", tier=Tier(name.partition("-")[0]))
            for name in self.models
        )
        router = PolicyRouter(RoutingPolicy(cards=cards, rules=Rules(pinned=self.models[0])), asker)
        turn = TurnPorts(
            journal=self.journal,
            workspace=workspace,
            prover=Prover(
                journal=self.journal,
                workspace=workspace,
                suite=suite,
                audit=lambda _root: Audit(results=()),
                meter=self.meter(suite) if self.meter else None,
                strict=self.strict,
            ),
            executors={"repair": executor},
            solver=RuleSolver(),
            solver_asker=self.judge(ceilings) if self.judge else asker("judge"),
            gates=self.gates,
            policy=policy,
            person=self.person,
            clock=clock,
            sandbox=self.processes.level,
            unsandboxed_allowed=False,
            gate_s=self.gate_s,
        )
        return RunPorts(
            turn=turn,
            planner=RulePlanner(lambda _finding: False),
            critic=SyntaxCritic(lambda path: path.startswith("test")),
            reviewers=(RuleReviewer(self.inspectors),),
            router=router,
        )

    def of(self, kind: type[Event]) -> list[Event]:
        """Events of one kind."""
        return [r.event for r in self.ledger.events() if isinstance(r.event, kind)]

    @property
    def turns(self) -> list[TurnClosed]:
        """Closed turns."""
        return [r.event for r in self.ledger.events() if isinstance(r.event, TurnClosed)]

    @property
    def reason(self) -> str:
        """Why the run stopped."""
        return self.journal.state.reason


@pytest.fixture
def bench(fresh: Callable[[], Bench]) -> Bench:
    """A repository with two bugs, and a sandbox."""
    return fresh()


@pytest.fixture
def fresh(tmp_path: Path) -> Callable[[], Bench]:
    """Makes such benches; they share the sandbox."""
    repo, scratch = tmp_path / "template", tmp_path / "scratch"
    scratch.mkdir()
    (repo / "tests").mkdir(parents=True)
    (repo / "calc.py").write_text(BUGGY)
    (repo / "tests" / "test_calc.py").write_text(TESTS)
    (repo / "pyproject.toml").write_text('[tool.pytest.ini_options]\npythonpath = ["."]\n')
    who = ("-c", "user.name=T", "-c", "user.email=t@example.invalid")
    for args in (("init", "-b", "main"), ("add", "."), ("commit", "-m", "first")):
        subprocess.run(["git", *who, *args], cwd=repo, check=True, capture_output=True)
    processes, numbers = open_processes(scratch=scratch), itertools.count()

    def make() -> Bench:
        place = tmp_path / str(next(numbers))
        shutil.copytree(repo, place / "repo")
        return Bench(Repository.discover(place / "repo"), processes, place)

    return make


def test_an_honest_fix_is_complete(bench: Bench) -> None:
    """Failing before, passing now, nothing broken: done, with evidence."""
    assert bench.run(writes("calc.py", FIXED)) is RunStatus.COMPLETE
    assert [t.ended_as for t in bench.turns] == ["commit"]


def test_a_partial_fix_is_kept_and_completed(bench: Bench) -> None:
    """A turn after which strictly fewer tests fail is kept; the next one goes on from there."""
    status = bench.run(writes("calc.py", HALF_FIXED), writes("calc.py", FIXED))
    assert status is RunStatus.COMPLETE
    assert [t.classification for t in bench.turns] == [
        Classification.BLOCKER_FALSE_CLAIM,
        Classification.COMPLETE,
    ]
    assert [t.ended_as for t in bench.turns] == ["commit", "commit"]


HALVES = FIXED.partition("\n\n\n")[2]
MENDING = """import calc

if hasattr(calc, "MENDED"):
    calc.double = lambda x: x * 2
    calc.triple = lambda x: x * 3


def test_double_is_right():
    assert calc.double(3) == 6
"""

NOT_CALLED = """import _pytest.python as p

usual = p.Function.runtest


def runtest(self):
    return usual(self) if self.name == "test_half" or len(self.name) > 20 else None


p.Function.runtest = runtest
"""

EASY = """\
import _pytest.python as p

usual = p.PyCollector._genfunctions


def _genfunctions(self, name, funcobj):
    def easy():
        pass

    setattr(self.obj, name, easy)
    return usual(self, name, easy)


p.PyCollector._genfunctions = _genfunctions
"""

NEVER: Mapping[str, tuple[Work, str]] = {
    "only claims": (says(replace(DONE, effective_actions=0)), "did nothing"),
    "edits the test": (
        writes("tests/test_calc.py", TESTS.replace("== 4", "== 6").replace("== 6", "== 4")),
        "tests/test_calc.py",
    ),
    "deletes the tests": (
        lambda _t: ([FileEdit(path="tests/test_calc.py", text=None)], DONE),
        "test",
    ),
    "breaks another test": (writes("calc.py", FIXED.replace("x / 2", "x")), "broken"),
    "breaks the syntax": (writes("calc.py", "def double(:\n"), "parse"),
    "ends the process with 0": (
        writes("calc.py", "import os\nos._exit(0)\n" + FIXED),
        "base-tests",
    ),
    "adds a conftest that forces a pass": (
        writes(
            "conftest.py",
            "def pytest_runtest_makereport(item, call):\n    call.excinfo = None\n",
        ),
        "conftest.py",
    ),
    "patches the runner": (
        writes(
            "calc.py",
            NOT_CALLED + BUGGY,
        ),
        "base-tests: unusable test run (forged)",
    ),
    "has a new test patch the product for all tests": (
        lambda _task: (
            [
                FileEdit(path="calc.py", text=BUGGY + "\n\nMENDED = True\n"),
                FileEdit(path="tests/test_a_mend.py", text=MENDING),
            ],
            DONE,
        ),
        "tests-apart: not passing: tests/test_calc.py::test_double",
    ),
    "patches the runner from a module beside the tests": (
        lambda _task: (
            [
                FileEdit(path="calc.py", text="import tests.hook\n\n\n" + BUGGY),
                FileEdit(path="tests/hook.py", text=EASY),
            ],
            DONE,
        ),
        "tests-apart: ",
    ),
    "plants a sitecustomize": (
        writes("sitecustomize.py", "raise SystemExit(0)\n"),
        "sitecustomize",
    ),
}


@pytest.mark.parametrize("name", list(NEVER))
def test_never_complete(bench: Bench, name: str) -> None:
    """What is no fix never completes, is rolled back, and ends in a blocker that says what stood against it."""
    work, told = NEVER[name]
    assert bench.run(work) is RunStatus.BLOCKED
    assert told in " ".join(r.reason for r in bench.turns) + bench.reason
    assert not any(t.ended_as == "commit" for t in bench.turns)


def of_files(bench: Bench, files: Mapping[str, str]) -> Bench:
    """A bench on a repository with just these files."""
    root = bench.repository.root
    shutil.rmtree(root / "tests")
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    who = ("-c", "user.name=T", "-c", "user.email=t@example.invalid")
    for args in (("add", "-A"), ("commit", "-m", "other files")):
        subprocess.run(["git", *who, *args], cwd=root, check=True, capture_output=True)
    return Bench(Repository.discover(root), bench.processes, bench.tmp)


def ini(options: str) -> str:
    """Settings of pytest."""
    return f'[tool.pytest.ini_options]\npythonpath = ["."]\n{options}\n'


CHECKS = {
    "checks/check_calc.py": TESTS,
    "pyproject.toml": ini('python_files = ["check_*.py"]'),
}
EXAMPLES = {
    "calc.py": BUGGY.replace("(x):\n", '(x):\n    """\n    >>> double(2)\n    4\n    """\n', 1),
    "checks.py": "",
    "pyproject.toml": ini('addopts = "--doctest-modules"'),
}


def test_a_file_that_cannot_be_collected_blocks_no_other_fix(bench: Bench) -> None:
    """It is the same before and after; the named tests and all others have run."""
    unread = "import not_installed_extra\n\n\ndef test_x():\n    assert True\n"
    bench = of_files(bench, {"tests/test_calc.py": TESTS, "tests/test_opt.py": unread})
    assert bench.run(writes("calc.py", FIXED)) is RunStatus.COMPLETE, bench.turns


def test_a_test_file_of_any_name_is_guarded(bench: Bench) -> None:
    """What the base's tests stand in stays as it is, whatever it is called; the honest fix completes."""
    bench = of_files(bench, CHECKS)
    easy = TESTS.replace("== 4", "== 6").replace("triple(2) == 6", "triple(2) == 4")
    edits = writes("checks/check_calc.py", easy), writes("calc.py", FIXED)
    assert bench.run(*edits) is RunStatus.COMPLETE
    assert [t.ended_as for t in bench.turns] == ["rollback", "commit"]
    assert "changed: checks/check_calc.py" in bench.turns[0].reason


def test_an_example_in_the_product_is_a_test(bench: Bench) -> None:
    """The value that it shows is not a fix's to change; the code beside it is."""
    bench = of_files(bench, EXAMPLES)
    bench.issue = Issue(source="test", tests=("calc.py::calc.double",))
    text = EXAMPLES["calc.py"]
    easy, fixed = text.replace("    4\n", "    6\n"), text.replace("x * 3", "x * 2")
    assert bench.run(writes("calc.py", easy), writes("calc.py", fixed)) is RunStatus.COMPLETE
    assert [t.ended_as for t in bench.turns] == ["rollback", "commit"]
    assert "examples that are tests read otherwise in calc.py" in bench.turns[0].reason


def test_a_module_beside_the_tests_is_not_the_products(bench: Bench) -> None:
    """Under pytest it is found in the place of the product's own; nobody else would find it there."""
    files = {"tests/test_calc.py": TESTS, "cli.py": "from calc import double\n\nprint(double(2))\n"}
    bench = of_files(bench, files)
    assert bench.run(writes("tests/calc.py", FIXED)) is RunStatus.BLOCKED
    assert "tests-apart: not passing: tests/test_calc.py::test_double" in bench.turns[0].reason


def test_what_the_product_imports_is_reviewed_as_the_products(bench: Bench) -> None:
    """Also from a folder whose name says tests: it could do to the runner what no test file is asked about."""
    edits = [
        FileEdit(path="calc.py", text="import testing.hook\n\n\n" + FIXED),
        FileEdit(path="testing/__init__.py", text=""),
        FileEdit(path="testing/hook.py", text="import _pytest.python as p\n\nMADE = p\n"),
    ]
    first = rule_reviewers()[0]
    bench.inspectors = (lambda seen: first.review(seen).findings,)
    assert bench.run(lambda _task: (edits, DONE)) is RunStatus.BLOCKED
    assert "testing/hook.py" in bench.reason + bench.turns[0].reason


def test_code_that_hides_in_an_encoding_is_seen(bench: Bench) -> None:
    """Python reads the file by what it declares, and there the comment ends."""
    edit = FileEdit(path="calc.py", text=f"# coding: utf-7\n# +AAo-import gc\n{FIXED}")
    first = rule_reviewers()[0]
    bench.inspectors = (lambda seen: first.review(seen).findings,)
    assert bench.run(lambda _task: ([edit], DONE)) is RunStatus.BLOCKED
    assert "imports gc" in bench.reason + bench.turns[0].reason


def test_a_module_in_a_folder_named_testing_may_be_the_products(bench: Bench) -> None:
    """Where the product imports it, it stays when the base's tests run without what is the new tests' alone."""
    edits = [
        FileEdit(path="calc.py", text="from testing.twice import double\n\n\n" + HALVES),
        FileEdit(path="testing/__init__.py", text=""),
        FileEdit(path="testing/twice.py", text="def double(x):\n    return x * 2\n"),
        FileEdit(
            path="tests/test_twice.py",
            text="from calc import double\n\n\ndef test_five():\n    assert double(5) == 10\n",
        ),
    ]
    assert bench.run(lambda _task: (edits, DONE)) is RunStatus.COMPLETE, [
        t.reason for t in bench.turns
    ]


@dataclass
class Calling:
    """An executor that makes these calls, one list a turn, the last one again and again; an outage ends the turns in `out`."""

    turns: list[list[bytes]]
    out: tuple[int, ...] = ()

    def run_turn(
        self, task: TurnInput, workspace: Workspace, asker: Asker, notebook: Notebook
    ) -> TurnOutput:
        """Call, and change nothing."""
        calls = self.turns.pop(0) if len(self.turns) > 1 else self.turns[0]
        for params in calls:
            notebook.record(ToolCalled(tool="read_file", params=notebook.put(params)))
        gone = ModelFailure(fault=ModelFault.NOT_FOUND, message="gone", model=asker.model)
        failure = gone if task.number in self.out else None
        return TurnOutput(transcript="", claim="none", effective_actions=1, failure=failure)


def test_the_same_calls_again_are_a_loop(bench: Bench) -> None:
    """What a turn called is folded from the ledger; of a turn that an outage ended nothing is held against the next one."""
    bench.models = ("light", "light-2")
    executor = Calling([[b"a", b"b"], [b"a", b"b"], [b"b"], [b"a", b"b"]], out=(1,))
    assert bench.start(executor) is RunStatus.BLOCKED
    kinds = [t.classification for t in bench.turns]
    assert kinds == ["blocker-infrastructure", *["blocker-stall"] * 2, "blocker-loop"]
    state = bench.journal.state
    assert state == fold(bench.ledger.events())
    (unit,) = state.units.values()
    assert [len(pattern) for pattern in unit.patterns] == [2, 1, 2]


def test_an_idle_executor_is_blocked_after_one_more_try(bench: Bench) -> None:
    """A no-op gets the same tier once more, then the run stops."""
    idle = TurnOutput(transcript="", claim="none")
    assert bench.run(says(idle)) is RunStatus.BLOCKED
    assert [t.classification for t in bench.turns] == [Classification.EXECUTOR_NOOP] * 2


def test_an_idle_model_is_followed_by_a_higher_tier(bench: Bench) -> None:
    """The same tier once more, then the next one, which also gets a second try of its own."""
    bench.models = ("light", "heavy")
    idle = says(TurnOutput(transcript="", claim="none"))
    assert bench.run(idle, idle, idle, writes("calc.py", FIXED)) is RunStatus.COMPLETE
    assert [t.model for t in bench.turns] == ["light", "light", "heavy", "heavy"]


def test_a_refusal_goes_to_the_next_tier(bench: Bench) -> None:
    """The refusing model is grounded for the unit, and the next one does the work."""
    bench.models = ("light", "heavy")
    assert bench.run(says(REFUSED), writes("calc.py", FIXED)) is RunStatus.COMPLETE
    assert [e.model for e in bench.of(NoFlyAdded) if isinstance(e, NoFlyAdded)] == ["light"]


def test_refused_everywhere_is_an_honest_blocker(bench: Bench) -> None:
    """Without a higher tier the blocker says so."""
    assert bench.run(says(REFUSED)) is RunStatus.BLOCKED
    assert "no higher tier" in bench.reason


REFUSED = TurnOutput(transcript="I'm sorry, I can't assist with that.", claim="none")


def fails(fault: ModelFault, retry_after_s: float | None = None) -> Work:
    """A turn that a model's failure ends."""
    failure = ModelFailure(
        fault=fault, message="so it is", model="light", retry_after_s=retry_after_s
    )
    return says(TurnOutput(transcript="", claim="none", failure=failure))


def test_two_escalations_and_no_more(bench: Bench) -> None:
    """Refused on three tiers, the run pauses on a hard blocker, and a resumed one asks none of them again."""
    bench.models = ("light", "standard", "heavy")
    assert bench.run(says(REFUSED)) is RunStatus.PAUSED
    assert "hard blocker: 3 models gave up" in bench.reason
    assert [t.model for t in bench.turns] == ["light", "standard", "heavy"]
    assert bench.resume(Doing([writes("calc.py", FIXED)])) is RunStatus.PAUSED
    assert len(bench.turns) == 3
    assert "hard blocker: 3 models gave up" in bench.reason


def test_a_refusal_passes_over_models_of_the_same_tier(bench: Bench) -> None:
    """The next tier is asked, not the next model."""
    bench.models = ("light-a", "light-b", "heavy")
    assert bench.run(says(REFUSED), writes("calc.py", FIXED)) is RunStatus.COMPLETE
    assert [t.model for t in bench.turns] == ["light-a", "heavy"]


def test_a_failed_model_is_followed_by_another(bench: Bench) -> None:
    """A fault that lasts sends the next turn to the next of the chain, and costs no iteration."""
    bench.models = ("light-a", "light-b")
    bench.overrides = Overrides(max_iterations=1)
    assert bench.run(fails(ModelFault.AUTH), writes("calc.py", FIXED)) is RunStatus.COMPLETE
    assert [t.model for t in bench.turns] == ["light-a", "light-b"]
    switched = [e for e in bench.of(ProviderSwitched) if isinstance(e, ProviderSwitched)]
    assert [(e.before, e.after) for e in switched] == [("light-a", "light-b")]


def test_a_fault_that_lasts_on_every_model_is_a_blocker(bench: Bench) -> None:
    """Nothing passes by itself, so nothing is waited for."""
    assert bench.run(fails(ModelFault.AUTH)) is RunStatus.BLOCKED
    assert len(bench.turns) == 1
    assert "left alone" in bench.reason


def test_a_stated_reset_within_the_time_limit_is_waited_for(bench: Bench) -> None:
    """The run pauses, lets the time go by, and goes on by itself."""
    began = bench.clock.monotonic()
    limited = fails(ModelFault.RATE_LIMIT, retry_after_s=900)
    assert bench.run(limited, writes("calc.py", FIXED)) is RunStatus.COMPLETE
    assert bench.clock.monotonic() - began >= 900


def test_a_stated_reset_beyond_the_time_limit_pauses_with_its_time(bench: Bench) -> None:
    """The stop says from when on a resume makes sense; then it does the work."""
    limited = fails(ModelFault.RATE_LIMIT, retry_after_s=9000)
    assert bench.run(limited) is RunStatus.PAUSED
    stopped = [e for e in bench.of(RunStopped) if isinstance(e, RunStopped)][-1]
    assert stopped.resume_at == bench.clock.now() + timedelta(seconds=9000)
    bench.clock.advance(9000)
    assert bench.resume(Doing([writes("calc.py", FIXED)])) is RunStatus.COMPLETE


def test_a_model_that_stays_away_is_asked_ever_less_often(bench: Bench) -> None:
    """Each time it is left alone for longer, until the time limit; then the run waits for a resume."""
    assert bench.run(fails(ModelFault.UNREACHABLE)) is RunStatus.PAUSED
    grounded = [e for e in bench.of(ModelGrounded) if isinstance(e, ModelGrounded)]
    assert 5 < len(grounded) == len(bench.turns) < 15
    assert bench.journal.state.spend.iterations == 0


def test_no_reachable_judge_is_a_blocker_of_its_own_class(bench: Bench) -> None:
    """The protocol is not dropped: the turn is judged by a synthesised blocker, and the run waits for a resume."""
    prose = TurnOutput(transcript="I have been thinking about this. " * 20, claim="none")
    gone = UnavailableModel("judge", "there is no key")

    def nobody(ceilings: Ceilings) -> Asker:
        return MeteredModel(gone, bench.journal, ceilings, bench.clock)

    bench.judge = nobody
    assert bench.run(says(prose)) is RunStatus.PAUSED
    assert bench.turns[-1].classification is Classification.BLOCKER_SOLVER_UNREACHABLE
    assert "there is no key" in bench.reason
    bench.judge = None
    assert bench.resume(Doing([writes("calc.py", FIXED)])) is RunStatus.COMPLETE


def test_a_verdict_that_flips_on_the_same_evidence_is_an_event(bench: Bench) -> None:
    """The tree was no work before and is a standstill now: both are told, once; the same verdict again tells nothing (SPEC A6)."""
    nothing = says(TurnOutput(transcript="", claim="none"))
    busy = says(TurnOutput(transcript="", claim="none", effective_actions=1))
    bench.run(nothing, busy)
    kinds = [turn.classification for turn in bench.turns]
    assert kinds[:3] == [
        Classification.EXECUTOR_NOOP,
        Classification.BLOCKER_STALL,
        Classification.BLOCKER_STALL,
    ]
    flips = [e for e in bench.of(SelfFeedback) if isinstance(e, SelfFeedback)]
    assert [(flip.before, flip.after) for flip in flips] == [(kinds[0], kinds[1])]


def test_an_executor_that_breaks_is_tried_again_and_then_blocked(bench: Bench) -> None:
    """An error of ours inside a turn is a failed execution gate, not a crash."""
    assert bench.run(raises(UsageError("no such option"))) is RunStatus.BLOCKED
    assert "no such option" in bench.reason


def test_a_name_that_is_not_text_fails_the_turn(bench: Bench) -> None:
    """No record could name it: the turn is put back with the reason, and the next one goes on."""
    odd = os.fsdecode(b"caf\xe9.txt")
    assert bench.run(writes(odd, "x\n"), writes("calc.py", FIXED)) is RunStatus.COMPLETE
    first, second = bench.turns
    assert (first.commit, second.ended_as) == (None, "commit")
    assert r"the name 'caf\udce9.txt' is not UTF-8; give the file another one" in first.reason


def test_ctrl_c_cancels_and_the_turn_stays_open(bench: Bench) -> None:
    """An interrupt ends as cancelled; the open turn is left for resume to roll back."""
    assert bench.run(raises(KeyboardInterrupt())) is RunStatus.CANCELLED
    assert bench.journal.state.turn is not None
    bench.journal.record(RunResumed(interrupted_turn=None))
    assert bench.journal.state.turn is None


@dataclass
class Pressing:
    """Somebody who presses ctrl-C while the first event of some kind is being recorded."""

    fits: Callable[[Event], bool]
    pressed: bool = False

    def seen(self, recorded: Recorded) -> None:
        """Press once."""
        if self.fits(recorded.event) and not self.pressed:
            self.pressed = True
            signal.raise_signal(signal.SIGINT)


@pytest.fixture
def heard() -> Iterator[None]:
    """Ctrl-C as a terminal gives it: a job in the background of a script inherits that it is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heard")
@pytest.mark.parametrize("phase", ["planning", "solving", "policy"])
def test_ctrl_c_cancels_while_a_step_is_recorded(bench: Bench, phase: str) -> None:
    """The step stands, the run is cancelled, and taken up again it comes to its end."""

    def fits(event: Event) -> bool:
        if isinstance(event, PhaseChanged):
            return event.after == phase
        return isinstance(event, PolicyResolved) and phase == "policy"

    person = Pressing(fits)
    bench.ledger = MemoryLedger(clock=bench.clock, progress=person)
    assert bench.run(writes("calc.py", FIXED)) is RunStatus.CANCELLED
    assert person.pressed
    assert isinstance([r.event for r in bench.ledger.events()][-1], RunStopped)
    assert bench.journal.state.status is RunStatus.CANCELLED
    assert bench.resume(Doing([writes("calc.py", FIXED)])) is RunStatus.COMPLETE


@pytest.mark.usefixtures("heard")
def test_ctrl_c_takes_nothing_back_that_a_turn_brought(bench: Bench) -> None:
    """A model that refused in the turn that was just being recorded is not asked again."""
    bench.models = ("light", "heavy")
    person = Pressing(lambda event: isinstance(event, TurnClosed))
    bench.ledger = MemoryLedger(clock=bench.clock, progress=person)
    assert bench.run(says(REFUSED)) is RunStatus.CANCELLED
    assert person.pressed
    assert bench.resume(Doing([writes("calc.py", FIXED)])) is RunStatus.COMPLETE
    assert [t.model for t in bench.turns] == ["light", "heavy"]


@pytest.mark.usefixtures("heard")
@pytest.mark.parametrize("at", ["step", "stop"])
def test_ctrl_c_comes_too_late_for_a_run_that_has_ended(bench: Bench, at: str) -> None:
    """While its last step, or its stop, is recorded: the run is what it is, and its stop is recorded once."""

    def fits(event: Event) -> bool:
        if isinstance(event, PhaseChanged):
            return event.after == "complete" and at == "step"
        return isinstance(event, RunStopped) and at == "stop"

    person = Pressing(fits)
    bench.ledger = MemoryLedger(clock=bench.clock, progress=person)
    assert bench.run(writes("calc.py", FIXED)) is RunStatus.COMPLETE
    assert person.pressed
    assert [e.status for e in bench.of(RunStopped)] == [RunStatus.COMPLETE]


def test_ctrl_c_cancels_when_what_was_begun_cannot_be_cleaned_up(bench: Bench) -> None:
    """An executor that breaks while it makes way for an interrupt is no failed turn, after which the work would go on."""

    def work(_task: TurnInput) -> tuple[Sequence[FileEdit], TurnOutput]:
        try:
            raise KeyboardInterrupt
        finally:
            raise UsageError("the worker does not end")

    assert bench.run(work, writes("calc.py", FIXED)) is RunStatus.CANCELLED
    assert bench.journal.state.turn is not None


def test_a_run_killed_before_its_last_word_only_says_it(bench: Bench) -> None:
    """The step to the end is recorded, the stop is not: taken up again, nothing is done and nothing differs."""
    assert bench.run(writes("calc.py", FIXED)) is RunStatus.COMPLETE
    told = bench.reason
    bench.ledger._records.pop()
    assert bench.resume(Doing([raises(AssertionError())])) is RunStatus.COMPLETE
    assert bench.reason == told
    assert len(bench.turns) == 1


def test_the_budget_ends_a_run(bench: Bench) -> None:
    """No turn starts beyond the iterations."""
    bench.overrides = Overrides(max_iterations=1)
    assert bench.run(writes("calc.py", HALF_FIXED)) is RunStatus.BUDGET
    assert len(bench.turns) == 1


def test_a_lock_stops_a_run_at_its_next_step(bench: Bench) -> None:
    """A lock that is set during a turn is obeyed after it, and once it is gone the run can be taken up again."""

    def work(_task: TurnInput) -> tuple[Sequence[FileEdit], TurnOutput]:
        bench.lock.set("hands off")
        return [FileEdit(path="calc.py", text=HALF_FIXED)], DONE

    assert bench.run(work) is RunStatus.PAUSED
    assert "hands off" in bench.reason
    assert len(bench.turns) == 1
    bench.lock.clear()
    assert bench.resume(Doing([writes("calc.py", FIXED)])) is RunStatus.COMPLETE


def test_a_lock_takes_nothing_back_that_a_turn_brought(bench: Bench) -> None:
    """A model that refused in the turn in which the lock was set is not asked again after it."""
    bench.models = ("light", "heavy")

    def work(_task: TurnInput) -> tuple[Sequence[FileEdit], TurnOutput]:
        bench.lock.set("hands off")
        return (), REFUSED

    assert bench.run(work) is RunStatus.PAUSED
    assert "hands off" in bench.reason
    bench.lock.clear()
    assert bench.resume(Doing([writes("calc.py", FIXED)])) is RunStatus.COMPLETE
    assert [t.model for t in bench.turns] == ["light", "heavy"]


@dataclass
class Full:
    """A worktree on a disk on which `method` finds no space."""

    method: str
    workspace: Workspace

    def __getattr__(self, name: str) -> object:
        """As the worktree."""
        return self._fails if name == self.method else getattr(self.workspace, name)

    def _fails(self, *_given: object) -> None:
        raise DiskError("no space")


@pytest.mark.parametrize("method", ["apply", "snapshot", "commit"])
def test_a_full_disk_breaks_the_run_off_and_is_no_failed_turn(bench: Bench, method: str) -> None:
    """As a kill would, so that it goes on where there is space again."""
    bench.wrap = lambda workspace: cast("Workspace", Full(method, workspace))
    with pytest.raises(DiskError, match="no space"):
        bench.run(writes("calc.py", FIXED))
    assert bench.turns == []
    assert bench.resume(Doing([writes("calc.py", FIXED)])) is RunStatus.COMPLETE


def test_a_veto_sends_the_work_back_and_then_blocks(bench: Bench) -> None:
    """Vetoed work is done again from the base, and a veto that stays ends as a blocker with its words."""
    bench.inspectors = (lambda _seen: [objection("odd", "calc.py", "this smells")],)
    assert bench.run(writes("calc.py", FIXED)) is RunStatus.BLOCKED
    assert "this smells" in bench.reason
    vetoes = [
        e for e in bench.of(PhaseChanged) if isinstance(e, PhaseChanged) and e.after == "solving"
    ]
    assert any(e.trigger == "review-vetoed" for e in vetoes)


@dataclass(frozen=True)
class Mortal:
    """Sees events, and dies after some number of them."""

    left: Iterator[int]

    def seen(self, recorded: Recorded) -> None:
        """Count one."""
        if next(self.left, None) == 0:
            raise DiedError


class DiedError(BaseException):
    """The process is no more."""


@dataclass(frozen=True)
class ByTurn:
    """An executor that does the same in the same turn, whoever asks."""

    works: Sequence[Work]

    def run_turn(
        self, task: TurnInput, workspace: Workspace, asker: Asker, notebook: Notebook
    ) -> TurnOutput:
        """Do what this turn does."""
        edits, output = self.works[min(task.number, len(self.works)) - 1](task)
        workspace.apply(edits)
        return output


class Reckoned:
    """A suite that looks what the functions give, without a process."""

    command = ("pytest",)

    def run(self, root: Path, tests: Sequence[str] | None = None, *, room: int = 1) -> TestReport:
        """All of them, or those that are named."""
        names: dict[str, Callable[[int], int]] = {}
        exec((root / "calc.py").read_text(), names)
        wanted = {"double": 4, "triple": 6, "half": 1}
        results = [
            TestResult(
                test_id=f"tests/test_calc.py::test_{name}",
                outcome=TestOutcome.PASSED if names[name](2) == value else TestOutcome.FAILED,
                message=f"double triple {name}",
            )
            for name, value in wanted.items()
        ]
        kept = tuple(r for r in results if tests is None or r.test_id in tests)
        return TestReport(
            command=self.command, state=ReportState.COMPLETE, exit_code=0, results=kept
        )

    def watch(self, root: Path) -> Mapping[str, frozenset[str]]:
        """Nothing is seen."""
        del root
        return {}

    def is_test_path(self, path: str) -> bool:
        """As the real one."""
        return path.startswith("tests/")

    def is_control_path(self, path: str) -> bool:
        """None."""
        return False

    def worker(self, root: Path, tests: Sequence[str]) -> AbstractContextManager[TrialWorker]:
        """Nobody asks."""
        raise NotImplementedError


class Slow(Reckoned):
    """The same, and it says that it took its time."""

    def __init__(self) -> None:
        self.asked: list[bool] = []
        """Whether the whole was asked for, each time."""

    def run(self, root: Path, tests: Sequence[str] | None = None, *, room: int = 1) -> TestReport:
        """As the faster one."""
        self.asked.append(tests is None)
        return replace(super().run(root, tests, room=room), wall_s=40.0)


class Crowded(Reckoned):
    """Thirty more tests fail on every tree, and `test_double` only in the first run of all, whatever the code does."""

    def __init__(self) -> None:
        self.runs = 0

    def run(self, root: Path, tests: Sequence[str] | None = None, *, room: int = 1) -> TestReport:
        """As the others, with those."""
        self.runs += 1
        report = super().run(root, tests, room=room)
        chance = TestOutcome.FAILED if self.runs == 1 else TestOutcome.PASSED
        results = [
            replace(r, outcome=chance) if r.test_id.endswith("::test_double") else r
            for r in report.results
        ]
        more = [f"tests/test_more.py::test_{n}" for n in range(30)]
        results += [
            TestResult(test_id=i, outcome=TestOutcome.FAILED)
            for i in more
            if tests is None or i in tests
        ]
        return replace(report, results=tuple(results))


@dataclass
class Narrow(Reckoned):
    """Work on the mended file needs twice the memory; without it the run ends like this."""

    reason: str
    exit_code: int | None = None

    def run(self, root: Path, tests: Sequence[str] | None = None, *, room: int = 1) -> TestReport:
        """As the others, once there is room."""
        report = super().run(root, tests, room=room)
        if room > 1 or (root / "calc.py").read_text() != FIXED:
            return report
        return replace(
            report,
            state=ReportState.CRASHED,
            results=(),
            reason=self.reason,
            exit_code=self.exit_code,
        )


@pytest.mark.parametrize(
    ("reason", "exit_code"),
    [
        ("MemoryError: no room", 1),
        ("no report (exit code 134: FATAL ERROR: JavaScript heap out of memory)", 134),
        ("no report (exit code 137: )", 137),
        ("SIGKILL ended the command", None),
    ],
)
def test_a_proof_that_lacks_memory_is_run_once_with_more(
    bench: Bench, reason: str, exit_code: int | None
) -> None:
    """What the executor's own checks were given, the kernel's proof is given, too, whatever the language."""
    bench.suite = Narrow(reason, exit_code)
    assert bench.run(writes("calc.py", FIXED)) is RunStatus.COMPLETE


def test_a_turn_that_breaks_what_it_can_reach_is_refused_without_a_whole_run(bench: Bench) -> None:
    """It is rolled back with the name of the test; the next turn is decided by a whole run, and the run is complete."""
    slow = bench.suite = Slow()
    broken = FIXED.replace("x / 2", "x")
    assert bench.run(writes("calc.py", broken), writes("calc.py", FIXED)) is RunStatus.COMPLETE
    first, second = bench.turns
    assert (first.ended_as, first.gate) == ("rollback", GateName.VERIFICATION)
    assert "broken: tests/test_calc.py::test_half, of the 3 tests that the change" in first.reason
    assert second.ended_as == "commit"
    baseline, refused, decided = slow.asked[0], slow.asked[1:4], slow.asked[4:]
    assert baseline
    assert refused == [False, False, False]
    assert True in decided


def test_a_target_that_fails_by_chance_is_told_apart_among_many(bench: Bench) -> None:
    """So many failing tests are not looked at one by one; the one that the run is about is."""
    bench.suite = Crowded()
    assert bench.run(writes("calc.py", FIXED)) is RunStatus.BLOCKED
    assert "tests/test_calc.py::test_double fails only sometimes" in bench.reason


IDLE = TurnOutput(transcript="", claim="none")
REFUSED = TurnOutput(transcript="I'm sorry, I can't assist with that.", claim="none")
ENDINGS: Mapping[str, Sequence[Work]] = {
    "complete": (writes("calc.py", HALF_FIXED), writes("calc.py", FIXED)),
    "idle": (says(IDLE),),
    "broken": (writes("calc.py", FIXED.replace("x / 2", "x")),),
    "refused": (says(REFUSED), writes("calc.py", FIXED)),
    "vetoed": (writes("calc.py", FIXED),),
}


def ends(bench: Bench) -> tuple[object, ...]:
    """What must not depend on having died."""
    turns = [(t.ended_as, t.tree, t.classification, t.reason) for t in bench.turns]
    return (bench.journal.state.status, bench.reason, *turns)


@pytest.mark.parametrize(
    "name", [n if n == "idle" else pytest.param(n, marks=pytest.mark.soak) for n in ENDINGS]
)
def test_a_run_that_dies_after_any_event_comes_to_the_same_end(
    fresh: Callable[[], Bench], name: str
) -> None:
    """Whatever was the last thing that it could record."""

    def prepared() -> Bench:
        bench = fresh()
        bench.suite = Reckoned()
        bench.models = ("light", "heavy")
        if name == "vetoed":
            bench.inspectors = (lambda _seen: [objection("odd", "calc.py", "this smells")],)
        return bench

    unbroken, executor = prepared(), ByTurn(ENDINGS[name])
    unbroken.start(executor)
    wrong = {}
    for number, recorded in enumerate(unbroken.ledger.events()):
        bench = prepared()
        bench.ledger = MemoryLedger(progress=Mortal(iter(range(number, -1, -1))))
        with pytest.raises(DiedError):
            bench.start(executor)
        bench.resume(executor)
        if ends(bench) != ends(unbroken):
            wrong[f"{number} {recorded.event.kind}"] = ends(bench)
    assert wrong == {}, ends(unbroken)
