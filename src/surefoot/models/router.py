"""The `Router` port: the policy of `select` over a catalogue, with models that are opened when they are first asked."""

from collections.abc import Callable, Sequence

from surefoot.errors import ModelUnavailableError
from surefoot.events.envelope import Event
from surefoot.events.policy import ModelAllowed, ModelDenied
from surefoot.kernel.ports import Asker, Routed, RouteRequest
from surefoot.models.catalogue import Card
from surefoot.models.select import (
    GROUNDED,
    Denial,
    RoutingPolicy,
    Selection,
    Standing,
    needs_of,
    select,
)
from surefoot.values import UnitId


class PolicyRouter:
    """Chooses by policy.

    Args:
        policy: What it goes by.
        open_asker: Opens a model by name; called once for each that is chosen.
    """

    def __init__(self, policy: RoutingPolicy, open_asker: Callable[[str], Asker]) -> None:
        self._policy = policy
        self._open = open_asker
        self._askers: dict[str, Asker] = {}
        self._broken: dict[str, str] = {}

    def route(self, request: RouteRequest) -> Routed:
        """As the port says. A model that cannot be opened counts as denied, with what it lacks."""
        needs = needs_of(request.unit.unit_type, request.unit.plan.complexity)
        standing = Standing(
            refused=request.refused,
            grounded=request.grounded,
            pressure=request.pressure,
            profile=self._policy.profile,
            history=self._policy.history,
        )
        while True:
            selection = select(needs, self._usable(), self._policy.rules, standing)
            if not selection.chain:
                return self._nobody(request, selection)
            asker = self._asker(selection.chain[0].card.name)
            if asker is not None:
                return self._somebody(request, selection, asker)

    def _usable(self) -> Sequence[Card]:
        return [card for card in self._policy.cards if card.name not in self._broken]

    def _asker(self, name: str) -> Asker | None:
        if name not in self._askers:
            try:
                self._askers[name] = self._open(name)
            except ModelUnavailableError as error:
                self._broken[name] = str(error)
                return None
        return self._askers[name]

    def _somebody(self, request: RouteRequest, selection: Selection, asker: Asker) -> Routed:
        first = selection.chain[0]
        of = len(selection.chain) + len(selection.denied) + len(self._broken)
        return Routed(
            asker=asker,
            reason=f"{first.score:.1f} points, profile {self._policy.profile}, "
            f"{len(selection.chain)} of {of} models eligible",
            chain=tuple(s.card.name for s in selection.chain),
            verdicts=self._verdicts(request.unit.unit_id, selection),
        )

    def _nobody(self, request: RouteRequest, selection: Selection) -> Routed:
        told = "; ".join(f"{d.model}: {d.reason}" for d in self._denials(selection)[:3])
        return Routed(
            asker=None,
            reason=f"no model may be asked ({told})",
            grounded=tuple(d.model for d in selection.denied if d.rule == GROUNDED),
            verdicts=self._verdicts(request.unit.unit_id, selection),
        )

    def _denials(self, selection: Selection) -> tuple[Denial, ...]:
        broken = (
            Denial(model=name, rule="unavailable", reason=why) for name, why in self._broken.items()
        )
        return (*selection.denied, *broken)

    def _verdicts(self, unit_id: UnitId, selection: Selection) -> tuple[Event, ...]:
        allowed: list[Event] = [
            ModelAllowed(
                unit_id=unit_id,
                model=s.card.name,
                rule="listed" if s.card.listed else "unlisted-admitted",
            )
            for s in selection.chain
        ]
        denied = [
            ModelDenied(unit_id=unit_id, model=d.model, rule=d.rule, reason=d.reason)
            for d in self._denials(selection)
        ]
        return (*allowed, *denied)
