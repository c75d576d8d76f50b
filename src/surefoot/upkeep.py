"""What is kept beside the runs of a repository: its own ledger, and the life cycles of what runs made."""

import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from surefoot.errors import LedgerError
from surefoot.events.envelope import Event, Recorded
from surefoot.kernel.ports import Clock
from surefoot.kernel.selection import Rollout
from surefoot.kernel.thresholds import ReleaseLimits
from surefoot.ledger import FileLedger, read_events
from surefoot.ledger.blobs import BlobStore
from surefoot.ledger.projection import Projection
from surefoot.policy.cloud import BEDROCK_KEY
from surefoot.policy.redaction import Redactor
from surefoot.project import Project, scratch_of
from surefoot.registry import Follower, Registry, Requirement, readiness
from surefoot.settings import ToolSettings
from surefoot.values import EventId, RunId

OWN_TRACE: Final = RunId("repo")
_WAIT_S: Final = 10.0
"""Acts outside a run take milliseconds, and come from several terminals; one that archives runs takes longer."""
TOOL: Final = "tool"
"""Kind of the interfaces of forged tools."""


@contextmanager
def own_ledger(project: Project, clock: Clock, environ: Mapping[str, str]) -> Iterator[FileLedger]:
    """The repository's ledger of acts outside a run; secrets of the environment never reach it."""
    ledger = FileLedger.open(
        project.folder / "events.jsonl",
        blobs=project.blobs,
        trace_id=OWN_TRACE,
        clock=clock,
        redact=redactor_of(project, environ),
        wait_s=_WAIT_S,
    )
    try:
        yield ledger
    finally:
        ledger.close()


def redactor_of(project: Project, environ: Mapping[str, str]) -> Redactor:
    """What hides secrets from ledgers and prompts: the environment's own, and what tool servers are given of it."""
    given = {name for server in project.settings.tools.mcp for name in server.env_names}
    return Redactor(v for k, v in environ.items() if k in given or _is_secret_name(k))


def _is_secret_name(name: str) -> bool:
    plain = name.upper()
    return plain in {BEDROCK_KEY, "TOKEN", "SECRET", "SECRET_KEY_BASE"} or plain.endswith(
        (
            *("_KEY", "APIKEY", "_TOKEN", "_SECRET", "_PAT", "_CREDENTIALS"),
            *("PASSWORD", "PASSWD", "_PASS", "_PWD", "_PASSPHRASE"),
        )
    )


@contextmanager
def open_registry(project: Project) -> Iterator[Registry]:
    """The life cycles, with everything that the ledgers hold; a repository without any gets no file."""
    path = project.folder / "toolbox" / "lifecycle.db"
    registry = Registry(path, BlobStore(project.blobs).get)
    try:
        if path.parent.is_dir():
            _catch_up(project, registry)
        yield registry
    finally:
        registry.close()


def _catch_up(project: Project, registry: Registry) -> None:
    """Fold what other processes left unfolded, in the order in which it happened."""
    found: list[Recorded] = []
    with Projection(project.folder / "ledger.db") as projection:
        projection.refresh(project.runs, (project.folder / "events.jsonl",))
        for trace in (*project.run_ids(), OWN_TRACE):
            after = EventId(f"{trace}:{registry.seen(trace)}")
            found += projection.query(trace=trace, after=after)
    found += _put_away(project, registry)
    found.sort(key=lambda r: (r.time, r.trace_id, _number(r)))
    registry.fold(found)
    for one in found:
        registry.read_to(one.trace_id, _number(one))


def _put_away(project: Project, registry: Registry) -> Iterator[Recorded]:
    """What runs did that `surefoot gc` has put into one file each since, where the projection is made again.

    One that is damaged brings what is whole of it, as a ledger does.
    """
    there = frozenset(project.run_ids())
    for path in sorted(project.archive.glob("*.zip")):
        trace = RunId(path.stem)
        if trace not in there and not registry.seen(trace):
            with (
                suppress(OSError, KeyError, zipfile.BadZipFile, zlib.error, LedgerError),
                scratch_of(project.places, "bundle") as root,
                zipfile.ZipFile(path) as bundle,
            ):
                yield from read_events(Path(bundle.extract("events.jsonl", root)))


def _number(recorded: Recorded) -> int:
    return int(recorded.event_id.rpartition(":")[2])


def limits_of(settings: ToolSettings) -> ReleaseLimits:
    """The release gate's limits, as the settings have them."""
    return ReleaseLimits(**settings.release.model_dump())


@dataclass(frozen=True, slots=True, kw_only=True)
class Lifecycle:
    """The life cycles as a run meets them."""

    registry: Registry
    rollout: Rollout
    """What is in force; enforcement that was refused is not."""
    refused: tuple[Requirement, ...]
    """What enforcement was asked for and waits for."""
    follow: Callable[[Recorded], tuple[Event, ...]]
    """What has to be recorded because of an event of the run."""


@contextmanager
def open_lifecycle(
    project: Project, settings: ToolSettings, ledger: FileLedger
) -> Iterator[Lifecycle]:
    """For a run, whose ledger may hold something already."""
    with open_registry(project) as registry:
        registry.fold(ledger.events())
        rollout, refused = rollout_of(settings, registry)
        yield Lifecycle(
            registry=registry,
            rollout=rollout,
            refused=refused,
            follow=Follower(registry, rollout).follow,
        )


def rollout_of(
    settings: ToolSettings, registry: Registry
) -> tuple[Rollout, tuple[Requirement, ...]]:
    """What is in force, and what enforcement was refused for; refused, the policy decides without effect as before."""
    refused: tuple[Requirement, ...] = ()
    if settings.enforcement:
        refused = readiness(registry, TOOL, limits_of(settings)).refused
    rollout = Rollout(
        capture=settings.capture,
        shadow=settings.shadow,
        enforcement=settings.enforcement and not refused,
        kill_switch=settings.kill_switch,
    )
    return rollout, refused
