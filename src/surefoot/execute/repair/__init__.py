"""Repair: reproduce, localise, search candidates from several generators, select."""

from surefoot.execute.repair.executor import RepairExecutor
from surefoot.execute.repair.limits import RepairLimits
from surefoot.execute.repair.select import Weights

__all__ = ["RepairExecutor", "RepairLimits", "Weights"]
