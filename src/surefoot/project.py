"""A user's repository as Surefoot sees it: settings, trust, lock and the `.surefoot` folder. Reads only until `prepare`."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

from surefoot.codec import digest
from surefoot.errors import (
    EnvironmentBrokenError,
    LockedError,
    RepositoryError,
    SettingsError,
    UsageError,
)
from surefoot.gitops import Repository
from surefoot.gitops.scratch import scratch_in
from surefoot.plain_files import write_whole
from surefoot.policy import Lock
from surefoot.settings import FILE_NAME, Settings, read_settings
from surefoot.vocabulary import Digest, RunId, UnitId, is_unicode

PLAN_PREFIX: Final = "plan-"
"""Of the ids of plannings; a run's begins with its time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where things are kept that do not belong into a repository."""

    state: Path
    """Worktrees and scratch directories, one folder a repository."""
    cache: Path
    """The embedded model."""

    @property
    def scratch(self) -> Path:
        """Folders that do not outlast their command, of all repositories."""
        return self.state / "scratch"


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A repository with what is needed to work on it."""

    repository: Repository
    places: Places
    settings: Settings
    """As they take effect: without what is not trusted."""
    settings_hash: Digest | None
    untrusted: tuple[str, ...]
    """Keys of `surefoot.toml` that have no effect because nobody trusted this content."""
    foreign: bool = False
    """Unpacked from a bundle: what its records ask to be run, this user never asked for."""
    unpacked: bool = False
    """Its checkout is not the user's but one that a bundle was unpacked to, without files until they are needed."""

    @property
    def root(self) -> Path:
        """The user's checkout."""
        return self.repository.root

    @property
    def folder(self) -> Path:
        """`.surefoot`, beside the checkout's files."""
        return self.root / ".surefoot"

    @property
    def archive(self) -> Path:
        """One file an archived run, named after it."""
        return self.folder / "archive"

    @property
    def runs(self) -> Path:
        """One folder a run."""
        return self.folder / "runs"

    @property
    def plans(self) -> Path:
        """One folder a plan."""
        return self.folder / "plans"

    @property
    def blobs(self) -> Path:
        """Prompts, replies, output by content."""
        return self.folder / "blobs"

    @property
    def lock(self) -> Lock:
        """The execution lock, of all checkouts of the repository."""
        return Lock(self.folder, self.repository.common_dir)

    def require_unlocked(self) -> None:
        """Let nothing run in a locked repository (SPEC B2).

        Raises:
            LockedError: It is locked, or its lock cannot be read.
        """
        why = self.lock.reason()
        if why is not None:
            raise LockedError(f"the repository is locked: {why}; `surefoot unlock` opens it")

    @property
    def home(self) -> Path:
        """Worktrees of this repository; outside of it."""
        return self.places.state / "worktrees" / self.key

    @property
    def scratch(self) -> Path:
        """Short-lived directories of this repository's runs."""
        return self.places.scratch / self.key

    @property
    def trusted(self) -> Path:
        """Hashes of trusted settings: with the user, so that no repository can bring its own."""
        return self.places.state / "trust" / self.key

    @property
    def key(self) -> str:
        """A folder name of the repository: readable, and unique by its path."""
        return f"{self.root.name}-{digest(str(self.root).encode())[:12]}"

    def prepare(self) -> None:
        """Create what a run writes into.

        Raises:
            EnvironmentBrokenError: A place cannot be written.
        """
        with writing(self.folder):
            for folder in (self.runs, self.blobs, self.home, self.scratch):
                folder.mkdir(parents=True, exist_ok=True)
            ignore = self.folder / ".gitignore"
            if not ignore.exists():
                write_whole(ignore, b"*\n")

    def run_ids(self) -> tuple[RunId, ...]:
        """All runs of this repository, oldest first, each plan run before those of its units."""
        return _folders(self.runs)

    def plan_ids(self) -> tuple[RunId, ...]:
        """All plannings of this repository, oldest first."""
        return _folders(self.plans)

    def archived(self) -> Mapping[RunId, Path]:
        """The files of the runs that were put away, oldest first."""
        return {RunId(file.stem): file for file in sorted(self.archive.glob("*.zip"))}

    def find_run(self, given: str | None) -> RunId:
        """A run by its id, a unique beginning or end of it, or the last one.

        Raises:
            UsageError: There is none, or more than one.
        """
        ids = self.run_ids()
        if given is not None and not _near(given, ids):
            self._refuse_plan(given)
            self._refuse_archived(given)
        if not ids:
            raise UsageError(self._without_runs(given))
        if given is None:
            return plan_run_of(ids[-1])
        return _one(given, ids, "run")

    def _refuse_plan(self, given: str) -> None:
        found = _near(given, self.plan_ids())
        if len(found) == 1:
            raise UsageError(
                f"{found[0]} is a plan and no run; `surefoot explain {found[0]}` tells how it came about, and "
                f"`surefoot run {found[0]}` executes it"
            )

    def _refuse_archived(self, given: str) -> None:
        if file := self.find_archived(given):
            raise UsageError(
                f"run {file.stem} is archived in {file}; `surefoot verify {file.stem}` and "
                f"`surefoot replay --bundle {file}` read it there"
            )

    def find_archived(self, given: str) -> Path | None:
        """The bundle of an archived run by its id or a unique beginning or end of it; None when there is none, or more than one."""
        archived = self.archived()
        found = [given] if given in archived else _near(given, tuple(archived))
        return archived[RunId(found[0])] if len(found) == 1 else None

    def _without_runs(self, given: str | None) -> str:
        archived = tuple(self.archived())
        if not archived:
            return "this repository has no runs yet; `surefoot solve` makes one"
        if given is not None:
            return f"no run is called {given!r}; the last ones are {', '.join(archived[-3:])}"
        return (
            f"all of this repository's runs are archived; the last one is {archived[-1]}, and "
            f"`surefoot verify {archived[-1]}` reads it"
        )

    def find_plan(self, given: str | None) -> RunId:
        """A plan by its id, a unique beginning or end of it, or the last one.

        Raises:
            UsageError: There is none, or more than one.
        """
        ids = self.plan_ids()
        if not ids:
            raise UsageError("this repository has no plans yet; `surefoot plan` makes one")
        return ids[-1] if given is None else _one(given, ids, "plan")

    def find_record(self, given: str | None) -> RunId:
        """A run or a plan, for those who only read its ledger. Raises as `find_run`."""
        plans = self.plan_ids()
        if given is None or not plans:
            return self.find_run(given)
        ids = (*self.run_ids(), *plans)
        if not _near(given, ids):
            self._refuse_archived(given)
        return _one(given, ids, "run or plan")

    def ledger_file(self, run_id: RunId) -> Path:
        """The JSONL of a run, or of a planning."""
        home = self.plans if run_id.startswith(PLAN_PREFIX) else self.runs
        return home / run_id / "events.jsonl"

    def require_settings(self) -> None:
        """Refuse where there is nothing to trust.

        Raises:
            UsageError: There is no `surefoot.toml`.
        """
        self._to_trust()

    def _to_trust(self) -> tuple[Settings, str]:
        settings, found = read_settings(self.root)
        if found is None:
            raise UsageError(f"there is no {FILE_NAME} to trust; `surefoot init` writes one")
        return settings, found

    def trust(self, record: Callable[[tuple[str, ...]], object] | None = None) -> tuple[str, ...]:
        """Accept the present content of `surefoot.toml`; returns the keys that now take effect. Raises as `require_settings`.

        `record` is told the keys before they do; what it raises leaves the content untrusted.
        """
        settings, found = self._to_trust()
        self.prepare()
        if record is not None:
            record(settings.widening())
        with writing(self.trusted):
            self.trusted.parent.mkdir(parents=True, exist_ok=True)
            with self.trusted.open("a") as file:
                file.write(found + "\n")
        return settings.widening()


@contextmanager
def writing(place: Path) -> Iterator[None]:
    """Turn an `OSError` of the block, which writes to `place`, into one sentence with the mend.

    Raises:
        EnvironmentBrokenError: The disk is full or read-only, or the place can hold no file.
    """
    try:
        yield
    except OSError as error:
        raise EnvironmentBrokenError(
            f"{error.filename or place} cannot be written: {error.strerror}; "
            "free space or make it writable, or set SUREFOOT_HOME to another place"
        ) from None


def scratch_of(places: Places, kind: Literal["run", "bundle"]) -> AbstractContextManager[Path]:
    """A folder for short-lived files, outside every checkout, gone afterwards.

    Raises:
        EnvironmentBrokenError: It cannot be made.
    """
    with writing(places.scratch):
        places.scratch.mkdir(parents=True, exist_ok=True)
    return scratch_in(places.scratch, kind)


def scratch_folder(project: Project) -> AbstractContextManager[Path]:
    """A folder for short-lived files, outside the checkout, gone afterwards.

    Raises:
        EnvironmentBrokenError: It cannot be made.
    """
    return scratch_of(project.places, "run")


def plan_run_of(run_id: RunId) -> RunId:
    """The plan run that a unit's run belongs to; any other run's own id."""
    return RunId(run_id.partition(".")[0])


def child_run(parent: RunId, unit_id: UnitId, attempt: int) -> RunId:
    """The id of a unit's run."""
    return RunId(f"{parent}.{unit_id}.{attempt}")


def open_project(path: Path, places: Places) -> Project:
    """The project that `path` lies in. Changes nothing.

    Raises:
        RepositoryError: Not a repository that a run can start from.
        SettingsError: `surefoot.toml` is broken.
        EnvironmentBrokenError: What the user trusts cannot be read.
    """
    plain = _unsettled(path, places)
    settings, found = read_settings(plain.root)
    project = replace(plain, settings=settings, settings_hash=found)
    wide = settings.widening()
    if not wide or found in _hashes(project.trusted):
        return project
    return replace(project, settings=settings.without_widening(), untrusted=wide)


def open_to_lock(path: Path, places: Places) -> Project:
    """As `open_project`, without the settings where they are broken: a lock waits for nobody to mend them."""
    try:
        return open_project(path, places)
    except SettingsError:
        return _unsettled(path, places)


def _unsettled(path: Path, places: Places) -> Project:
    """The project with the settings of one that has no `surefoot.toml`."""
    repository = Repository.discover(path)
    for place in (repository.root, places.state.absolute()):
        if not is_unicode(str(place)):
            raise RepositoryError(
                f"the path {str(place)!r} is not UTF-8, so nothing can be written down of it; give its folder another name"
            )
    if repository.git().run("ls-files", "-z", "--", ".surefoot").stdout:
        raise RepositoryError(
            "git tracks .surefoot here, so its runs may be somebody else's; "
            "`git rm -r --cached .surefoot` and commit that first"
        )
    return Project(
        repository=repository,
        # Git and the sandbox work in other folders than the caller's.
        places=Places(state=places.state.absolute(), cache=places.cache.absolute()),
        settings=Settings.plain(),
        settings_hash=None,
        untrusted=(),
    )


def _folders(home: Path) -> tuple[RunId, ...]:
    if not home.is_dir():
        return ()
    return tuple(sorted(RunId(p.name) for p in home.iterdir() if _holds_any(p)))


def _holds_any(folder: Path) -> bool:
    """Whether it is a folder with something in it; an empty one is left of what was killed before it began."""
    try:
        return next(folder.iterdir(), None) is not None
    except (FileNotFoundError, NotADirectoryError):
        return False
    except PermissionError:
        return True  # whoever reads its ledger is told


def _near(given: str, ids: Sequence[RunId]) -> list[RunId]:
    # An empty one, as of a variable that is not set, begins every id and means none.
    return [i for i in ids if given and (i.startswith(given) or i.endswith(given))]


def _one(given: str, ids: Sequence[RunId], word: str) -> RunId:
    near = _near(given, ids)
    # A plan run is meant before the runs of its units, whose ids begin with its own.
    found = [i for i in ids if i == given] or [i for i in near if plan_run_of(i) == i] or near
    if len(found) != 1:
        told = f"{len(found)} ids fit" if found else f"no {word} is called"
        raise UsageError(f"{told} {given!r}; the last ones are {', '.join(ids[-3:])}")
    return found[0]


def _hashes(file: Path) -> frozenset[str]:
    try:
        return frozenset(file.read_text().split())
    except FileNotFoundError:
        return frozenset()
    except OSError as error:
        raise EnvironmentBrokenError(
            f"{file} cannot be read: {error.strerror}; "
            "make it readable, or set SUREFOOT_HOME to another place"
        ) from None
