"""Whether what the policy decides may have effect: what shadow has seen, and the release gate's five limits (SPEC D6, D9)."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from surefoot.artifacts import Decision, DecisionRecord, LifecycleState, VersionId
from surefoot.kernel.promotion import settle
from surefoot.kernel.selection import Contender, Rollout, choose
from surefoot.kernel.thresholds import ReleaseLimits
from surefoot.registry.calibration import calibration
from surefoot.registry.store import Registry

DOMAINS: Final = 3
"""Capability classes that shadow has to have decided on."""
_DRILL_AT: Final = datetime(2000, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """One thing that enforcement waits for."""

    name: str
    met: bool
    told: str
    """The value and what is needed, in words."""
    exceeded: bool = False
    """Something was measured and is beyond its limit; otherwise what is not met has nothing to show yet."""

    @property
    def gap(self) -> str:
        """What a person lets pass: who lets pass that nothing is known yet does not let pass what turns out bad."""
        return f"{self.name}:exceeded" if self.exceeded else self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Readiness:
    """All of them."""

    requirements: tuple[Requirement, ...]
    approved: frozenset[str]
    """Gaps that a person let pass."""

    @property
    def missing(self) -> tuple[Requirement, ...]:
        """What is not there."""
        return tuple(r for r in self.requirements if not r.met)

    @property
    def refused(self) -> tuple[Requirement, ...]:
        """What is not there and was not let pass; empty: enforcement may begin."""
        return tuple(r for r in self.missing if r.gap not in self.approved)


def readiness(registry: Registry, kind: str, limits: ReleaseLimits) -> Readiness:
    """What speaks for and against enforcement. No data is met only by a limit on what enforcement itself would change."""
    with registry.transaction() as db:
        approved = frozenset(name for (name,) in db.execute("SELECT missing FROM approvals"))
    return Readiness(
        requirements=(
            *_seen_in_shadow(registry, kind),
            _guardrail(registry, kind, limits),
            _corrections(registry, kind, limits),
            _fallback(registry, kind, limits),
            *_calibrated(registry, kind, limits),
        ),
        approved=approved,
    )


def _seen_in_shadow(registry: Registry, kind: str) -> Iterator[Requirement]:
    with registry.transaction() as db:
        domains = [
            name
            for (name,) in db.execute(
                "SELECT DISTINCT v.capability FROM decisions d JOIN versions v ON v.id = d.version"
                " JOIN interfaces i ON i.id = v.interface WHERE i.kind = ? ORDER BY v.capability",
                (kind,),
            )
        ]
        (starts,) = db.execute(
            "SELECT COUNT(*) FROM decisions d JOIN versions v ON v.id = d.version"
            " JOIN interfaces i ON i.id = v.interface WHERE i.kind = ? AND d.before = 'candidate'"
            " AND d.after = 'probation' AND substr(d.event, 1, length(v.stored_trace) + 1) ="
            " v.stored_trace || ':'",
            (kind,),
        ).fetchone()
    named = f" ({', '.join(domains)})" if domains else ""
    yield Requirement(
        name="domains",
        met=len(domains) >= DOMAINS,
        told=f"shadow has decided in {len(domains)} of {DOMAINS} capability classes{named}",
    )
    yield Requirement(
        name="cold-start",
        met=starts > 0,
        told=f"{starts} versions went into probation in the run that made them, of 1",
    )


def _guardrail(registry: Registry, kind: str, limits: ReleaseLimits) -> Requirement:
    with registry.transaction() as db:
        rows = db.execute(
            "SELECT s.chosen = 'latest', TOTAL(s.calls), TOTAL(s.guardrail) FROM served s"
            " JOIN versions v ON v.id = s.version JOIN interfaces i ON i.id = v.interface"
            " WHERE i.kind = ? AND s.chosen <> 'trial' GROUP BY 1",
            (kind,),
        ).fetchall()
    rates = {bool(before): bad / calls for before, calls, bad in rows if calls}
    after, before = rates.get(False), rates.get(True, 0.0)
    return _increase(
        "guardrail-retries",
        after,
        before,
        limits.max_guardrail_increase,
        "the policy chose nothing",
    )


def _corrections(registry: Registry, kind: str, limits: ReleaseLimits) -> Requirement:
    with registry.transaction() as db:
        rows = db.execute(
            "WITH runs AS (SELECT s.trace, v.interface, MAX(s.replaced) AS replaced FROM served s"
            " JOIN versions v ON v.id = s.version JOIN interfaces i ON i.id = v.interface"
            " WHERE i.kind = ? AND s.chosen NOT IN ('trial', 'latest') GROUP BY s.trace, v.interface)"
            " SELECT r.replaced, AVG(t.corrected) FROM runs r JOIN tasks t ON t.trace = r.trace"
            " WHERE r.interface IN (SELECT interface FROM runs WHERE replaced) GROUP BY r.replaced",
            (kind,),
        ).fetchall()
    rates = {bool(replaced): rate for replaced, rate in rows}
    return _increase(
        "user-corrections",
        rates.get(True),
        rates.get(False, 0.0),
        limits.max_correction_increase,
        "no replaced version served",
    )


def _increase(
    name: str, after: float | None, before: float, limit: float, nothing: str
) -> Requirement:
    if after is None:
        return Requirement(name=name, met=True, told=f"{nothing} yet")
    met = after - before <= limit
    return Requirement(
        name=name,
        met=met,
        told=f"{after:.3f} after {before:.3f} (an increase of at most {limit:g})",
        exceeded=not met,
    )


def _fallback(registry: Registry, kind: str, limits: ReleaseLimits) -> Requirement:
    """Loses each incumbent on paper, twice, and looks who serves."""
    drilled, astray = 0, []
    for interface in registry.interfaces(kind):
        line = registry.line(interface)
        if line.incumbent is None:
            continue
        drilled += 1
        ends = {
            _without_incumbent(registry, VersionId(interface=interface, artifact=line.incumbent))
        }
        ends.add(
            _without_incumbent(registry, VersionId(interface=interface, artifact=line.incumbent))
        )
        expected = line.incumbents[-2] if len(line.incumbents) > 1 else None
        if len(ends) > 1 or (expected is not None and ends != {expected}):
            astray.append(str(interface))
    met = drilled >= limits.min_fallback_drills and not astray
    told = f"{drilled} incumbents lost on paper, of {limits.min_fallback_drills}"
    return Requirement(
        name="fallback",
        met=met,
        told=told + (f"; astray: {', '.join(astray)}" if astray else ""),
        exceeded=bool(astray),
    )


def _without_incumbent(registry: Registry, lost: VersionId) -> str | None:
    standing, line = registry.standing(lost), registry.line(lost.interface)
    record = DecisionRecord(
        version=lost,
        incumbent=lost.artifact,
        decision=Decision.DEGRADE,
        before=LifecycleState.DURABLE,
        after=LifecycleState.DEGRADED,
        policy="",
        window="",
        enforced=True,
        calls=0,
    )
    policy = registry.policy(registry.capability(lost))
    fallen, line = settle(standing, line, record, policy=policy, at=_DRILL_AT)
    others = [
        Contender(
            standing=fallen if c.standing.version == lost else c.standing,
            order=c.order,
            calls=c.calls,
            successes=c.successes,
        )
        for c in registry.contenders(lost.interface)
    ]
    choice = choose(others, line, Rollout(enforcement=True))
    return None if choice is None else choice.version.artifact


def _calibrated(registry: Registry, kind: str, limits: ReleaseLimits) -> Iterator[Requirement]:
    found = calibration(registry, kind, registry.policy().version)
    for name, rate, limit in (
        ("false-promotions", found.promotions, limits.max_false_promotions),
        ("false-holds", found.holds, limits.max_false_holds),
    ):
        value = rate.value
        told = "no decision judged" if value is None else f"{rate.mistaken} of {rate.judged}"
        yield Requirement(
            name=name,
            met=value is not None and value <= limit,
            told=f"{told} (at most {limit:.0%})",
            exceeded=value is not None and value > limit,
        )
    own = {capability for _, capability, _ in registry.policies()}
    wide = [
        f"{m.capability} {m.multiplier:.1f} times"
        for m in found.classes
        if m.is_meaningful
        and m.multiplier is not None
        and m.multiplier > limits.max_class_misfit
        and m.capability not in own
    ]
    told = f"{', '.join(wide) or 'none'} above {limits.max_class_misfit:g} times the rate of all"
    yield Requirement(
        name="class-misfit", met=not wide, told=f"classes: {told}", exceeded=bool(wide)
    )
