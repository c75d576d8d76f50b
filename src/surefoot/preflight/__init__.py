"""Preflight of plans, and parity of what documents claim with what is there; from syntax trees alone (SPEC B9, B10)."""

from surefoot.preflight.code import Code
from surefoot.preflight.critic import SyntaxCritic
from surefoot.preflight.parity import Inventory, Parity, check_parity, take_inventory
from surefoot.preflight.plan import CHECKS, Preflight, check_plan
from surefoot.preflight.problems import Problem

__all__ = [
    "CHECKS",
    "Code",
    "Inventory",
    "Parity",
    "Preflight",
    "Problem",
    "SyntaxCritic",
    "check_parity",
    "check_plan",
    "take_inventory",
]
