"""What `surefoot doctor` looks at: each check says what is there and, where it fails, how to mend it."""

import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from surefoot.assembly import Surroundings, lineup_of, plan_of
from surefoot.errors import RepositoryError, SettingsError, SurefootError
from surefoot.gitops import Repository, check_git
from surefoot.models import KnownModel, known_models
from surefoot.project import Places, Project, open_project
from surefoot.request import Frozen, Request
from surefoot.sandbox import ProbeResult, conformance, open_processes
from surefoot.suite import SuitePlan
from surefoot.values import Issue, SandboxLevel

_DISK_BYTES = 2 * 1024**3
_AGAIN: Final = "mend that and ask `surefoot doctor` again"
_FENCE: Final = "bring bubblewrap and the kernel up to date, or pass --unsandboxed to go on with the sandbox as it is"
_OTHER_MODEL: Final = "name another one with --model, `[run] model` or `[models] use`; `surefoot models list` has those that are ready"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that a run needs."""

    name: str
    ok: bool
    detail: str
    mend: str = ""
    """What to do about it; there is always something where it is not ok, and nothing where it is."""

    @classmethod
    def judged(cls, name: str, *, ok: bool, detail: str, mend: str) -> Self:
        """One whose mend is known before it is known whether it needs one."""
        return cls(name=name, ok=ok, detail=detail, mend="" if ok else mend)

    @classmethod
    def failed(cls, name: str, told: str, otherwise: str = _AGAIN) -> Self:
        """One that failed: a sentence of ours ends with its mend; `otherwise` is that of one that has none."""
        what, _, mend = told.rpartition("; ")
        return cls(name=name, ok=False, detail=what or told, mend=mend if what else otherwise)


def examine(repo: Path, places: Places, around: Surroundings) -> tuple[Check, ...]:
    """All checks, in the order in which a run would need them."""
    bodies: tuple[tuple[str, Callable[[], Iterator[Check]]], ...] = (
        ("git", lambda: _git(around)),
        ("sandbox", lambda: _sandbox(places)),
        ("model", lambda: _models(repo, places, around)),
        ("disk", lambda: _disk(places)),
        ("repository", lambda: _repository(repo, places, around)),
    )
    return tuple(check for name, body in bodies for check in _tried(name, body))


def _tried(name: str, body: Callable[[], Iterator[Check]]) -> Iterator[Check]:
    """The checks of a part, and under its name what broke it off."""
    try:
        yield from body()
    except SurefootError as error:
        yield Check.failed(name, str(error))
    except OSError as error:
        told = f"{error.filename}: {error.strerror}"
        mend = "set SUREFOOT_HOME to a folder that can be written"
        yield Check(name=name, ok=False, detail=told, mend=mend)


def _git(around: Surroundings) -> Iterator[Check]:
    yield Check(name="git", ok=True, detail=check_git(around.environ))


def _sandbox(places: Places) -> Iterator[Check]:
    places.state.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=places.state, prefix="doctor-") as folder:
        scratch = Path(folder)
        processes = open_processes(scratch=scratch)
        yield fence_check(processes.level, conformance(processes, scratch))


def fence_check(level: SandboxLevel, results: Sequence[ProbeResult]) -> Check:
    """How the fence held, and what let something through."""
    holes = [f"{r.name}: {r.detail}" for r in results if not r.refused]
    refused = f"{level}: {len(results) - len(holes)} of {len(results)} escapes refused"
    return Check.judged(
        "sandbox",
        ok=not holes and level is not SandboxLevel.NONE,
        detail="; ".join([refused, *holes]),
        mend=_FENCE,
    )


def _models(repo: Path, places: Places, around: Surroundings) -> Iterator[Check]:
    """The models that a run here would ask; none of them is asked, which `surefoot models test` does."""
    embedded = {m.spec: m for m in known_models(places.cache)}
    try:
        project = open_project(repo, places)
    except (RepositoryError, SettingsError):  # told by the checks of the repository
        for model in embedded.values():
            yield _embedded(model, model.spec)
        return
    frozen = Frozen(settings=project.settings, request=Request(issue=Issue(source="audit")))
    lineup = lineup_of(project, frozen, around.environ)
    for part in lineup.parts():
        name, role = part.model, " and ".join(part.roles) or "is named"
        if part.denial is not None:
            told = f"{name} may not be asked: {part.denial.reason}"
            yield Check.failed("model", told, _OTHER_MODEL)
        elif name in embedded:
            yield _embedded(embedded[name], f"{name} {role}")
        else:
            lineup.open(name)
            yield Check(name="model", ok=True, detail=f"{name} {role}; `surefoot models test` asks")


def _embedded(model: KnownModel, who: str) -> Check:
    told = f"{who}: {model.detail}"
    return Check(name="model", ok=True, detail=told) if model.ready else Check.failed("model", told)


def _disk(places: Places) -> Iterator[Check]:
    free = shutil.disk_usage(places.state.parent if not places.state.exists() else places.state)
    yield Check.judged(
        "disk",
        ok=free.free >= _DISK_BYTES,
        detail=f"{free.free / 1024**3:.0f} GiB free for worktrees in {places.state}",
        mend="free some space, or set SUREFOOT_HOME to a larger disk",
    )


def _repository(repo: Path, places: Places, around: Surroundings) -> Iterator[Check]:
    try:
        project = open_project(repo, places)
    except SettingsError as error:
        yield _checkout(Repository.discover(repo))
        yield Check.failed("settings", str(error))
        return
    yield _checkout(project.repository)
    yield Check.judged(
        "settings",
        ok=not project.untrusted,
        detail="surefoot.toml is read" if project.settings_hash else "no surefoot.toml; defaults",
        mend=f"{', '.join(project.untrusted)} have no effect until `surefoot trust`",
    )
    yield from _tried("lock", lambda: _lock(project))
    yield from _tried("tests", lambda: _tests(project, around))


def _checkout(repository: Repository) -> Check:
    repository.require_branch()
    return Check(
        name="repository",
        ok=True,
        detail=f"{repository.root} on {repository.branch}"
        + (" (uncommitted changes stay out of the work)" if repository.dirty else ""),
    )


def _lock(project: Project) -> Iterator[Check]:
    locked = project.lock.reason()
    yield Check.judged(
        "lock",
        ok=locked is None,
        detail=f"locked: {locked}" if locked else "not locked",
        mend="`surefoot unlock`",
    )


def _tests(project: Project, around: Surroundings) -> Iterator[Check]:
    plan = plan_of(project, project.settings.test, around.environ)
    how = f"with {plan.python}" if isinstance(plan, SuitePlan) else f"({plan.format})"
    yield Check(name="tests", ok=True, detail=f"{' '.join(plan.command)} {how}")
    for told in plan.refused if isinstance(plan, SuitePlan) else ():
        found, _, mend = told.rpartition("; ")
        yield Check(name="environment", ok=False, detail=found, mend=mend)
