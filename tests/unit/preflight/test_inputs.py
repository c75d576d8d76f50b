"""The six inputs of a plan, and what of them is refused."""

from pathlib import Path

import pytest

from surefoot.preflight import Code, check_plan

COMMITS = frozenset({"abc1234", "def5678"})
CELLS = {
    "Plan": "https://example.org/7",
    "Guide": "`GUIDE.md`",
    "Files": "`shop/web.py`",
    "Functions": "`shop/web.py::order`",
    "Decisions": "The owner, 2026-11-22",
    "Diffs": "`abc1234`",
}


def refused(root: Path, **cells: str) -> list[str]:
    """What is said of a plan with some of its cells replaced."""
    (root / "shop").mkdir()
    (root / "shop" / "web.py").write_text("def order(): ...\n")
    (root / "GUIDE.md").write_text("Orders are taken here.\n")
    rows = [f"| {name} | Present | {cell} |" for name, cell in {**CELLS, **cells}.items()]
    table = ["| Input | Status | Evidence Anchor |", "|---|---|---|", *rows]
    text = "\n".join([*table, "", "## Integration Contracts", "", "None: nothing is called", ""])
    code = Code(root, ["shop/web.py"])
    found = check_plan("PLAN.md", text, code, checks=(), is_commit=COMMITS.__contains__)
    return [problem.message for problem in found.problems]


@pytest.mark.parametrize("diffs", ["`abc1234`", "`abc1234..def5678`", "`abc1234...def5678`"])
def test_diffs_are_commits(tmp_path: Path, diffs: str) -> None:
    """A commit, or two with dots between them, are evidence of the diffs."""
    assert refused(tmp_path, Diffs=diffs) == []


def test_diffs_of_commits_that_are_not_there_are_none(tmp_path: Path) -> None:
    """Each end of a range must be in the repository."""
    (told,) = refused(tmp_path, Diffs="`abc1234..0000000`")
    assert "the commit 0000000, which is not in the repository" in told


@pytest.mark.parametrize(
    "files",
    [
        "`shop/web.py`, `shop/gift.py` [NEW]",
        "`shop/gift.py` [NEW], `shop/web.py`",
        "`shop/web.py` and `shop/gift.py` (NEW)",
        "`shop/web.py`, `shop/gift.py:[NEW]`",
        "NEW: `shop/gift.py`, `shop/note.py`",
    ],
)
def test_new_marks_the_file_that_it_stands_behind(tmp_path: Path, files: str) -> None:
    """A list may name files that are there beside files that the plan makes."""
    assert refused(tmp_path, Files=files) == []


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ("`shop/web.py` [NEW], `shop/gift.py` [NEW]", "`shop/web.py` is marked NEW"),
        ("`shop/note.py`, `shop/gift.py` [NEW]", "there is no `shop/note.py`"),
        (f"`{'long' * 70}.py`, `shop/gift.py` [NEW]", "there is no `longlong"),
    ],
)
def test_each_file_of_a_list_is_held_against_the_code(
    tmp_path: Path, files: str, told: str
) -> None:
    """A mark behind one file excuses no other."""
    (message,) = refused(tmp_path, Files=files)
    assert told in message
