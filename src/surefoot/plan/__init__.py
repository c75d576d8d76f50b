"""The plan plane: what a plan must not lack, how it is made and compiled, and the documents that it leaves (SPEC C1, C2)."""

from surefoot.plan.clarify import Clarity, Desk, clarify, shown
from surefoot.plan.compile import Origin, compile_plan, risks_of
from surefoot.plan.discover import Checkout, Found, look, targets_of
from surefoot.plan.documents import counted, documents, overview, written
from surefoot.plan.drafter import Drafter, Refused, Setting
from surefoot.plan.gate import CODES, judge
from surefoot.plan.research import Fetch, in_packages, in_repository, named_by_user, site_packages

__all__ = [
    "CODES",
    "Checkout",
    "Clarity",
    "Desk",
    "Drafter",
    "Fetch",
    "Found",
    "Origin",
    "Refused",
    "Setting",
    "clarify",
    "compile_plan",
    "counted",
    "documents",
    "in_packages",
    "in_repository",
    "judge",
    "look",
    "named_by_user",
    "overview",
    "risks_of",
    "shown",
    "site_packages",
    "targets_of",
    "written",
]
