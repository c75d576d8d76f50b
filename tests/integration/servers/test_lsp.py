"""The tool `lsp` over real servers in the real sandbox."""

import fcntl
import json
import os
import sys
import venv
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from surefoot.gitops.workspace import GitWorkspace
from surefoot.kernel.ports import Processes
from surefoot.sandbox import open_processes, probe
from surefoot.system import SystemClock
from surefoot.toolbox.lsp import LanguageServers, Patience
from surefoot.toolbox.lsp.languages import own_language
from surefoot.toolbox.programs import Programs
from surefoot.values import FileEdit, SandboxLevel, ToolOutcome

Fill = Callable[[Mapping[str, str]], None]
Install = Callable[[str, str], None]
Ask = Callable[..., ToolOutcome]

CART = """class Cart:
    \"\"\"What somebody buys.\"\"\"

    def total(self) -> int:
        return 1
"""
SHOP = {
    "shop/cart.py": CART,
    "main.py": 'from shop.cart import Cart\n\n"\N{GRINNING FACE}é"; c = Cart(); c.total()\n# total\n',
    "windows.py": "from shop.cart import Cart\r\n\r\nCart().total()\r\n",
    "other.py": "class Bill:\n    def total(self):\n        return 2\n",
}


@pytest.fixture(scope="module")
def python(processes: Processes) -> Iterator[LanguageServers]:
    programs = Programs(path="", home=Path("/nonexistent"))
    with LanguageServers(processes, clock=SystemClock(), programs=programs) as opened:
        yield opened


@pytest.fixture
def ask(python: LanguageServers, workspace: GitWorkspace) -> Ask:
    def asked(
        action: str, path: str, *, using: LanguageServers = python, **more: object
    ) -> ToolOutcome:
        return using.run({"action": action, "path": path, **more}, workspace)

    return asked


class TestPython:
    def test_a_definition_is_found_behind_characters_of_any_width(
        self, ask: Ask, fill: Fill
    ) -> None:
        """The column is that of the name, with an emoji before it on the line; a dotted name means its last part."""
        fill(SHOP)
        assert ask("definition", "main.py", line=3, symbol="c.total") == ToolOutcome(
            ok=True, output="shop/cart.py:4: def total(self) -> int:"
        )

    def test_references_mean_the_same_and_text_is_told_apart(self, ask: Ask, fill: Fill) -> None:
        """A method of the same name elsewhere and a comment are no references, but are named as text."""
        fill(SHOP)
        outcome = ask("references", "shop/cart.py", line=4, symbol="total")
        meant, _, text_only = outcome.output.partition("\n\n")
        assert [line.split(": ")[0] for line in meant.splitlines()] == [
            "main.py:3",
            "shop/cart.py:4",
            "windows.py:3",
        ]
        assert text_only.splitlines() == [
            "'total' also stands, by text only, in:",
            "main.py:4: # total",
            "other.py:2: def total(self):",
        ]

    def test_a_link_that_leads_out_is_not_read(
        self, ask: Ask, fill: Fill, workspace: GitWorkspace, tmp_path: Path
    ) -> None:
        """Nothing of the file behind it is told, also of one that was open before; a link within the worktree is as a file."""
        key = tmp_path / "key.py"
        key.write_text("password = 's3cr3t'\n")
        fill({"probe.py": "password = 1\n", "open.py": "password = 2\n"})
        (workspace.path / "within.py").symlink_to("probe.py")
        (workspace.path / "out.py").symlink_to(key)
        assert ask("diagnostics", "open.py").ok
        (workspace.path / "open.py").unlink()
        (workspace.path / "open.py").symlink_to(key)
        outcome = ask("references", "probe.py", line=1, symbol="password")
        assert "s3cr3t" not in outcome.output
        assert "within.py:1: password = 1" in outcome.output
        assert not {"out.py", "open.py"} & {
            line.partition(":")[0] for line in outcome.output.split()
        }
        changed = ask("rename", "probe.py", line=1, symbol="password", new_name="secret")
        assert "s3cr3t" not in changed.output + changed.error
        assert key.read_text() == "password = 's3cr3t'\n"

    def test_hover_tells_type_and_documentation(self, ask: Ask, fill: Fill) -> None:
        """The docstring is in it."""
        fill(SHOP)
        assert "What somebody buys." in ask("hover", "main.py", line=1, symbol="Cart").output

    def test_a_rename_reaches_every_file_and_nothing_else(
        self, ask: Ask, fill: Fill, workspace: GitWorkspace
    ) -> None:
        """Other line ends, emoji, comments and the other class stay; what still has the name is told."""
        fill(SHOP)
        outcome = ask("rename", "shop/cart.py", line=4, symbol="total", new_name="sum_up")
        assert outcome.ok
        assert outcome.changed == ("main.py", "shop/cart.py", "windows.py")
        found = {path: (workspace.path / path).read_bytes().decode() for path in SHOP}
        assert found == {
            "shop/cart.py": CART.replace("total", "sum_up"),
            "main.py": SHOP["main.py"].replace(".total", ".sum_up"),
            "windows.py": SHOP["windows.py"].replace("total", "sum_up"),
            "other.py": SHOP["other.py"],
        }
        assert "'total' still stands, by text, in:\nmain.py:4: # total" in outcome.output

    def test_a_rename_reaches_more_files_than_jedi_reads_of_itself(
        self, ask: Ask, fill: Fill, workspace: GitWorkspace
    ) -> None:
        """All of 40 files are changed."""
        users = {f"use_{n}.py": "from core import helper\n\nhelper()\n" for n in range(40)}
        fill({"core.py": "def helper():\n    return 1\n", **users})
        outcome = ask("rename", "core.py", line=1, symbol="helper", new_name="assist")
        assert set(outcome.changed) == {"core.py", *users}
        assert all("helper" not in (workspace.path / path).read_text() for path in users)

    def test_what_a_rename_misses_is_told(self, ask: Ask, fill: Fill) -> None:
        """Jedi does not look for names of two letters in other files; the outcome says where they stand."""
        fill({"core.py": "def go():\n    pass\n", "use.py": "from core import go\n"})
        outcome = ask("rename", "core.py", line=1, symbol="go", new_name="run")
        assert outcome.changed == ("core.py",)
        assert "'go' still stands, by text, in:\nuse.py:1: from core import go" in outcome.output

    def test_a_name_that_was_there_before_is_told(self, ask: Ask, fill: Fill) -> None:
        """Two things that now have one name are for the model to look at."""
        fill({"core.py": "def helper():\n    pass\n\n\ndef assist():\n    pass\n"})
        outcome = ask("rename", "core.py", line=1, symbol="helper", new_name="assist")
        assert "'assist' was a name before, in:\ncore.py:5: def assist():" in outcome.output

    def test_changes_between_questions_are_seen(
        self, ask: Ask, fill: Fill, workspace: GitWorkspace
    ) -> None:
        """A file that is open, one that never was, and one that is gone: the answer is about the present."""
        fill({"core.py": "def helper():\n    pass\n", "use.py": "import core\n"})
        assert ask("references", "core.py", line=1, symbol="helper").output == (
            "core.py:1: def helper():"
        )
        workspace.apply(
            [
                FileEdit(path="core.py", text="\n\ndef helper():\n    pass\n"),
                FileEdit(path="use.py", text="import core\n\ncore.helper()\n"),
                FileEdit(path="new.py", text="from core import helper\n"),
            ]
        )
        assert ask("references", "core.py", line=3, symbol="helper").output.splitlines() == [
            "core.py:3: def helper():",
            "new.py:1: from core import helper",
            "use.py:3: core.helper()",
        ]
        workspace.apply([FileEdit(path="new.py", text=None)])
        assert "new.py" not in ask("references", "core.py", line=3, symbol="helper").output

    def test_diagnostics_of_the_present_text(
        self, ask: Ask, fill: Fill, workspace: GitWorkspace
    ) -> None:
        """A syntax error is told with its line, and is gone when it is mended; what is not looked at is said."""
        fill({"bad.py": "x = 1\ndef f(:\n"})
        assert "bad.py:2: error: SyntaxError" in ask("diagnostics", "bad.py").output
        workspace.apply([FileEdit(path="bad.py", text="x = 1\n")])
        outcome = ask("diagnostics", "bad.py")
        assert outcome.ok
        assert outcome.output.startswith(
            "jedi-language-server has nothing against bad.py\n(it looks"
        )

    def test_nothing_known_is_not_nothing_there(self, ask: Ask, fill: Fill) -> None:
        """A name of which the server knows nothing is an outcome that is not ok, with the places of its text."""
        fill({"core.py": "# helper\nhelper_of_others = 1\n"})
        outcome = ask("references", "core.py", line=1, symbol="helper")
        assert not outcome.ok
        assert outcome.error.startswith("jedi-language-server knows no references")
        assert outcome.output == "\nby text, 'helper' stands in:\ncore.py:1: # helper"

    def test_a_fence_without_namespaces(self, ask: Ask, fill: Fill, tmp_path: Path) -> None:
        """Landlock and its filter let the server work as well."""
        if SandboxLevel.LANDLOCK not in {each.level for each in probe().backends if each.works}:
            pytest.skip("landlock does not work on this machine")
        processes = open_processes(SandboxLevel.LANDLOCK, unsandboxed=False, scratch=tmp_path)
        fill(SHOP)
        programs = Programs(path="", home=Path("/nonexistent"))
        with LanguageServers(processes, clock=SystemClock(), programs=programs) as servers:
            outcome = ask("references", "shop/cart.py", using=servers, line=4, symbol="total")
            assert outcome.output.startswith("main.py:3: ")
        processes.close()

    def test_the_environment_of_the_project(
        self,
        processes: Processes,
        ask: Ask,
        fill: Fill,
        tmp_path: Path,
    ) -> None:
        """What is installed for the project is known, though Surefoot itself lacks it."""
        venv.create(tmp_path / "env", symlinks=True)
        site = next((tmp_path / "env").glob("lib/python3*/site-packages"))
        (site / "far_away.py").write_text('def helper():\n    """Helps."""\n')
        fill({"use.py": "from far_away import helper\n"})
        with LanguageServers(
            processes,
            clock=SystemClock(),
            programs=Programs(path="", home=Path("/nonexistent")),
            project_python=tmp_path / "env" / "bin" / "python",
            reads=(tmp_path / "env",),
        ) as servers:
            outcome = ask("hover", "use.py", using=servers, line=1, symbol="helper")
            assert "Helps." in outcome.output
            outcome = ask("definition", "use.py", using=servers, line=1, symbol="helper")
            assert outcome.output == f"{site / 'far_away.py'}:1"

    @pytest.mark.parametrize(
        ("parameters", "error"),
        [
            ({"line": 4, "symbol": "totals"}, "it is on no line of that file"),
            (
                {"line": 1, "symbol": "total"},
                "does not stand on line 1 of 'shop/cart.py'; it is on 4",
            ),
            ({"line": 99, "symbol": "total"}, "it is on 4"),
            ({"line": 4}, "needs `line` and `symbol`"),
            ({"line": 4, "symbol": "total"}, "needs `new_name`"),
            ({"line": 4, "symbol": "total", "new_name": "for"}, "'for' cannot be a name"),
            ({"line": 4, "symbol": "total", "new_name": "a b"}, "'a b' cannot be a name"),
            ({"path": "../x.py"}, "the path '../x.py' is refused"),
            ({"path": "latin.py", "line": 1, "symbol": "x"}, "'latin.py' is not UTF-8"),
            ({"path": "pipe.py", "line": 1, "symbol": "x"}, "it is no plain file"),
        ],
    )
    def test_a_call_that_cannot_be_meant(
        self,
        ask: Ask,
        fill: Fill,
        workspace: GitWorkspace,
        parameters: Mapping[str, object],
        error: str,
    ) -> None:
        """The error says what is wrong with it, and nothing is changed."""
        fill(SHOP)
        (workspace.path / "latin.py").write_bytes(b"x = '\xe9'\n")
        os.mkfifo(workspace.path / "pipe.py")
        before = workspace.snapshot()
        outcome = ask("rename", **{"path": "shop/cart.py", **parameters})
        assert not outcome.ok
        assert error in outcome.error
        assert workspace.snapshot() == before


FAKE = """
import fcntl, json, os, sys

def send(message):
    body = json.dumps({{"jsonrpc": "2.0", **message}}, indent=1).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\\r\\n\\r\\n" % len(body) + body)
    sys.stdout.buffer.flush()

def heard():
    while True:
        length = 0
        while (line := sys.stdin.buffer.readline().strip()):
            length = int(line.split(b":")[1])
        yield json.loads(sys.stdin.buffer.read(length))

held = open("main.c")
fcntl.flock(held, fcntl.LOCK_EX)
here = "file://" + os.getcwd()
answers = {answers}
for message in heard():
    if message.get("method") == "initialize":
        send({{"id": message["id"], "result": {{"capabilities": {{}}}}}})
        send({{"id": "ours", "method": "workspace/configuration", "params": {{"items": [{{}}]}}}})
    elif message.get("id") == "ours":
        assert message["result"] == [None]
    elif "id" in message:
        {act}
"""
ANSWER = """send({"id": message["id"], "result": answers[message["method"]]})"""
MAIN_C = {"main.c": 'char *s = "\N{GRINNING FACE}é"; int total;\n'}
IMPATIENT = Patience(start_s=10.0, answer_s=10.0, settle_s=0.05)


@pytest.fixture
def servers(processes: Processes, bin_dir: Path) -> Iterator[LanguageServers]:
    programs = Programs(path=str(bin_dir), home=Path("/nonexistent"))
    with LanguageServers(
        processes, clock=SystemClock(), programs=programs, patience=IMPATIENT
    ) as opened:
        yield opened


@pytest.fixture
def fake(servers: LanguageServers, install: Install, ask: Ask, fill: Fill) -> Ask:
    """Ask a `clangd` that gives these answers (Python source), or acts in another way."""

    def asked(action: str, answers: str = "{}", act: str = ANSWER, **more: object) -> ToolOutcome:
        fill(MAIN_C)
        install("clangd", FAKE.format(answers=answers, act=act))
        return ask(action, "main.c", using=servers, line=1, symbol="total", **more)

    return asked


def edit(uri: str, start: int, end: int, line: int = 0) -> str:
    """A text edit, as the source of a fake server."""
    place = {"start": {"line": line, "character": start}, "end": {"line": line, "character": end}}
    return f'{{"changes": {{{uri}: [{json.dumps({"range": place, "newText": "x"})}]}}}}'


class TestOtherServers:
    def test_columns_of_utf_16(self, fake: Ask, workspace: GitWorkspace) -> None:
        """A server that agreed on nothing else counts UTF-16: an emoji is two, there and back."""
        act = (
            'column = message["params"]["position"]["character"]; place = lambda c: {"line": 0, "character": c}\n'
            '        send({"id": message["id"], "result": {"changes": {here + "/main.c": [{"newText": "x", '
            '"range": {"start": place(column), "end": place(column + 5)}}]}}})'
        )
        outcome = fake("rename", act=act, new_name="x")
        assert outcome.changed == ("main.c",)
        assert (workspace.path / "main.c").read_text() == MAIN_C["main.c"].replace("total", "x")

    @pytest.mark.parametrize(
        ("answer", "error"),
        [
            (edit('"file:///etc/passwd"', 0, 1), "outside the worktree"),
            (edit('here + "/../../other.c"', 0, 1), "outside the worktree"),
            (edit('here + "/.git"', 0, 1), "in git's own folder"),
            (edit('here + "/main.c"', 0, 1, line=7), "a place that is none (line 8"),
            (edit('here + "/main.c"', 12, 14), "divides a character"),
            (edit('"http://x/main.c"', 0, 1), "not the URI of a file"),
            ('{"documentChanges": [{"kind": "rename"}]}', "would rename files too"),
            ('{"documentChanges": [{"kind": "?"}]}', "gave a change that is none"),
            ('{"changes": {here + "/main.c": [{}]}}', "gave a text edit that is none"),
            ('"yes"', "gave an edit that is none"),
            ("None", "knows nothing to rename at"),
        ],
    )
    def test_an_edit_that_may_not_be(
        self, fake: Ask, workspace: GitWorkspace, answer: str, error: str
    ) -> None:
        """It is refused, and not one byte is written."""
        outcome = fake("rename", f'{{"textDocument/rename": {answer}}}', new_name="x")
        assert not outcome.ok
        assert error in outcome.error
        assert (workspace.path / "main.c").read_text() == MAIN_C["main.c"]

    def test_a_place_behind_a_link_that_leads_out_is_told_without_its_text(
        self, ask: Ask, servers: LanguageServers, install: Install, fill: Fill,
        workspace: GitWorkspace, tmp_path: Path,
    ) -> None:  # fmt: skip
        """A server that names it gets nothing read for it."""
        fill(MAIN_C)
        (tmp_path / "key.c").write_text("int s3cr3t;")
        (workspace.path / "out.c").symlink_to(tmp_path / "key.c")
        places = (
            '[{"uri": here + n, "range": {"start": {"line": 0}}} for n in ("/main.c", "/out.c")]'
        )
        answers = f'{{"textDocument/references": {places}}}'
        install("clangd", FAKE.format(answers=answers, act=ANSWER))
        outcome = ask("references", "main.c", using=servers, line=1, symbol="total")
        assert outcome.output.splitlines() == [f"main.c:1: {MAIN_C['main.c'].strip()}", "out.c:1"]

    @pytest.mark.parametrize(
        ("act", "error"),
        [
            ("sys.exit('no memory')", "ended by itself: no memory"),
            ("print('hello', flush=True)", "this is no language server: it printed b'hello\\n'"),
            (
                "sys.stdout.buffer.write(b'Content-Length: 3\\r\\n\\r\\n{x}'); sys.stdout.flush()",
                "said what is no message: b'{x}'",
            ),
            ("send({'id': message['id'], 'result': [{'uri': 1}]})", "named a place that is none"),
            (
                (
                    "at = {'line': 0, 'character': 0}; send({'id': message['id'], "
                    "'result': [{'uri': 'file://[x', 'range': {'start': at, 'end': at}}]})"
                ),
                "named 'file://[x', which is not the URI of a file",
            ),
            ("send({'id': message['id']})", "answered textDocument/references with"),
            (
                "send({'id': message['id'], 'error': {'code': 1, 'message': 'no'}})",
                "refused: no (code 1)",
            ),
        ],
    )
    def test_a_server_that_dies_or_lies(self, fake: Ask, act: str, error: str) -> None:
        """The outcome is not ok and says what happened; the next question finds a server again."""
        outcome = fake("references", act=act)
        assert not outcome.ok
        assert error in outcome.error
        outcome = fake("hover", '{"textDocument/hover": {"contents": ["an int", {"value": "!"}]}}')
        assert outcome.output == "an int\n!" or "refused" in error

    def test_a_server_that_hangs_is_ended(
        self,
        processes: Processes,
        install: Install,
        bin_dir: Path,
        workspace: GitWorkspace,
        ask: Ask,
        fill: Fill,
    ) -> None:
        """Within its time, and nothing of it is left."""
        fill(MAIN_C)
        install("clangd", FAKE.format(answers="{}", act="pass"))
        programs = Programs(path=str(bin_dir), home=Path("/nonexistent"))
        patience = Patience(start_s=10.0, answer_s=0.2, settle_s=0.05)
        servers = LanguageServers(
            processes, clock=SystemClock(), programs=programs, patience=patience
        )
        outcome = ask("hover", "main.c", using=servers, line=1, symbol="total")
        assert "did not answer textDocument/hover within 0.2 s" in outcome.error
        assert not is_locked(workspace.path / "main.c")

    def test_close_ends_the_server(
        self, fake: Ask, servers: LanguageServers, workspace: GitWorkspace
    ) -> None:
        """It stays open between questions, and no longer."""
        fake("hover", '{"textDocument/hover": None}')
        assert is_locked(workspace.path / "main.c")
        servers.close()
        assert not is_locked(workspace.path / "main.c")

    def test_a_server_at_work_is_waited_for(self, fake: Ask) -> None:
        """Who tells that it reads the project is asked when it has done so; the answer is whole then."""
        act = """pass
    elif message.get("method") == "textDocument/didOpen":
        for kind in ("begin", "report", "end"):
            send({"method": "$/progress", "params": {"token": 1, "value": {"kind": kind}}})
        answers["textDocument/hover"] = {"contents": "ready"}
    if message.get("method") in answers:
        send({"id": message["id"], "result": answers[message["method"]]})"""
        assert fake("hover", act=act).output == "ready"

    def test_published_diagnostics(self, fake: Ask) -> None:
        """Those of an older text are not taken for those of the present one."""
        act = """pass
    elif message.get("method") in ("textDocument/didOpen", "textDocument/didChange"):
        document = message["params"]["textDocument"]
        for version in ([], document["version"] - 1, document["version"]):
            place = {"line": version or 9, "character": 0}
            found = [{"range": {"start": place, "end": place}, "message": "x", "severity": 2}]
            found.append({**found[0], "message": "y", "severity": [2]})
            send({"method": "textDocument/publishDiagnostics", "params": {
                "uri": document["uri"], "version": version, "diagnostics": found}})"""
        assert fake("diagnostics", act=act).output == ("main.c:3: error: y\nmain.c:3: warning: x")

    @pytest.mark.parametrize("path", ["main.go", "main.rs", "main.ts", "main.cpp"])
    def test_a_missing_server_is_not_an_empty_answer(self, ask: Ask, fill: Fill, path: str) -> None:
        """The outcome names how it is installed."""
        fill({path: "total\n"})
        outcome = ask("references", path, line=1, symbol="total")
        assert not outcome.ok
        assert "is not installed, so nothing was looked up; " in outcome.error
        assert outcome.output == ""

    def test_a_language_that_nobody_knows(self, ask: Ask, fill: Fill) -> None:
        """The outcome says for which files there are servers."""
        fill({"main.txt": "total\n"})
        assert "no language server is known for 'main.txt'; there are for .c, " in (
            ask("hover", "main.txt", line=1, symbol="total").error
        )


class TestOwnServers:
    def test_a_language_of_the_settings(
        self, processes: Processes, ask: Ask, fill: Fill, workspace: GitWorkspace
    ) -> None:
        """A real server answers about files of a suffix that only the settings know; Python's own stays beside it."""
        jedi = str(Path(sys.executable).with_name("jedi-language-server"))
        own = own_language((jedi,), {".pyx2": "python"})
        with LanguageServers(
            processes,
            clock=SystemClock(),
            programs=Programs(path="", home=Path("/nonexistent")),
            own=(own,),
        ) as servers:
            fill({**SHOP, "cart.pyx2": CART + "\n\nCart().total()\n"})
            place = {"path": "cart.pyx2", "line": 8, "symbol": "total"}
            outcome = ask("definition", using=servers, **place)
            assert outcome == ToolOutcome(ok=True, output="cart.pyx2:4: def total(self) -> int:")
            outcome = ask("rename", using=servers, **place, new_name="sum_up")
            assert outcome.changed == ("cart.pyx2",)
            assert (workspace.path / "cart.pyx2").read_text().count("sum_up") == 2
            outcome = ask("definition", "main.py", using=servers, line=3, symbol="total")
            assert outcome.output == "shop/cart.py:4: def total(self) -> int:"

    def test_two_servers_of_one_name_are_two(
        self,
        processes: Processes,
        install: Install,
        bin_dir: Path,
        ask: Ask,
        fill: Fill,
    ) -> None:
        """The settings may give another suffix to a program that is known; each is told the language of its own files."""
        act = 'send({"id": message["id"], "result": {"contents": opened}})'
        opening = """opened = ""
for message in heard():
    if message.get("method") == "textDocument/didOpen":
        opened += " " + message["params"]["textDocument"]["languageId"]"""
        program = FAKE.format(answers="{}", act=act).replace("for message in heard():", opening)
        install("clangd", program.replace("fcntl.LOCK_EX", "fcntl.LOCK_SH"))
        with LanguageServers(
            processes,
            clock=SystemClock(),
            programs=Programs(path=str(bin_dir), home=Path("/nonexistent")),
            own=(own_language(("clangd",), {".cu": "cuda-cpp"}),),
            patience=IMPATIENT,
        ) as servers:
            fill({**MAIN_C, "main.cu": "int total;\n"})
            for path, language in (("main.c", "c"), ("main.cu", "cuda-cpp")):
                outcome = ask("hover", path, using=servers, line=1, symbol="total")
                assert outcome == ToolOutcome(ok=True, output=language)

    def test_one_that_is_not_there(self, processes: Processes, ask: Ask, fill: Fill) -> None:
        """The outcome names the command and the setting."""
        fill({"a.php": "total\n"})
        with LanguageServers(
            processes,
            clock=SystemClock(),
            programs=Programs(path="", home=Path("/nonexistent")),
            own=(own_language(("phpactor", "language-server"), {".php": "php"}),),
        ) as servers:
            error = ask("hover", "a.php", using=servers, line=1, symbol="total").error
        assert error.startswith("phpactor language-server, the language server for this file, is")
        assert error.endswith("install 'phpactor', or mend `tools.lsp` in surefoot.toml")


def is_locked(path: Path) -> bool:
    with path.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
