"""No path that a model can give leads a file tool out of the worktree, or into git's own folder."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from surefoot.kernel.ports import Workspace
from surefoot.toolbox import Box
from surefoot.values import ToolCall, ToolOutcome

Call = Callable[..., ToolOutcome]
SECRET = "the secret that nobody may see"
BAD_PATHS = (
    "../secret.txt",
    "src/../../secret.txt",
    "src/../notes.txt",
    "/etc/passwd",
    "//etc/passwd",
    "{outside}/secret.txt",
    "{root}/../secret.txt",
    "{root}x/secret.txt",
    "link_out/secret.txt",
    "src/link_file",
    "chain",
    ".git",
    ".git/hooks/pre-commit",
    ".GIT/config",
    "src/.git/config",
    ".git./config",
    "GIT~1/config",
    "to_git",
    "zero\0byte",
    "x" * 300,
    "/".join(["deep"] * 3000),
    "loop",
)
WAYS: dict[str, dict[str, object]] = {
    "file_read": {},
    "ripgrep": {"pattern": "."},
    "replace": {"search": SECRET, "replace": "x"},
    "create": {"create": "x"},
    "delete": {"delete": True},
}


@pytest.fixture
def traps(workspace: Workspace, tmp_path: Path) -> Path:
    """Links in the worktree that lead out of it, and a secret outside."""
    root, outside = workspace.path, tmp_path / "outside"
    outside.mkdir()
    for folder in (outside, root.parent):
        (folder / "secret.txt").write_text(SECRET)
    (root / "link_out").symlink_to(outside)
    (root / "src" / "link_file").symlink_to(outside / "secret.txt")
    (root / "chain").symlink_to("src/link_file")
    (root / "to_git").symlink_to(".git")
    (root / "loop").symlink_to("loop")
    return outside


def everything(*folders: Path) -> dict[str, str]:
    found = {}
    for directory, _, files in (step for folder in folders for step in os.walk(folder)):
        for name in files:
            path = Path(directory, name)
            found[str(path)] = f"{path.lstat().st_mtime_ns} {path.lstat().st_size}"
    return found


@pytest.mark.parametrize("way", WAYS)
def test_no_path_leads_out(
    box: Box, workspace: Workspace, traps: Path, tmp_path: Path, way: str
) -> None:
    """Each is an outcome that is not ok, in short words, and not one file anywhere has changed."""
    before = everything(tmp_path, workspace.path.parent)
    for bad in BAD_PATHS:
        path = bad.format(outside=traps, root=workspace.path)
        tool = way if way in {"file_read", "ripgrep"} else "file_edit"
        parameters = json.dumps({"path": path, **WAYS[way]})
        outcome = box.call(ToolCall(tool=tool, parameters=parameters), workspace)
        assert not outcome.ok, path
        assert 0 < len(outcome.error) < 400, outcome.error
        assert SECRET not in outcome.output + outcome.error
        assert outcome.changed == ()
    assert everything(tmp_path, workspace.path.parent) == before


def test_a_search_of_everything_follows_no_link_and_leaves_git_alone(
    call: Call, traps: Path
) -> None:
    """What lies behind links, and what git keeps, is in no match."""
    assert call("ripgrep", pattern="secret").output == "no match for 'secret' in ."
    assert call("ripgrep", pattern="gitdir", glob="*git*").output.startswith("no match")
    assert not call("ripgrep", pattern="x", path="link_out").ok


def test_a_link_inside_may_be_read_but_not_be_written_through(
    call: Call, workspace: Workspace
) -> None:
    """An edit names the file itself, so that what changed is what was named."""
    (workspace.path / "alias.txt").symlink_to("notes.txt")
    assert "two" in call("file_read", path="alias.txt").output
    refused = call("file_edit", path="alias.txt", search="two", replace="2")
    assert not refused.ok
    assert "symbolic link" in refused.error
    assert (workspace.path / "notes.txt").read_text() == "one\ntwo\nthree\n"


def test_a_path_from_a_commands_output_may_be_given_as_it_is(
    call: Call, workspace: Workspace
) -> None:
    """An absolute path below the worktree, and one with dots and slashes too many, are the file itself."""
    for path in (f"{workspace.path}/notes.txt", "./notes.txt", ".//notes.txt", "notes.txt/"):
        assert call("file_read", path=path).output.startswith("notes.txt, lines 1 to 3 of 3")


def test_something_that_is_not_a_file_is_not_opened(call: Call, workspace: Workspace) -> None:
    """A pipe nobody writes to would hold the reader for ever."""
    os.mkfifo(workspace.path / "pipe")
    for parameters in ({}, {"search": "a", "replace": "b"}):
        tool = "file_edit" if parameters else "file_read"
        assert "is not a file" in call(tool, path="pipe", **parameters).error


def test_a_shell_command_stays_inside(call: Call, workspace: Workspace, traps: Path) -> None:
    """It can neither see nor write beyond the worktree, nor write what git keeps."""
    (workspace.path / "link_out").unlink()
    before = (workspace.path / ".git").read_bytes()
    line = (
        f"cat {traps}/secret.txt; echo x > {traps}/new; cat src/link_file; echo x > .git; rm -f .git; "
        "echo x > ../new; "
        "mkdir -p .git/hooks; echo x > .git/hooks/pre-commit; ls"
    )
    outcome = call("shell", command=line)
    assert SECRET not in outcome.output
    assert "notes.txt" in outcome.output
    assert not (traps / "new").exists()
    assert not (workspace.path.parent / "new").exists()
    assert (workspace.path / ".git").read_bytes() == before
    assert outcome.changed == ()
