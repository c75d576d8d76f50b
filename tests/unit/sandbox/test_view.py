"""What a command may see, worked out without running anything."""

from pathlib import Path

import pytest

from surefoot.errors import SandboxError
from surefoot.sandbox.view import ETC, Surveyor, View, etc_files
from surefoot.values import Command


def look(root: Path, **paths: object) -> View:
    command = Command(argv=("true",), cwd=root, **paths)  # type: ignore[arg-type]
    return Surveyor().look(command)


def writable(view: View) -> dict[Path, bool]:
    return {mount.where: mount.writable for mount in view.mounts}


def test_records_are_read_only(tmp_path: Path) -> None:
    """`.git` of a writable path and of repositories further down is read-only; what is missing may not come to be."""
    for name in (".git", "vendored/lib/.git/hooks"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / ".git" / "HEAD").touch()
    (tmp_path / "module").mkdir()
    (tmp_path / "module" / ".git").write_text("gitdir: elsewhere")
    view = look(tmp_path, writes=(tmp_path,))
    assert writable(view) == {
        tmp_path: True,
        tmp_path / ".git": False,
        tmp_path / "module" / ".git": False,
        tmp_path / "vendored" / "lib" / ".git": False,
    }
    assert view.missing == (tmp_path / ".surefoot",)
    assert set(view.nested) == {tmp_path / "module/.git", tmp_path / "vendored/lib/.git"}


def test_outermost_comes_first(tmp_path: Path) -> None:
    """Mounts are ordered so that the deepest decides."""
    (tmp_path / "a" / "b").mkdir(parents=True)
    view = look(tmp_path, reads=(tmp_path, tmp_path / "a" / "b"), writes=(tmp_path / "a",))
    places = [mount.where for mount in view.mounts if mount.where.name in {"a", "b", tmp_path.name}]
    assert places == [tmp_path, tmp_path / "a", tmp_path / "a" / "b"]
    assert writable(view)[tmp_path / "a" / "b"] is False


@pytest.mark.parametrize("path", [".git", ".git/worktrees/x", ".surefoot"])
def test_records_are_not_writable(tmp_path: Path, path: str) -> None:
    """Nobody can ask for a repository's records to write on."""
    (tmp_path / path).mkdir(parents=True)
    with pytest.raises(SandboxError, match="repository's records"):
        look(tmp_path, writes=(tmp_path / path,))


def test_scratch_below_the_state_directory(tmp_path: Path) -> None:
    """A worktree below `.surefoot` can be written, and `.surefoot` itself not."""
    worktree = tmp_path / ".surefoot" / "worktrees" / "1"
    worktree.mkdir(parents=True)
    view = look(worktree, writes=(tmp_path, worktree))
    assert writable(view)[tmp_path / ".surefoot"] is False
    assert writable(view)[worktree] is True


def test_where_a_path_really_is(tmp_path: Path) -> None:
    """A path of the view is found on the host through the deepest mount that holds it."""
    (tmp_path / "real").mkdir()
    (tmp_path / "alias").symlink_to("real")
    view = look(tmp_path / "alias", writes=(tmp_path / "alias",))
    assert view.on_host(tmp_path / "alias" / "x") == tmp_path / "real" / "x"
    assert view.on_host(Path("/elsewhere")) is None


def test_link_loop(tmp_path: Path) -> None:
    """A loop of symbolic links is refused like any path that leads nowhere."""
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(SandboxError, match="does not exist"):
        look(tmp_path, reads=(tmp_path, tmp_path / "a"))


def test_no_secret_of_the_system() -> None:
    """What is shown of /etc can be read by everybody and is neither a password file nor a key."""
    shown = {str(path.relative_to("/etc")) for path in etc_files()}
    assert "passwd" in shown
    assert not shown & {"shadow", "gshadow", "sudoers", "ssh", "ssl/private", "npmrc", "pip.conf"}
    assert not [name for name in ETC if name in {"", ".", "*"}]
