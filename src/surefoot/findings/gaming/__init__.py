"""Ways to buy a clean audit, found by comparing a change with its base (SPEC B14)."""

from surefoot.findings.gaming.check import gaming
from surefoot.findings.gaming.reviewer import GamingReviewer

__all__ = ["GamingReviewer", "gaming"]
