"""The ten metrics of the life cycle, for one version of the policy (SPEC D9)."""

from dataclasses import dataclass
from datetime import datetime
from statistics import mean, median

from surefoot.registry.calibration import Calibration, calibration
from surefoot.registry.store import Registry


@dataclass(frozen=True, slots=True, kw_only=True)
class Metrics:
    """None where there is no data. Rates are 0 to 1."""

    policy: str
    promotion_attempts: int
    """Decisions on a version that had calls and sessions enough."""
    promotion_success_rate: float | None
    """Of those, the share that said promote."""
    degraded_after_promotion_rate: float | None
    """Of the promotions, the share after which the same version was degraded."""
    fallback_frequency: float | None
    """Degrades that put an incumbent back and calls that a fallback served, as a share of all calls."""
    median_time_to_durable_s: float | None
    """From being stored to the first promotion."""
    contract_pass_rate_delta: float | None
    """Challenger less incumbent when it was decided, on average."""
    false_promotion_rate: float | None
    false_hold_rate: float | None
    coherence_delta: float | None
    """`state_key_consistency_ratio`, challenger less incumbent when it was decided, on average."""
    class_misfit: float | None
    """The largest multiple of the rate of all that a capability class with decisions enough has."""
    calibration: Calibration


def metrics(registry: Registry, kind: str, policy: str) -> Metrics:
    """What the decisions of a policy version came to, for one kind of artifact."""
    with registry.transaction() as db:
        rows = db.execute(
            "SELECT d.*, v.stored_at FROM decisions d JOIN versions v ON v.id = d.version"
            " JOIN interfaces i ON i.id = v.interface WHERE i.kind = ? AND d.policy = ? ORDER BY d.id",
            (kind, policy),
        ).fetchall()
        (calls, fallbacks) = db.execute(
            "SELECT TOTAL(s.calls), TOTAL(s.calls * (s.chosen = 'fallback')) FROM served s"
            " JOIN versions v ON v.id = s.version JOIN interfaces i ON i.id = v.interface"
            " WHERE i.kind = ? AND s.chosen <> 'trial'",
            (kind,),
        ).fetchone()
    attempts = [r for r in rows if r["attempt"]]
    promoted = [r for r in rows if r["decision"] == "promote" and r["before"] == "probation"]
    fallen = [r for r in rows if r["decision"] == "degrade" and r["before"] == "durable"]
    restored = sum(r["restored"] is not None for r in rows)
    first = {r["version"]: r for r in reversed(promoted)}
    waits = [
        (datetime.fromisoformat(r["at"]) - datetime.fromisoformat(r["stored_at"])).total_seconds()
        for r in first.values()
    ]
    found = calibration(registry, kind, policy)
    known = [m.multiplier for m in found.classes if m.is_meaningful and m.multiplier is not None]
    return Metrics(
        policy=policy,
        promotion_attempts=len(attempts),
        promotion_success_rate=_share(
            sum(r["decision"] == "promote" for r in attempts), len(attempts)
        ),
        degraded_after_promotion_rate=_share(len(fallen), len(promoted)),
        fallback_frequency=_share(restored + fallbacks, calls),
        median_time_to_durable_s=median(waits) if waits else None,
        contract_pass_rate_delta=_mean([r["contract_delta"] for r in rows]),
        false_promotion_rate=found.promotions.value,
        false_hold_rate=found.holds.value,
        coherence_delta=_mean([r["coherence_delta"] for r in rows]),
        class_misfit=max(known, default=None),
        calibration=found,
    )


def _share(part: float, whole: float) -> float | None:
    return round(part / whole, 4) if whole else None


def _mean(values: list[float | None]) -> float | None:
    known = [v for v in values if v is not None]
    return round(mean(known), 4) if known else None
