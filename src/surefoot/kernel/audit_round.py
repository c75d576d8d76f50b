"""What is different in a run that was given nothing: it works until no blocking finding is left (SPEC B5, B7).

A cluster that a deterministic strategy mended in part keeps that part, though its unit has ended as blocked; whether the
run is complete is asked of the audit of the whole tree, not of the units.
"""

from collections.abc import Callable
from typing import TypeAlias

from surefoot.kernel.lifecycle import Trigger
from surefoot.kernel.state import RunState, UnitState
from surefoot.values import BLOCKING, Audit, Finding, TreeId

Step: TypeAlias = tuple[Trigger, str]


def is_audit(state: RunState) -> bool:
    """Whether the user gave nothing to do."""
    return state.opened is not None and state.opened.issue.source == "audit"


def spent(state: RunState, tree: TreeId, short: str) -> Step:
    """The budget is spent between turns: what is done is judged when nothing that blocks is waiting."""
    waiting = [u for u in state.units.values() if u.ended == "open"]
    if is_audit(state) and _changed(state, tree) and not any(map(_is_urgent, waiting)):
        return Trigger.UNITS_DONE, f"{short}; nothing that blocks is waiting"
    return Trigger.BUDGET_SPENT, f"no further turn: {short}"


def _is_urgent(unit: UnitState) -> bool:
    return bool(unit.unit.failing) or any(f.severity in BLOCKING for f in unit.unit.findings)


def _changed(state: RunState, tree: TreeId) -> bool:
    return state.opened is not None and tree != state.opened.base_tree


def ended(state: RunState, tree: TreeId) -> Step:
    """All units have ended: what they changed is judged; where they changed nothing, another way is asked for."""
    if _changed(state, tree):
        return Trigger.UNITS_DONE, "every unit has ended"
    blocked = [u for u in state.units.values() if u.ended == "blocked"]
    return Trigger.NEXT_ROUND, blocked[0].blocker if blocked else "the work left the tree as it was"


def judged(before: Audit, after: Audit) -> Step:
    """Complete when nothing blocks any more and every tool that could say so has."""
    silent = {r.tool for r in after.broken} - {r.tool for r in before.broken}
    if silent:
        return Trigger.CRITIQUE_FAILED, f"{min(silent)} gives no answer after the change"
    if after.blocking:
        first = after.blocking[0]
        told = f"{first.file}:{first.line} {first.message}"
        return Trigger.NEXT_ROUND, f"{len(after.blocking)} blocking findings are left: {told}"
    unheard = "".join(f"; {r.tool} gave no answer, before and after" for r in after.broken)
    return (
        Trigger.CRITIQUE_PASSED,
        f"no blocking finding is left, of {len(before.blocking)}; {len(after.findings)} lesser ones{unheard}",
    )


def mended(state: RunState, findings: Callable[[TreeId], Audit], tree: TreeId) -> list[Finding]:
    """Findings of blocked units that are gone all the same, and so are among what the run has to prove."""
    targets = [f for u in state.units.values() if u.ended == "blocked" for f in u.unit.findings]
    if not targets or not is_audit(state):
        return []
    left = {f.fingerprint for f in findings(tree).findings}
    return [f for f in targets if f.fingerprint not in left]
