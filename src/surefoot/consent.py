"""What people allow a repository: lock, unlock, trust. Apart from `handover`, so that a word loads nothing that only a run needs."""

from collections.abc import Mapping

from surefoot.errors import LedgerError, UsageError
from surefoot.events.policy import LockChanged, SettingsTrusted
from surefoot.project import Project
from surefoot.system import SystemClock
from surefoot.upkeep import own_ledger


def set_lock(project: Project, why: str, who: str, *, environ: Mapping[str, str]) -> None:
    """Lock the repository; recorded in its own ledger.

    Raises:
        LedgerError: It is locked, and that could not be recorded.
    """
    if not why.strip():
        raise UsageError("--why is empty; say why, because everyone who tries is told")
    project.prepare()
    # Not in the ledger's turn, unlike what gives power: who wants everything to stop waits for nobody.
    project.lock.set(why)
    try:
        with own_ledger(project, SystemClock(), environ) as ledger:
            ledger.append(LockChanged(locked=True, why=why, who=who))
    except LedgerError as error:
        raise LedgerError(f"locked, but not recorded: {error}") from error


def clear_lock(project: Project, who: str, *, environ: Mapping[str, str]) -> bool:
    """Unlock; False when it was not locked.

    Raises:
        LedgerError: It could not be recorded; nothing was changed.
        EnvironmentBrokenError: It is recorded, and the lock cannot be removed, so that it holds.
    """
    project.prepare()
    with own_ledger(project, SystemClock(), environ) as ledger:
        if project.lock.reason() is None:
            return False
        # Recorded first: a record of power that was not given does no harm, power without a record does.
        ledger.append(LockChanged(locked=False, why="", who=who))
        return project.lock.clear()


def give_trust(project: Project, who: str, *, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Let the present content of `surefoot.toml` widen power; recorded with its keys. Raises as `clear_lock`."""
    project.require_settings()
    project.prepare()
    with own_ledger(project, SystemClock(), environ) as ledger:
        return project.trust(lambda keys: ledger.append(SettingsTrusted(keys=keys, who=who)))
