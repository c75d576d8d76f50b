"""What a run is asked for, and all that it depends on, as it is stored with it."""

import json
from dataclasses import dataclass, replace

from surefoot.codec import decode
from surefoot.decisions.planning import Ways
from surefoot.ledger.blobs import BlobStore
from surefoot.models.registry import EMBEDDED, is_local
from surefoot.plans import Assignment, Plan
from surefoot.policy.decide import BUDGETS, read_mode
from surefoot.policy.rules import Overrides
from surefoot.project import Project
from surefoot.reading import opened_of, read_story_of
from surefoot.settings import CEILINGS, RunSettings, Settings
from surefoot.values import Issue, Mode, Profile, RunId

_ATTEMPTS = 2
"""A plan's ceilings are those of one run, times the number of its units, times this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What the user asks for, beyond the settings file; kept in the ledger for `resume`."""

    issue: Issue
    mode: str | None = None
    model: str | None = None
    base_url: str | None = None
    solver_model: str | None = None
    profile: str | None = None
    strategy: str | None = None
    seed: int | None = None
    max_iterations: int | None = None
    time_s: float | None = None
    cost_usd: float | None = None
    tokens: int | None = None
    unsandboxed: bool = False
    strict: bool = False
    plan: Plan | None = None
    """Of a run that executes one."""
    milestones: tuple[str, ...] = ()
    """Those of the plan that this run does; none: all."""
    jobs: int = 1
    """How many child runs go on at once."""
    assignment: Assignment | None = None
    """Of a child run: its unit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Frozen:
    """Everything that a run depends on, as stored with it."""

    settings: Settings
    request: Request
    trusted: bool = True
    """The file's settings are those of somebody who trusts it; else it raises no ceiling."""

    @property
    def mode(self) -> str:
        """As asked; else by what was given (SPEC B1)."""
        asked = self.request.mode or self.settings.run.mode
        bare = self.request.issue.source in ("audit", "sarif")
        return asked or (Mode.AUTO_FIX_SAFE if bare else Mode.AUTO_SOLVE_FULL).value

    @property
    def model(self) -> str:
        """The executor's model."""
        return self.request.model or self.settings.run.model

    @property
    def base_url(self) -> str | None:
        """Where an OpenAI-compatible server listens."""
        return self.request.base_url or self.settings.run.server_of(self.request.model)

    @property
    def profile(self) -> Profile:
        """What is preferred among models."""
        return Profile(self.request.profile or self.settings.models.profile)

    @property
    def strict(self) -> bool:
        """Whether the tests have to notice every mutant: of each unit's run, and of the merged work at its end."""
        return self.request.strict or self.settings.run.strict

    @property
    def mutated(self) -> int:
        """For how many changes the mutants of this run are: the work of a strict plan is that of all its units."""
        return len(self.request.plan.units) if self.strict and self.request.plan else 1

    @property
    def mutants(self) -> int | None:
        """Most mutants of the run's change that are tried; None: none are."""
        most = self.settings.test.mutants
        return None if most is None else most * self.mutated

    @property
    def ways(self) -> Ways:
        """Which strategy works on what: a weak model searches, any other works step by step."""
        asked = self.request.strategy or self.settings.run.strategy
        if asked == "agent" or (asked == "auto" and not is_local(self.model)):
            full = self.mode == Mode.AUTO_SOLVE_FULL
            return Ways(fix="agent", hard="agent" if full else None)
        searches = asked == "repair" or self.model == EMBEDDED
        return Ways(fix="repair", feature="repair" if searches else "agent")

    @property
    def overrides(self) -> Overrides:
        """Ceilings that the user set; iterations and files of a plan are each unit's."""
        asked, run = self.request, self._ceilings
        times = len(asked.plan.units) * _ATTEMPTS if asked.plan else 1
        return Overrides(
            max_iterations=None if asked.plan else asked.max_iterations or run.max_iterations,
            time_s=asked.time_s or run.time_limit_s,
            max_files=None if asked.plan else run.max_files,
            tokens=asked.tokens or run.budget_tokens,
            cost_usd=run.budget_usd if asked.cost_usd is None else asked.cost_usd,
            times=times,
        )

    @property
    def _ceilings(self) -> RunSettings:
        """The file's, each at most the mode's where nobody trusts the file."""
        run = self.settings.run
        if self.trusted:
            return run
        most = dict(zip(CEILINGS, BUDGETS[read_mode(self.mode)[0]], strict=True))
        own = {key: getattr(run, key) for key in CEILINGS}
        lower = {key: min(asked, most[key]) for key, asked in own.items() if asked is not None}
        return run.model_copy(update=lower)


def thaw(data: bytes) -> Frozen:
    """What was stored with a run; one from before tools were forged, or mutants tried, goes on without them.

    Raises:
        ValueError: It was never that of a run.
    """
    frozen, stored = decode(Frozen, data), json.loads(data)["settings"]
    settings = frozen.settings
    if "forge" not in stored.get("tools", {}):
        without = settings.tools.model_copy(update={"forge": False, "capture": False})
        settings = settings.model_copy(update={"tools": without})
    if "mutants" not in stored.get("test", {}):
        untried = settings.test.model_copy(update={"mutants": None})
        settings = settings.model_copy(update={"test": untried})
    return replace(frozen, settings=settings)


def frozen_of(project: Project, run_id: RunId) -> Frozen:
    """What a run was started with, as its ledger keeps it.

    Raises:
        UsageError: The run has no beginning.
        LedgerError: The blob is missing, or is not what it was.
    """
    opened = opened_of(read_story_of(project, run_id))
    return thaw(BlobStore(project.blobs).get(opened.settings))
