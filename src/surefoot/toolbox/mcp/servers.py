"""The tools of MCP servers that the user's settings name: started inside the fence, without a network.

They read the worktree and do not write it: what changes it goes through a tool whose changes are seen. (A writable one
would also hold the fence's mount points while the worktree is restored.)

What a server says is data: its names and schemas are checked before a model sees them, its answers are bounded in time,
and a server that dies, hangs or lies costs an outcome that is not ok, not the run.
"""

import importlib.util
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from surefoot import codec
from surefoot.errors import SandboxError, UsageError
from surefoot.kernel.ports import Processes, RunningProcess, Workspace
from surefoot.toolbox.bounds import clean
from surefoot.toolbox.mcp.offer import McpRefusalError, McpTroubleError, Offer
from surefoot.toolbox.misfit import flaw_of
from surefoot.toolbox.programs import Programs
from surefoot.toolbox.specs import failed
from surefoot.toolbox.tool import Tool
from surefoot.values import Command, Limits, ToolOutcome, ToolSpec

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal

    from surefoot.toolbox.mcp.connection import Connection

LIFE_S: Final = 24 * 3600.0
# No bound on address space: Node and Go reserve many times what they use.
LIMITS: Final = Limits(wall_s=LIFE_S, cpu_s=None, memory_bytes=None, output_bytes=16 * 1024**2)
MOST_TOOLS: Final = 64
SCHEMA_CHARACTERS: Final = 20_000
PURPOSE_CHARACTERS: Final = 400
_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_TAIL: Final = 600
"""Characters of standard error that a message keeps."""
_SAMPLES: Final[Mapping[str, object]] = {
    "string": "text",
    "integer": 1,
    "number": 1.5,
    "boolean": True,
    "array": [],
    "object": {},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class McpServer:
    """A server of the user's."""

    name: str
    """Its tools are called `name.tool`."""
    argv: tuple[str, ...]
    """A program on the user's `PATH`, or relative to the worktree, that speaks MCP over standard input and output."""
    env: Mapping[str, str] = field(default_factory=dict)
    """What it gets of the user's environment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long a server may take, seconds."""

    start_s: float = 30.0
    answer_s: float = 120.0


PATIENCE: Final = Patience()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Running:
    connection: "Connection"
    process: RunningProcess
    root: Path


class McpTools:
    """All MCP servers of a run. They stay open from `tools` to `close`; one thread at a time."""

    def __init__(
        self,
        processes: Processes,
        servers: Sequence[McpServer],
        *,
        programs: Programs,
        patience: Patience = PATIENCE,
    ) -> None:
        """Starts nothing."""
        self._processes = processes
        self._servers = tuple(servers)
        self._programs = programs
        self._patience = patience
        self._running: dict[str, _Running] = {}
        self._portal: BlockingPortal | None = None
        self._stack = ExitStack()
        self._troubles: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def troubles(self) -> tuple[str, ...]:
        """Servers and tools that the last `tools` left out, each with the reason and the mend."""
        return tuple(self._troubles)

    def tools(self, workspace: Workspace) -> tuple[Tool, ...]:
        """Start the servers, and take what they offer; what cannot be used is in `troubles`."""
        self._troubles.clear()
        found: list[Tool] = []
        for server in self._servers:
            try:
                offers = self._connect(server, workspace.path).offers(self._patience.start_s)
            except (UsageError, SandboxError, McpRefusalError, McpTroubleError) as error:
                self._troubles.append(self._blame(server, error))
                continue
            found += self._usable(server, offers)
        return tuple(found)

    def call(
        self, server: McpServer, tool: str, parameters: Mapping[str, object], workspace: Workspace
    ) -> ToolOutcome:
        """Ask for one thing, from a fresh server where the last one is gone."""
        try:
            connection = self._connect(server, workspace.path)
            reply = connection.call(tool, parameters, self._patience.answer_s)
        except McpRefusalError as error:
            return failed(f"MCP server {server.name!r} refused: {error}")
        except (UsageError, SandboxError, McpTroubleError) as error:
            return failed(f"{self._blame(server, error)}; the next call starts it anew")
        if reply.is_error:
            return failed(reply.text or "it failed and said nothing")
        return ToolOutcome(ok=True, output=reply.text)

    def close(self) -> None:
        """End all servers; a later call would start its own again."""
        for name in [*self._running]:
            self._stack.callback(self._end, name)
        self._stack.close()
        self._portal = None

    def _connect(self, server: McpServer, root: Path) -> "Connection":
        """The open connection, or a new one.

        Raises:
            UsageError: The SDK or the server is not installed.
            SandboxError: It cannot be enclosed.
            McpTroubleError: It does not come up.
        """
        known = self._running.get(server.name)
        if known is not None and known.root == root:
            return known.connection
        self._end(server.name)
        if importlib.util.find_spec("mcp") is None:
            raise UsageError(
                "the MCP SDK is not installed; run `pip install 'surefoot[mcp]'` in the environment of Surefoot"
            )
        process = self._start(server, root)
        try:
            connection = self._shake_hands(process)
        except McpTroubleError as error:
            raise McpTroubleError(f"{error}{_last_words(process)}") from None
        except BaseException:
            process.stop()
            raise
        self._running[server.name] = _Running(connection=connection, process=process, root=root)
        return connection

    def _start(self, server: McpServer, root: Path) -> RunningProcess:
        program = self._programs.find(server.argv, root)
        if program is None:
            raise UsageError(
                f"there is no program {server.argv[0]!r}; install it, or mend `tools.mcp` in surefoot.toml"
            )
        command = Command(
            argv=program.argv,
            cwd=root,
            env={**program.env, **server.env},
            reads=(root, *program.reads),
            limits=LIMITS,
        )
        return self._processes.start(command)

    def _shake_hands(self, process: RunningProcess) -> "Connection":
        # Optional, and takes a second to load.
        from anyio.from_thread import start_blocking_portal  # noqa: PLC0415

        from surefoot.toolbox.mcp.connection import Connection  # noqa: PLC0415

        if self._portal is None:
            self._portal = self._stack.enter_context(start_blocking_portal())
        try:
            return Connection(self._portal, process, start_s=self._patience.start_s)
        except McpRefusalError as error:
            raise McpTroubleError(f"refused the handshake: {error}") from None

    def _usable(self, server: McpServer, offers: Sequence[Offer]) -> Iterator[Tool]:
        seen: set[str] = set()
        for offer in offers[:MOST_TOOLS]:
            try:
                spec = _spec(server, offer)
            except UsageError as error:
                self._troubles.append(f"MCP server {server.name!r}: {error}; its tool is left out")
                continue
            if spec.name not in seen:
                seen.add(spec.name)
                yield _McpTool(spec=spec, tools=self, server=server, tool=offer.name)
        if len(offers) > MOST_TOOLS:
            told = f"has {len(offers)} tools, of which the first {MOST_TOOLS} are taken"
            self._troubles.append(f"MCP server {server.name!r} {told}")

    def _blame(self, server: McpServer, error: Exception) -> str:
        """What went wrong, after which the server is ended."""
        known = self._running.pop(server.name, None)
        words = ""
        if known is not None:
            known.connection.close()
            words = _last_words(known.process)
        return f"MCP server {server.name!r}: {error}{words}"

    def _end(self, name: str) -> None:
        known = self._running.pop(name, None)
        if known is not None:
            known.connection.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class _McpTool:
    """One tool of one server."""

    spec: ToolSpec
    tools: McpTools
    server: McpServer
    tool: str

    def run(self, parameters: Mapping[str, object], workspace: Workspace) -> ToolOutcome:
        """As `Tool.run`."""
        return self.tools.call(self.server, self.tool, parameters, workspace)


def _last_words(process: RunningProcess) -> str:
    """What it wrote to standard error, once it is ended."""
    said = process.stop().stderr.decode("utf-8", "replace").strip()[-_TAIL:]
    return f" (its last words: {said})" if said else ""


def _spec(server: McpServer, offer: Offer) -> ToolSpec:
    """The tool as a model is shown it.

    Raises:
        UsageError: Its name or its schema is none.
    """
    if _NAME.fullmatch(offer.name) is None:
        raise UsageError(f"{clean(offer.name)[:80]!r} is not the name of a tool")
    try:
        schema = codec.canonical(offer.schema).decode()
    except (ValueError, RecursionError) as error:
        raise UsageError(f"the schema of {offer.name!r} is none: {error!s:.200}") from None
    if len(schema) > SCHEMA_CHARACTERS:
        raise UsageError(f"the schema of {offer.name!r} has {len(schema)} characters")
    wrong = flaw_of(offer.schema)
    if wrong:
        raise UsageError(f"the schema of {offer.name!r} is none: {wrong:.200}")
    if offer.schema.get("type") != "object":
        raise UsageError(f"the schema of {offer.name!r} is not that of an object")
    said = " ".join(clean(offer.description).split())[:PURPOSE_CHARACTERS]
    return ToolSpec(
        name=f"{server.name}.{offer.name}",
        purpose=said or f"The tool {offer.name} of the MCP server {server.name}.",
        schema=schema,
        effect="run",
        example=codec.canonical(_example(offer.schema)).decode(),
    )


def _example(schema: Mapping[str, object]) -> dict[str, object]:
    """Each required parameter with a value of its type."""
    match schema:
        case {"required": list(required), "properties": dict(properties)}:
            return {str(name): _sample(properties.get(name)) for name in required}
        case _:
            return {}


def _sample(schema: object) -> object:
    match schema:
        case {"examples": [first, *_]} | {"default": first} | {"enum": [first, *_]}:
            return first
        case {"type": str(kind)}:
            return _SAMPLES.get(kind)
        case _:
            return _SAMPLES["string"]
