"""Bundled patients: small git repositories with a real bug, to try a run on."""

from surefoot.patients.bundle import NAMES, materialise

__all__ = ["NAMES", "materialise"]
