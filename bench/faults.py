"""Runs before a server whose replies are spoilt at random: how they end, and whether the spend is right.

    python -m bench.faults --count 500 --seed 1

Real sockets, the real HTTP client, the real metering, kernel, gates and git; the server is scripted and the project's tests
are answered at once, so that a run is over in a fraction of a second. The clock is a fake one: waiting costs nothing.
Every run has to end complete, blocked or paused, each failure has to bear the class of what was done to its reply, each call
has to have its reservation, and what the ledger counts has to be what the server counted, and never less where a reply was
lost. In every third run one of the models is at an address where nobody listens.
"""

import argparse
import os
import random
import socket
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

from bench.repository import opened
from bench.turn import MENDED, AtOnce, Nobody
from surefoot.decisions.planning import RulePlanner
from surefoot.events.calls import (
    BudgetReserved,
    BudgetSettled,
    ModelAsked,
    ModelFailed,
    ModelReplied,
)
from surefoot.gates import default_gates
from surefoot.gates.review import RuleReviewer
from surefoot.gitops import Repository
from surefoot.gitops.workspace import GitWorkspace, open_workspace
from surefoot.kernel.journal import Journal
from surefoot.kernel.metering import MeteredModel
from surefoot.kernel.ports import Asker, Notebook, TurnInput, TurnOutput, Workspace
from surefoot.kernel.proof import Prover
from surefoot.kernel.run import Run, RunPorts
from surefoot.kernel.turn import TurnPorts
from surefoot.models.catalogue import Card
from surefoot.models.openai_chat import ChatServer, OpenAIChat, Price
from surefoot.models.router import PolicyRouter
from surefoot.models.select import RoutingPolicy, Rules
from surefoot.models.unavailable import UnavailableModel
from surefoot.policy import Lock
from surefoot.policy.rules import Overrides, RulePolicy
from surefoot.preflight import SyntaxCritic
from surefoot.solver import RuleSolver
from surefoot.testing.chat_server import ScriptedServer, Seen, Wire, completion
from surefoot.testing.clock import FakeClock
from surefoot.testing.faulty_proxy import FaultyProxy, Spoiling
from surefoot.testing.ledger import MemoryLedger
from surefoot.testing.repository import ScratchRepository
from surefoot.values import (
    Audit,
    FileEdit,
    Issue,
    Message,
    ModelFailure,
    ModelFault,
    ModelRequest,
    RunId,
    RunStatus,
    SandboxLevel,
    Usage,
)

TESTS: Final = 3
"""Tests that fail at first; one good turn mends one."""
ENDS: Final = frozenset({RunStatus.COMPLETE, RunStatus.BLOCKED, RunStatus.PAUSED})
LATE: Final = frozenset({ModelFault.TIMEOUT})
"""On a busy machine any reply can come later than the client waits."""
CLASSES: Final[Mapping[Spoiling, frozenset[ModelFault | None]]] = {
    # llama.cpp may answer with nothing.
    Spoiling.NOT: frozenset({None, ModelFault.EMPTY}),
    Spoiling.RATE_LIMIT: frozenset({ModelFault.RATE_LIMIT}),
    Spoiling.RATE_LIMIT_RESET: frozenset({ModelFault.RATE_LIMIT}),
    Spoiling.ERROR: frozenset({ModelFault.OVERLOAD}),
    Spoiling.SLOW: frozenset({ModelFault.TIMEOUT}),
    Spoiling.CUT: frozenset({ModelFault.BROKEN_STREAM}),
    Spoiling.WRONG_JSON: frozenset({ModelFault.MALFORMED}),
    Spoiling.ERROR_BODY: frozenset({ModelFault.OVERLOAD}),
    Spoiling.ABORTED: frozenset({ModelFault.BROKEN_STREAM, ModelFault.UNREACHABLE}),
}
"""What each spoilt reply has to be called; None is an answer."""
Plan: TypeAlias = Sequence[Spoiling] | None
"""What becomes of a model's requests, one by one; None where nobody listens."""
_PRICE: Final = Price(prompt_usd=1.0, completion_usd=1.0)
_REPLY_S: Final = 0.4


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """One run."""

    status: RunStatus
    reason: str
    spoilt: tuple[Spoiling, ...]
    tokens: int
    """What the ledger counts."""
    complaint: str
    """What is wrong with its books; empty when nothing is."""


@dataclass(slots=True)
class Asking:
    """An `Executor` that mends one more test when a model answers."""

    done: int = 0
    prompts: int = field(default=0)

    def run_turn(
        self, task: TurnInput, workspace: Workspace, asker: Asker, notebook: Notebook
    ) -> TurnOutput:
        """Ask once; write one more when there is an answer."""
        del notebook
        self.prompts += 1
        message = Message(role="user", content=f"Turn {self.prompts} of {task.unit.unit_id}: go on")
        request = ModelRequest(purpose="bench", messages=(message,), max_tokens=16)
        answers = asker.ask((request,))
        if not answers:
            return TurnOutput(transcript="There is no budget for a question.", claim="none")
        if isinstance(answers[0], ModelFailure):
            return TurnOutput(transcript="", claim="none", failure=answers[0])
        self.done += 1
        workspace.apply([FileEdit(path=MENDED, text=str(self.done))])
        return TurnOutput(transcript=answers[0].text, claim="none", effective_actions=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Upstream:
    """The server whose replies are spoilt."""

    base_url: str
    api_key: str | None = None


def mix(seed: int) -> list[Spoiling]:
    """What becomes of the first requests of one server, by chance; what comes later is left alone."""
    chance = random.Random(seed)
    kinds = chance.sample(list(Spoiling), k=chance.randint(1, len(Spoiling)))
    return [chance.choice(kinds) for _ in range(chance.randint(1, 24))]


class Range:
    """A repository that many runs are made in, one after the other."""

    def __init__(self, folder: Path) -> None:
        self._policy = RulePolicy(
            mode="auto_solve_full", flags={}, overrides=Overrides(), lock=Lock(folder)
        )
        self._ceilings = self._policy.resolve().ceilings
        user = ScratchRepository.create(folder, os.environ["PATH"])
        user.commit({"package/module.py": "VALUE = 1\n", MENDED: "0"})
        self._user = user
        self._repository = Repository.discover(user.root, user.env)
        self._runs = 0

    def run(self, upstream: Upstream, *plans: Plan) -> Ended:
        """One run that may ask one model for each plan, each behind a proxy of its own that follows its plan."""
        with ExitStack() as stack:
            held = stack.enter_context(closing(socket.socket()))
            held.bind(("127.0.0.1", 0))  # bound and not listening: connections are refused
            nobody = f"http://127.0.0.1:{held.getsockname()[1]}/v1"
            proxies = {
                f"openai/m{number}": stack.enter_context(_proxy(upstream, plan))
                for number, plan in enumerate(plans)
                if plan is not None
            }
            names = [f"openai/m{number}" for number in range(len(plans))]
            urls = {n: proxies[n].base_url if n in proxies else nobody for n in names}
            return self._run(urls, proxies)

    def _run(self, models: Mapping[str, str], proxies: Mapping[str, FaultyProxy]) -> Ended:
        self._runs += 1
        clock = FakeClock()
        ledger = MemoryLedger(RunId(f"r{self._runs}"), clock=clock)
        journal = Journal(ledger, clock)
        with ExitStack() as stack:
            workspace = stack.enter_context(
                open_workspace(self._repository, RunId(f"r{self._runs}"), home=self._user.home)
            )
            issue = Issue(source="test", tests=("tests/test_it.py",))
            journal.record(opened(self._repository, issue, model=next(iter(models))))
            askers = {
                name: MeteredModel(
                    stack.enter_context(closing(_model(name, url))), journal, self._ceilings, clock
                )
                for name, url in models.items()
            }
            ports = self._ports(journal, clock, workspace, askers)
            status = Run(ports).run()
        events = [r.event for r in ledger.events()]
        return Ended(
            status=status,
            reason=journal.state.reason,
            spoilt=tuple(kind for proxy in proxies.values() for kind in proxy.spoilt),
            tokens=_tokens(journal.spend().usage),
            complaint=_complaint(events, journal, tuple(proxies.values()))
            or _misnamed(events, models, proxies),
        )

    def _ports(
        self,
        journal: Journal,
        clock: FakeClock,
        workspace: GitWorkspace,
        askers: dict[str, MeteredModel],
    ) -> RunPorts:
        cards = tuple(Card(name=name, provider="openai") for name in askers)
        nobody = UnavailableModel("judge", "there is no judge here")
        turn = TurnPorts(
            journal=journal,
            workspace=workspace,
            prover=Prover(
                journal=journal,
                workspace=workspace,
                suite=AtOnce(TESTS),
                audit=lambda _root: Audit(results=()),
            ),
            executors={"repair": Asking()},
            solver=RuleSolver(),
            solver_asker=MeteredModel(nobody, journal, self._ceilings, clock),
            gates=dict(default_gates()),
            policy=self._policy,
            person=Nobody(),
            clock=clock,
            sandbox=SandboxLevel.BUBBLEWRAP,
            unsandboxed_allowed=False,
        )
        return RunPorts(
            turn=turn,
            planner=RulePlanner(lambda _finding: False),
            critic=SyntaxCritic(lambda path: path.startswith("test")),
            reviewers=(RuleReviewer(()),),
            router=PolicyRouter(
                RoutingPolicy(cards=cards, rules=Rules(pinned=cards[0].name)), askers.__getitem__
            ),
        )


def _model(name: str, url: str) -> OpenAIChat:
    return OpenAIChat("m", ChatServer(base_url=url, reply_s=_REPLY_S), price=_PRICE, label=name)


def _proxy(upstream: Upstream, plan: Sequence[Spoiling]) -> FaultyProxy:
    return FaultyProxy(
        upstream.base_url,
        lambda n: plan[n] if n < len(plan) else Spoiling.NOT,
        api_key=upstream.api_key,
        slow_s=4 * _REPLY_S,
    )


def _complaint(events: Sequence[object], journal: Journal, proxies: Sequence[FaultyProxy]) -> str:
    """What is wrong with reservations or spend."""
    asked = [e for e in events if isinstance(e, ModelAsked)]
    reserved = sum(isinstance(e, BudgetReserved) for e in events)
    settled = sum(isinstance(e, BudgetSettled) for e in events)
    if not len(asked) == reserved == settled:
        return f"{len(asked)} calls, {reserved} reservations, {settled} settled"
    spend = journal.spend()
    if spend.reserved_tokens or len({a.reservation for a in asked}) != len(asked):
        return "a reservation was left open or used twice"
    answered = [
        e
        for e in events
        # An empty answer is a failure whose usage the server reported.
        if isinstance(e, ModelReplied)
        or (isinstance(e, ModelFailed) and e.fault is ModelFault.EMPTY)
    ]
    replied = sum(_tokens(e.usage) for e in answered)
    delivered = sum(proxy.counted(Spoiling.NOT) for proxy in proxies)
    sent = sum(kind is Spoiling.NOT for proxy in proxies for kind in proxy.spoilt)
    # On a busy machine a whole reply can come later than the client waits: then it is a lost one.
    if replied > delivered or (len(answered) == sent and replied < delivered):
        return f"replies are counted at {replied} tokens, the server said {delivered}"
    lost = _tokens(spend.usage) - replied
    spoilt = sum(
        proxy.counted(Spoiling.SLOW, Spoiling.CUT, Spoiling.WRONG_JSON) for proxy in proxies
    )
    spoilt += delivered - replied
    if lost < spoilt:
        return f"lost replies are counted at {lost} tokens, the server counted {spoilt}"
    return ""


def _misnamed(
    events: Sequence[object], models: Iterable[str], proxies: Mapping[str, FaultyProxy]
) -> str:
    """A failure whose class is not that of what was done to its reply."""
    askers = {e.request: e.model for e in events if isinstance(e, ModelAsked)}
    for model in models:
        ended = [
            e.fault if isinstance(e, ModelFailed) else None
            for e in events
            if isinstance(e, ModelFailed | ModelReplied) and askers[e.request] == model
        ]
        if model not in proxies:
            if set(ended) - {ModelFault.UNREACHABLE}:
                return f"nobody listens at {model}, and it is said: {ended}"
            continue
        done = proxies[model].spoilt
        if len(done) != len(ended):
            return f"{model}: {len(done)} requests, {len(ended)} endings"
        for number, (kind, fault) in enumerate(zip(done, ended, strict=True)):
            if fault not in CLASSES[kind] | LATE:
                return f"{model}, request {number}: {kind} is called {fault}"
    return ""


def _tokens(usage: Usage) -> int:
    return usage.prompt_tokens + usage.completion_tokens


def answering(seen: Seen) -> Wire:
    """The scripted server: a short answer with a usage that grows with the prompt."""
    prompt = len(str(seen.body["messages"])) // 4
    usage = {"prompt_tokens": prompt, "completion_tokens": 7, "total_tokens": prompt + 7}
    return Wire(body=completion("One more.", usage=usage))


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    ends: Counter[str] = Counter()
    spoilt: Counter[str] = Counter()
    wrong = []
    with tempfile.TemporaryDirectory(prefix="surefoot-bench-") as folder:
        runs = Range(Path(folder))
        with ScriptedServer(answering) as server:
            for seed in range(options.seed, options.seed + options.count):
                ended = runs.run(Upstream(base_url=server.base_url), *plans(seed))
                ends[ended.status] += 1
                spoilt.update(ended.spoilt)
                if ended.complaint or ended.status not in ENDS:
                    wrong.append(f"seed {seed}: {ended.status}: {ended.complaint or ended.reason}")
    print(f"{options.count} runs: " + ", ".join(f"{n} {status}" for status, n in ends.items()))
    print("requests: " + ", ".join(f"{n} {kind}" for kind, n in spoilt.most_common()))
    print(f"{len(wrong)} runs with a wrong end or wrong books")
    print("\n".join(wrong))
    raise SystemExit(bool(wrong))


def plans(seed: int) -> list[Plan]:
    """One mix a model: two models in every second run, and in every third one more where nobody listens."""
    mixes: list[Plan] = [mix(2 * seed + n) for n in range(1 + seed % 2)]
    return [None, *mixes] if seed % 3 == 0 else mixes


if __name__ == "__main__":
    main()
