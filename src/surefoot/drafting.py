"""How a plan comes about from an issue: the phases before the gate, with the adapters that each of them works with."""

import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, TypeVar

from surefoot.assembly import Surroundings, lineup_of, metering, policy_of, turns_before
from surefoot.context import RepositoryMap
from surefoot.decisions.clarification import THE_OTHERS_TOO
from surefoot.decisions.complexity import COMPLEXITY, ComplexityQuestion, files_named, without_model
from surefoot.decisions.environment import ENVIRONMENT, SMALL_CONTEXT, EnvironmentQuestion, assess
from surefoot.decisions.plan_draft import PlanDraftAnswer
from surefoot.decisions.planning import ruled_plan
from surefoot.decisions.signature import NO_BUDGET, Unanswered, ruled
from surefoot.events.calls import ModelChosen, ModelGrounded
from surefoot.events.orchestration import SourceRead
from surefoot.events.policy import SandboxEnforced
from surefoot.events.work import FactLearned
from surefoot.kernel.budget import share_used
from surefoot.kernel.journal import Journal
from surefoot.kernel.lifecycle import Phase, Trigger
from surefoot.kernel.ports import Asker, RouteRequest, Suite
from surefoot.kernel.run import Step
from surefoot.kernel.summary import unusable
from surefoot.models.router import PolicyRouter
from surefoot.plan import (
    Checkout,
    Drafter,
    Fetch,
    Found,
    Origin,
    Refused,
    Setting,
    clarify,
    compile_plan,
    counted,
    in_packages,
    in_repository,
    look,
    named_by_user,
    shown,
    site_packages,
    targets_of,
)
from surefoot.plan import Desk as Answers
from surefoot.plans import Clarified, Plan, Question, Refusal, Source
from surefoot.project import Project
from surefoot.request import Frozen, Request
from surefoot.suite import CommandPlan, SuitePlan
from surefoot.values import (
    Complexity,
    ModelFailure,
    ReportState,
    RunId,
    SandboxLevel,
    TestReport,
    TreeId,
    Unit,
    UnitId,
    UnitType,
)

T = TypeVar("T")
_MAP_TOKENS: Final = 2_000
_SHOWN_TESTS: Final = 20
_USABLE: Final = (
    ReportState.COMPLETE,
    ReportState.COLLECTION_ERROR,
    # A repository that begins has no tests yet; its plan brings them.
    ReportState.NOTHING_COLLECTED,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRequest:
    """What is to be planned, and what may be done for it."""

    request: Request
    given: Plan | None = None
    """A plan made by hand, to be judged and written as it is."""
    answers: Mapping[str, str] = field(default_factory=dict)
    """To questions, by their id or text: an option, or its number from 1 on."""
    answers_by: str = "given answers"
    """Who gave them, e.g. the name of a file."""
    defaults: bool = False
    """Ask nobody: what is not answered here takes its default."""
    rounds: int | None = None
    """Of questions; None: as the settings say."""
    sources: tuple[str, ...] = ()
    """Files, or URLs, to be read in research."""
    fetch: Fetch | None = None
    """What reads a URL; None: the network is not allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """What every phase works with."""

    project: Project
    asked: PlanRequest
    frozen: Frozen
    around: Surroundings
    journal: Journal
    plan_id: RunId
    files: tuple[str, ...]
    """Paths of the base."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """Where discovery looks: a scratch checkout of the base, with its tests."""

    root: Path
    suite: Suite
    plan: SuitePlan | CommandPlan
    level: SandboxLevel
    fence: str


class Made:
    """A plan from an issue, phase by phase."""

    def __init__(self, desk: Desk, room: Room) -> None:
        self._desk, self._room, self._journal = desk, room, desk.journal
        self._models = _Models(desk)
        opened = desk.journal.state.opened
        assert opened is not None  # noqa: S101  # the first event of every planning
        self._drafter = Drafter(notebook=desk.journal, asker=self._models.asker, seed=opened.seed)
        self._issue = desk.frozen.request.issue
        self._answers: tuple[Clarified, ...] = ()
        self._sources: tuple[Source, ...] = ()
        self._setting: Setting | None = None
        self._report: TestReport | None = None
        self._draft: PlanDraftAnswer | None = None
        self._refused: Refused | None = None
        self._repairs = desk.frozen.settings.plan.repairs
        self.plan: Plan | None = None
        self.question: Question | None = None
        self.steps: Mapping[Phase, Callable[[], Step]] = {
            Phase.DISCOVER: self._discover,
            Phase.CLARIFY: self._clarify,
            Phase.RESEARCH: self._research,
            Phase.DRAFT: self._drafted,
            Phase.COMPILE: self._compiled,
        }

    def refused(self, refusals: tuple[Refusal, ...]) -> bool:
        """Take notice; whether the drafter may try again."""
        if self._draft is None or self._repairs <= 0 or self._models.asker() is None:
            return False
        self._repairs -= 1
        self._refused = Refused(draft=self._draft, refusals=refusals)
        return True

    # --- phases ----------------------------------------------------------------------------------

    def _discover(self) -> Step:
        room, desk = self._room, self._desk
        self._journal.record(SandboxEnforced(level=room.level, detail=room.fence))
        report = room.suite.run(room.root)
        self._journal.record_tests(TreeId(desk.project.repository.tree), "baseline", report)
        if report.state not in _USABLE:
            return Trigger.BLOCKER, unusable(report)
        targets = targets_of(self._issue, report)
        if isinstance(targets, str):
            return Trigger.BLOCKER, targets
        found = self._look(report, targets)
        place = ruled(
            ENVIRONMENT,
            EnvironmentQuestion(
                system=f"{platform.system()}, Python {platform.python_version()}",
                files=desk.files,
                test_command=room.suite.command,
                sandbox=room.level,
                model=desk.frozen.model,
                context_tokens=self._models.context_tokens,
                parallel=1,
            ),
            self._journal,
            assess,
        )
        symbols = RepositoryMap(desk.project.places.cache / "symbols")
        self._setting = Setting(
            issue=self._issue,
            environment=place.summary,
            overview=symbols.render(room.root, desk.files, self._issue.text, _MAP_TOKENS),
            tests=_told(report, found),
            files=desk.files,
            found=found,
        )
        self._report = report
        return Trigger.DISCOVERED, (
            f"{counted(len(targets), 'failing test')} in {counted(len(found.defects), 'group')} "
            f"by what they run; {counted(len(found.others), 'other')} that the issue does not speak of"
        )

    def _clarify(self) -> Step:
        desk, setting = self._desk, self._known()
        asked, person = desk.asked, desk.around.person
        problem: list[Unanswered] = []

        def propose(answers: Sequence[Clarified]) -> tuple[Question, ...] | str:
            found = self._models.until_answered(lambda: self._drafter.questions(setting, answers))
            if isinstance(found, Unanswered):
                problem.append(found)
                return found.reason
            return found

        rounds = desk.frozen.settings.plan.rounds if asked.rounds is None else asked.rounds
        clarity = clarify(
            propose,
            Answers(
                given=asked.answers,
                given_by=asked.answers_by,
                person=None if asked.defaults else person,
                clock=desk.around.clock,
                notebook=self._journal,
            ),
            rounds,
        )
        self._answers = clarity.answers
        if problem:
            return _unanswered(problem[0])
        if clarity.unanswered is not None:
            self.question = clarity.unanswered
            told = f"{shown(clarity.unanswered)}\nOnly a person can say; answer it at the terminal or with --answers FILE"
            return Trigger.BLOCKER, told
        if any(a.answer == THE_OTHERS_TOO for a in self._answers):
            both = (*setting.found.targets, *setting.found.others)
            assert self._report is not None  # noqa: S101  # of the discovery
            self._setting = replace(setting, found=self._look(self._report, both))
        return (
            Trigger.CLARIFIED,
            f"{counted(len(self._answers), 'question')} answered; {clarity.reason}",
        )

    def _research(self) -> Step:
        desk, room, setting = self._desk, self._room, self._known()
        python = room.plan.python if isinstance(room.plan, SuitePlan) else None
        text = self._issue.text
        found = (
            *in_repository(text, room.root, desk.files, setting.found.definitions),
            *in_packages(text, site_packages(python)),
            *named_by_user(desk.asked.sources, desk.asked.fetch),
        )
        self._sources = tuple(dict.fromkeys(found))
        self._journal.record_all([SourceRead(source=source) for source in self._sources])
        return Trigger.RESEARCHED, f"{counted(len(self._sources), 'source')} read"

    def _drafted(self) -> Step:
        setting = self._known()
        made = self._models.until_answered(
            lambda: self._drafter.draft(setting, self._answers, self._sources, self._refused)
        )
        if isinstance(made, Unanswered):
            return _unanswered(made)
        self._draft = made
        return Trigger.DRAFTED, f"{counted(len(made.units), 'unit')}: {made.analysis}"[:300]

    def _compiled(self) -> Step:
        desk, setting, draft = self._desk, self._known(), self._draft
        assert draft is not None  # noqa: S101  # the table leads here only with one
        size = ruled(
            COMPLEXITY,
            ComplexityQuestion(
                repository=setting.overview,
                issue=self._issue.text,
                files=len(desk.files),
                files_named=files_named(self._issue.text, desk.files),
                failing=len(setting.found.targets),
            ),
            self._journal,
            without_model,
        )
        self.plan = compile_plan(
            draft,
            Origin(
                plan_id=desk.plan_id,
                issue=self._issue,
                base=desk.project.repository.head,
                complexity=Complexity(size.complexity),
                answers=self._answers,
                sources=self._sources,
            ),
        )
        needs = sum(len(unit.needs) for unit in self.plan.units)
        return (
            Trigger.COMPILED,
            f"{counted(len(self.plan.units), 'unit')} with {counted(needs, 'need')}",
        )

    def _look(self, report: TestReport, targets: Sequence[str]) -> Found:
        at = Checkout(root=self._room.root, files=self._desk.files)
        return look(self._issue, report, targets, self._room.suite, at)

    def _known(self) -> Setting:
        assert self._setting is not None  # noqa: S101  # the table leads here only after discovery
        return self._setting


class _Models:
    """Who is asked: chosen by policy when somebody is needed, another one when the first fails."""

    def __init__(self, desk: Desk) -> None:
        self._desk, self._journal = desk, desk.journal
        self._lineup = lineup_of(desk.project, desk.frozen, desk.around.environ)
        self._failed: dict[str, ModelFailure] = {}
        self._asker: Asker | None = None
        self._sought = False
        self._router: PolicyRouter | None = None

    @property
    def context_tokens(self) -> int:
        """What the largest model that may be asked holds, by the catalogue."""
        return max(card.context_tokens for card in self._lineup.routing().cards)

    def asker(self) -> Asker | None:
        """The model that plans; None when there is none that could: a small one does worse than the rule."""
        if not self._sought:
            self._sought, self._asker = True, self._chosen()
        return self._asker

    def until_answered(self, ask: Callable[[], T | Unanswered]) -> T | Unanswered:
        """The answer of the first model that gives one; the last one's failure when none does."""
        while True:
            made = ask()
            if not isinstance(made, Unanswered) or made.failure is None or self._asker is None:
                return made
            model = self._asker.model
            self._failed[model] = made.failure
            self._journal.record(
                ModelGrounded(model=model, fault=made.failure.fault, until=None, reason=made.reason)
            )
            self._asker = self._chosen()
            if self._asker is None:
                return made

    def _chosen(self) -> Asker | None:
        desk = self._desk
        unit = Unit(
            unit_id=UnitId("plan"),
            unit_type=UnitType.PLAN,
            strategy="agent",
            issue=desk.frozen.request.issue,
            plan=ruled_plan(desk.frozen.request.issue, (), ()),
        )
        resolution = policy_of(desk.project, desk.frozen).resolve()
        routed = self._routes().route(
            RouteRequest(
                unit=unit,
                refused=frozenset(),
                grounded=frozenset(self._failed),
                pressure=share_used(resolution.ceilings, self._journal.spend()),
            )
        )
        asker = routed.asker
        self._journal.record_all(
            (
                *routed.verdicts,
                ModelChosen(
                    unit_id=unit.unit_id,
                    model=asker.model if asker else "",
                    chain=routed.chain,
                    reason=routed.reason,
                ),
            )
        )
        if asker is None or asker.context_tokens > SMALL_CONTEXT:
            return asker
        told = f"{asker.model} holds {asker.context_tokens} tokens, too few to plan with; the rule plans"
        self._journal.record(FactLearned(topic="planning", text=told))
        return None

    def _routes(self) -> PolicyRouter:
        if self._router is None:
            desk = self._desk
            ceilings = policy_of(desk.project, desk.frozen).resolve().ceilings
            metered = metering(desk.project, desk.frozen, self._journal, ceilings, desk.around)
            history = turns_before(desk.project, desk.plan_id)
            self._router = PolicyRouter(
                self._lineup.routing(history), lambda name: metered(self._lineup.open(name))
            )
        return self._router


def _unanswered(made: Unanswered) -> Step:
    if made.reason == NO_BUDGET:
        return Trigger.BUDGET_SPENT, made.reason
    return Trigger.BLOCKER, made.reason


def _told(report: TestReport, found: Found) -> str:
    """How the tests stand, for a model."""
    lines = [f"{len(report.passing)} of {len(report.results)} tests pass."]
    failing = {r.test_id: r.message for r in report.results if r.test_id in set(report.failing)}
    shown_first = [*found.targets, *found.others][:_SHOWN_TESTS]
    lines += [f"{test} fails: {failing[test].strip()[:200]}" for test in shown_first]
    return "\n".join(lines)
