"""The calibration ledger: how often the policy was wrong, by its version and by capability class (SPEC D5)."""

from collections.abc import Mapping
from dataclasses import dataclass

from surefoot.kernel.calibration import MEANINGFUL, MISFIT
from surefoot.registry.store import Registry


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """Judged decisions, and how many of them were wrong."""

    judged: int = 0
    mistaken: int = 0
    pending: int = 0

    @property
    def value(self) -> float | None:
        """Share that was wrong; None when nothing was judged."""
        return self.mistaken / self.judged if self.judged else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Misfit:
    """How a capability class compares with all."""

    capability: str
    promotions: Rate
    holds: Rate
    multiplier: float | None
    """The larger of its two rates as a multiple of the rate of all; None where there is nothing to compare."""

    @property
    def decisions(self) -> int:
        """That were judged."""
        return self.promotions.judged + self.holds.judged

    @property
    def is_meaningful(self) -> bool:
        """Decisions enough to say something."""
        return self.decisions >= MEANINGFUL

    @property
    def is_reported(self) -> bool:
        """Above twice the rate of all, on decisions enough."""
        return self.is_meaningful and self.multiplier is not None and self.multiplier > MISFIT


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Of one version of the policy, or of all."""

    promotions: Rate
    holds: Rate
    classes: tuple[Misfit, ...]


def calibration(registry: Registry, kind: str, policy: str | None = None) -> Calibration:
    """How often promotions and holds of this kind of artifact turned out to be wrong."""
    with registry.transaction() as db:
        rows = db.execute(
            "SELECT v.capability, d.judges, COUNT(d.mistaken), TOTAL(d.mistaken), COUNT(*) FROM decisions d"
            " JOIN versions v ON v.id = d.version JOIN interfaces i ON i.id = v.interface"
            " WHERE d.judges <> '' AND i.kind = ? AND d.policy = IFNULL(?, d.policy)"
            " GROUP BY v.capability, d.judges",
            (kind, policy),
        ).fetchall()
    found: dict[str, dict[str, Rate]] = {}
    for capability, judges, judged, mistaken, count in rows:
        rate = Rate(judged=judged, mistaken=int(mistaken), pending=count - judged)
        found.setdefault(capability, {})[judges] = rate
    promotions = _sum([by.get("promotion", Rate()) for by in found.values()])
    holds = _sum([by.get("hold", Rate()) for by in found.values()])
    return Calibration(
        promotions=promotions,
        holds=holds,
        classes=tuple(_misfit(name, by, promotions, holds) for name, by in sorted(found.items())),
    )


def _misfit(name: str, by: Mapping[str, Rate], promotions: Rate, holds: Rate) -> Misfit:
    own = (by.get("promotion", Rate()), by.get("hold", Rate()))
    ratios = [
        mine.value / every.value
        for mine, every in zip(own, (promotions, holds), strict=True)
        if mine.value is not None and every.value
    ]
    return Misfit(
        capability=name,
        promotions=own[0],
        holds=own[1],
        multiplier=max(ratios) if ratios else None,
    )


def _sum(rates: list[Rate]) -> Rate:
    return Rate(
        judged=sum(r.judged for r in rates),
        mistaken=sum(r.mistaken for r in rates),
        pending=sum(r.pending for r in rates),
    )
