"""What people allow a repository: lock, unlock, trust. Apart from `handover`, so that a word loads nothing that only a run needs."""

from collections.abc import Mapping

from surefoot.errors import UsageError
from surefoot.events.policy import LockChanged, SettingsTrusted
from surefoot.project import Project
from surefoot.system import SystemClock
from surefoot.upkeep import own_ledger


def set_lock(project: Project, why: str, who: str, *, environ: Mapping[str, str]) -> None:
    """Lock the repository; recorded in its own ledger."""
    if not why.strip():
        raise UsageError("--why is empty; say why, because everyone who tries is told")
    project.prepare()
    project.lock.set(why)
    with own_ledger(project, SystemClock(), environ) as ledger:
        ledger.append(LockChanged(locked=True, why=why, who=who))


def clear_lock(project: Project, who: str, *, environ: Mapping[str, str]) -> bool:
    """Unlock; False when it was not locked."""
    project.prepare()
    was = project.lock.clear()
    if was:
        with own_ledger(project, SystemClock(), environ) as ledger:
            ledger.append(LockChanged(locked=False, why="", who=who))
    return was


def give_trust(project: Project, who: str, *, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Let the present content of `surefoot.toml` widen power; recorded with its keys."""
    keys = project.trust()
    with own_ledger(project, SystemClock(), environ) as ledger:
        ledger.append(SettingsTrusted(keys=keys, who=who))
    return keys
