"""What was allowed, denied, decided and trusted."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from surefoot.artifacts import DecisionRecord, LifecycleState, OperatorAct, VersionId
from surefoot.events.classes import EventClass
from surefoot.judgements import Boundary, DecisionGate
from surefoot.values import (
    Digest,
    Evidence,
    SandboxLevel,
    TreeId,
    UnitId,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyResolved:
    """What this run may do, and for how long."""

    event_class: ClassVar[EventClass] = "policy"
    kind: Literal["policy.resolved"] = "policy.resolved"
    mode: str
    can_execute: bool
    can_fix: bool
    can_escalate: bool
    max_iterations: int
    time_s: float
    max_files: int
    tokens: int | None
    cost_usd: float | None
    risk_flags: tuple[str, ...]
    """The flags that are on."""
    hard_stops: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAllowed:
    """A model may be asked for a unit; every rule that could forbid it was looked at."""

    event_class: ClassVar[EventClass] = "policy"
    kind: Literal["model.allowed"] = "model.allowed"
    unit_id: UnitId
    model: str
    rule: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelDenied:
    """A model may not be asked for a unit, by this rule; no prompt leaves."""

    event_class: ClassVar[EventClass] = "policy"
    kind: Literal["model.denied"] = "model.denied"
    unit_id: UnitId
    model: str
    rule: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyDenied:
    """A step was refused by rule."""

    event_class: ClassVar[EventClass] = "policy"
    kind: Literal["policy.denied"] = "policy.denied"
    rule: str
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyWarning:
    """Something was read in the safest way because it was not understood."""

    event_class: ClassVar[EventClass] = "policy"
    kind: Literal["policy.warning"] = "policy.warning"
    rule: str
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxEnforced:
    """The level that really encloses the commands, and what its conformance probes said."""

    event_class: ClassVar[EventClass] = "policy"
    kind: Literal["sandbox.enforced"] = "sandbox.enforced"
    level: SandboxLevel
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionDecided:
    """`decide_next_action` answered (SPEC B6)."""

    event_class: ClassVar[EventClass] = "policy"
    kind: Literal["action.decided"] = "action.decided"
    action: Literal["report", "solve", "stop"]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundVerified:
    """`record_and_verify` answered (SPEC B6)."""

    event_class: ClassVar[EventClass] = "policy"
    kind: Literal["round.verified"] = "round.verified"
    phase: str
    done: bool
    blocker: str | None
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundariesChecked:
    """What a round changed between the parts of the product, and whether it holds (SPEC B9)."""

    event_class: ClassVar[EventClass] = "test"
    kind: Literal["boundaries.checked"] = "boundaries.checked"
    tree: TreeId
    files: tuple[str, ...]
    """Everything that the run changed so far."""
    boundaries: tuple[Boundary, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundDecided:
    """The decision gates of a round, after everything else of it: STOP or GO (SPEC B9)."""

    event_class: ClassVar[EventClass] = "policy"
    kind: Literal["round.decided"] = "round.decided"
    number: int
    tree: TreeId
    gates: tuple[DecisionGate, ...]
    go: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LockChanged:
    """A person locked or unlocked the repository."""

    event_class: ClassVar[EventClass] = "policy"
    kind: Literal["lock.changed"] = "lock.changed"
    locked: bool
    why: str
    who: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LockMet:
    """A run found the repository locked, or open again: what was a person's act, in its place in the run."""

    event_class: ClassVar[EventClass] = "policy"
    kind: Literal["lock.met"] = "lock.met"
    why: str | None
    """Why it is locked; None when it is not any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsTrusted:
    """A person let this content of `surefoot.toml` widen power."""

    event_class: ClassVar[EventClass] = "policy"
    kind: Literal["settings.trusted"] = "settings.trusted"
    keys: tuple[str, ...]
    who: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PromotionDecided:
    """The promotion policy said something new of a version (SPEC D4)."""

    event_class: ClassVar[EventClass] = "policy"
    kind: Literal["promotion.decided"] = "promotion.decided"
    record: DecisionRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class LifecycleForced:
    """A person moved a version (SPEC D8)."""

    event_class: ClassVar[EventClass] = "policy"
    kind: Literal["lifecycle.forced"] = "lifecycle.forced"
    version: VersionId
    act: OperatorAct
    before: LifecycleState
    after: LifecycleState
    reason: str
    who: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PromotionPolicySet:
    """A person put a version of the promotion policy in force, for all or for one capability class (SPEC D5, D8)."""

    event_class: ClassVar[EventClass] = "policy"
    kind: Literal["promotion.policy_set"] = "promotion.policy_set"
    version: str
    policy: Digest
    """Blob: the policy with every constant, canonical JSON."""
    capability: str | None
    """None: for all classes that have no profile of their own."""
    reason: str
    who: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EnforcementApproved:
    """A person let the promotion policy have effect although something that it waits for is not there (SPEC D6)."""

    event_class: ClassVar[EventClass] = "policy"
    kind: Literal["enforcement.approved"] = "enforcement.approved"
    missing: tuple[str, ...]
    """Names of what was not there; with `:exceeded` where it was measured and beyond its limit."""
    reason: str
    who: str
