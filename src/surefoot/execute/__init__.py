"""Strategies that do the work of a turn."""

from surefoot.execute.fixer import FixerExecutor, can_fix
from surefoot.execute.repair.executor import RepairExecutor
from surefoot.execute.repair.limits import RepairLimits

__all__ = ["FixerExecutor", "RepairExecutor", "RepairLimits", "can_fix"]
