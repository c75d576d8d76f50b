"""What a document claims, and which served path it means."""

import pytest

from surefoot.preflight.claims import claims_in
from surefoot.preflight.markdown import Table, blocks
from surefoot.preflight.routes import matches
from surefoot.preflight.routes.django import readable


def told(text: str, *, is_markdown: bool = True) -> list[tuple[int, str, tuple[str, ...]]]:
    found = claims_in(text, {"tool", "-m pack", "x.py"}, is_markdown=is_markdown)
    return [(claim.line, claim.told, claim.marks) for claim in found]


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        ("`GET /a/{b}` and POST /c.", ["GET /a/{b}", "POST /c"]),
        ("GET|PUT `/a`", ["GET,PUT /a"]),
        ("**GET /a** lists, *POST /b/*, **all of /api/c**, ***PUT /d***", ["GET /a", "POST /b/", "PUT /d", "/api/c"]),
        ("**Files:** GET /a/**, `GET /b/*` and **DELETE /c/*", ["GET /a/**", "GET /b/*", "DELETE /c/*"]),
        ("see `/users/<int:id>` or `/tmp/x`, `/`, `a/b`", ["/users/<int:id>"]),
        ("bare /api/v1/x, /webhooks/y: yes; a/api/no and /other no", ["/api/v1/x", "/webhooks/y"]),
        ("`tool run --fast` and `.venv/bin/tool`", ["tool run --fast", "tool"]),
        ("`A=1 tool x && tool y | tee`, `python -m pack z`, `python3 a/x.py -v`", ["tool x", "tool y", "-m pack z", "x.py -v"]),
        ("## tool run", ["tool run"]),
        ("## tool run\n\n| | |\n|---|---|\n| `-o, --out FILE` | x |", ["tool run", "tool run -o --out FILE"]),
        ("# tool - does it all", ["tool"]),
        ("# tool \u2014 does it all\n\n## tool run: the work", ["tool", "tool run"]),
        ("## tool run\n\n| | |\n|---|---|\n| `--fast`, `-f` | x |", ["tool run", "tool run --fast", "tool run -f"]),
        ("```console\n$ tool a  # why\ntool printed\n```", ["tool a"]),
        ("```\ntool a\n```", ["tool a"]),
        ("```\ntool \\\n  a --one \\\n  --two\ntool b\n```", ["tool a --one --two", "tool b"]),
        ("```\n$ tool a \\\n    --one\ntool printed\n```", ["tool a --one"]),
        ("```python\ntool a\nGET /x\n```", []),
        ("<!-- `GET /a` -->\n<!--\n`tool a`\n-->", []),
        ("`tools x` and `tool.toml`", []),
    ],
)  # fmt: skip
def test_claims_of_a_page(text: str, claims: list[str]) -> None:
    """Each form of a claim, and what only looks like one."""
    assert [claim for _, claim, _ in told(text)] == claims


def test_marks_and_lines() -> None:
    """A mark excuses its line, in a table also alone in a cell; each claim has its line."""
    text = "`GET /a` [NEW]\n\n| route | |\n|---|---|\n| `GET /b` | DEAD |\n| `GET /c` | old |\n"
    assert told(text) == [(1, "GET /a", ("NEW",)), (5, "GET /b", ("DEAD",)), (6, "GET /c", ())]


def test_a_claims_file() -> None:
    """One claim a line, also of programs that do not exist."""
    text = "# all\nGET /a [EXTERNAL]\n\n/b/*\ntool go\nother go\n"
    assert told(text, is_markdown=False) == [
        (2, "GET /a", ("EXTERNAL",)),
        (4, "/b/*", ()),
        (5, "tool go", ()),
        (6, "other go", ()),
    ]


@pytest.mark.parametrize(
    ("claimed", "served", "does"),
    [
        ("/a/{x}", "/a/<int:y>", True),
        ("/a/:x", "/a/{y:path}", True),
        ("/a/7/", "/a/<int:y>", True),
        ("/a/b", "/a/<int:y>", False),
        ("/a/b", "/a/{y}", True),
        ("/a/{x}", "/a/me", False),
        ("/a/b?page=2", "/a/b", True),
        ("/a/*", "/a/b/c", True),
        ("/a/*", "/a", False),
        ("/a/*/c", "/a/{x}/c", True),
        ("/a/*/c", "/a/{x}/d", False),
        ("/f/b/c/edit", "/f/{p:path}/edit", True),
        ("/f/b/c", "/f/{p:path}/edit", False),
        ("/f/b/c", "/f/{**}", True),
        ("/f", "/f/{**}", False),
        ("/a/{x}.json", "/a/{name}.json", True),
        ("/a/b.xml", "/a/{name}.json", False),
        ("/", "/", True),
        ("/a", "/", False),
    ],
)
def test_paths(*, claimed: str, served: str, does: bool) -> None:
    """Parameters match by place, literals match parameters that can hold them, wildcards what follows."""
    assert matches(claimed, served) is does


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        (r"^a/(?P<year>[0-9]{4})/$", "a/{year}/"),
        (r"^a\.html$", "a.html"),
        (r"^(\d+)/b\Z", "{_}/b"),
        (r"^a|b$", None),
        (r"^\d+$", None),
    ],
)
def test_regular_expressions(pattern: str, path: str | None) -> None:
    """Groups are parameters; what is more than that cannot be read."""
    assert readable(pattern) == path


def test_a_type_in_a_table() -> None:
    """A bar in a code span, or after a backslash, ends no cell."""
    (table,) = blocks("| a | b |\n|---|---|\n| `int | str` | x \\| y |\n")
    assert isinstance(table, Table)
    assert table.rows[0].cells == ("`int | str`", "x | y")
