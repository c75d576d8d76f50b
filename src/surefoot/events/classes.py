"""Words that the events share."""

from typing import Literal, TypeAlias

EventClass: TypeAlias = Literal["orchestrator", "model", "tool", "git", "test", "policy", "cost"]
TestPurpose: TypeAlias = Literal[
    "baseline",
    "reproduce",
    "impacted",
    "turn",
    "base-tests",
    "apart",
    "falsify",
    "examples",
    "flaky",
    "accept",
    "check",
    "slice",
    "milestone",
]
ChildKind: TypeAlias = Literal["unit", "subagent", "reprocess"]
