"""Calls of models, and what they may cost."""

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar, Literal

from surefoot.events.classes import EventClass
from surefoot.values import (
    CallForm,
    Digest,
    EventId,
    ModelFault,
    UnitId,
    Usage,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetReserved:
    """Tokens and money are set aside before a call (promise 6)."""

    event_class: ClassVar[EventClass] = "cost"
    kind: Literal["budget.reserved"] = "budget.reserved"
    purpose: str
    tokens: int
    cost_usd: float


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetRefused:
    """A call was not made because the budget does not hold it."""

    event_class: ClassVar[EventClass] = "cost"
    kind: Literal["budget.refused"] = "budget.refused"
    purpose: str
    what: Literal["tokens", "cost_usd", "time_s", "iterations"]
    asked: float
    left: float


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetSettled:
    """What a reservation really cost; names it by `reservation`."""

    event_class: ClassVar[EventClass] = "cost"
    kind: Literal["budget.settled"] = "budget.settled"
    reservation: EventId
    usage: Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetPressure:
    """Half, or nine tenths, of a ceiling are used."""

    event_class: ClassVar[EventClass] = "cost"
    kind: Literal["budget.pressure"] = "budget.pressure"
    what: str
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOpened:
    """What a run goes by of a model that it may ask."""

    event_class: ClassVar[EventClass] = "model"
    kind: Literal["model.opened"] = "model.opened"
    model: str
    context_tokens: int
    parallel: int
    native_tools: bool = False
    """It may be offered tools in its provider's own protocol."""
    fills_gaps: bool = False
    """It may be asked what stands in a gap of a text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPulled:
    """A person had a model's file fetched, outside of any run."""

    event_class: ClassVar[EventClass] = "model"
    kind: Literal["model.pulled"] = "model.pulled"
    model: str
    file_name: str
    sha256: str
    """Of the file, which was checked by it."""
    size_bytes: int
    who: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TokensCounted:
    """Lengths of prompts that were asked for since the last call of a model."""

    event_class: ClassVar[EventClass] = "model"
    kind: Literal["model.counted"] = "model.counted"
    model: str
    counts: Digest
    """Blob: canonical JSON, the number of tokens by the digest of the messages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAsked:
    """A request leaves."""

    event_class: ClassVar[EventClass] = "model"
    kind: Literal["model.asked"] = "model.asked"
    purpose: str
    model: str
    request: Digest
    """Blob: the request, canonical JSON."""
    reservation: EventId


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReplied:
    """A usable answer came back."""

    event_class: ClassVar[EventClass] = "model"
    kind: Literal["model.replied"] = "model.replied"
    request: Digest
    reply: Digest
    """Blob: the `ModelReply`, canonical JSON."""
    model: str
    finish: Literal["stop", "length"]
    usage: Usage
    wall_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFailed:
    """A call gave no usable answer."""

    event_class: ClassVar[EventClass] = "model"
    kind: Literal["model.failed"] = "model.failed"
    request: Digest
    failure: Digest
    """Blob: the `ModelFailure`, canonical JSON."""
    fault: ModelFault
    model: str
    message: str
    usage: Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRead:
    """A reply that had to be a tool call was read; what a model's replies were like decides how it is asked on."""

    event_class: ClassVar[EventClass] = "model"
    kind: Literal["call.read"] = "call.read"
    model: str
    form: CallForm
    """In which form the call was asked for."""
    why: str
    """Why in that one."""
    came: Literal["valid", "invalid", "turned-down"]
    """A call that can be run; something else; or the server's word that it takes none of this form."""
    complaint: str = ""
    """What is wrong with it, as the model is told; empty when nothing is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelWaited:
    """A call is made again after a wait, because the failure is one that passes."""

    event_class: ClassVar[EventClass] = "model"
    kind: Literal["model.waited"] = "model.waited"
    model: str
    fault: ModelFault
    wait_s: float
    attempt: int
    """1-based number of the call that failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelGrounded:
    """A model failed in a way that another call now would not mend; the next turn goes to another one."""

    event_class: ClassVar[EventClass] = "model"
    kind: Literal["model.grounded"] = "model.grounded"
    model: str
    fault: ModelFault
    until: datetime | None
    """From when on it may be asked again; None: not in this run."""
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChosen:
    """Who is asked for the next turn of a unit, and who would follow (SPEC C4)."""

    event_class: ClassVar[EventClass] = "model"
    kind: Literal["model.chosen"] = "model.chosen"
    unit_id: UnitId
    model: str
    chain: tuple[str, ...]
    """Eligible models, the chosen one first, in the order in which they would follow a failure."""
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SolverPinned:
    """The models that judge this run's turns, the first one that can be reached; no router chose them (SPEC A2)."""

    event_class: ClassVar[EventClass] = "model"
    kind: Literal["solver.pinned"] = "solver.pinned"
    chain: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderSwitched:
    """Another model answers than before."""

    event_class: ClassVar[EventClass] = "model"
    kind: Literal["model.switched"] = "model.switched"
    before: str
    after: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheHit:
    """An answer that the ledger already held was used again, unpaid (after a crash)."""

    event_class: ClassVar[EventClass] = "model"
    kind: Literal["model.cache_hit"] = "model.cache_hit"
    request: Digest
    reply: Digest
