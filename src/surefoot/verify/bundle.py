"""A run in one file, so that somebody without the repository can verify it; an archived run is such a file, too.

A zip archive: `manifest.json` (version, run, refs, and the SHA-256 of everything else), `events.jsonl`, `objects.pack`
(a git pack of the run's commits and their trees, without the history before them), `blobs/<digest>` and
`documents/<name>`. The run of a plan brings those of its units along: their commits and blobs among its own, their ledgers and
documents in `units/<run>/`. It is read strictly: a name or a hash that the manifest does not have is refused.
"""

import os
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Final

from surefoot.codec import decode, digest, encode
from surefoot.errors import EnvironmentBrokenError, GitError, LedgerError, UsageError
from surefoot.events.envelope import Event, Recorded
from surefoot.events.orchestration import RunOpened
from surefoot.events.plans import ChildStarted
from surefoot.events.work import GitStage, TestsRan
from surefoot.gitops.history import make_repository, objects_of, pack_of, refs_of_run
from surefoot.gitops.reading import tree_exists
from surefoot.gitops.refs import checked
from surefoot.ledger import read_events, verify_chain
from surefoot.ledger.blobs import BlobStore
from surefoot.project import Places, Project, open_project, plan_run_of, scratch_of
from surefoot.values import CommitId, Digest, RunId, TreeId
from surefoot.verify.blobs import digests_of
from surefoot.verify.commits import Stands, accepted_commits, stands_of
from surefoot.verify.rerun import DECIDING

VERSION: Final = 2
_SINGLE: Final = 1
"""Of a bundle with one run: whoever knows no units can read it."""
MANIFEST: Final = "manifest.json"
_EVENTS, _PACK, _UNITS = "events.jsonl", "objects.pack", "units"
_MOST_BYTES: Final = 4 * 1024**3
"""Of all that a bundle holds; more is refused before it is unpacked."""
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What a bundle says that it holds."""

    version: int
    run_id: RunId
    head: str
    """Hash of the ledger's last line."""
    branch: str
    """That the user was on."""
    ends: tuple[CommitId, ...]
    """Commits whose parents are left out."""
    units: tuple[RunId, ...] = ()
    """The runs of a plan's units."""
    refs: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, Digest] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A bundle that was written."""

    head: str
    blobs: int
    size_bytes: int


def write_bundle(project: Project, run_id: RunId, path: Path) -> Written:
    """Put a run into one file, whole or not at all; that of a plan with the runs of its units.

    Raises:
        LedgerError: Its ledger or a blob is damaged.
        GitError: A commit of it is missing.
        UsageError: It never began.
    """
    events = _whole(project, run_id)
    stands = stands_of(events)
    if stands is None:
        raise UsageError(f"run {run_id} was killed before it began; there is nothing to export")
    files, blobs = _files(project, run_id), set(digests_in(events))
    refs = refs_of_run(project.repository, run_id)
    objects = list(_objects(project, events, stands, refs))
    units = () if stands.rejected else units_of(project, events)
    for unit in units:
        own, its = _whole(project, unit), refs_of_run(project.repository, unit)
        files |= {f"{_UNITS}/{unit}/{name}": data for name, data in _files(project, unit).items()}
        blobs |= digests_in(own)
        refs |= its
        unit_stands = stands_of(own)
        if unit_stands is not None:
            objects += _objects(project, own, unit_stands, its)
    store = BlobStore(project.blobs)
    files |= {f"blobs/{d}": store.get(d) for d in blobs}
    files[_PACK] = pack_of(project.repository, tuple(dict.fromkeys(objects)))
    opened = events[0].event
    assert isinstance(opened, RunOpened)  # noqa: S101  # else there were no stands
    ends = (stands.base, *accepted_commits(project.repository, stands)[-1:])
    manifest = Manifest(
        version=VERSION if units else _SINGLE,
        run_id=run_id,
        head=events[-1].hash,
        branch=opened.branch,
        ends=ends,
        units=units,
        refs=refs,
        files={name: digest(data) for name, data in sorted(files.items())},
    )
    _write(path, {MANIFEST: encode(manifest), **dict(sorted(files.items()))})
    return Written(
        head=manifest.head,
        blobs=sum(name.startswith("blobs/") for name in files),
        size_bytes=path.stat().st_size,
    )


def units_of(project: Project, events: Sequence[Recorded]) -> tuple[RunId, ...]:
    """The runs of a plan's units that have a ledger."""
    started = dict.fromkeys(e.event.run for e in events if isinstance(e.event, ChildStarted))
    return tuple(run for run in started if project.ledger_file(run).exists())


def ledgers_of(project: Project, run_id: RunId) -> Iterator[tuple[RunId, tuple[Recorded, ...]]]:
    """A run and its events, then each run of its plan's units with its own."""
    events = tuple(read_events(project.ledger_file(run_id)))
    yield run_id, events
    for unit in units_of(project, events):
        yield unit, tuple(read_events(project.ledger_file(unit)))


def digests_in(events: Sequence[Recorded]) -> frozenset[Digest]:
    """The blobs that events name."""
    return frozenset(d for _, _, d in digests_of(events))


def _whole(project: Project, run_id: RunId) -> tuple[Recorded, ...]:
    broken = verify_chain(project.ledger_file(run_id))
    if broken is not None:
        raise LedgerError(f"run {run_id} cannot be exported, {broken}; {broken.mend}")
    return tuple(read_events(project.ledger_file(run_id)))


def _files(project: Project, run_id: RunId) -> dict[str, bytes]:
    """What lies in a run's folder."""
    folder = project.runs / run_id
    files = {_EVENTS: (folder / _EVENTS).read_bytes()}
    documents = (p for p in sorted(folder.iterdir()) if p.is_file() and p.name != _EVENTS)
    return files | {f"documents/{p.name}": p.read_bytes() for p in documents}


def _objects(
    project: Project, events: tuple[Recorded, ...], stands: Stands, refs: Mapping[str, str]
) -> tuple[str, ...]:
    """What the pack has to hold: the commits, what the refs name, and what turns had made where git still has it."""
    if stands.rejected:
        base = objects_of(project.repository, (stands.base,))
        return tuple(dict.fromkeys([*base, *refs.values()]))
    staged = dict.fromkeys(t for r in events if (t := _made(r.event)) is not None)
    trees = [t for t in staged if tree_exists(project.repository, t)]
    made = accepted_commits(project.repository, stands)
    found = objects_of(project.repository, (*stands.commits, *made), trees)
    return tuple(dict.fromkeys([*found, *refs.values()]))


def _made(event: Event) -> TreeId | None:
    """A tree that a turn had made, or that decided."""
    if isinstance(event, GitStage) and event.stage == "stage":
        return event.tree
    return event.tree if isinstance(event, TestsRan) and event.purpose in DECIDING else None


def _write(path: Path, files: Mapping[str, bytes]) -> None:
    unfinished = path.with_name(f"{path.name}.new")
    try:
        with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in files.items():
                info = zipfile.ZipInfo(name, _EPOCH)
                info.compress_type = zipfile.ZIP_DEFLATED
                info.external_attr = 0o644 << 16
                archive.writestr(info, data)
        with unfinished.open("rb") as file:
            os.fsync(file.fileno())  # `gc` removes the run that it stands for
        unfinished.replace(path)
    except OSError as error:
        raise EnvironmentBrokenError(
            f"{path} cannot be written: {error.strerror}; free space or name another place"
        ) from error
    finally:
        unfinished.unlink(missing_ok=True)


@contextmanager
def open_bundle(
    path: Path, places: Places, *, trusted: bool = False
) -> Iterator[tuple[Project, RunId]]:
    """The run of a bundle, unpacked into a repository of its own that is gone afterwards.

    `trusted`: what its settings say is run may be run here.

    Raises:
        UsageError: It is not a bundle.
        LedgerError: Its content is not what its manifest says.
        EnvironmentBrokenError: There is no place to unpack it.
    """
    manifest, files = read_bundle(path)
    with scratch_of(places, "bundle") as root:
        project = _unpacked(root / "checkout", manifest, files, places)
        yield replace(project, foreign=not trusted, unpacked=True), manifest.run_id


def read_bundle(path: Path) -> tuple[Manifest, Mapping[str, bytes]]:
    """The manifest and the content of a bundle, each file with the hash that the manifest gives it. Raises as `open_bundle`."""
    try:
        with zipfile.ZipFile(path) as archive:
            infos = archive.infolist()
            if sum(info.file_size for info in infos) > _MOST_BYTES:
                raise UsageError(f"{path} holds more than {_MOST_BYTES} bytes; that is no run")
            files = {info.filename: archive.read(info) for info in infos}
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}; name a bundle") from error
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError, RuntimeError) as error:
        raise LedgerError(f"{path} is damaged or no bundle: {error}") from error
    about = files.pop(MANIFEST, None)
    if about is None or len(infos) != len(files) + 1:
        raise LedgerError(f"{path} has no manifest, or a name twice; it is damaged or no bundle")
    manifest = _manifest(path, about)
    if manifest.files.keys() != files.keys():
        odd = min(manifest.files.keys() ^ files.keys())
        raise LedgerError(f"{path}: {odd} is not both in the manifest and in the bundle")
    for name, data in files.items():
        if ".." in PurePosixPath(name).parts:
            raise LedgerError(f"{path}: {name} names a place outside of it")
        if digest(data) != manifest.files[name]:
            raise LedgerError(f"{path}: {name} does not have the hash that the manifest gives it")
    return manifest, files


def _manifest(path: Path, data: bytes) -> Manifest:
    try:
        manifest = decode(Manifest, data)
    except ValueError as error:
        first = str(error).partition("\n")[0]
        raise LedgerError(f"{path}: its manifest cannot be read: {first}") from error
    if manifest.version not in (_SINGLE, VERSION):
        raise UsageError(
            f"{path} is a bundle of version {manifest.version}, known here is {VERSION}; update Surefoot"
        )
    return manifest


def _unpacked(
    root: Path, manifest: Manifest, files: Mapping[str, bytes], places: Places
) -> Project:
    runs = _runs_of(manifest)
    ours = {n: oid for n, oid in manifest.refs.items() if any(_is_of(run, n) for run in runs)}
    foreign = ours.keys() != manifest.refs.keys() or not manifest.branch.startswith("refs/heads/")
    if foreign or not manifest.ends:
        raise LedgerError("the bundle names refs that are not its run's, or no base")
    base = manifest.ends[0]
    try:
        make_repository(
            root,
            files.get(_PACK, b""),
            {**ours, manifest.branch: base},
            head=manifest.branch,
            ends=manifest.ends,
        )
    except GitError as error:
        raise LedgerError(
            f"the bundle's git objects are damaged: {error.stderr.strip()}"
        ) from error
    project = open_project(root, places)
    project.prepare()
    store = BlobStore(project.blobs)
    for run in runs:
        (project.runs / run).mkdir(parents=True)
    for name, data in files.items():
        path = PurePosixPath(name)
        if path.parent == PurePosixPath("blobs"):
            store.put(data)
        else:
            for run in runs:
                own = PurePosixPath("." if run == manifest.run_id else f"{_UNITS}/{run}")
                if path in (own / _EVENTS, own / "documents" / path.name):
                    (project.runs / run / path.name).write_bytes(data)
    return project


def _runs_of(manifest: Manifest) -> tuple[RunId, ...]:
    """The run and those of its units. Each id becomes a folder's name, and a bundle may come from anybody."""
    try:
        runs = tuple(checked(run) for run in (manifest.run_id, *manifest.units))
    except UsageError as error:
        raise LedgerError(f"the bundle names no run: {error}") from error
    if any(plan_run_of(unit) != manifest.run_id for unit in manifest.units):
        raise LedgerError("the bundle names units that are not its run's")
    return runs


def _is_of(run_id: RunId, ref: str) -> bool:
    return ref == f"refs/heads/surefoot/{run_id}" or ref.startswith(f"refs/surefoot/{run_id}/")
