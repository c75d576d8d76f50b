"""What `file_edit` writes, and what it refuses to."""

from collections.abc import Callable

import pytest
from tests.integration.toolbox.conftest import AGENDA, FILES

from surefoot.kernel.ports import Workspace
from surefoot.values import FileEdit, ToolOutcome

Call = Callable[..., ToolOutcome]


@pytest.fixture
def read(workspace: Workspace) -> Callable[[str], bytes]:
    return lambda path: (workspace.path / path).read_bytes()


@pytest.fixture
def unchanged(workspace: Workspace) -> Callable[[], bool]:
    return lambda: workspace.snapshot() == workspace.base_tree


def test_search_and_replace_changes_one_place(call: Call, read: Callable[[str], bytes]) -> None:
    """The outcome shows the new lines with their numbers and names the path."""
    outcome = call("file_edit", path="notes.txt", search="two\n", replace="2\n2b\n")
    assert outcome.ok
    assert outcome.changed == ("notes.txt",)
    assert outcome.output == (
        "changed notes.txt, which now reads\n1 | one\n2 | 2\n3 | 2b\n4 | three"
    )
    assert read("notes.txt") == b"one\n2\n2b\nthree\n"


def test_letters_are_not_written_in_another_encoding_than_the_files(
    call: Call, read: Callable[[str], bytes], workspace: Workspace
) -> None:
    """UTF-8 in a file of Latin-1 would be other letters; plain ASCII is as well there as anywhere."""
    head = b"# -*- coding: latin-1 -*-\n"
    (workspace.path / "old.py").write_bytes(head + b"NAME = 'Andr\xe9'\n")
    (workspace.path / "new.py").write_bytes(b"NAME = 'Ana'\n")
    outcome = call("file_edit", path="old.py", search="NAME =", replace="NAME = 'Jos\u00e9' or")
    assert not outcome.ok
    assert "declares its encoding as iso-8859-1" in outcome.error
    assert call("file_edit", path="old.py", search="NAME =", replace=r"NAME = 'Jos\xe9' or").ok
    assert read("old.py") == head + rb"NAME = 'Jos\xe9' or 'Andr" + b"\xe9'\n"
    assert call("file_edit", path="new.py", search="Ana", replace="Jos\u00e9").ok
    assert read("new.py") == "NAME = 'Jos\u00e9'\n".encode()


@pytest.mark.parametrize("way", [("tea", "th\u00e9"), ("caf\u00e9", "cafe")])
def test_no_file_holds_two_encodings(
    call: Call, read: Callable[[str], bytes], workspace: Workspace, way: tuple[str, str]
) -> None:
    """Of whatever kind it is; what stands there in another encoding cannot be looked for either."""
    data = b"drink = caf\xe9, tea\n"
    (workspace.path / "shop.properties").write_bytes(data)
    outcome = call("file_edit", path="shop.properties", search=way[0], replace=way[1])
    assert "'shop.properties' is not UTF-8" in outcome.error
    assert read("shop.properties") == data
    assert call("file_edit", path="shop.properties", search="tea", replace="ale").ok


def test_a_new_file_is_written_as_it_says(call: Call, workspace: Workspace) -> None:
    """It would be read as other letters."""
    text = "# -*- coding: latin-1 -*-\nNAME = 'Jos\u00e9'\n"
    outcome = call("file_edit", path="made.py", create=text)
    assert "declares its encoding as iso-8859-1" in outcome.error
    assert not (workspace.path / "made.py").exists()
    assert call("file_edit", path="made.py", create=text.replace("\u00e9", "e")).ok
    assert call("file_edit", path="also.py", create=text.partition("\n")[2]).ok


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"search": "fuor", "replace": "4"}, "nor is a line like it"),
        ({"search": "twoo", "replace": "2"}, "the closest lines"),
        ({"search": "  two", "replace": "2"}, "only its white space differs"),
        ({"search": "e", "replace": "E"}, "occurs 3 times, beginning at lines 1, 3, 3"),
        ({"search": "two", "replace": "two"}, "the edit changes nothing"),
        ({"search": "two"}, "give exactly one of"),
        ({"search": "two", "replace": "2", "delete": True}, "not delete, replace, search"),
        (
            {"search": "two", "replace": "[redacted:api-key]"},
            "stands for a secret that is not shown",
        ),
        ({"create": "x"}, "exists; change it with"),
        ({"unit": "one", "text": "def one(): pass"}, "is not Python"),
        ({}, "not none of them"),
        ({"delete": False}, "not none of them"),
    ],
)
def test_an_edit_that_cannot_be_meant_is_refused(
    call: Call, unchanged: Callable[[], bool], parameters: dict[str, object], said: str
) -> None:
    """With the reason, and with nothing written."""
    outcome = call("file_edit", path="notes.txt", **parameters)
    assert not outcome.ok
    assert said in outcome.error
    assert unchanged()


def test_a_miss_shows_the_closest_lines_with_their_numbers(call: Call) -> None:
    """As many as were searched for, aligned with them."""
    search = "    def add(self, entry):\n        self.total += 1\n"
    error = call("file_edit", path="src/agenda.py", search=search, replace="x").error
    assert error.splitlines()[1:] == [
        "16 |     def add(self, entry, *, day=None):",
        "17 |         self.total += 1",
    ]


def test_a_unit_is_replaced_whole_with_its_decorators(
    call: Call, read: Callable[[str], bytes]
) -> None:
    """Text without indentation is given that of the unit; what is around it stays."""
    new = "@property\ndef count(self):\n    return len(self.entries)\n"
    assert call("file_edit", path="src/agenda.py", unit="Agenda.count", text=new).ok
    old = "    @property\n    def count(self):\n        return self.total\n"
    now = "    @property\n    def count(self):\n        return len(self.entries)\n"
    assert read("src/agenda.py").decode() == AGENDA.replace(old, now)


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"unit": "add", "text": "def add(): pass"}, "did you mean 'Agenda.add'?"),
        ({"unit": "zzz", "text": "def zzz(): pass"}, "there are: Agenda, Agenda.__init__"),
        ({"unit": "parse", "text": "return 1"}, "but it defines nothing"),
        ({"unit": "parse", "text": "def parser(): pass"}, "but it defines 'parser'"),
        ({"unit": "parse", "text": "def parse(:"}, "not valid Python: line 1"),
        ({"unit": "parse", "text": ""}, "but it defines nothing"),
        (
            {"search": "        return None\n", "replace": ""},
            "not be valid Python any more: line 23",
        ),
        ({"search": "import re\n", "replace": "return 1\n"}, "'return' outside function"),
    ],
)
def test_python_stays_python(
    call: Call, unchanged: Callable[[], bool], parameters: dict[str, object], said: str
) -> None:
    """A unit that is not there, text that is no such unit, and a file that breaks are refused."""
    outcome = call("file_edit", path="src/agenda.py", **parameters)
    assert not outcome.ok
    assert said in outcome.error
    assert unchanged()


def test_json_and_toml_stay_what_they_are(call: Call, unchanged: Callable[[], bool]) -> None:
    """A new file, too, must be what its name says."""
    broken = call("file_edit", path="data/settings.json", search="}", replace="")
    assert "not be valid JSON any more: Expecting" in broken.error
    broken = call("file_edit", path="pyproject.toml", search="= 1", replace="=")
    assert "not be valid TOML any more: Invalid value" in broken.error
    assert "line 1" in call("file_edit", path="new.py", create="def f(:\n").error
    assert unchanged()


def test_a_file_that_is_broken_already_can_be_mended_step_by_step(
    call: Call, workspace: Workspace
) -> None:
    """The first of two edits says that there is more to mend."""
    (workspace.path / "b.py").write_text("def f(:\n    pass\n\ndef g(:\n    pass\n")
    half = call("file_edit", path="b.py", search="def f(:", replace="def f():")
    assert half.ok
    assert half.output.endswith("[the file was broken before and still is: line 4: invalid syntax]")
    whole = call("file_edit", path="b.py", search="def g(:", replace="def g():")
    assert "broken" not in whole.output


def test_line_ends_final_newline_and_byte_order_mark_stay(
    call: Call, workspace: Workspace, read: Callable[[str], bytes]
) -> None:
    """Whatever line ends the new text comes with."""
    path = workspace.path / "w.py"
    path.write_bytes(b"\xef\xbb\xbfdef f():\r\n    return 1\r\n\r\n\r\ndef g():\r\n    return 2")
    new = "f():\n    x = 1\n    return x\n"
    assert call("file_edit", path="w.py", search="f():\n    return 1\n", replace=new).ok
    assert call("file_edit", path="w.py", unit="f", text=f"def  {new}").ok
    assert call("file_edit", path="w.py", unit="g", text="def g():\n    return 3\n\n").ok
    assert call("file_edit", path="w.py", search="\n\n\ndef g", replace="\n\n\ndef  g").ok
    assert read("w.py") == (
        b"\xef\xbb\xbfdef  f():\r\n    x = 1\r\n    return x\r\n\r\n\r\ndef  g():\r\n    return 3"
    )
    assert call("file_edit", path="notes.txt", search="three\n", replace="3").ok
    assert read("notes.txt") == b"one\ntwo\n3\n"


def test_bytes_that_are_not_utf_8_stay(
    call: Call, workspace: Workspace, read: Callable[[str], bytes]
) -> None:
    """An edit beside them leaves them as they are."""
    (workspace.path / "l.py").write_bytes(b"# coding: latin-1\nNAME = 'caf\xe9'\nSIZE = 1\n")
    assert call("file_edit", path="l.py", search="SIZE = 1", replace="SIZE = 2").ok
    assert read("l.py") == b"# coding: latin-1\nNAME = 'caf\xe9'\nSIZE = 2\n"


def test_files_come_and_go(call: Call, workspace: Workspace) -> None:
    """A new file gets its folders; a deleted one is gone; a missing one or a folder cannot be deleted."""
    made = call("file_edit", path="new/deep/a.py", create="A = 1\n")
    assert made.changed == ("new/deep/a.py",)
    assert (workspace.path / "new" / "deep" / "a.py").read_text() == "A = 1\n"
    assert call("file_edit", path="notes.txt", delete=True).changed == ("notes.txt",)
    assert not (workspace.path / "notes.txt").exists()
    assert "there is no 'notes.txt'" in call("file_edit", path="notes.txt", delete=True).error
    assert "is a folder" in call("file_edit", path="src", delete=True).error
    assert set(workspace.files(workspace.snapshot())) == {*FILES, "new/deep/a.py"} - {"notes.txt"}


def test_a_file_stays_executable(call: Call, workspace: Workspace) -> None:
    """Its mode is not the text's business."""
    path = workspace.path / "run.sh"
    path.write_text("echo 1\n")
    path.chmod(0o755)
    assert call("file_edit", path="run.sh", search="1", replace="2").ok
    assert path.stat().st_mode & 0o777 == 0o755


def test_a_key_in_the_file_is_not_shown(call: Call, workspace: Workspace) -> None:
    """Neither beside the new lines nor where a search finds nothing: a part of a key looks like none."""
    body = [f"MIIEpAIBAAKCAQEA{n:02}x7Kq9Zt3Lw5Vb8Rn1Pm6Hd4Gs2Fj0Cy" for n in range(25)]
    title = "RSA PRIVATE" + " KEY"  # in two, or the auditors would find a key here
    key = "\n".join((f"-----BEGIN {title}-----", *body, f"-----END {title}-----"))
    text = f'KEY = """{key}"""\nDEBUG = True\n'
    workspace.apply([FileEdit(path="keys.py", text=text)])
    changed = call("file_edit", path="keys.py", search="DEBUG = True", replace="DEBUG = False")
    missed = call("file_edit", path="keys.py", search=f"{body[9]}\n{body[10]}x", replace="")
    assert changed.ok
    assert "28 | DEBUG = False" in changed.output
    assert not missed.ok
    assert not [line for line in body if line in changed.output + missed.error]
