"""What a run can start from, and one sentence with the mend for everything else."""

import os
import shlex
import shutil
import signal
import socket
import threading
from pathlib import Path

import pytest

from surefoot.errors import EnvironmentBrokenError, RepositoryError
from surefoot.gitops import Git, Repository, check_git
from surefoot.gitops.collect import remove_worktree
from surefoot.gitops.reading import tree_checkout, tree_diff, tree_exists
from surefoot.gitops.workspace import open_workspace
from surefoot.interrupts import uninterrupted
from surefoot.testing.manifest import manifest
from surefoot.testing.repository import ScratchRepository
from surefoot.values import RunId, TreeId


def test_a_checkout_is_known_by_its_folders_commit_tree_and_branch(user: ScratchRepository) -> None:
    """Discovery works from any folder below the root and reports ids as git gives them."""
    found = Repository.discover(user.root / "src", user.env)
    assert found.root == user.root
    assert found.git_dir == found.common_dir == user.root / ".git"
    assert found.head == user.git("rev-parse", "HEAD")
    assert found.tree == user.git("rev-parse", "HEAD^{tree}")
    assert found.branch == "refs/heads/main"
    assert not found.dirty


@pytest.mark.parametrize("state", ["changed", "staged", "untracked"])
def test_a_dirty_tree_is_allowed_and_reported(user: ScratchRepository, state: str) -> None:
    """Uncommitted work of any kind is reported; ignored files are not."""
    user.write({"a.log": "ignored"})
    assert not Repository.discover(user.root, user.env).dirty
    user.write({"new.py" if state == "untracked" else "src/app.py": "x = 1\n"})
    if state == "staged":
        user.git("add", "src/app.py")
    assert Repository.discover(user.root, user.env).dirty


def test_a_linked_worktree_and_a_sha256_repository_are_checkouts_too(
    user: ScratchRepository, tmp_path: Path
) -> None:
    """Both are discovered with their own git folder, or their longer ids."""
    user.git("worktree", "add", "-q", "-b", "other", "../linked")
    found = Repository.discover(tmp_path / "linked", user.env)
    assert found.git_dir == user.root / ".git" / "worktrees" / "linked"
    assert found.common_dir == user.root / ".git"
    assert found.branch == "refs/heads/other"

    long = ScratchRepository.create(tmp_path / "b", os.environ["PATH"], "--object-format=sha256")
    long.commit({"a": "1"})
    assert len(Repository.discover(long.root, long.env).tree) == 64


def test_a_checkout_in_a_folder_with_a_newline_is_found(tmp_path: Path) -> None:
    """Git's answer about folders has no other separator."""
    user = ScratchRepository.create(tmp_path / "a\nb", os.environ["PATH"])
    user.commit({"a": "1"})
    found = Repository.discover(user.root, user.env)
    assert (found.root, found.git_dir) == (user.root, user.root / ".git")


def test_a_broken_last_commit_is_not_taken_for_none(user: ScratchRepository) -> None:
    """The object behind the branch is gone: say so, and do not offer to make the first commit."""
    commit = user.git("rev-parse", "HEAD")
    (user.root / ".git" / "objects" / commit[:2] / commit[2:]).unlink()
    with pytest.raises(RepositoryError, match="git fsck"):
        Repository.discover(user.root, user.env)


def test_a_checkout_of_another_user_is_trusted_by_the_command_that_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From a subfolder, named as the folder where one stands, and with a space in the path."""
    user = ScratchRepository.create(tmp_path / "a b", os.environ["PATH"])
    user.commit({"src/app.py": "1\n"})
    shim = tmp_path / "shim"
    shim.mkdir()
    (shim / "git").write_text(
        "#!/bin/sh\nexport GIT_TEST_ASSUME_DIFFERENT_OWNER=1\n"
        f'PATH={user.env["PATH"]}\nexec git "$@"\n'
    )
    (shim / "git").chmod(0o755)
    foreign = {**user.env, "PATH": f"{shim}:{user.env['PATH']}"}
    monkeypatch.chdir(user.root / "src")
    with pytest.raises(RepositoryError, match="another user owns it") as caught:
        Repository.discover(Path(), foreign)
    program, *words = shlex.split(str(caught.value).split("`")[1])
    assert program == "git"
    user.git(*words)
    assert Repository.discover(Path(), foreign).root == user.root


@pytest.mark.parametrize("name", ["refs/heads/HEAD", "refs/tags/HEAD", "refs/remotes/HEAD/HEAD"])
def test_a_ref_that_is_called_head_is_not_taken_for_it(user: ScratchRepository, name: str) -> None:
    """Other tools make such refs, and git works beside them, with a warning."""
    older = user.git("rev-parse", "HEAD")
    head = user.commit({"new.py": "1\n"})
    user.git("update-ref", name, older)
    found = Repository.discover(user.root, user.env)
    assert (found.head, found.branch) == (head, "refs/heads/main")
    assert found.tree == user.git("rev-parse", f"{head}^{{tree}}")
    user.git("checkout", "-q", "--detach")
    assert Repository.discover(user.root, user.env).branch == "HEAD"


def test_every_unusable_place_is_one_sentence_with_the_mend(
    user: ScratchRepository, tmp_path: Path
) -> None:
    """Not a repository, bare, no commit, missing, a file, inside `.git`, a run's worktree, broken settings."""
    (tmp_path / "empty").mkdir()
    user.git("clone", "-q", "--bare", ".", "../bare.git")
    unborn = ScratchRepository.create(tmp_path / "unborn", os.environ["PATH"])

    def said(path: Path) -> str:
        with pytest.raises(RepositoryError) as caught:
            Repository.discover(path, user.env)
        text = str(caught.value)
        assert "\n" not in text
        return text

    assert "git init" in said(tmp_path / "empty")
    assert "bare" in said(tmp_path / "bare.git")
    assert "no commit yet" in said(unborn.root)
    assert "No such file" in said(tmp_path / "missing")
    assert "Not a directory" in said(user.root / "README.md")
    assert "inside git's own folder" in said(user.root / ".git")
    with open_workspace(
        Repository.discover(user.root, user.env), RunId("run-1"), home=user.home
    ) as workspace:
        assert "own checkout" in said(workspace.path)
    user.git("checkout", "-q", "--detach")
    with pytest.raises(RepositoryError, match="git switch -c"):
        Repository.discover(user.root, user.env).require_branch()
    (user.root / ".git" / "config").write_text("[broken\n")
    assert "mend that" in said(user.root)


def test_a_runs_branch_can_be_looked_at_in_the_users_checkout(user: ScratchRepository) -> None:
    """A run neither starts from it nor goes on with it; a branch of the user's with such a name is his."""
    run_id = RunId("run-1")
    open_workspace(Repository.discover(user.root, user.env), run_id, home=user.home).close()
    remove_worktree(Repository.discover(user.root, user.env), run_id, user.home)
    user.git("switch", "-q", "surefoot/run-1")
    found = Repository.discover(user.root, user.env)
    assert found.branch == "refs/heads/surefoot/run-1"
    told = r"branch of run run-1 is checked out .*`git switch main`"
    with pytest.raises(RepositoryError, match=told):
        found.require_branch()
    with pytest.raises(RepositoryError, match=told):
        found.refuse_branch_of(run_id)
    found.refuse_branch_of(RunId("run-2"))
    user.git("switch", "-q", "-c", "surefoot/mine/x")
    Repository.discover(user.root, user.env).require_branch()


@pytest.mark.skipif(os.geteuid() == 0, reason="root can read everything")
def test_a_folder_that_cannot_be_read_is_refused(user: ScratchRepository) -> None:
    """No permission is one sentence, not a traceback."""
    user.root.chmod(0)
    with pytest.raises(RepositoryError, match="cannot be read"):
        Repository.discover(user.root, user.env)
    user.root.chmod(0o755)


def test_a_missing_or_old_git_names_the_version_that_is_needed(tmp_path: Path) -> None:
    """Doctor and discovery say the same; a version from a vendor is read all the same."""
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    env = {"PATH": str(bin_folder)}
    with pytest.raises(EnvironmentBrokenError, match=r"install git 2\.38"):
        check_git(env)
    git = bin_folder / "git"
    git.write_text("#!/bin/sh\necho 'git version 2.30.2'\n")
    git.chmod(0o755)
    with pytest.raises(EnvironmentBrokenError, match=r"2\.38 or newer"):
        Repository.discover(tmp_path, env)
    git.write_text("#!/bin/sh\necho 'git version 2.51.0.rc1 (Vendor Git-7)'\n")
    assert check_git(env) == "2.51.0"


def test_a_folder_that_vanished_is_named(tmp_path: Path) -> None:
    """Git that cannot start in a folder blames the folder, not itself."""
    with pytest.raises(RepositoryError, match="name a folder that exists"):
        Git(tmp_path / "gone", {"PATH": os.environ["PATH"]}).run("version")


@pytest.mark.parametrize(
    "complaint",
    [
        "error: file write error: No space left on device",
        "error: insufficient permission for adding an object to repository database .git/objects",
    ],
)
def test_a_disk_that_cannot_be_written_says_so(tmp_path: Path, complaint: str) -> None:
    """Git's complaint becomes a fault of the machine, with the mend."""
    git = tmp_path / "git"
    git.write_text(f"#!/bin/sh\necho '{complaint}' >&2; exit 128\n")
    git.chmod(0o755)
    with pytest.raises(EnvironmentBrokenError, match="free space"):
        Git(tmp_path, {"PATH": str(tmp_path)}).run("add", "-A")


def test_variables_and_settings_of_the_caller_change_nothing(
    user: ScratchRepository, tmp_path: Path
) -> None:
    """GIT_DIR, GIT_INDEX_FILE, injected settings and an alias of the environment reach no command."""
    other = ScratchRepository.create(tmp_path / "other", os.environ["PATH"])
    other.commit({"x": "1"})
    hostile = {
        **user.env,
        "GIT_DIR": str(other.root / ".git"),
        "GIT_WORK_TREE": str(other.root),
        "GIT_INDEX_FILE": str(tmp_path / "stolen"),
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.bare",
        "GIT_CONFIG_VALUE_0": "true",
        "GIT_AUTHOR_NAME": "Somebody",
    }
    found = Repository.discover(user.root, hostile)
    assert found.root == user.root
    assert (
        found.git().run("var", "GIT_AUTHOR_IDENT").line.startswith("Surefoot <surefoot@localhost>")
    )
    assert found.user_git().run("var", "GIT_AUTHOR_IDENT").line.startswith("Somebody <")
    assert not (tmp_path / "stolen").exists()


def test_discovery_writes_nothing(user: ScratchRepository) -> None:
    """Not even the index's cached times, which `git status` usually refreshes."""
    shutil.copyfile(user.root / ".git" / "index", user.folder / "index")
    os.utime(user.root / "src" / "app.py", (1, 1))
    Repository.discover(user.root, user.env)
    assert (user.root / ".git" / "index").read_bytes() == (user.folder / "index").read_bytes()


def test_trees_are_looked_at_without_a_run(user: ScratchRepository, tmp_path: Path) -> None:
    """Existence, difference and a whole checkout, from a sparse checkout too; the user's checkout is not touched."""
    user.commit({"other/y.py": "Y\n"})
    user.git("sparse-checkout", "set", "--cone", "src")
    repository = Repository.discover(user.root, user.env)
    before = manifest(repository, home=user.home)
    older = TreeId(user.git("rev-parse", "HEAD~1^{tree}"))
    gone = TreeId("1" * 40)
    assert tree_exists(repository, repository.tree)
    assert not tree_exists(repository, gone)
    assert not tree_exists(repository, TreeId(user.git("rev-parse", "HEAD:README.md")))
    found = tree_diff(repository, older, repository.tree, tmp_path)
    assert found is not None
    assert found.paths == ("other/y.py",)
    assert tree_diff(repository, older, gone, tmp_path) is None
    with tree_checkout(repository, repository.tree, tmp_path / "scratch") as folder:
        assert (folder / "other" / "y.py").read_text() == "Y\n"
        assert not (folder / ".git").exists()
    assert list((tmp_path / "scratch").iterdir()) == []
    assert manifest(repository, home=user.home) == before


def test_an_interruption_waits_for_a_ref_to_be_moved() -> None:
    """Ctrl-C inside the block is not lost, and comes after its work."""
    done = []

    def move() -> None:
        with uninterrupted():
            os.kill(os.getpid(), signal.SIGINT)
            done.append("the ref is moved")

    with pytest.raises(KeyboardInterrupt):
        move()
    assert done == ["the ref is moved"]


def test_an_interruption_that_another_thread_receives_waits_too() -> None:
    """Signals are blocked in one thread only; the kernel gives them to any other that there is."""
    over, done = threading.Event(), []
    other = threading.Thread(target=over.wait)
    other.start()
    received, told = socket.socketpair()
    told.setblocking(False)
    before = signal.set_wakeup_fd(told.fileno())

    def move() -> None:
        with uninterrupted():
            os.kill(os.getpid(), signal.SIGINT)
            received.recv(1)
            done.append("the ref is moved")

    try:
        with pytest.raises(KeyboardInterrupt):
            move()
    finally:
        signal.set_wakeup_fd(before)
        received.close()
        told.close()
        over.set()
        other.join()
    assert done == ["the ref is moved"]
