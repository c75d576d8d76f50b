"""The life cycles of a repository on the disk: a projection of its ledgers, and what follows from each new event."""

from surefoot.registry.calibration import Calibration, Misfit, calibration
from surefoot.registry.follower import Follower
from surefoot.registry.metrics import Metrics, metrics
from surefoot.registry.queries import DecisionRow, VersionRow
from surefoot.registry.release import Readiness, Requirement, readiness
from surefoot.registry.store import Registry

__all__ = [
    "Calibration",
    "DecisionRow",
    "Follower",
    "Metrics",
    "Misfit",
    "Readiness",
    "Registry",
    "Requirement",
    "VersionRow",
    "calibration",
    "metrics",
    "readiness",
]
