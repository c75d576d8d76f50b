"""The project's own tests as typed reports, and as a worker that tries candidates in milliseconds."""

from surefoot.suite.bounds import nothing_tracked
from surefoot.suite.command_suite import CommandSuite
from surefoot.suite.detect import detect
from surefoot.suite.environment import mounts, sees
from surefoot.suite.foreign_integrity import suspicious_source
from surefoot.suite.integrity import suspicious
from surefoot.suite.layout import carried, languages
from surefoot.suite.paths import is_control_path, is_test_path
from surefoot.suite.plan import CommandPlan, SuitePlan
from surefoot.suite.pytest_suite import PytestSuite
from surefoot.suite.told import ToldSuite

__all__ = [
    "CommandPlan",
    "CommandSuite",
    "PytestSuite",
    "SuitePlan",
    "ToldSuite",
    "carried",
    "detect",
    "is_control_path",
    "is_test_path",
    "languages",
    "mounts",
    "nothing_tracked",
    "sees",
    "suspicious",
    "suspicious_source",
]
