"""The vocabulary of what a run makes and keeps: versions of tools (or of anything else that is called), and their standing.

An *interface* is what a caller asks for; a *version* is one content that serves it. Nothing here knows what a version is
made of: forged tools and compiled decision policies use the same words.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from surefoot.vocabulary import Digest


class LifecycleState(StrEnum):
    """How far a version is trusted (SPEC D4)."""

    CANDIDATE = "candidate"
    """Stored, and nothing came of it yet."""
    PROBATION = "probation"
    """Did something useful once; evidence is collected."""
    DURABLE = "durable"
    """Passed the gate."""
    DEGRADED = "degraded"
    """Failed after that, or never worked; never chosen."""
    DISABLED = "disabled"
    """A person took it out; only a person brings it back."""


class Decision(StrEnum):
    """What the policy says of a version."""

    PROMOTE = "promote"
    CONTINUE_PROBATION = "continue_probation"
    DEGRADE = "degrade"
    HOLD = "hold"


class OperatorAct(StrEnum):
    """What a person may do to a version."""

    PROMOTE = "promote"
    DEMOTE = "demote"
    DISABLE = "disable"


class Fault(StrEnum):
    """What a call may be guilty of beside failing; one of them in the window closes the gate."""

    GUARDRAIL_EXHAUSTED = "guardrail_retry_exhausted"
    """It did not come to a call that its guards let through, in all its tries."""
    OUTCOME_EXHAUSTED = "outcome_retry_exhausted"
    """It ran, and did not come to an outcome that its contract takes, in all its tries."""
    WRONG_BOUNDARY = "wrong_boundary"
    """It was asked for, or did, what is another tool's."""
    PROVENANCE = "provenance_violation"
    """Its result rests on external data whose origin it does not declare."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interface:
    """What a caller asks for."""

    kind: str
    """What sort of artifact serves it, e.g. `tool`, `policy`."""
    name: str
    method: str
    """Methods of one name are siblings: they may share state."""

    def __str__(self) -> str:
        return f"{self.name}.{self.method}"


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionId:
    """One content behind an interface."""

    interface: Interface
    artifact: Digest

    def __str__(self) -> str:
        return f"{self.interface}@{self.artifact[:12]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFacts:
    """What one call says about the version that served it. The life cycle reads it and never changes it."""

    session: str
    """What the call was for: runs on different tasks are different sessions, two runs on one task are one."""
    ok: bool
    contract: bool | None = None
    """Arguments and result fitted the contract; None: it was not checked on this call."""
    faults: tuple[Fault, ...] = ()
    """Sorted."""
    reads: tuple[str, ...] = ()
    """State keys that were really read, sorted."""
    writes: tuple[str, ...] = ()
    """State keys that were really written, sorted."""

    @property
    def keys(self) -> frozenset[str]:
        """State keys that were used."""
        return frozenset((*self.reads, *self.writes))


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """One condition of a gate, with the value that it met or did not meet."""

    name: str
    value: float | None
    """None: there is no data, which never passes."""
    needed: float
    most: bool = False
    """`needed` is the largest value that passes, not the least."""
    met: bool
    advisory: bool = False
    """Told, and not yet held against the version."""

    def __str__(self) -> str:
        told = "no data" if self.value is None else f"{self.value:g}"
        return f"{self.name} {told} ({'at most' if self.most else 'at least'} {self.needed:g})"


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionRecord:
    """What was decided of a version, and why."""

    version: VersionId
    incumbent: Digest | None
    """The durable version that serves the interface at that moment; may be the version itself."""
    decision: Decision
    before: LifecycleState
    after: LifecycleState
    policy: str
    """Version of the policy."""
    window: str
    """What it was decided on, e.g. `medium:200`."""
    enforced: bool
    """It has effect on the choice; a shadow decision has none."""
    calls: int
    """Calls of the version in all, when it was decided."""
    conditions: tuple[Condition, ...] = ()
    note: str = ""
    """What no condition says, e.g. how long the cool-down still is."""
    restored: Digest | None = None
    """The version that serves again because this one does not."""

    @property
    def unmet(self) -> tuple[Condition, ...]:
        """The conditions that stood in the way."""
        return tuple(c for c in self.conditions if not c.met and not c.advisory)

    @property
    def rationale(self) -> str:
        """Why, in a line: each unmet condition with its value, or that all are met."""
        told = [str(c) for c in self.unmet] or (["every condition met"] if self.conditions else [])
        told += [f"{c}, advisory" for c in self.conditions if c.advisory and not c.met]
        return "; ".join([*told, *([self.note] if self.note else [])])


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """The life-cycle entry of a version."""

    version: VersionId
    state: LifecycleState = LifecycleState.CANDIDATE
    policy: str = ""
    """Version of the policy that decided last."""
    enforced: bool = False
    """The state was reached under enforcement or by a person; what the shadow engine gave is not yet trusted."""
    compatibility: bool = False
    """It was there before the life cycle, and has to show its evidence like any other."""
    evidence_from: int = 0
    """Calls of the version before this number do not count: it was degraded after them."""
    degrades: int = 0
    """How often it was degraded."""
    cool_until: int = 0
    """Calls of the interface until which it stays degraded."""
    last_decision: Decision | None = None
    last_decision_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """The interface's side of the life cycle."""

    interface: Interface
    incumbents: tuple[Digest, ...] = ()
    """Durable versions in the order of their promotion; the last one serves, the others are what it falls back to."""
    calls: int = 0
    """Of all versions."""

    @property
    def incumbent(self) -> Digest | None:
        """The durable version that serves."""
        return self.incumbents[-1] if self.incumbents else None
