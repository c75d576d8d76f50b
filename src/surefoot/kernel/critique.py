"""The decision gates G1 to G5, as a function of what the ledger holds of a run (SPEC B9).

They are decided after everything else of a round: each is a reading of records, so that anybody can decide them again.
A record that is not there is a gate that failed.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from surefoot.events.envelope import Recorded
from surefoot.events.orchestration import GateDecided, PhaseChanged, RunOpened, TurnClosed
from surefoot.events.policy import BoundariesChecked, PolicyResolved, RoundVerified
from surefoot.judgements import Boundary, DecisionGate, GateId
from surefoot.kernel.evidence import added_findings, names, silent
from surefoot.kernel.lifecycle import Phase, Trigger, misstep
from surefoot.kernel.ports import Critic, Trees
from surefoot.values import Audit, GateName, TreeId, TurnId

ASKS: Final[Mapping[GateId, str]] = {
    "G1": "the policy is resolved, lets the run work, and nobody locked the repository",
    "G2": "each boundary that the round changed has a contract that holds",
    "G3": "every step followed the table of the lifecycle, and failing checks led nowhere near the end",
    "G4": "each turn that changed something was verified",
    "G5": "the checks pass, and the audit shows nothing new that blocks",
}
STOPPING: Final[frozenset[GateId]] = frozenset({"G1", "G2", "G3", "G4"})
"""Where one of these fails, the run stops; a failed G5 is work for another round."""


def look(critic: Critic, trees: Trees, base: TreeId, tree: TreeId) -> BoundariesChecked:
    """What a critic says of everything that changed since the base."""
    changed = trees.diff(base, tree).paths
    found: tuple[Boundary, ...] = ()
    if any(map(critic.concerns, changed)):
        files = trees.files(base), trees.files(tree)
        with trees.checkout(base) as before, trees.checkout(tree) as after:
            found = critic.look(before, after, files, changed)
    return BoundariesChecked(tree=tree, files=changed, boundaries=found)


def decide(
    events: Sequence[Recorded], tree: TreeId, locked: str | None, *, before: Audit, after: Audit
) -> tuple[DecisionGate, ...]:
    """The five gates of a round that ended with `tree`; the audits are of the base and of that tree."""
    return (
        _policy(events, locked),
        _boundaries(events, tree),
        _lifecycle(events),
        _verified(events),
        _checks(events, before, after),
    )


def stops(gates: Sequence[DecisionGate]) -> DecisionGate | None:
    """The first gate that stops the run."""
    return next((g for g in gates if g.gate in STOPPING and not g.passed), None)


def is_go(gates: Sequence[DecisionGate]) -> bool:
    """GO needs all five."""
    return {g.gate for g in gates if g.passed} == set(ASKS)


def _gate(
    name: GateId, reason: str, *evidence: Recorded | None, passed: bool = False
) -> DecisionGate:
    return DecisionGate(
        gate=name,
        asks=ASKS[name],
        passed=passed,
        reason=reason,
        events=tuple(e.event_id for e in evidence if e is not None),
    )


def _last(events: Sequence[Recorded], kind: type) -> Recorded | None:
    return next((e for e in reversed(events) if isinstance(e.event, kind)), None)


def _policy(events: Sequence[Recorded], locked: str | None) -> DecisionGate:
    found = _last(events, PolicyResolved)
    if found is None or not isinstance(found.event, PolicyResolved):
        return _gate("G1", "no policy was resolved")
    if locked is not None:
        return _gate("G1", f"the repository is locked: {locked}", found)
    if not found.event.can_execute:
        return _gate("G1", f"the policy forbids work: {', '.join(found.event.hard_stops)}", found)
    return _gate("G1", f"mode {found.event.mode}, not locked", found, passed=True)


def _boundaries(events: Sequence[Recorded], tree: TreeId) -> DecisionGate:
    found = _last(events, BoundariesChecked)
    if found is None or not isinstance(found.event, BoundariesChecked) or found.event.tree != tree:
        return _gate("G2", "the boundaries of this tree were not looked at")
    known = found.event.boundaries
    broken = [b for b in known if b.problem]
    if broken:
        told = f"{broken[0].place}: {broken[0].contract}: {broken[0].problem}"
        return _gate("G2", told, found)
    if not known:
        told = "no public signature changed, and no call into another module is new"
        return _gate("G2", told, found, passed=True)
    return _gate("G2", f"{len(known)} boundaries changed, all contracts hold", found, passed=True)


def _lifecycle(events: Sequence[Recorded]) -> DecisionGate:
    phase, last = Phase.AUDITING, None
    for recorded in events:
        change = recorded.event
        if not isinstance(change, PhaseChanged):
            continue
        told = misstep(phase, change.before, change.trigger, change.after)
        if told:
            return _gate("G3", told, recorded)
        phase, last = Phase(change.after), recorded
    if last is None or not isinstance(last.event, PhaseChanged):
        return _gate("G3", "no step is recorded")
    if last.event.trigger != Trigger.CHECKS_PASSED:
        return _gate("G3", f"the last step was {last.event.trigger}, not passed checks", last)
    return _gate("G3", "every step is one of the table's", last, passed=True)


def _verified(events: Sequence[Recorded]) -> DecisionGate:
    judged: dict[TurnId | None, Recorded] = {}
    evidence: list[Recorded] = []
    base = next((e.event.base_tree for e in events if isinstance(e.event, RunOpened)), None)
    tree = base
    for recorded in events:
        event = recorded.event
        if isinstance(event, GateDecided) and event.result.gate is GateName.VERIFICATION:
            judged[recorded.turn_id] = recorded
        if isinstance(event, TurnClosed):
            # After a veto the work begins at the base again: a turn that kept nothing ends on another tree then.
            if event.commit is not None or event.tree not in (tree, base):
                gate = judged.get(recorded.turn_id)
                if gate is None:
                    return _gate("G4", f"turn {event.number} was kept and not verified", recorded)
                evidence.append(gate)
            tree = event.tree
    if not evidence:
        return _gate("G4", "no turn changed anything")
    told = f"{len(evidence)} turns changed the tree, each was verified"
    return _gate("G4", told, *evidence, passed=True)


def _checks(events: Sequence[Recorded], before: Audit, after: Audit) -> DecisionGate:
    found = _last(events, RoundVerified)
    if found is None or not isinstance(found.event, RoundVerified):
        return _gate("G5", "no checks are recorded")
    if not found.event.done:
        return _gate("G5", f"the checks do not pass: {found.event.blocker or 'not done'}", found)
    if new := added_findings(before.blocking, after.blocking):
        told = f"the change brought a finding: {new[0].file}:{new[0].line} {new[0].message}"
        return _gate("G5", told, found)
    if quiet := silent(before, after):
        return _gate("G5", f"no answer from {names(quiet)} after the change", found)
    return _gate("G5", "the checks pass, no new blocking finding", found, passed=True)
