"""MCP servers over the official SDK, in the real sandbox."""

import fcntl
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from surefoot.gitops.workspace import GitWorkspace
from surefoot.kernel.ports import Processes
from surefoot.toolbox import Box, Tool
from surefoot.toolbox.mcp import McpServer, McpTools, Patience
from surefoot.toolbox.programs import Programs
from surefoot.values import ToolCall, ToolOutcome

Fill = Callable[[Mapping[str, str]], None]
Offered = Callable[..., tuple[tuple[Tool, ...], tuple[str, ...]]]
Install = Callable[[str, str], None]

SHOP = '''
import fcntl, os, socket, sys, time
from pathlib import Path
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

server = MCPServer("shop")
held = open("lock")
fcntl.flock(held, fcntl.LOCK_EX)

@server.tool()
def price(article: str, count: int = 1) -> str:
    """What so many
    of an article cost."""
    return f"{article}: {2 * count}"

@server.tool()
def write(path: str, text: str) -> str:
    """Write a file."""
    try:
        Path(os.path.expandvars(path)).write_text(text)
    except OSError as error:
        return f"refused: {error.strerror}"
    return "written"

@server.tool()
def lookup(name: str) -> dict[str, str | None]:
    """A variable."""
    return {"value": os.environ.get(name), "pid": str(os.getpid())}

@server.tool()
def fail() -> str:
    """Fails."""
    raise ToolError("out of stock")

@server.tool()
def connect() -> str:
    """Use the network."""
    try:
        return repr(socket.create_connection(("192.0.2.1", 80), 1))
    except OSError as error:
        return error.strerror

@server.tool()
def die() -> str:
    """Die."""
    sys.stderr.write("no memory\\n")
    sys.stderr.flush()
    os._exit(3)

print("a log line where none belongs", flush=True)
server.run("stdio")
'''
PATIENCE = Patience(start_s=60.0, answer_s=60.0)
HASTY = Patience(start_s=0.5, answer_s=0.5)


@pytest.fixture(scope="module")
def shop(
    processes: Processes, workspace: GitWorkspace, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[McpTools]:
    """A server that is made with the SDK's own server side, and stays open."""
    script = tmp_path_factory.mktemp("shop") / "shop.py"
    script.write_text(SHOP)
    server = McpServer(
        name="shop", argv=(sys.executable, "-I", str(script)), env={"SHOP_KEY": "s3cret"}
    )
    programs = Programs(path="/usr/bin", home=Path("/nonexistent"))
    with McpTools(processes, [server], programs=programs, patience=PATIENCE) as opened:
        yield opened


@pytest.fixture
def use(shop: McpTools, workspace: GitWorkspace, fill: Fill) -> Callable[..., ToolOutcome]:
    fill({"lock": ""})
    tools = {tool.spec.name: tool for tool in shop.tools(workspace)}
    assert shop.troubles == ()

    def used(tool: str, **parameters: object) -> ToolOutcome:
        return tools[f"shop.{tool}"].run(parameters, workspace)

    return used


class TestServer:
    def test_tools_are_offered_under_the_name_of_their_server(
        self, use: Callable[..., ToolOutcome], shop: McpTools, workspace: GitWorkspace
    ) -> None:
        """With purpose, schema, effect and an example, as any other tool."""
        spec = shop.tools(workspace)[0].spec
        assert (spec.name, spec.effect) == ("shop.price", "run")
        assert spec.purpose == "What so many of an article cost."
        assert json.loads(spec.schema)["required"] == ["article"]
        assert json.loads(spec.example) == {"article": "text"}

    def test_a_call_is_answered(self, use: Callable[..., ToolOutcome]) -> None:
        """The text of the answer is the output."""
        assert use("price", article="tea", count=3) == ToolOutcome(ok=True, output="tea: 6")

    def test_the_box_checks_its_parameters(
        self, use: Callable[..., ToolOutcome], shop: McpTools, workspace: GitWorkspace
    ) -> None:
        """A call that does not fit the server's own schema never reaches it."""
        box = Box(shop.tools(workspace))
        call = ToolCall(tool="shop.price", parameters='{"article":"tea","count":"many"}')
        assert "count" in box.call(call, workspace).error
        call = ToolCall(tool="shop.price", parameters='{"article":"tea"}')
        assert box.call(call, workspace).output == "tea: 2"

    def test_it_is_enclosed(
        self, use: Callable[..., ToolOutcome], workspace: GitWorkspace, tmp_path: Path
    ) -> None:
        """It writes nowhere but in its own scratch folders, and reaches no network."""
        for path in ("new.txt", ".git", str(tmp_path / "x"), str(Path.home() / "x")):
            assert use("write", path=path, text="x").output.startswith("refused: ")
        assert use("write", path="$TMPDIR/x", text="x").output == "written"
        assert not (workspace.path / "new.txt").exists()
        assert use("connect").output == "Network is unreachable"

    def test_its_environment_is_what_the_user_named(
        self, use: Callable[..., ToolOutcome], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """And nothing of ours."""
        monkeypatch.setenv("OTHER_KEY", "x")
        assert json.loads(use("lookup", name="SHOP_KEY").output)["value"] == "s3cret"
        assert json.loads(use("lookup", name="OTHER_KEY").output)["value"] is None

    def test_a_tool_that_fails(self, use: Callable[..., ToolOutcome]) -> None:
        """Its words are the error; the server goes on."""
        before = json.loads(use("lookup", name="x").output)["pid"]
        outcome = use("fail")
        assert not outcome.ok
        assert "out of stock" in outcome.error
        assert json.loads(use("lookup", name="x").output)["pid"] == before

    def test_a_server_that_dies_and_one_that_is_closed(
        self, use: Callable[..., ToolOutcome], shop: McpTools, workspace: GitWorkspace
    ) -> None:
        """The outcome has its last words, the next call finds a fresh one, and that lives until it is closed."""
        outcome = use("die")
        assert not outcome.ok
        assert "Connection closed (its last words: " in outcome.error
        assert "no memory); the next call starts it anew" in outcome.error
        assert use("price", article="tea").output == "tea: 2"
        assert is_locked(workspace.path / "lock")
        shop.close()
        assert not is_locked(workspace.path / "lock")


LIAR = """
import json, sys

def send(**message):
    print(json.dumps({{"jsonrpc": "2.0", **message}}), flush=True)

tools = {tools}
for line in sys.stdin:
    message = json.loads(line)
    method, params = message["method"], message.get("params", {{}})
    if method == "initialize":
        send(id=message["id"], result={{"protocolVersion": params["protocolVersion"], "capabilities": {{"tools": {{}}}},
             "serverInfo": {{"name": "liar", "version": "1"}}}})
    elif method == "tools/list":
        send(id=message["id"], result={{"tools": tools, {page}}})
    elif method == "server/discover":
        send(id=message["id"], error={{"code": -32601, "message": "what?"}})
    elif "id" in message:
        {act}
"""
TOOL = {"name": "tell", "inputSchema": {"type": "object"}}


@pytest.fixture
def offered(
    processes: Processes, workspace: GitWorkspace, install: Install, bin_dir: Path, fill: Fill
) -> Iterator[Offered]:
    """What a server that says such things offers, and what is said of it."""
    fill({})
    programs = Programs(path=str(bin_dir), home=Path("/nonexistent"))
    server = McpServer(name="liar", argv=("liar",))
    with ExitStack() as stack:

        def found(
            tools: object = (TOOL,),
            *,
            act: str = "pass",
            page: str = "",
            program: str | None = None,
            patience: Patience = PATIENCE,
        ) -> tuple[tuple[Tool, ...], tuple[str, ...]]:
            install("liar", program or LIAR.format(tools=repr(tools), act=act, page=page))
            opened = stack.enter_context(
                McpTools(processes, [server], programs=programs, patience=patience)
            )
            return opened.tools(workspace), opened.troubles

        yield found


class TestLiar:
    @pytest.mark.parametrize(
        ("tool", "trouble"),
        [
            ({"name": "a b"}, "'a b' is not the name of a tool"),
            ({"name": "x", "inputSchema": {"type": "string"}}, "Input should be 'object'"),
            (
                {"name": "x", "inputSchema": {"type": "object", "minLength": -1}},
                "the schema of 'x' is none",
            ),
            (
                {"name": "x", "inputSchema": {"type": "object", "pattern": "("}},
                "the schema of 'x' is none",
            ),
            (
                {"name": "x", "inputSchema": {"type": "object", "pattern": "a{99999999999}"}},
                "the schema of 'x' is none",
            ),
            ({"name": "x", "inputSchema": {"type": "object", "title": "x" * 20_000}}, "has 200"),
            ({"name": "x", "inputSchema": 1}, "inputSchema"),
        ],
    )
    def test_a_tool_that_is_none_is_left_out(
        self,
        offered: Offered,
        tool: Mapping[str, object],
        trouble: str,
    ) -> None:
        """It is told with its reason, and no model sees it."""
        tools, troubles = offered([{**TOOL, **tool}])
        assert tools == ()
        assert len(troubles) == 1
        assert trouble in troubles[0]

    def test_good_tools_beside_a_bad_one(self, offered: Offered) -> None:
        """They are offered, each name once, in their order, and not without end."""
        many = [{**TOOL, "name": f"t{n}"} for n in range(70)]
        tools, troubles = offered([TOOL, {**TOOL, "name": ""}, TOOL, *many])
        assert [tool.spec.name for tool in tools[:2]] == ["liar.tell", "liar.t0"]
        assert len(tools) == 62
        assert "has 73 tools, of which the first 64 are taken" in troubles[1]

    def test_a_list_without_end(self, offered: Offered) -> None:
        """Who always has another page is not asked for ever."""
        tools, _ = offered(page='"nextCursor": "again"')
        assert [tool.spec.name for tool in tools] == ["liar.tell"]

    @pytest.mark.parametrize(
        ("program", "trouble"),
        [
            ("import sys; sys.exit('no licence')", "(its last words: no licence)"),
            ("import time; time.sleep(60)", "did not answer within 0.5 s"),
            ("print('hello'); import time; time.sleep(60)", "did not answer within 0.5 s"),
        ],
    )
    def test_a_server_that_does_not_come_up(
        self,
        offered: Offered,
        program: str,
        trouble: str,
    ) -> None:
        """The reason is told within a bounded time, and the run has the other tools."""
        tools, troubles = offered(
            program=program, patience=HASTY if "sleep" in program else PATIENCE
        )
        assert tools == ()
        assert troubles[0].startswith("MCP server 'liar': ")
        assert trouble in troubles[0]

    @pytest.mark.parametrize(
        ("act", "error"),
        [
            (
                "send(id=message['id'], result={'content': 1})",
                "does not allow: content: Input should",
            ),
            (
                "send(id=message['id'], error={'code': -32602, 'message': 'no'})",
                "'liar' refused: no",
            ),
            (
                "send(id=message['id'], result={'content': [], 'isError': True})",
                "it failed and said",
            ),
            (
                "send(id=message['id'], result={'content': [], 'structuredContent': {'x': float('nan')}})",
                "its answer is no JSON: Out of range float values",
            ),
        ],
    )
    def test_an_answer_that_is_none(
        self, offered: Offered, workspace: GitWorkspace, act: str, error: str
    ) -> None:
        """It is an outcome that is not ok, and says why."""
        tools, _ = offered(act=act)
        outcome = tools[0].run({}, workspace)
        assert not outcome.ok
        assert error in outcome.error

    @pytest.mark.parametrize(
        "act",
        [
            "pass",
            "send(id=message['id'], result=7)",
            "sys.stdout.write('{}\\n[]\\nx\\n'); sys.stdout.flush()",
            "sys.stdout.write('x' * 20_000_000); sys.stdout.flush()",
        ],
    )
    def test_no_answer(
        self,
        processes: Processes,
        workspace: GitWorkspace,
        install: Install,
        bin_dir: Path,
        fill: Fill,
        act: str,
    ) -> None:
        """Silence, lines that are no messages, and a line without end: it is over in time, and the server is ended."""
        fill({"lock": ""})
        lock = "import fcntl; held = open('lock'); fcntl.flock(held, fcntl.LOCK_EX)"
        install("liar", f"{lock}\n{LIAR.format(tools=[TOOL], act=act, page='')}")
        programs = Programs(path=str(bin_dir), home=Path("/nonexistent"))
        servers = [McpServer(name="liar", argv=("liar",))]
        patience = Patience(start_s=60.0, answer_s=0.5)
        with McpTools(processes, servers, programs=programs, patience=patience) as tools:
            (tool,) = tools.tools(workspace)
            outcome = tool.run({}, workspace)
            assert "did not answer within 0.5 s; the next call starts it anew" in outcome.error
            assert not is_locked(workspace.path / "lock")

    def test_an_answer_that_is_no_text(
        self,
        offered: Offered,
        workspace: GitWorkspace,
    ) -> None:
        """An image is named, not shown."""
        image = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
        tools, _ = offered(act=f"send(id=message['id'], result={{'content': [{image!r}]}})")
        assert tools[0].run({}, workspace).output == "[image, not shown]"

    def test_a_missing_program(
        self, processes: Processes, workspace: GitWorkspace, bin_dir: Path
    ) -> None:
        """It is told with the mend."""
        programs = Programs(path=str(bin_dir), home=Path("/nonexistent"))
        servers = [McpServer(name="gone", argv=("gone",))]
        with McpTools(processes, servers, programs=programs) as tools:
            assert tools.tools(workspace) == ()
            assert tools.troubles == (
                "MCP server 'gone': there is no program 'gone'; install it, or mend `tools.mcp` in surefoot.toml",
            )


def is_locked(path: Path) -> bool:
    with path.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
