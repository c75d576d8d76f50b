"""Which models may be asked for a unit, and in which order (SPEC C4). Pure: the same request gets the same answer.

Rules come first and each decides alone: a model that one of them denies is out, whatever its scores. What is left is
scored over seven dimensions, corrected by what became of earlier turns and by the budget, and of models within two points
the cheaper comes first.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from operator import itemgetter
from typing import Final, Literal, TypeAlias

from surefoot.models.catalogue import TIERS, Card
from surefoot.vocabulary import Complexity, Profile, Tier, UnitType

Pin: TypeAlias = Literal["first", "ceiling", "only"]
"""What `--model` means beside others: asked first, the strongest that may be asked, or the only one."""

NEAR: Final = 2.0
"""Points within which the cheaper model comes first."""
GROUNDED: Final = "grounded"
"""The rule that keeps a model out that failed; the last of the rules, so that no other one does."""
WINDOW: Final = 50
"""Earlier turns that count."""
_FEWEST: Final = 3
_HISTORY_POINTS: Final = 20.0
"""Between a model that never worked and one that always did."""
_COST_POINTS: Final[Mapping[Profile, float]] = {
    Profile.ECONOMY: 25.0,
    Profile.BALANCED: 0.0,
    Profile.QUALITY: 0.0,
    Profile.BURN_MAX: 0.0,
}
_PRESSURE_POINTS: Final = ((0.9, 30.0), (0.5, 15.0))
"""What the dearest model loses from a used share of a ceiling on."""
_WEIGHTS: Final[Mapping[UnitType, Mapping[str, float]]] = {
    UnitType.FIX: {"coding": 0.9, "debugging": 0.9, "instruction": 0.5},
    UnitType.FEATURE: {"coding": 0.9, "instruction": 0.7, "speed": 0.3},
    UnitType.REFACTOR: {"coding": 0.9, "reasoning": 0.6, "instruction": 0.5},
    UnitType.TEST: {"coding": 0.8, "debugging": 0.5, "instruction": 0.7},
    UnitType.DOCS: {"instruction": 0.9, "coding": 0.3, "speed": 0.7},
    UnitType.PLAN: {"reasoning": 0.9, "coding": 0.5, "research": 0.4},
    UnitType.AUDIT: {"reasoning": 0.6, "debugging": 0.6, "long_context": 0.4},
}
_HARD: Final = frozenset({Complexity.HIGH, Complexity.VERY_HIGH})
_LEAST_CONTEXT: Final = 4_096


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """What a unit asks of a model."""

    unit_type: UnitType
    weights: Mapping[str, float]
    context_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Denial:
    """Why a model is out."""

    model: str
    rule: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """A model that may be asked."""

    card: Card
    capability: float
    """0..100: weighted mean over the dimensions that the unit needs."""
    history: float
    """Points for what became of its earlier turns."""
    cost: float
    """Points that its price costs it."""

    @property
    def score(self) -> float:
        """What the order goes by."""
        return self.capability + self.history - self.cost


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What decides alone, beside what the unit needs."""

    allow: tuple[str, ...] = ()
    """Patterns of names that may be used; empty is all."""
    deny: tuple[str, ...] = ()
    pin: Pin = "first"
    pinned: str | None = None
    outside: Callable[[Card], Denial | None] = field(default=lambda _card: None)
    """Credentials and providers' terms, which are not this module's business."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutingPolicy:
    """What routing goes by; the same for a run's whole life."""

    cards: tuple[Card, ...]
    """Models that may be considered at all."""
    rules: Rules
    profile: Profile = Profile.BALANCED
    history: Mapping[tuple[str, UnitType], tuple[bool, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How the run stands."""

    refused: frozenset[str] = frozenset()
    grounded: frozenset[str] = frozenset()
    pressure: float = 0.0
    profile: Profile = Profile.BALANCED
    history: Mapping[tuple[str, UnitType], tuple[bool, ...]] = field(default_factory=dict)
    """Whether earlier turns of a model on a kind of unit worked, oldest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The answer: who may be asked, best first, and who not, with the rule."""

    needs: Needs
    chain: tuple[Scored, ...]
    denied: tuple[Denial, ...]


def needs_of(unit_type: UnitType, complexity: Complexity) -> Needs:
    """What a unit asks of a model."""
    weights = dict(_WEIGHTS[unit_type])
    if complexity in _HARD:
        weights["reasoning"] = max(weights.get("reasoning", 0.0), 0.8)
    return Needs(
        unit_type=unit_type,
        weights=weights,
        context_tokens=_LEAST_CONTEXT,
    )


def select(needs: Needs, cards: Sequence[Card], rules: Rules, standing: Standing) -> Selection:
    """Filter, score, order."""
    by_name = {card.name: card for card in cards}
    denied: list[Denial] = []
    allowed: list[Card] = []
    for card in by_name.values():
        facts = _Facts(card=card, needs=needs, rules=rules, standing=standing, by_name=by_name)
        denial = next((d for rule in _RULES if (d := rule(facts)) is not None), None)
        if denial is None:
            allowed.append(card)
        else:
            denied.append(denial)
    return Selection(
        needs=needs,
        chain=tuple(_ordered(_scored(allowed, needs, standing), rules, standing)),
        denied=tuple(denied),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Facts:
    """What a rule looks at."""

    card: Card
    needs: Needs
    rules: Rules
    standing: Standing
    by_name: Mapping[str, Card]

    def out(self, rule: str, reason: str) -> Denial:
        return Denial(model=self.card.name, rule=rule, reason=reason)


def _listed(facts: _Facts) -> Denial | None:
    name, rules = facts.card.name, facts.rules
    hit = next((p for p in rules.deny if fnmatchcase(name, p)), None)
    if hit is not None:
        return facts.out("deny-list", f"[models] deny has {hit!r}")
    if rules.allow and not any(fnmatchcase(name, p) for p in rules.allow):
        return facts.out("allow-list", "[models] allow does not have it")
    return None


def _pinned(facts: _Facts) -> Denial | None:
    card, pinned = facts.card, facts.by_name.get(facts.rules.pinned or "")
    if pinned is None or card.name == pinned.name:
        return None
    if facts.rules.pin == "only":
        return facts.out("pinned", f"only {pinned.name} may be asked")
    if facts.rules.pin == "ceiling" and _rank(card.tier) > _rank(pinned.tier):
        reason = f"{card.tier} is above {pinned.tier}, the tier of {pinned.name}"
        return facts.out("pinned", reason)
    return None


def _outside(facts: _Facts) -> Denial | None:
    return facts.rules.outside(facts.card)


def _able(facts: _Facts) -> Denial | None:
    card, needs = facts.card, facts.needs
    if card.context_tokens < needs.context_tokens:
        told = f"holds {card.context_tokens} tokens, {needs.context_tokens} are needed"
        return facts.out("context", told)
    return None


def _standing(facts: _Facts) -> Denial | None:
    card, standing = facts.card, facts.standing
    if card.name in standing.refused:
        return facts.out("no-fly", "it refused this unit, or did nothing for it")
    tiers = [_rank(facts.by_name[m].tier) for m in standing.refused if m in facts.by_name]
    if tiers and _rank(card.tier) <= max(tiers):
        told = f"a model of tier {TIERS[max(tiers)]} gave up; only a higher tier is asked"
        return facts.out("no-fly-tier", told)
    if card.name in standing.grounded:
        return facts.out(GROUNDED, "it failed and is left alone")
    return None


_RULES: Final = (_listed, _pinned, _outside, _able, _standing)
"""In their order; the first that is against a model decides."""


def _rank(tier: Tier) -> int:
    return TIERS.index(tier)


def _scored(cards: Sequence[Card], needs: Needs, standing: Standing) -> list[Scored]:
    dearest = max((card.price_usd for card in cards), default=0.0)
    points = _COST_POINTS[standing.profile]
    if standing.profile is not Profile.BURN_MAX:
        points += next((p for share, p in _PRESSURE_POINTS if standing.pressure >= share), 0.0)
    return [
        Scored(
            card=card,
            capability=_capability(card, needs.weights),
            history=_history(card, needs.unit_type, standing),
            cost=points * card.price_usd / dearest if dearest else 0.0,
        )
        for card in cards
    ]


def _capability(card: Card, weights: Mapping[str, float]) -> float:
    return sum(w * card.score(d) for d, w in weights.items()) / sum(weights.values())


def _history(card: Card, unit_type: UnitType, standing: Standing) -> float:
    seen = standing.history.get((card.name, unit_type), ())[-WINDOW:]
    if len(seen) < _FEWEST:
        return 0.0
    return _HISTORY_POINTS * (sum(seen) / len(seen) - 0.5)


def _ordered(scored: Sequence[Scored], rules: Rules, standing: Standing) -> list[Scored]:
    """Best first; after a refusal the next tier first; the pinned model first where it may be asked at all."""
    ranked = sorted(scored, key=lambda s: (-s.score, s.card.name))
    # Each with its score and with what decides among near ones; nothing is worked out twice.
    left = [(s.score, (s.card.price_usd, -s.score, s.card.name), s) for s in ranked]
    ordered = []
    while left:
        best = left[0][0]
        near = [entry for entry in left if best - entry[0] <= NEAR]
        if standing.profile is Profile.BURN_MAX:
            near = near[:1]
        taken = min(near, key=itemgetter(1))
        left.remove(taken)
        ordered.append(taken[2])
    if standing.refused:
        ordered.sort(key=lambda s: _rank(s.card.tier))
    else:
        ordered.sort(key=lambda s: s.card.name != rules.pinned)
    return ordered
