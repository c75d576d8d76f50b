"""The project's own tests as typed reports, and as a worker that tries candidates in milliseconds."""

from surefoot.suite.plan import SuitePlan
from surefoot.suite.pytest_suite import PytestSuite

__all__ = ["PytestSuite", "SuitePlan"]
