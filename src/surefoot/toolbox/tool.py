"""What a tool is."""

from collections.abc import Mapping
from typing import Protocol

from surefoot.kernel.ports import Workspace
from surefoot.values import ToolOutcome, ToolSpec


class Tool(Protocol):
    """One thing that an executor may have done."""

    @property
    def spec(self) -> ToolSpec:
        """What a model is told of it; the same at every call."""
        ...

    def run(self, parameters: Mapping[str, object], workspace: Workspace) -> ToolOutcome:
        """Parameters already fit the spec's schema. An expected failure is an outcome, not an exception."""
        ...
