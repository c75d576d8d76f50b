"""What `file_read` shows of a worktree."""

from collections.abc import Callable

import pytest

from surefoot.kernel.ports import Workspace
from surefoot.toolbox.bounds import OUTPUT_CHARACTERS
from surefoot.values import FileEdit, ToolOutcome

Call = Callable[..., ToolOutcome]


def write(workspace: Workspace, path: str, content: str | bytes) -> None:
    place = workspace.path / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content.encode() if isinstance(content, str) else content)


def test_lines_have_their_numbers(call: Call) -> None:
    """The head says which lines of how many; a range shows exactly it."""
    outcome = call("file_read", path="notes.txt")
    assert outcome.output == "notes.txt, lines 1 to 3 of 3\n1 | one\n2 | two\n3 | three"
    assert outcome.changed == ()
    ranged = call("file_read", path="notes.txt", first_line=2, last_line=2).output
    assert ranged == "notes.txt, lines 2 to 2 of 3\n2 | two"
    assert call("file_read", path="notes.txt", last_line=1).output.endswith("1 | one")
    assert call("file_read", path="notes.txt", first_line=3, last_line=99).output.endswith("three")


def test_a_long_file_is_read_piece_by_piece(call: Call, workspace: Workspace) -> None:
    """Following what each piece says at its end shows every line exactly once, within the bound."""
    write(workspace, "long.txt", "".join(f"line {n} {'x' * (n % 290)}\n" for n in range(1, 1001)))
    first, seen = 1, 0
    while True:
        output = call("file_read", path="long.txt", first_line=first).output
        assert len(output) <= OUTPUT_CHARACTERS
        for line in output.splitlines()[1:]:
            if " | " in line:
                seen += 1
                assert f" line {seen} " in line
        if "[go on with first_line " not in output:
            break
        first = int(output.rpartition("first_line ")[2].rstrip("]"))
        assert first == seen + 1
    assert seen == 1000


def test_no_more_lines_than_a_model_can_use_are_shown(call: Call, workspace: Workspace) -> None:
    """Short lines do not fill the bound on characters."""
    write(workspace, "short.txt", "x\n" * 500)
    output = call("file_read", path="short.txt", first_line=11, last_line=499).output
    assert output.startswith("short.txt, lines 11 to 210 of 500\n")
    assert output.endswith("210 | x\n[go on with first_line 211]")


def test_one_endless_line_is_cut_and_says_so(call: Call, workspace: Workspace) -> None:
    """A minified file fills no prompt."""
    write(workspace, "min.js", "x" * 100_000)
    output = call("file_read", path="min.js").output
    assert len(output) < 500
    assert "more characters]" in output


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"first_line": 9}, "has 3 lines; first_line 9 is behind its end"),
        ({"first_line": 3, "last_line": 2}, "last_line 2 comes before first_line 3"),
        ({"outline": True}, "there is no outline of 'notes.txt'; read lines"),
    ],
)
def test_a_question_without_an_answer_says_why(
    call: Call, parameters: dict[str, object], said: str
) -> None:
    """Never an empty answer that looks like one."""
    outcome = call("file_read", path="notes.txt", **parameters)
    assert not outcome.ok
    assert said in outcome.error


def test_an_empty_file_is_said_to_be_empty(call: Call, workspace: Workspace) -> None:
    """Also when lines of it are asked for."""
    write(workspace, "empty.py", "")
    assert call("file_read", path="empty.py").output == "empty.py is empty"
    assert call("file_read", path="empty.py", first_line=1, last_line=9).ok
    assert "0 classes and functions" in call("file_read", path="empty.py", outline=True).output


def test_an_outline_names_units_as_an_edit_takes_them(call: Call) -> None:
    """Decorators belong to their function; names are dotted; lines are the file's."""
    assert call("file_read", path="src/agenda.py", outline=True).output.splitlines() == [
        "src/agenda.py, 24 lines, 5 classes and functions",
        "6-18 class Agenda",
        "9-10 def Agenda.__init__(self)",
        "12-14 def Agenda.count(self)",
        "16-18 def Agenda.add(self, entry, *, day=None)",
        "21-24 def parse(text)",
    ]


@pytest.mark.parametrize(
    ("path", "code", "shown"),
    [
        ("a.js", "class Till {\n  add(x) {}\n}\n", ["1 class Till {", "2   add(x) {}"]),
        ("a.ts", "\ninterface Till { n: number }\n", ["2 interface Till { n: number }"]),
        ("a.tsx", "export function Till() {}\n", ["1 export function Till() {}"]),
        ("a.go", "package a\n\nfunc Add() {}\n", ["3 func Add() {}"]),
        ("a.rs", "struct Till;\nfn add() {}\n", ["1 struct Till;", "2 fn add() {}"]),
        ("a.java", "class Till {\n  void add() {}\n}\n", ["1 class Till {", "2   void add() {}"]),
        ("a.rb", "class Till\n  def add; end\nend\n", ["1 class Till", "2   def add; end"]),
        ("a.c", "int add(int a) { return a; }\n", ["1 int add(int a) { return a; }"]),
        ("a.cpp", "class Till { int n; };\n", ["1 class Till { int n; };"]),
    ],
)
def test_an_outline_of_another_language_shows_the_lines_of_its_definitions(
    call: Call, workspace: Workspace, path: str, code: str, shown: list[str]
) -> None:
    """With their numbers and their indentation, as the map of the repository shows them."""
    write(workspace, path, code)
    first, *lines = call("file_read", path=path, outline=True).output.splitlines()
    assert first == f"{path}, {code.count(chr(10))} lines, {len(shown)} definitions"
    assert lines == shown


def test_what_no_grammar_gets_on_with_has_no_outline(call: Call, workspace: Workspace) -> None:
    """It says so, and what to do instead."""
    write(workspace, "deep.js", "(" * 300)
    assert "no outline of 'deep.js'" in call("file_read", path="deep.js", outline=True).error


def test_the_outline_of_a_broken_file_says_where_it_is_broken(
    call: Call, workspace: Workspace
) -> None:
    """With the line, so that it can be read."""
    write(workspace, "broken.py", "x = 1\ndef f(:\n")
    assert "line 2: invalid syntax" in call("file_read", path="broken.py", outline=True).error


def test_the_outline_of_a_huge_module_is_bounded(call: Call, workspace: Workspace) -> None:
    """And says how many units it leaves out."""
    write(workspace, "huge.py", "".join(f"def function_{n}(a, b):\n    pass\n" for n in range(900)))
    output = call("file_read", path="huge.py", outline=True).output
    assert len(output) <= OUTPUT_CHARACTERS
    shown = output.count("\n") - 1
    assert output.endswith(f"[{900 - shown} more; look for them with ripgrep]")


def test_a_folder_is_listed_without_gits_own(call: Call, workspace: Workspace) -> None:
    """Folders end with a slash, links say where they lead."""
    (workspace.path / "link").symlink_to("notes.txt")
    assert call("file_read", path=".").output.splitlines() == [
        "./ holds 6 entries",
        ".gitignore",
        "data/",
        "link -> notes.txt",
        "notes.txt",
        "pyproject.toml",
        "src/",
    ]
    assert call("file_read", path="src/").output == "src/ holds 2 entries\nagenda.py\nother.js"


def test_a_folder_of_thousands_is_bounded(call: Call, workspace: Workspace) -> None:
    """And says how many entries it leaves out."""
    for number in range(2000):
        write(workspace, f"many/{number:04}.txt", "")
    output = call("file_read", path="many").output
    assert len(output) <= OUTPUT_CHARACTERS
    assert "more; look for a name" in output


def test_a_missing_file_brings_its_neighbours_to_mind(call: Call) -> None:
    """The same name elsewhere first, else similar names."""
    assert "did you mean 'src/agenda.py'?" in call("file_read", path="lib/agenda.py").error
    assert "did you mean 'src/agenda.py'?" in call("file_read", path="agend.py").error
    assert "look for it with ripgrep" in call("file_read", path="zzzzzz").error


def test_what_is_not_text_is_not_shown(call: Call, workspace: Workspace) -> None:
    """Binary and very large files are refused; bytes that are not UTF-8 are marked; terminal codes are gone."""
    write(workspace, "a.bin", b"ab\0cd")
    write(workspace, "b.txt", b"caf\xe9 \x1b[31mred\x1b[0m \x07\n")
    write(workspace, "c.txt", "x" * (4 * 1024**2 + 1))
    assert "is binary" in call("file_read", path="a.bin").error
    assert call("file_read", path="b.txt").output.endswith("1 | caf\ufffd red \ufffd")
    assert "search it with ripgrep" in call("file_read", path="c.txt").error


def test_crlf_is_said_and_not_shown(call: Call, workspace: Workspace) -> None:
    """Lines look like any others."""
    workspace.apply([FileEdit(path="w.txt", text="a\r\nb\r\n")])
    assert call("file_read", path="w.txt").output == (
        "w.txt, lines 1 to 2 of 2, with CRLF line ends\n1 | a\n2 | b"
    )


def test_a_key_is_hidden_whole_on_whichever_page_it_lies(call: Call, workspace: Workspace) -> None:
    """The second page begins in the middle of it, where nothing says what it is; lines keep their numbers."""
    body = [f"MIIEpAIBAAKCAQEA{n:02}x7Kq9Zt3Lw5Vb8Rn1Pm6Hd4Gs2Fj0Cy" for n in range(25)]
    title = "RSA PRIVATE" + " KEY"  # in two, or the auditors would find a key here
    key = [f"-----BEGIN {title}-----", *body, f"-----END {title}-----"]
    lines = [*(f"# {n}" for n in range(1, 196)), *key, "LAST = 1"]
    write(workspace, "keys.py", "\n".join(lines) + "\n")
    first, second = (call("file_read", path="keys.py", first_line=n).output for n in (1, 201))
    assert "[redacted:private-key]" in first
    assert not [line for line in body if line in first + second]
    assert f"{len(lines)} | LAST = 1" in second
