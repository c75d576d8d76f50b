"""Fingerprints under edits of the rest of the file."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefoot.findings.fingerprint import scope_at, split_lines
from surefoot.findings.raw import Raw, findings_of

BODY = [
    "import os",
    "",
    "class A:",
    "    def f(self):",
    "        bad()",
    "        if self:",
    "            bad()",
    "",
    "    def g(self):",
    "        bad()",
    "        bad()",
    "",
    "bad()",
    "x = 1  # other",
]
BAD = [n for n, line in enumerate(BODY) if "bad()" in line]

unrelated = st.sampled_from(["", "    ", "# note", "        # deep note", "    # half", "\t"])
"""Lines that change no definition and no indentation of others."""
insertions = st.lists(st.tuples(st.integers(0, len(BODY)), unrelated), max_size=20)
at_module_level = st.lists(
    st.tuples(st.sampled_from([0, 2, 12, 13, 14]), st.sampled_from(["y = 2", "def h(): pass"])),
    max_size=5,
)


def edited(changes: list[tuple[int, str]]) -> tuple[list[str], list[int]]:
    """The body with lines put in, and where the bad lines are now (1-based)."""
    lines: list[str] = []
    places: list[int] = []
    for number in range(len(BODY) + 1):
        lines += [text for where, text in changes if where == number]
        if number < len(BODY):
            lines.append(BODY[number])
            if number in BAD:
                places.append(len(lines))
    return lines, places


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all examples; each writes the file anew."""
    return tmp_path_factory.mktemp("tree")


def marks(root: Path, lines: list[str], places: list[int]) -> list[str]:
    (root / "a.py").write_text("\n".join(lines))
    raws = [Raw(rule="R", file="a.py", line=n, column=1, message=f"line {n}") for n in places]
    return [f.fingerprint for f in findings_of("t", raws, root)]


@given(changes=insertions, code=at_module_level)
def test_unrelated_lines_keep_fingerprints(
    root: Path, changes: list[tuple[int, str]], code: list[tuple[int, str]]
) -> None:
    """Lines put in or taken out elsewhere keep every fingerprint, and they stay distinct."""
    before = marks(root, BODY, [n + 1 for n in BAD])
    after = marks(root, *edited(changes + code))
    assert after == before
    assert len(set(before)) == len(before)


def test_what_the_line_says_counts(tmp_path: Path) -> None:
    """Another text, rule, file, tool or definition is another finding; white space is not."""
    lines = ["def f():", "    bad()", "def g():", "    bad()", "    bad( )", "    bad()  "]
    (tmp_path / "a.py").write_text("\n".join(lines))
    (tmp_path / "b.py").write_text("\n".join(lines))

    def mark(tool: str, rule: str, file: str, line: int) -> str:
        (finding,) = findings_of(
            tool, [Raw(rule=rule, file=file, line=line, column=1, message="m")], tmp_path
        )
        return finding.fingerprint

    base = mark("t", "R", "a.py", 4)
    others = [
        mark("t", "R", "a.py", 2),
        mark("t", "R", "a.py", 5),
        mark("t", "R", "b.py", 4),
        mark("t", "S", "a.py", 4),
        mark("u", "R", "a.py", 4),
    ]
    assert base not in others
    assert base == mark("t", "R", "a.py", 6)


def test_a_signature_over_several_lines_is_a_definition(root: Path) -> None:
    """A formatter that wraps a signature makes no finding a new one, and no two functions one."""
    body = ["    data = path.read()", "    return eval(data)"]

    def mark(*signature: str) -> str:
        lines = [*signature, *body]
        return marks(root, lines, [len(lines)])[0]

    flat = mark("def load(path, mode):")
    # As it stands in baselines that were accepted before.
    assert flat == "32b0835732d24582785c83fa7de681ae"
    assert mark("def load(", "    path,", "    mode,", "):") == flat
    assert mark("async def load(", "    path,", ") -> dict[", "    str, int", "]:") == flat
    assert mark("def other(", "    path,", "):") != flat
    nested = ("class A(", "    B,", "):", "    def load(", "        self,", "    ):")
    inner = [*nested, "        return eval(data)"]
    assert marks(root, inner, [7]) == marks(
        root, ["class A(B):", "    def load(self):", inner[-1]], [3]
    )


def test_a_call_over_several_lines_is_no_definition(root: Path) -> None:
    """What stands in it at the level of the module is in no function above it."""
    call = ["x = g(", "    1", ")(", "    bad(),", ")"]
    assert marks(root, ["def f():", "    pass", *call], [6]) == marks(root, call, [4])


def test_an_identity_stands_for_the_line(tmp_path: Path) -> None:
    """A secret's fingerprint is made of its hash: not of its line, which must not be guessed from it."""
    marks_ = set()
    for text in ("key = 'abc'", "other = ('abc')"):
        (tmp_path / "a.py").write_text(text)
        raw = Raw(
            rule="R", file="a.py", line=1, column=1, message="m", identity="hash", evidence=""
        )
        (finding,) = findings_of("t", [raw], tmp_path)
        marks_.add(finding.fingerprint)
        assert finding.evidence == ""
    assert len(marks_) == 1


@given(text=st.text(), line=st.integers(-2, 30))
def test_scopes_of_any_text(text: str, line: int) -> None:
    """Any text has scopes, also one that is no Python."""
    scope_at(split_lines(text), line)
