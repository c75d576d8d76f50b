"""The step loop with everything it works with: the project's own environment for commands, the tools, the map."""

import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from surefoot.execute.agent import AgentExecutor
from surefoot.execute.agent import Surroundings as Place
from surefoot.kernel.ports import Clock, Person, Processes, Suite, Toolbox, Workspace
from surefoot.settings import McpSettings
from surefoot.suite import SuitePlan, environment, mounts
from surefoot.toolbox import Shelter, default_toolbox
from surefoot.toolbox.lsp import LanguageServers
from surefoot.toolbox.mcp import McpServer, McpTools
from surefoot.toolbox.programs import Programs
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
    environ: Mapping[str, str]
    """The caller's environment: tools are looked for on its PATH, and MCP servers get what the settings name of it."""
    servers: Sequence[McpSettings]
    person: Person
    clock: Clock
    warn: Callable[[str], object]
    """Is told of each server that cannot be used."""
    tools: Callable[[Toolbox], Toolbox]
    """What stands between the executor and its tools."""

    def agent(self, workspace: Workspace) -> AgentExecutor:
        """The executor; its commands see what the project's tests see."""
        shelter = Shelter(
            env=environment(self.plan),
            reads=(*self.plan.reads, *self.plan.editable),
            binds=mounts(self.plan, self.original, workspace.path),
        )
        return AgentExecutor(
            self.suite,
            lambda: self._toolbox(shelter, workspace),
            Place(
                system=f"{platform.system()}, Python {platform.python_version()}",
                sandbox=self.processes.level,
                overview=overview,
                person=self.person,
                clock=self.clock,
            ),
        )

    @contextmanager
    def _toolbox(self, shelter: Shelter, workspace: Workspace) -> Iterator[Toolbox]:
        """The tools of one turn; language and MCP servers live as long as it."""
        path = self.environ.get("PATH", "")
        programs = Programs(path=path, home=Path(self.environ.get("HOME", "/")))
        servers = [self._server(server) for server in self.servers]
        with (
            LanguageServers(
                self.processes,
                clock=self.clock,
                programs=programs,
                project_python=self.plan.python,
                reads=self.plan.reads,
            ) as languages,
            McpTools(self.processes, servers, programs=programs) as mcp,
        ):
            more = (languages, *mcp.tools(workspace))
            for trouble in mcp.troubles:
                self.warn(trouble)
            yield self.tools(default_toolbox(self.processes, shelter, path=path, more=more))

    def _server(self, settings: McpSettings) -> McpServer:
        env = {n: self.environ[n] for n in settings.env_names if n in self.environ}
        return McpServer(name=settings.name, argv=settings.command, env=env)


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
