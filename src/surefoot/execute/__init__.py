"""Strategies that do the work of a turn."""

from surefoot.execute.fixer import FixerExecutor, can_fix

__all__ = ["FixerExecutor", "can_fix"]
