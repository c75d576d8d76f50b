"""One MCP server through the official SDK, whose streams are bridged to a sandboxed process.

The SDK's own stdio client would start the server outside of the fence. The only module that imports the SDK, which is an
extra and slow to load; no type of it leaves this module.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager
from typing import Final, TypeAlias, TypeVar

import anyio
from anyio import from_thread, to_thread
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp import Client, MCPError
from mcp.shared.message import SessionMessage
from mcp_types import (
    CONNECTION_CLOSED,
    REQUEST_TIMEOUT,
    CallToolResult,
    Implementation,
    TextContent,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

from surefoot import __version__, codec
from surefoot.kernel.ports import RunningProcess
from surefoot.toolbox.mcp.offer import McpRefusalError, McpTroubleError, Offer, Reply

MOST_PAGES: Final = 20
"""Of a list of tools; a server could go on without end."""
_FOREVER_S: Final = 7 * 24 * 3600.0
"""The process has a shorter life of its own."""
# What the SDK says it raises over an answer that does not fit, and over a connection that is gone. In a group where it
# comes out of the task that reads.
_FAULTS: Final = (
    MCPError,
    ValidationError,
    RuntimeError,
    TimeoutError,
    anyio.BrokenResourceError,
    anyio.ClosedResourceError,
    ExceptionGroup,
)

T = TypeVar("T")
_Streams: TypeAlias = tuple[
    MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]
]


class Connection:
    """A server from the handshake to `close`. After an `McpTroubleError` it is of no more use."""

    def __init__(
        self, portal: from_thread.BlockingPortal, running: RunningProcess, *, start_s: float
    ) -> None:
        """Shake hands, within `start_s`.

        Raises:
            McpTroubleError: That did not work; the process still runs.
        """
        self._portal = portal
        self._running = running
        self._stack = ExitStack()
        client = Client(
            _transport(running),
            cache=None,
            client_info=Implementation(name="surefoot", version=__version__),
        )
        opened = portal.wrap_async_context_manager(_opened(client, start_s))
        self._client: Client = self._checked(lambda: self._entered(opened), start_s)

    def close(self) -> None:
        """End the conversation and the process."""
        try:
            self._running.stop()
        finally:
            self._stack.close()

    def offers(self, timeout_s: float) -> tuple[Offer, ...]:
        """All tools that it says it has."""
        return self._bounded(self._list, timeout_s)

    def call(self, tool: str, parameters: Mapping[str, object], timeout_s: float) -> Reply:
        """What a tool answered.

        Raises:
            McpRefusalError: The server refused the call.
            McpTroubleError: It did not answer in time, or not with what the protocol allows.
        """

        async def asked() -> CallToolResult:
            return await self._client.call_tool(tool, dict(parameters))

        result = self._bounded(asked, timeout_s)
        parts = [
            each.text if isinstance(each, TextContent) else f"[{each.type}, not shown]"
            for each in result.content
        ]
        if not parts and result.structured_content is not None:
            try:
                parts = [codec.canonical(result.structured_content).decode()]
            except ValueError as error:
                raise McpTroubleError(f"its answer is no JSON: {error}") from None
        return Reply(text="\n".join(parts), is_error=result.is_error)

    def _entered(self, opened: AbstractContextManager[Client]) -> Client:
        return self._stack.enter_context(opened)

    async def _list(self) -> tuple[Offer, ...]:
        offers: list[Offer] = []
        cursor = None
        for _ in range(MOST_PAGES):
            page = await self._client.list_tools(cursor=cursor)
            offers += [
                Offer(name=t.name, description=t.description or "", schema=t.input_schema)
                for t in page.tools
            ]
            cursor = page.next_cursor
            if cursor is None:
                break
        return tuple(offers)

    def _bounded(self, work: Callable[[], Awaitable[T]], timeout_s: float) -> T:
        async def limited() -> T:
            with anyio.fail_after(timeout_s):
                return await work()

        return self._checked(lambda: self._portal.call(limited), timeout_s)

    def _checked(self, work: Callable[[], T], timeout_s: float) -> T:
        try:
            return work()
        except _FAULTS as error:
            if isinstance(error, MCPError) and error.code not in {
                CONNECTION_CLOSED,
                REQUEST_TIMEOUT,
            }:
                raise McpRefusalError(str(error)) from None
            raise McpTroubleError(_told(error, timeout_s)) from None


@asynccontextmanager
async def _opened(client: Client, start_s: float) -> AsyncIterator[Client]:
    with anyio.fail_after(start_s) as limit:
        async with client:
            limit.deadline = float("inf")
            yield client


@asynccontextmanager
async def _transport(running: RunningProcess) -> AsyncIterator[_Streams]:
    """The SDK's two streams over the lines of a process; theirs ends when it does."""
    heard, from_server = anyio.create_memory_object_stream[SessionMessage | Exception]()
    to_server, said = anyio.create_memory_object_stream[SessionMessage]()

    def receive() -> bytes | None:
        return running.receive(_FOREVER_S)

    async def hear() -> None:
        async with heard:
            # A thread that waits in vain ends with the process.
            while (line := await to_thread.run_sync(receive, abandon_on_cancel=True)) is not None:
                if line.strip():
                    await heard.send(_message(line))

    async def say() -> None:
        async with said:
            async for each in said:
                text = each.message.model_dump_json(by_alias=True, exclude_unset=True)
                running.send(text.encode())

    async with from_server, to_server, anyio.create_task_group() as tasks:
        tasks.start_soon(hear)
        tasks.start_soon(say)
        try:
            yield from_server, to_server
        finally:
            tasks.cancel_scope.cancel()


def _message(line: bytes) -> SessionMessage | Exception:
    """A line as the SDK takes it; one that is no message is passed over, because many a server logs to standard output."""
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValidationError as error:
        return error


def _told(error: Exception, timeout_s: float) -> str:
    """Why, in words; of a group the first."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, TimeoutError):
        return f"did not answer within {timeout_s:g} s"
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        return f"answered what the protocol does not allow: {place}: {first['msg']}"
    return str(error) or type(error).__name__
