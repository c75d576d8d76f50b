"""Which version serves a call, pure (SPEC D6).

Without enforcement the life cycle is watched and not obeyed: the version that was stored last serves, as it always did.
Only what a person disabled serves nobody, whatever the flags say.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from surefoot.artifacts import LifecycleState, Line, Standing, VersionId
from surefoot.vocabulary import Digest

KillSwitch: TypeAlias = Literal["", "off", "incumbent-only"]
Reason: TypeAlias = Literal["latest", "incumbent", "fallback", "probation", "candidate"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollout:
    """How much of the life cycle is in force."""

    capture: bool = True
    """Calls are recorded, with their shape."""
    shadow: bool = True
    """The policy decides, without effect."""
    enforcement: bool = False
    """What it decides has effect on the choice."""
    kill_switch: KillSwitch = ""
    """`off`: the choice is as before the policy. `incumbent-only`: nothing serves but an incumbent."""

    @property
    def enforced(self) -> bool:
        """The policy's decisions have effect now."""
        return self.enforcement and self.kill_switch != "off"


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """A version that could serve."""

    standing: Standing
    order: int
    """Versions that were stored later have larger numbers."""
    calls: int = 0
    """The last calls that count, at most a medium window."""
    successes: int = 0
    """Of those."""

    @property
    def score(self) -> float:
        """How likely the next call succeeds, 0 to 1: one success and one failure are supposed beforehand."""
        return (self.successes + 1) / (self.calls + 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What serves a call."""

    version: VersionId
    reason: Reason
    trial: VersionId | None = None
    """A challenger that may run beside it on the same arguments: its answer goes to nobody, its evidence counts."""


def choose(
    contenders: Sequence[Contender],
    line: Line,
    rollout: Rollout,
    *,
    without: Collection[Digest] = (),
) -> Choice | None:
    """The version that serves, or None when none may.

    `without` are contents that turned out not to be usable on this call, e.g. damaged on the disk.
    """
    usable = [
        c
        for c in contenders
        if c.standing.state is not LifecycleState.DISABLED
        and c.standing.version.artifact not in without
    ]
    if rollout.kill_switch == "incumbent-only":
        return _incumbent(usable, line)
    if not rollout.enforced:
        latest = max(usable, key=lambda c: c.order, default=None)
        return None if latest is None else Choice(version=latest.standing.version, reason="latest")
    proven = [c for c in usable if _is_proven(c)]
    rising = [c for c in usable if not _is_proven(c) and _rank(c.standing.state)]
    best = max(rising, key=_preference, default=None)
    served = _incumbent(proven, line)
    if served is not None:
        return replace(served, trial=None if best is None else best.standing.version)
    if best is None:
        return None
    fresh = best.standing.state is LifecycleState.CANDIDATE
    return Choice(version=best.standing.version, reason="candidate" if fresh else "probation")


def _incumbent(usable: Sequence[Contender], line: Line) -> Choice | None:
    """The last incumbent that is there, and then the ones before it."""
    there = {c.standing.version.artifact: c.standing.version for c in usable}
    for artifact in reversed(line.incumbents):
        if artifact in there:
            first = artifact == line.incumbent
            return Choice(version=there[artifact], reason="incumbent" if first else "fallback")
    return None


def _is_proven(contender: Contender) -> bool:
    """Durable under enforcement; what the shadow engine called durable ranks as the best in probation."""
    return contender.standing.state is LifecycleState.DURABLE and contender.standing.enforced


def _rank(state: LifecycleState) -> int:
    """0: never chosen."""
    order = (LifecycleState.CANDIDATE, LifecycleState.PROBATION, LifecycleState.DURABLE)
    return order.index(state) + 1 if state in order else 0


def _preference(contender: Contender) -> tuple[int, float, int]:
    return _rank(contender.standing.state), contender.score, contender.order
