"""Strategies that do the work of a turn."""

from surefoot.execute.fixer import FixerExecutor, Weights, can_fix
from surefoot.execute.repair.executor import RepairExecutor
from surefoot.execute.repair.limits import RepairLimits

__all__ = ["FixerExecutor", "RepairExecutor", "RepairLimits", "Weights", "can_fix"]
