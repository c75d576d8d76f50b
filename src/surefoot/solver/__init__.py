"""The solver pass: observes a turn and writes the canonical checkpoint (SPEC A)."""

from surefoot.solver.solve import RuleSolver

__all__ = ["RuleSolver"]
