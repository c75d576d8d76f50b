"""The solver pass: observes a turn and writes the canonical checkpoint (SPEC A)."""

from surefoot.solver.solve import RuleSolver, by_rule

__all__ = ["RuleSolver", "by_rule"]
