"""Honest runs by the dozen: the real kernel, ledger, git and gates, with an executor that knows what it will do.

Most ask nothing of a model and run nothing in a sandbox, so that they take a second or two; what they leave behind is what
any run leaves behind. A few are told by the whole program: pytest in the sandbox, the agent's tools, a model by rules.
A seed says which stories are told, and in which variation.
"""

import json
import random
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from surefoot import __version__
from surefoot.app import finish, start
from surefoot.assembly import Surroundings, open_ledger, publisher_of, rule_reviewers
from surefoot.codec import decode, encode
from surefoot.decisions.planning import RulePlanner
from surefoot.events.orchestration import RunOpened, RunResumed
from surefoot.events.policy import SandboxEnforced
from surefoot.gates import default_gates
from surefoot.gitops.push import push_branch
from surefoot.gitops.workspace import GitWorkspace, open_workspace, reopen_workspace
from surefoot.handover import accept, reject
from surefoot.kernel.asking import Remembering
from surefoot.kernel.journal import Journal
from surefoot.kernel.metering import MeteredModel
from surefoot.kernel.ports import (
    Asker,
    Notebook,
    Reviewer,
    ReviewInput,
    TrialWorker,
    TurnInput,
    TurnOutput,
    Workspace,
)
from surefoot.kernel.proof import Prover
from surefoot.kernel.run import Run, RunPorts
from surefoot.kernel.turn import TurnPorts
from surefoot.models.catalogue import Card
from surefoot.models.router import PolicyRouter
from surefoot.models.select import RoutingPolicy, Rules
from surefoot.operations import Response, pending_gate, respond_to_gate
from surefoot.people import ByFunction
from surefoot.policy.rules import RulePolicy
from surefoot.preflight import SyntaxCritic
from surefoot.project import Places, Project, open_project
from surefoot.request import Frozen, Request
from surefoot.solver import RuleSolver
from surefoot.suite import is_control_path, is_test_path
from surefoot.testing.model import ScriptedModel
from surefoot.values import (
    Audit,
    AuditorResult,
    AuditorState,
    FileEdit,
    Finding,
    Issue,
    Message,
    ModelRequest,
    ReportState,
    Review,
    RunId,
    SandboxLevel,
    Severity,
    TestOutcome,
    TestReport,
    TestResult,
    Tier,
    TurnAction,
)

BUGGY = """def double(x):
    return x * 3


def triple(x):
    return x * 2


def half(x):
    return x / 2
"""
FIXED = BUGGY.replace("x * 3", "x * 4").replace("x * 2", "x * 3").replace("x * 4", "x * 2")
HALF = BUGGY.replace("x * 3", "x * 2", 1)
WRONG = BUGGY.replace("x * 3", "x * 7")
BROKEN = FIXED.replace("x / 2", "x / 3")
BASE_TESTS = """from calc import double, half, triple


def test_double():
    assert double(2) == 4


def test_triple():
    assert triple(2) == 6


def test_half():
    assert half(4) == 2
"""
NEW_TESTS = "from calc import double\n\n\ndef test_more():\n    assert double(5) == 10\n"
BOTH = Issue(
    source="test", tests=("tests/test_calc.py::test_double", "tests/test_calc.py::test_triple")
)
TOLD = Issue(source="text", text="`double` and `triple` are wrong")
CALLS_WRONG = "from calc import triple\n\n\ndef shown():\n    return triple()\n"
DONE = TurnOutput(transcript="I fixed it.", claim="done", effective_actions=1)
REFUSES = TurnOutput(transcript="I'm sorry, but I can't help with that.", claim="none")
WAITS = TurnOutput(transcript="I wait for the build to end.", claim="wait")
TALKS = TurnOutput(transcript="Here is what I think of the code. " * 12, claim="none")


class KilledHere(BaseException):
    """Stands for SIGKILL: nothing of the run gets to say anything after it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What the executor does in one turn."""

    files: Mapping[str, str] = field(default_factory=dict)
    output: TurnOutput = DONE
    raises: BaseException | None = None
    asks: int = 0
    """Model calls before anything else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """An honest run."""

    name: str
    works: tuple[Work, ...]
    request: Request = field(default_factory=lambda: Request(issue=BOTH))
    dies_in_review: bool = False
    """It is killed once, when the second reviewer is asked."""
    then: tuple[str, ...] = ()
    """What follows: `resume`, `answer` (a yes to what is asked), `accept`, `reject`."""
    flags: tuple[str, ...] = ()
    """Risk flags that are on."""
    approves: bool = False
    """A person is there, who says yes to everything."""
    finding: bool = False
    """An auditor holds the bug against the code."""
    action: TurnAction = "commit"
    push: Literal["never", "milestone", "always"] = "never"
    """To a remote that there is, or is not."""
    network: bool = True
    rules: tuple[Mapping[str, object], ...] | None = None
    """Told by the whole program, with a model that answers by these rules."""


class Doing:
    """An executor that does one thing a turn, in order; the last one again and again."""

    def __init__(self, works: Sequence[Work]) -> None:
        self.works = list(works)

    def run_turn(
        self, task: TurnInput, workspace: Workspace, asker: Asker, notebook: Notebook
    ) -> TurnOutput:
        """Do the next thing."""
        del notebook
        work = self.works.pop(0) if len(self.works) > 1 else self.works[0]
        if work.asks:
            said = f"turn {task.number}, seed {task.seed}"
            asker.ask(
                [
                    ModelRequest(
                        purpose="repair",
                        messages=(Message(role="user", content=f"{said}, {n}"),),
                        max_tokens=32,
                    )
                    for n in range(work.asks)
                ]
            )
        workspace.apply([FileEdit(path=p, text=t) for p, t in work.files.items()])
        if work.raises is not None:
            raise work.raises
        return work.output


class DirectSuite:
    """The `Suite` port over test functions that are called in this process: they are this module's own."""

    command = ("direct",)

    def run(self, root: Path, tests: Sequence[str] | None = None, *, room: int = 1) -> TestReport:
        """Call every function."""
        del room
        results = [r for path in sorted(root.glob("tests/test_*.py")) for r in _called(root, path)]
        wanted = [r for r in results if tests is None or r.test_id in tests]
        bad = any(r.outcome is not TestOutcome.PASSED for r in wanted)
        return TestReport(
            command=self.command,
            state=ReportState.COMPLETE if wanted else ReportState.NOTHING_COLLECTED,
            exit_code=int(bad),
            results=tuple(wanted),
        )

    def watch(self, root: Path) -> Mapping[str, frozenset[str]]:
        """Nothing is known of what a test runs."""
        del root
        return {}

    def is_test_path(self, path: str) -> bool:
        """As every suite says."""
        return is_test_path(path)

    def is_control_path(self, path: str) -> bool:
        """As every suite says."""
        return is_control_path(path)

    def worker(self, root: Path, tests: Sequence[str]) -> AbstractContextManager[TrialWorker]:
        """Nobody searches here."""
        raise NotImplementedError(f"{root}: {tests}")


def _called(root: Path, path: Path) -> list[TestResult]:
    code: dict[str, object] = {}
    exec((root / "calc.py").read_text(), code)  # this module's own text
    found: dict[str, object] = dict(code)
    plain = "\n".join(t for t in path.read_text().splitlines() if not t.startswith("from calc"))
    exec(plain, found)  # likewise
    results = []
    for name, test in found.items():
        if not name.startswith("test_") or not callable(test):
            continue
        outcome, message = TestOutcome.PASSED, ""
        try:
            test()
        except AssertionError:
            outcome, message = TestOutcome.FAILED, "AssertionError"
        results.append(
            TestResult(test_id=f"tests/{path.name}::{name}", outcome=outcome, message=message)
        )
    return results


def whole_stories(rng: random.Random) -> Sequence[Story]:
    """Those that the whole program tells."""
    named = Issue(source="test", tests=("tests/test_calc.py::test_double",))
    seed = rng.randrange(10**6)
    agent = Request(issue=BOTH, strategy="agent", seed=seed)
    search = Request(issue=named, strategy="repair", seed=seed)
    right = _answers(
        _call("file_edit", path="calc.py", search="x * 3", replace="x * 4"),
        _call("file_edit", path="calc.py", search="x * 2", replace="x * 3"),
        _call("file_edit", path="calc.py", search="x * 4", replace="x * 2"),
        _call("done"),
    )
    found: tuple[Mapping[str, object], ...] = (
        {"pattern": "Function `double`", "reply": "def double(x):\n    return x * 2\n"},
    )
    return (
        Story(name="agent", works=(), request=agent, rules=right),
        Story(name="agent accepted", works=(), request=agent, rules=right, then=("accept",)),
        Story(
            name="agent does nothing",
            works=(),
            request=replace(agent, max_iterations=2),
            rules=_answers(_call("done")),
        ),
        Story(name="search", works=(), request=search, rules=found),
    )


def _call(tool: str, **params: str) -> str:
    """An answer of the agent's model."""
    said = {"thought": f"{tool} is next", "learned": [], "expected_outcome": "what the step needs"}
    return json.dumps({**said, "tool": tool, "params": params})


def _answers(*calls: str) -> tuple[Mapping[str, object], ...]:
    """Rules by which the n-th call follows when the prompt shows n - 1."""
    shows = r"(?s)## Calls so far, oldest first\n.*^{}\. [a-z_.]+ \{{"
    later = tuple(
        {"purpose": "tool_call", "pattern": shows.format(number), "reply": answer}
        for number, answer in reversed(list(enumerate(calls)))
        if number
    )
    return (*later, {"purpose": "tool_call", "reply": calls[0]})


def make_project(folder: Path) -> Project:
    """A repository with two bugs."""
    root = folder / "repo"
    (root / "tests").mkdir(parents=True)
    (root / "calc.py").write_text(BUGGY)
    (root / "tests" / "test_calc.py").write_text(BASE_TESTS)
    (root / "pyproject.toml").write_text('[tool.pytest.ini_options]\npythonpath = ["."]\n')
    (root / ".gitignore").write_text("__pycache__/\n")
    for args in (
        ("init", "--quiet", "--initial-branch=main"),
        ("config", "user.name", "T"),
        ("config", "user.email", "t@example.invalid"),
        ("add", "."),
        ("commit", "--quiet", "--message", "first"),
    ):
        subprocess.run(["git", *args], cwd=root, check=True)
    return open_project(root, Places(state=folder / "state", cache=folder / "cache"))


def stories(rng: random.Random) -> Sequence[Story]:
    """One of each kind, varied."""
    calls = rng.randrange(3)
    fix = Work(files={"calc.py": FIXED + f"\n# {rng.randrange(10**6)}\n"}, asks=calls)
    half = Work(files={"calc.py": HALF}, asks=calls)
    wrong = Work(files={"calc.py": rng.choice((WRONG, BROKEN))})
    one = Request(issue=BOTH, max_iterations=1)
    tokens = replace(one, max_iterations=None, tokens=rng.choice((40, 4000)))
    named = Issue(source="test", tests=("tests/test_calc.py::test_double",))
    stops = Work(files={"calc.py": HALF}, raises=KeyboardInterrupt())
    dies = Work(files={"calc.py": HALF}, raises=KilledHere(), asks=calls)
    new_test = {**fix.files, "tests/test_new.py": NEW_TESTS}
    flags = ("allow_test_changes",)
    tests = Work(
        files={
            **fix.files,
            "tests/test_calc.py": BASE_TESTS.replace("half(4) == 2", "half(6) == 3"),
        }
    )
    said = replace(DONE, transcript=f"Fixed, I say: {rng.randrange(10**6)}")
    return (
        Story(name="complete", works=(fix,)),
        Story(name="two turns", works=(half, fix)),
        Story(name="wrong, then right", works=(wrong, fix)),
        Story(name="no attempt is right", works=(wrong,)),
        Story(name="refused", works=(Work(output=REFUSES),)),
        Story(name="waits", works=(Work(output=WAITS), fix)),
        Story(name="talks", works=(Work(output=TALKS), fix)),
        Story(name="breaks, then right", works=(Work(raises=RuntimeError("broke")), fix)),
        Story(name="one named test", works=(fix,), request=Request(issue=named)),
        Story(
            name="a new test",
            works=(Work(files=new_test, output=said),),
            request=Request(issue=TOLD),
        ),
        Story(name="no test shows it", works=(fix,), request=Request(issue=TOLD)),
        Story(name="breaks a boundary", works=(Work(files={**fix.files, "show.py": CALLS_WRONG}),)),
        Story(
            name="touches a test",
            works=(Work(files={"tests/test_calc.py": BASE_TESTS.replace("== 4", "== 6")}),),
        ),
        Story(name="tests change", works=(tests,), flags=flags, approves=True),
        Story(name="tests change unseen", works=(tests,), flags=flags),
        Story(
            name="tests change by a later word",
            works=(tests,),
            flags=flags,
            then=("answer", "resume"),
        ),
        Story(
            name="hides what it did",
            works=(Work(files={"calc.py": FIXED.replace("x * 2", "x * 2  # noqa")}),),
        ),
        Story(name="snapshots", works=(half, fix), action="snapshot"),
        Story(name="snapshots accepted", works=(fix,), action="snapshot", then=("accept",)),
        Story(
            name="trees resumed", works=(half, dies, fix), action="status-only", then=("resume",)
        ),
        Story(name="trees accepted", works=(fix,), action="status-only", then=("accept",)),
        Story(
            name="pushed to nowhere", works=(half, fix), push=rng.choice(("always", "milestone"))
        ),
        Story(name="budget", works=(half,), request=one),
        Story(name="budget resumed", works=(half, fix), request=one, then=("resume",)),
        Story(name="tokens", works=(replace(fix, asks=2),), request=tokens),
        Story(name="cancelled", works=(stops,)),
        Story(name="cancelled resumed", works=(stops, fix), then=("resume",)),
        Story(name="killed resumed", works=(dies, fix), then=("resume",)),
        Story(name="killed twice", works=(half, dies, dies, fix), then=("resume", "resume")),
        Story(name="killed", works=(dies,)),
        Story(name="killed amid reviews", works=(fix,), dies_in_review=True, then=("resume",)),
        Story(name="accepted", works=(fix,), then=("accept",)),
        Story(name="rejected", works=(fix,), then=("reject",)),
        Story(name="rejected in the middle", works=(half,), request=one, then=("reject",)),
        Story(name="report only", works=(fix,), request=replace(one, mode="report_only")),
        Story(name="a finding", works=(wrong, fix), finding=True),
    )


@dataclass(slots=True, kw_only=True)
class _Scene:
    """A story being told."""

    project: Project
    story: Story
    run_id: RunId
    around: Surroundings
    executor: Doing
    has_died: bool = False


def tell(project: Project, story: Story, run_id: RunId, around: Surroundings) -> None:
    """Let it happen, and leave behind what it leaves behind."""
    if story.rules is not None:
        _tell_whole(project, story, run_id, around)
        return
    scene = _Scene(
        project=project,
        story=story,
        run_id=run_id,
        around=around,
        executor=Doing(story.works),
    )
    project.prepare()
    with suppress(KilledHere), open_ledger(project, run_id, around) as ledger:
        _begin(scene, Journal(ledger, around.clock))
    for step in story.then:
        if step == "accept":
            _accept(project, run_id, around)
        elif step == "answer":
            pending = pending_gate(project, run_id)
            assert pending is not None
            yes = Response(who="ursula", approve=True, diff=str(pending.diff))
            respond_to_gate(project, run_id, yes, around)
        elif step == "reject":
            reject(project, run_id, around, "not wanted")
        else:
            with suppress(KilledHere), open_ledger(project, run_id, around) as ledger:
                _again(scene, Journal(ledger, around.clock))


def _tell_whole(project: Project, story: Story, run_id: RunId, around: Surroundings) -> None:
    file = project.root.parent / "rules.json"
    file.write_text(json.dumps({"schema": 1, "rules": story.rules}))
    request = replace(story.request, model=f"scripted:{file}")
    start(project, request, around, run_id=run_id)
    if "accept" in story.then:
        _accept(project, run_id, around)


def _accept(project: Project, run_id: RunId, around: Surroundings) -> None:
    accept(project, run_id, around)
    subprocess.run(["git", "reset", "--quiet", "--hard", "HEAD~1"], cwd=project.root, check=True)


def _begin(scene: _Scene, journal: Journal) -> None:
    project, story = scene.project, scene.story
    git = project.settings.git.model_copy(
        update={"turn_action": story.action, "turn_push": story.push}
    )
    risk = project.settings.risk.model_copy(
        update={
            "allow_network": story.network and story.push != "never",
            **dict.fromkeys(story.flags, True),
        }
    )
    settings = project.settings.model_copy(update={"git": git, "risk": risk})
    frozen = Frozen(settings=settings, request=story.request)
    repository = project.repository
    journal.record(
        RunOpened(
            issue=frozen.request.issue,
            mode=frozen.mode,
            model=frozen.model,
            repo=str(project.root),
            branch=repository.branch,
            base=repository.head,
            base_tree=repository.tree,
            settings=journal.put(encode(frozen)),
            seed=frozen.settings.run.seed,
            version=__version__,
        )
    )
    with open_workspace(
        repository, scene.run_id, home=project.home, action=git.turn_action
    ) as workspace:
        _drive(scene, frozen, journal, workspace)
    finish(project, scene.run_id, journal)


def _again(scene: _Scene, journal: Journal) -> None:
    project = scene.project
    opened, turn = journal.state.opened, journal.state.turn
    assert opened is not None
    frozen = decode(Frozen, journal.get(opened.settings))
    larger = replace(frozen, request=replace(frozen.request, max_iterations=8))
    (project.runs / scene.run_id / "summary.json").unlink(missing_ok=True)
    journal.record(RunResumed(interrupted_turn=turn.turn_id if turn else None))
    with reopen_workspace(
        project.repository,
        scene.run_id,
        home=project.home,
        head=journal.state.head_commit or opened.base,
        action=frozen.settings.git.turn_action,
    ) as workspace:
        _drive(scene, larger, journal, workspace)
    finish(project, scene.run_id, journal)


def _drive(scene: _Scene, frozen: Frozen, journal: Journal, workspace: GitWorkspace) -> None:
    project, story, around = scene.project, scene.story, scene.around
    executor = scene.executor
    person = ByFunction(lambda _: True, "ursula") if story.approves else around.person
    journal.record(SandboxEnforced(level=SandboxLevel.LANDLOCK, detail="not used"))
    flags = frozen.settings.risk.model_dump()
    policy = RulePolicy(
        mode=frozen.mode, flags=flags, overrides=frozen.overrides, lock=project.lock
    )
    ceilings = policy.resolve().ceilings

    def asker(name: str) -> MeteredModel:
        model = ScriptedModel((), name=name)
        return MeteredModel(model, journal, ceilings, around.clock)

    card = Card(name="light", provider="scripted", tier=Tier.LIGHT)
    router = PolicyRouter(RoutingPolicy(cards=(card,), rules=Rules(pinned="light")), asker)
    turn = TurnPorts(
        journal=journal,
        workspace=workspace,
        prover=Prover(
            journal=journal,
            workspace=workspace,
            suite=DirectSuite(),
            audit=_auditor if story.finding else lambda _root: Audit(results=()),
            risk_flags=policy.resolve().risk_flags,
        ),
        executors={"repair": executor, "fixer": executor, "agent": executor},
        solver=RuleSolver(),
        solver_asker=asker("judge"),
        gates=default_gates(),
        policy=policy,
        person=Remembering(person, journal),
        clock=around.clock,
        sandbox=SandboxLevel.LANDLOCK,
        unsandboxed_allowed=False,
        publisher=publisher_of(
            frozen, journal, lambda c: push_branch(project.repository, scene.run_id, c)
        ),
    )
    ports = RunPorts(
        turn=turn,
        planner=RulePlanner(lambda _finding: True),
        critic=SyntaxCritic(is_test_path),
        reviewers=_mortal(scene, rule_reviewers()),
        router=router,
    )
    Run(ports).run()


def _mortal(scene: _Scene, reviewers: Sequence[Reviewer]) -> tuple[Reviewer, ...]:
    """The reviewers; where the story has it so, the process ends once when the second one is asked."""
    if not scene.story.dies_in_review or scene.has_died:
        return tuple(reviewers)
    return (reviewers[0], _Killing(scene), *reviewers[2:])


class _Killing:
    """Stands where a reviewer is asked when the process ends."""

    def __init__(self, scene: _Scene) -> None:
        self._scene = scene

    def review(self, seen: ReviewInput) -> Review:
        """End, with no answer."""
        del seen
        self._scene.has_died = True
        raise KilledHere


def _auditor(root: Path) -> Audit:
    text = (root / "calc.py").read_text()
    at = next((n for n, line in enumerate(text.splitlines(), 1) if "x * 3" in line), 0)
    finding = Finding(
        finding_id="direct:triple:1",
        tool="direct",
        rule="triple",
        severity=Severity.HIGH,
        category="lint",
        file="calc.py",
        line=at,
        column=1,
        message="`double` triples",
        fingerprint="direct-double",
    )
    bad = text.startswith("def double(x):\n    return x * 3")
    found = (finding,) if bad else ()
    return Audit(results=(AuditorResult(tool="direct", state=AuditorState.OK, findings=found),))
