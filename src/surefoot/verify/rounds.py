"""Rounds again: what changed at the boundaries is read from the trees once more, and each decision gate decides anew."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from surefoot.codec import difference, plain
from surefoot.decisions.redacted import MARK
from surefoot.events.envelope import Recorded
from surefoot.events.orchestration import PhaseChanged
from surefoot.events.policy import BoundariesChecked, RoundDecided
from surefoot.judgements import Boundary
from surefoot.kernel import critique
from surefoot.kernel.audit_round import is_audit, judged
from surefoot.kernel.lifecycle import Phase, Trigger
from surefoot.kernel.ports import Critic, Trees
from surefoot.kernel.state import RunState
from surefoot.kernel.whole import ends_of
from surefoot.values import TreeId
from surefoot.verify.record import Proofs

_NEEDS_GO = frozenset({Trigger.CRITIQUE_PASSED, Trigger.NEXT_ROUND})


@dataclass(slots=True, kw_only=True)
class RoundCheck:
    """STOP or GO follows from the trees and from what the ledger holds before it, and what follows from it is so."""

    proofs: Proofs
    trees: Trees
    critic: Critic
    is_there: Mapping[TreeId, bool]
    """Whether git still has what each tree that a turn made holds."""
    _events: list[Recorded] = field(default_factory=list)
    _decided: RoundDecided | None = None

    def look(self, state: RunState, recorded: Recorded) -> str:
        """As `Check.look`; after a check that has let the proofs take the event in."""
        event, told = recorded.event, ""
        if isinstance(event, BoundariesChecked):
            told = self._looked(state, event)
        elif isinstance(event, RoundDecided):
            self._decided = event
            told = self._gates(state, event)
        elif isinstance(event, PhaseChanged):
            told = self._followed(state, event)
            self._decided = None
        self._events.append(recorded)
        return told

    def _looked(self, state: RunState, said: BoundariesChecked) -> str:
        if state.phase is not Phase.DELTA_CRITIQUE:
            return f"boundaries are looked at in phase {Phase.DELTA_CRITIQUE}, not in {state.phase}"
        base, tree = ends_of(state)
        if said.tree != tree:
            return f"tree was {said.tree}, is {tree}"
        if not self.is_there.get(tree, True):
            return ""
        derived = critique.look(self.critic, self.trees, base, tree)
        if len(said.boundaries) == len(derived.boundaries):
            pairs = zip(said.boundaries, derived.boundaries, strict=True)
            derived = replace(derived, boundaries=tuple(_as_told(*pair) for pair in pairs))
        return difference(plain(said), plain(derived))

    def _gates(self, state: RunState, said: RoundDecided) -> str:
        if state.phase is not Phase.DELTA_CRITIQUE:
            return f"a round is decided in phase {Phase.DELTA_CRITIQUE}, not in {state.phase}"
        base, tree = ends_of(state)
        prover = self.proofs.at(state, state.policy.risk_flags if state.policy else ())
        gates = critique.decide(
            tuple(self._events),
            tree,
            state.locked,
            before=prover.findings(base),
            after=prover.findings(tree),
        )
        derived = RoundDecided(number=state.round, tree=tree, gates=gates, go=critique.is_go(gates))
        return difference(plain(said), plain(derived))

    def _followed(self, state: RunState, event: PhaseChanged) -> str:
        """A round goes on, or is complete, by a decision only; from a STOP nothing goes on."""
        goes_on = event.trigger in (*_NEEDS_GO, Trigger.CRITIQUE_FAILED)
        if event.before != Phase.DELTA_CRITIQUE or not goes_on:
            return ""
        said = f"trigger was {str(event.trigger)!r}"
        if self._decided is None:
            return f"{said}, but no round.decided says what the gates are"
        stop = critique.stops(self._decided.gates)
        if stop is not None or (event.trigger in _NEEDS_GO and not self._decided.go):
            return f"{said}, but {stop.gate if stop else 'a gate'} says STOP"
        return self._completed(state, said) if event.trigger == Trigger.CRITIQUE_PASSED else ""

    def _completed(self, state: RunState, said: str) -> str:
        if not is_audit(state):
            left = [u.unit.unit_id for u in state.units.values() if u.ended != "done"]
            return f"{said}, but unit {left[0]} is not done" if left else ""
        base, tree = ends_of(state)
        prover = self.proofs.at(state, state.policy.risk_flags if state.policy else ())
        trigger, reason = judged(prover.findings(base), prover.findings(tree))
        return "" if trigger is Trigger.CRITIQUE_PASSED else f"{said}, but {reason}"


def _as_told(said: Boundary, derived: Boundary) -> Boundary:
    """What is derived, in the words of the record where a secret was taken out of them."""
    marked = MARK.search(said.contract + said.problem) is not None
    if not marked or bool(said.problem) != bool(derived.problem):
        return derived
    return replace(derived, contract=said.contract, problem=said.problem)
