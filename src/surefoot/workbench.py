"""The step loop with everything it works with: the project's own environment for commands, the tools, the map."""

import os
import platform
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

from surefoot.context import RepositoryMap, outline
from surefoot.execute.agent import AgentExecutor
from surefoot.execute.agent import Surroundings as Place
from surefoot.kernel.ports import (
    Clock,
    Notebook,
    Person,
    Processes,
    Shelf,
    Suite,
    Toolbox,
    Workspace,
)
from surefoot.settings import LspSettings, McpSettings
from surefoot.suite import CommandPlan, SuitePlan, mounts, sees
from surefoot.toolbox import Box, Shelter, default_toolbox
from surefoot.toolbox.file_read import FileReader
from surefoot.toolbox.forged import ForgingBox, Runner, Workshop
from surefoot.toolbox.lsp import Language, LanguageServers, own_languages
from surefoot.toolbox.mcp import McpServer, McpTools
from surefoot.toolbox.programs import Programs
from surefoot.values import SandboxLevel, TreeId
from surefoot.vocabulary import is_unicode

_CHARACTERS_A_TOKEN: Final = 4
_MOST_TOKENS: Final = 3_000
"""Of the map, whatever the model could hold: it stands in every prompt of the turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forging:
    """Where the agent finds the tools that it wrote, and what it writes new ones with."""

    shelf: Shelf
    notebook: Notebook
    python: Path
    """Interprets them, without packages."""
    session: str
    """As in `CallFacts.session`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workbench:
    """What an agent of this run is made from."""

    processes: Processes
    plan: SuitePlan | CommandPlan
    suite: Suite
    cache: Path
    """Outside every checkout, for the symbols of files by content."""
    original: Path
    """The user's checkout, whose environment is carried into the worktree."""
    environ: Mapping[str, str]
    """The caller's environment: tools are looked for on its PATH, and MCP servers get what the settings name of it."""
    servers: Sequence[McpSettings]
    languages: Sequence[LspSettings]
    """Servers of languages that the settings name."""
    person: Person
    clock: Clock
    system: str | None
    sandbox: SandboxLevel | None
    """What the model is told of the place of work; None: as it is."""
    warn: Callable[[str], object]
    """Is told of each server that cannot be used."""
    redact: Callable[[str], str]
    """Hides secrets in what the tools say."""
    tools: Callable[[Toolbox], Toolbox]
    """What stands between the executor and its tools."""
    forging: Forging | None = None
    """None: no forged tools, and no new ones."""
    capture: bool = False
    """Calls are recorded with the shape of their decision."""

    def agent(self, workspace: Workspace) -> AgentExecutor:
        """The executor; its commands see what the project's tests see."""
        env, reads = sees(self.plan)
        shelter = Shelter(
            env={**env, **_imports(self.plan, workspace.path)},
            reads=reads,
            binds=mounts(self.plan.carry, self.original, workspace.path),
        )
        return AgentExecutor(
            self.suite,
            lambda: self._toolbox(shelter, workspace),
            Place(
                system=self.system or f"{platform.system()}, Python {platform.python_version()}",
                sandbox=self.sandbox or self.processes.level,
                overview=self._overview,
                person=self.person,
                clock=self.clock,
                read=Box((FileReader(outline, self.redact),), redact=self.redact).call,
                redact=self.redact,
            ),
            capture=self.capture,
        )

    @contextmanager
    def _toolbox(self, shelter: Shelter, workspace: Workspace) -> Iterator[Toolbox]:
        """The tools of one turn; language and MCP servers live as long as it."""
        path = self.environ.get("PATH", "")
        programs = Programs(path=path, home=Path(self.environ.get("HOME", "/")))
        servers = [
            self._server(server)
            for server in self.servers
            if self._is_outside(f"the MCP server {server.name}", server.command)
        ]
        with (
            LanguageServers(
                self.processes,
                clock=self.clock,
                programs=programs,
                own=self._languages(),
                project_python=self.plan.python if isinstance(self.plan, SuitePlan) else None,
                reads=self.plan.reads,
            ) as languages,
            McpTools(self.processes, servers, programs=programs) as mcp,
        ):
            more = (languages, *mcp.tools(workspace))
            for trouble in mcp.troubles:
                self.warn(trouble)
            box = default_toolbox(
                self.processes,
                shelter,
                path=path,
                outliner=outline,
                redact=self.redact,
                more=more,
            )
            yield self.tools(box if self.forging is None else self._forging(box, self.forging))

    def _forging(self, box: Toolbox, given: Forging) -> Toolbox:
        shop = Workshop(
            shelf=given.shelf,
            runner=Runner(self.processes, given.python, redact=self.redact),
            notebook=given.notebook,
            clock=self.clock,
            session=given.session,
        )
        return ForgingBox(box, shop)

    def _languages(self) -> tuple[Language, ...]:
        """Those of the settings."""
        return own_languages(
            (each.command, dict.fromkeys(each.suffixes, each.language))
            for each in self.languages
            # A folder is more likely to have the name of a subcommand, such as `server`.
            if self._is_outside(
                f"the language server {shlex.join(each.command)}", each.command, Path.is_file
            )
        )

    def _is_outside(
        self, server: str, command: tuple[str, ...], is_there: Callable[[Path], bool] = Path.exists
    ) -> bool:
        """A server that lies in the repository could be rewritten by the run that it is given secrets or files in."""
        words = (*command, *_module_files(command))
        inside = [w for w in words if not w.startswith("/") and is_there(self.original / w)]
        if inside:
            told = f"{server} is not started: {inside[0]} lies in the repository, which the run may change"
            self.warn(f"{told}; give an absolute path outside of it")
        return not inside

    def _server(self, settings: McpSettings) -> McpServer:
        env = {n: self.environ[n] for n in settings.env_names if n in self.environ}
        return McpServer(name=settings.name, argv=settings.command, env=env)

    def _overview(self, workspace: Workspace, tree: TreeId, issue: str, tokens: int) -> str:
        """The map of the repository, and the paths of what the map knows nothing of, in so many tokens."""
        files = tuple(filter(is_unicode, workspace.files(tree)))
        room = min(tokens, _MOST_TOKENS)
        symbols = RepositoryMap(self.cache / "symbols").render(
            workspace.path, files, issue, room * 3 // 4
        )
        others = sorted((p for p in files if p not in symbols), key=lambda p: (p not in issue, p))
        left, listed = (room - len(symbols) // _CHARACTERS_A_TOKEN) * _CHARACTERS_A_TOKEN, []
        for path in others:
            left -= len(path) + 2
            if left < 0:
                break
            listed.append(path)
        more = f" and {len(others) - len(listed)} more" if len(others) > len(listed) else ""
        return f"{symbols}\nOther files: {', '.join(listed)}{more}" if others else symbols


def _module_files(command: tuple[str, ...]) -> Iterator[str]:
    """Where the module of `python -m MODULE` lies if it is the working folder's."""
    for option, module in pairwise(command):
        if option == "-m":
            path = module.replace(".", "/")
            yield from (f"{path}.py", f"{path}/__main__.py")


def _imports(plan: SuitePlan | CommandPlan, tree: Path) -> dict[str, str]:
    """The variable by which Python finds the tree's packages before those of an editable install of the checkout."""
    if isinstance(plan, CommandPlan):
        return {}
    places = [tree / place for place in plan.source_roots]
    return {"PYTHONPATH": os.pathsep.join(map(str, dict.fromkeys((*places, tree))))}
