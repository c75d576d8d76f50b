"""What every `Workspace` does, as the kernel relies on it."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from surefoot.errors import UsageError
from surefoot.gitops import Repository
from surefoot.gitops.workspace import open_workspace
from surefoot.kernel.ports import Workspace
from surefoot.testing.repository import ScratchRepository
from surefoot.values import FileChange, FileEdit, RunId

BASE = {
    "a.txt": "one\ntwo\n",
    "pkg/b.py": "B = 1\n",
    "pkg/deep/c.py": "C = 1\n",
    "tests/test_a.py": "def test_a(): pass\n",
}


@pytest.fixture(params=["git"])
def workspace(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Workspace]:
    """A workspace on a base tree that holds `BASE`."""
    user = ScratchRepository.create(tmp_path, os.environ["PATH"])
    user.commit({**BASE, ".gitignore": "*.log\n"})
    repository = Repository.discover(user.root, user.env)
    with open_workspace(repository, RunId("run-1"), home=user.home) as opened:
        yield opened


def edit(path: str, text: str | None) -> FileEdit:
    return FileEdit(path=path, text=text)


def test_it_begins_with_the_base(workspace: Workspace) -> None:
    """Head is the base, the worktree holds its files, and a snapshot of it is its tree."""
    assert workspace.head == (workspace.base, workspace.base_tree)
    assert workspace.snapshot() == workspace.base_tree
    assert (workspace.path / "pkg" / "b.py").read_text() == "B = 1\n"
    assert workspace.files(workspace.base_tree) == (".gitignore", *BASE)


def test_a_snapshot_sees_changes_additions_and_removals_but_not_ignored_files(
    workspace: Workspace,
) -> None:
    """The tree differs exactly in what was edited, which nobody ignores; the diff counts lines and names every path once."""
    workspace.apply([edit("a.txt", "one\n2\nthree\n"), edit("pkg/b.py", None)])
    workspace.apply([edit("new/d.py", "D = 1\n"), edit("kept.log", "asked for\n")])
    (workspace.path / "trace.log").write_text("noise")
    tree = workspace.snapshot()
    diff = workspace.diff(workspace.base_tree, tree)
    assert diff.files == (
        FileChange(path="a.txt", status="M", added=2, removed=1),
        FileChange(path="kept.log", status="A", added=1, removed=0),
        FileChange(path="new/d.py", status="A", added=1, removed=0),
        FileChange(path="pkg/b.py", status="D", added=0, removed=1),
    )
    assert "+D = 1" in diff.patch
    assert workspace.snapshot() == tree
    assert workspace.diff(tree, tree).files == ()


def test_a_commit_moves_the_head_and_later_ones_follow_it(workspace: Workspace) -> None:
    """Head is always the last commit with its tree."""
    for number in (1, 2):
        workspace.apply([edit("a.txt", f"{number}\n")])
        tree = workspace.snapshot()
        commit = workspace.commit(tree, f"turn {number}", {"Turn": str(number)})
        assert workspace.head == (commit, tree)
    assert workspace.base != workspace.head[0]


def test_restore_leaves_exactly_the_tree(workspace: Workspace) -> None:
    """Changed, removed, added, ignored and untracked things are gone; files, links and folders trade places."""
    workspace.apply([edit("a.txt", "changed"), edit("pkg/b.py", None), edit("noise.log", "x")])
    (workspace.path / "pkg" / "b.py").mkdir()
    (workspace.path / "pkg" / "b.py" / "inside").write_text("x")
    (workspace.path / "tests" / "test_a.py").unlink()
    (workspace.path / "tests" / "test_a.py").symlink_to("/etc/passwd")
    (workspace.path / "__pycache__").mkdir()
    (workspace.path / "__pycache__" / "stale.pyc").write_text("x")
    workspace.restore(workspace.base_tree)
    found = {
        str(p.relative_to(workspace.path)): p.read_text()
        for p in workspace.path.rglob("*")
        if p.is_file() and p.name not in {".git", ".gitignore"}
    }
    assert found == BASE
    assert workspace.snapshot() == workspace.base_tree


def test_trees_are_read_without_the_worktree(workspace: Workspace) -> None:
    """Content comes from the tree that is asked for; what is no file there is None."""
    workspace.apply([edit("a.txt", "now\n"), edit("new.py", "N\n")])
    tree = workspace.snapshot()
    assert workspace.read(workspace.base_tree, "a.txt") == b"one\ntwo\n"
    assert workspace.read(tree, "a.txt") == b"now\n"
    assert workspace.read(workspace.base_tree, "new.py") is None
    assert workspace.read(tree, "pkg") is None


def test_an_overlay_takes_paths_from_another_tree(workspace: Workspace) -> None:
    """Named files come from the source, or go where it lacks them; the rest and the worktree stay."""
    workspace.apply(
        [edit("a.txt", "work\n"), edit("tests/test_a.py", None), edit("tests/x.py", "")]
    )
    tree = workspace.snapshot()
    mixed = workspace.overlay(tree, workspace.base_tree, ["tests/test_a.py", "tests/x.py"])
    assert workspace.files(mixed) == (".gitignore", *BASE)
    assert workspace.read(mixed, "a.txt") == b"work\n"
    assert workspace.overlay(tree, workspace.base_tree, ["a.txt", "tests"]) == workspace.base_tree
    assert workspace.overlay(tree, tree, ["a.txt"]) == tree
    assert workspace.snapshot() == tree


def test_a_checkout_is_a_folder_with_exactly_the_tree(workspace: Workspace) -> None:
    """It holds the tree whatever the worktree holds, is apart from it, and is gone afterwards."""
    workspace.apply([edit("a.txt", "other\n"), edit("untracked.py", "x")])
    with (
        workspace.checkout(workspace.base_tree) as first,
        workspace.checkout(workspace.base_tree) as second,
    ):
        assert first != second
        assert {str(p.relative_to(first)) for p in first.rglob("*") if p.is_file()} == {
            ".gitignore",
            *BASE,
        }
        (first / "a.txt").write_text("scratch")
        assert (workspace.path / "a.txt").read_text() == "other\n"
    assert not first.exists()
    assert not second.exists()


@pytest.mark.parametrize(
    "path",
    [
        *("", ".", "/etc/passwd", "../x", "pkg/../../x", "pkg//b.py", "pkg/", "a\0b", "x" * 300),
        *(".git", ".git/config", "pkg/.git/hooks/pre-commit", ".GIT/config", "git~1/x"),
        *("a.txt/below", "pkg", "link", "into/x", "up/x"),
    ],
)
def test_an_edit_that_leaves_the_worktree_is_refused_and_nothing_is_written(
    workspace: Workspace, tmp_path: Path, path: str
) -> None:
    """Outside, in `.git`, through a link, over a folder, below a file: all edits of the call are refused."""
    (workspace.path / "link").symlink_to("a.txt")
    (workspace.path / "into").symlink_to(tmp_path)
    (workspace.path / "up").symlink_to("..")
    with pytest.raises(UsageError, match="refused"):
        workspace.apply([edit("a.txt", "first edit"), edit(path, "text")])
    assert (workspace.path / "a.txt").read_text() == "one\ntwo\n"
    assert not (tmp_path / "x").exists()


def test_a_file_and_one_below_it_cannot_be_written_at_once(workspace: Workspace) -> None:
    """In either order; that one of them goes is no obstacle."""
    both = [edit("new", "text"), edit("new/below.py", "text")]
    for edits in (both, both[::-1]):
        with pytest.raises(UsageError, match=r"'new/below\.py' is refused: another edit writes"):
            workspace.apply([edit("a.txt", "first edit"), *edits])
        assert (workspace.path / "a.txt").read_text() == "one\ntwo\n"
        assert not (workspace.path / "new").exists()
    workspace.apply([edit("new", None), edit("new/below.py", "text")])
    assert (workspace.path / "new" / "below.py").read_text() == "text"


def test_an_edit_keeps_the_mode_and_is_taken_as_it_is(workspace: Workspace) -> None:
    """An executable stays one; line ends and odd characters are written as given."""
    (workspace.path / "a.txt").chmod(0o755)
    workspace.apply([edit("a.txt", "x\r\ny\ud800".replace("\ud800", "\udcff"))])
    assert (workspace.path / "a.txt").stat().st_mode & 0o777 == 0o755
    assert (workspace.path / "a.txt").read_bytes() == b"x\r\ny\xff"


def test_deleting_edits_leave_no_empty_folder(workspace: Workspace) -> None:
    """A folder whose last file goes, goes too; deleting what is not there is fine."""
    workspace.apply([edit("pkg/deep/c.py", None), edit("nowhere/x.py", None)])
    assert not (workspace.path / "pkg" / "deep").exists()
    workspace.apply([edit("pkg/b.py", None)])
    assert not (workspace.path / "pkg").exists()
