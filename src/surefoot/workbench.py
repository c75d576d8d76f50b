"""The step loop with everything it works with: the project's own environment for commands, the tools, the map."""

import platform
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from surefoot.execute.agent import AgentExecutor
from surefoot.execute.agent import Surroundings as Place
from surefoot.kernel.ports import Clock, Person, Processes, Suite, Toolbox, Workspace
from surefoot.suite import SuitePlan, environment, mounts
from surefoot.toolbox import Shelter, default_toolbox
from surefoot.values import TreeId

_CHARACTERS_A_TOKEN: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Workbench:
    """What an agent of this run is made from."""

    processes: Processes
    plan: SuitePlan
    suite: Suite
    original: Path
    """The user's checkout, whose environment is carried into the worktree."""
    path: str
    """The caller's PATH, on which tools are looked for."""
    person: Person
    clock: Clock
    tools: Callable[[Toolbox], Toolbox]
    """What stands between the executor and its tools."""

    def agent(self, workspace: Workspace) -> AgentExecutor:
        """The executor; its commands see what the project's tests see."""
        shelter = Shelter(
            env=environment(self.plan),
            reads=(*self.plan.reads, *self.plan.editable),
            binds=mounts(self.plan, self.original, workspace.path),
        )
        box = default_toolbox(self.processes, shelter, path=self.path)
        return AgentExecutor(
            self.suite,
            lambda: nullcontext(self.tools(box)),
            Place(
                system=f"{platform.system()}, Python {platform.python_version()}",
                sandbox=self.processes.level,
                overview=overview,
                person=self.person,
                clock=self.clock,
            ),
        )


def overview(workspace: Workspace, tree: TreeId, issue: str, tokens: int) -> str:
    """The paths of a tree, those first that the issue names, cut to so many tokens."""
    paths = sorted(workspace.files(tree), key=lambda path: (path not in issue, path))
    listed, left = list[str](), tokens * _CHARACTERS_A_TOKEN
    for path in paths:
        left -= len(path) + 1
        if left < 0:
            return "\n".join((*listed, f"… and {len(paths) - len(listed)} more"))
        listed.append(path)
    return "\n".join(listed)
