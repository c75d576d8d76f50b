"""Strategies that do the work of a turn."""

from surefoot.execute.fixer import FixerExecutor, Weights, can_fix
from surefoot.execute.mutants import PythonMutator
from surefoot.execute.repair.executor import RepairExecutor
from surefoot.execute.repair.limits import RepairLimits
from surefoot.execute.strengthen import Strengthener

__all__ = [
    "FixerExecutor",
    "PythonMutator",
    "RepairExecutor",
    "RepairLimits",
    "Strengthener",
    "Weights",
    "can_fix",
]
