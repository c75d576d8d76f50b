"""The run's worktree in every kind of checkout, and the user's checkout the same, byte for byte, afterwards."""

import fcntl
import os
import shutil
import stat
import subprocess
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from surefoot.errors import (
    EnvironmentBrokenError,
    GitError,
    RepositoryError,
    UsageError,
)
from surefoot.gitops import Repository
from surefoot.gitops.accept import Piece, accept, reject
from surefoot.gitops.carried import copy_tree
from surefoot.gitops.collect import remove_worktree
from surefoot.gitops.workspace import open_workspace, reopen_workspace
from surefoot.testing.checkouts import (
    KINDS,
    ODD_NAMES,
    a_submodule_itself,
    bare_with_worktrees,
    converted,
    linked,
    links_and_modes,
    odd_names,
    separate_git_folder,
    sparse,
    with_submodule,
)
from surefoot.testing.manifest import manifest
from surefoot.testing.repository import ScratchRepository
from surefoot.values import CommitId, FileEdit, RunId, TreeId

RUN = RunId("run-1")


def found(user: ScratchRepository) -> Repository:
    return Repository.discover(user.root, user.env)


def turn(user: ScratchRepository, edits: Mapping[str, str | None]) -> CommitId:
    """A run of one turn, with a rolled back one before it, to its end."""
    with open_workspace(found(user), RUN, home=user.home) as workspace:
        workspace.apply([FileEdit(path="src/app.py", text="broken")])
        workspace.restore(workspace.base_tree)
        workspace.apply([FileEdit(path=path, text=text) for path, text in edits.items()])
        tree = workspace.snapshot()
        assert set(workspace.diff(workspace.base_tree, tree).paths) == set(edits)
        with workspace.checkout(tree) as folder:
            assert (folder / "src" / "app.py").read_text() == edits["src/app.py"]
        return workspace.commit(tree, "turn 1", {"Surefoot-Turn": "t1"})


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_leaves_the_users_checkout_as_it_was(
    user: ScratchRepository, kind: Callable[[ScratchRepository], ScratchRepository]
) -> None:
    """Files, index, HEAD, refs, stash, reflogs, settings and hooks are the same bytes while it runs and after it."""
    user = kind(user)
    repository = found(user)
    before = manifest(repository, home=user.home)
    commit = turn(
        user, {"src/app.py": "def add(a, b):\n    return a + b\n", "src/new.py": "N = 1\n"}
    )
    assert manifest(repository, home=user.home) == before
    reopen_workspace(repository, RUN, home=user.home, head=commit).close()
    remove_worktree(repository, RUN, user.home)
    assert manifest(repository, home=user.home) == before
    reject(repository, RUN, user.home)
    assert manifest(repository, home=user.home) == before
    assert "surefoot" not in user.git("for-each-ref")
    assert not (user.folder / "hooks-ran").exists()


@pytest.mark.parametrize(
    "kind", [linked, separate_git_folder, a_submodule_itself, bare_with_worktrees]
)
def test_work_is_accepted_in_every_layout_of_a_checkout(
    user: ScratchRepository, kind: Callable[[ScratchRepository], ScratchRepository]
) -> None:
    """Where the git folder lies does not matter: the branch moves, and the files with it."""
    user = kind(user)
    commit = turn(user, {"src/app.py": "def add(a, b):\n    return a + b\n"})
    work = Piece(tree=TreeId(user.git("rev-parse", f"{commit}^{{tree}}")), message="fix")
    done = accept(found(user), RUN, home=user.home, pieces=[work], verify=lambda *_: "not asked")
    assert user.git("rev-parse", "HEAD") == done.commit
    assert user.git("status", "--porcelain") == ""
    assert "a + b" in (user.root / "src" / "app.py").read_text()


def test_a_branch_in_the_place_of_ours_is_refused_with_the_mend(user: ScratchRepository) -> None:
    """Git cannot have a branch `surefoot` beside `surefoot/run-1`."""
    user.git("branch", "surefoot")
    with pytest.raises(RepositoryError, match="git branch -m"):
        open_workspace(found(user), RUN, home=user.home)
    assert not (user.home / RUN).exists()


def test_the_fingerprint_notices_what_it_promises(user: ScratchRepository) -> None:
    """A changed file, mode, link, index, ref, stash, hook, setting or ignored file shows in it."""
    repository = found(user)
    user.write({"x.log": "1"})
    seen = [manifest(repository, home=user.home)]

    def differs() -> None:
        now = manifest(repository, home=user.home)
        assert now != seen[-1]
        seen.append(now)

    user.write({"src/app.py": "changed\n"})
    differs()
    user.write({"src/app.py": "CHANGED\n"})
    differs()
    user.git("add", "-A")
    differs()
    user.git("stash", "-q")
    differs()
    (user.root / "run.sh").chmod(0o755)
    differs()
    user.git("branch", "-q", "more")
    differs()
    user.git("checkout", "-q", "more")
    differs()
    user.write({"x.log": "2"})
    differs()
    user.hook("post-merge", "true")
    differs()
    user.git("config", "a.b", "c")
    differs()


# --- what is in the worktree ---------------------------------------------------------------------


def test_a_turn_commit_is_surefoots_with_trailers_and_stays_reachable(
    user: ScratchRepository,
) -> None:
    """Identity, parent, branch, kept ref and trailers; a value cannot smuggle in another trailer."""
    with open_workspace(found(user), RUN, home=user.home) as workspace:
        workspace.apply([FileEdit(path="src/app.py", text="1\n")])
        tree = workspace.snapshot()
        commit = workspace.commit(tree, "fix: it\n\nbecause\0 é\n\n", {"Ledger": "ab\nForged: 1"})
        with pytest.raises(UsageError, match="trailer key"):
            workspace.commit(tree, "x", {"bad key": "1"})
    body = user.git("cat-file", "commit", commit)
    assert body.startswith(f"tree {tree}\nparent {user.git('rev-parse', 'main')}\n")
    assert "author Surefoot <surefoot@localhost>" in body
    assert "committer Surefoot <surefoot@localhost>" in body
    assert body.endswith("\n\nfix: it\n\nbecause é\n\nLedger: ab Forged: 1")
    assert user.git("rev-parse", "surefoot/run-1", "refs/surefoot/run-1/1").split() == [commit] * 2
    assert user.git("rev-parse", "refs/surefoot/run-1/base") == user.git("rev-parse", "main")


def test_a_branch_that_somebody_else_moved_is_not_overwritten(user: ScratchRepository) -> None:
    """The commit fails on the old value of the ref, and the head stays what it was."""
    with open_workspace(found(user), RUN, home=user.home) as workspace:
        other = user.git("commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", "other")
        user.git("update-ref", "refs/heads/surefoot/run-1", other)
        workspace.apply([FileEdit(path="src/app.py", text="1\n")])
        with pytest.raises(GitError, match="is at"):
            workspace.commit(workspace.snapshot(), "turn", {})
        assert workspace.head[0] == workspace.base
    assert user.git("rev-parse", "surefoot/run-1") == other


def test_the_worktree_is_whole_where_the_users_checkout_is_sparse(user: ScratchRepository) -> None:
    """All files of the tree are there, and none of them is missing from a snapshot."""
    user = sparse(user)
    assert not (user.root / "other").exists()
    with open_workspace(found(user), RUN, home=user.home) as workspace:
        assert (workspace.path / "other" / "deep" / "y.py").read_text() == "Y\n"
        (workspace.path / "other" / "deep" / "y.py").unlink()
        paths = workspace.diff(workspace.base_tree, workspace.snapshot()).paths
        assert paths == ("other/deep/y.py",)
        tool = user.at(workspace.path)
        assert tool.git("status", "--porcelain") == "D  other/deep/y.py"
        assert "sparse" not in tool.git("status")


def test_unusual_names_modes_and_links_survive_every_way(user: ScratchRepository) -> None:
    """Snapshot, diff, read, overlay, checkout and restore agree on names with newlines, quotes, dashes and odd bytes."""
    links_and_modes(odd_names(user))
    with open_workspace(found(user), RUN, home=user.home) as workspace:
        base = workspace.base_tree
        assert {f"odd/{name}" for name in ODD_NAMES} < set(workspace.files(base))
        workspace.apply([FileEdit(path=f"odd/{name}", text="new\n") for name in ODD_NAMES])
        (workspace.path / "to-file").unlink()
        (workspace.path / "to-file").write_text("now a file\n")
        (workspace.path / "run.sh").chmod(0o644)
        tree = workspace.snapshot()
        changes = {c.path: c.status for c in workspace.diff(base, tree).files}
        assert changes == {
            **{f"odd/{name}": "M" for name in ODD_NAMES},
            "to-file": "T",
            "run.sh": "M",
        }
        for name in ODD_NAMES:
            assert workspace.read(base, f"odd/{name}") == name.encode("utf-8", "surrogateescape")
        assert workspace.read(base, "to-folder") is None
        assert workspace.overlay(tree, base, list(changes)) == base
        with workspace.checkout(tree) as folder:
            assert (folder / "to-folder").readlink() == Path("src")
            assert (folder / "odd" / ODD_NAMES[0]).read_text() == "new\n"
        workspace.restore(base)
        assert (workspace.path / "run.sh").stat().st_mode & stat.S_IXUSR
        assert (workspace.path / "to-file").readlink() == Path("src/app.py")


def test_what_a_diff_tells_of_a_tree_is_what_git_lists(user: ScratchRepository) -> None:
    """After a diff the new tree is known without asking again: additions in git's order, removals, a file that became a folder."""
    odd_names(user)
    with open_workspace(found(user), RUN, home=user.home) as workspace:
        base = workspace.base_tree
        known = workspace.files(base)
        for path in ("src/app.py", f"odd/{ODD_NAMES[0]}"):
            (workspace.path / path).unlink()
        for path in ("src/app.py/deep.py", "A.py", "src-x.py", "src/é.py", "z/last.py"):
            (workspace.path / path).parent.mkdir(parents=True, exist_ok=True)
            (workspace.path / path).write_text(f"{path}\n")
        tree = workspace.snapshot()
        workspace.diff(base, tree)
        listed = user.git("ls-tree", "-r", "-z", "--name-only", tree).split("\0")
        assert set(workspace.files(tree)) == {name for name in listed if name}
        assert set(workspace.files(tree)) != set(known)
        assert workspace.read(tree, "src/é.py") == "src/é.py\n".encode()
        with workspace.checkout(workspace.overlay(tree, base, known)) as folder:
            assert (folder / "src" / "app.py").is_file()
            assert (folder / "z" / "last.py").read_text() == "z/last.py\n"


def test_a_file_that_nobody_touched_is_never_changed(user: ScratchRepository) -> None:
    """CRLF under `text`, `ident` and a filter that came later do not make phantom changes, touched or not; edits count."""
    user = converted(user)
    with open_workspace(found(user), RUN, home=user.home) as workspace:
        assert (workspace.path / "dos.bat").read_bytes() == b"echo\r\nexit\r\n"
        for name in ("dos.bat", "mixed.txt", "id.txt", "raw.up"):
            os.utime(workspace.path / name)
        assert workspace.snapshot() == workspace.base_tree
        workspace.apply([FileEdit(path="raw.up", text="new\n")])
        tree = workspace.snapshot()
        assert workspace.diff(workspace.base_tree, tree).paths == ("raw.up",)
        assert workspace.read(tree, "raw.up") == b"NEW\n"
        (workspace.path / "dos.bat").chmod(0o755)
        paths = workspace.diff(workspace.base_tree, workspace.snapshot()).paths
        assert paths == ("dos.bat", "raw.up")
        workspace.restore(tree)
        assert (workspace.path / "raw.up").read_text() == "new\n"


def test_a_filter_that_does_not_run_is_a_fault_of_the_machine(user: ScratchRepository) -> None:
    """LFS that was never set up, and a required filter whose program is missing; neither leaves anything behind."""
    user.commit({".gitattributes": "*.bin filter=lfs\n", "model.bin": "version https://git-lfs\n"})
    repository = found(user)
    before = manifest(repository, home=user.home)
    with pytest.raises(EnvironmentBrokenError, match=r"'model.bin'.*git lfs install"):
        open_workspace(repository, RUN, home=user.home)
    assert user.git("for-each-ref", "refs/surefoot", "refs/heads/surefoot") == ""
    assert not any((user.home / ".leases").iterdir())
    assert manifest(repository, home=user.home) == before
    user.git("config", "filter.lfs.clean", "git-lfs-is-gone clean")
    user.git("config", "filter.lfs.smudge", "git-lfs-is-gone smudge")
    user.git("config", "filter.lfs.required", "true")
    with pytest.raises(EnvironmentBrokenError, match=r"filter .*install it"):
        open_workspace(found(user), RUN, home=user.home)
    assert not (user.home / RUN).exists()


def test_submodules_are_there_read_only_as_recorded_and_in_every_tree(
    user: ScratchRepository,
) -> None:
    """The recorded commit's files, not the user's dirty ones; no edit of theirs is part of a tree, restore mends them."""
    user = with_submodule(user)
    recorded = user.git("ls-tree", "HEAD", "vendor/lib")
    with open_workspace(found(user), RUN, home=user.home) as workspace:
        library = workspace.path / "vendor" / "lib"
        assert (library / "lib.py").read_text() == "L\n"
        assert (library / "nested" / "inner.py").read_text() == "I\n"
        assert not (library / "lib.py").stat().st_mode & 0o222
        with pytest.raises(UsageError, match="carried in"):
            workspace.apply([FileEdit(path="vendor/lib/lib.py", text="x")])
        (library / "lib.py").unlink()
        (library / "more.py").write_text("x")
        subprocess.run(["git", "init", "-q"], cwd=library, env=dict(user.env), check=True)
        workspace.apply([FileEdit(path="src/app.py", text="1\n")])
        tree = workspace.snapshot()
        assert workspace.diff(workspace.base_tree, tree).paths == ("src/app.py",)
        assert "vendor/lib" not in workspace.files(tree)
        with workspace.checkout(tree) as folder:
            assert (folder / "vendor" / "lib" / "nested" / "inner.py").is_file()
        workspace.restore(tree)
        assert sorted(p.name for p in library.iterdir()) == [".gitmodules", "lib.py", "nested"]
    assert user.git("ls-tree", tree, "vendor/lib") == recorded
    user.git("submodule", "deinit", "-q", "--force", "vendor/lib")
    with reopen_workspace(found(user), RUN, home=user.home) as workspace:
        assert list((workspace.path / "vendor" / "lib").iterdir()) == []


def test_what_goes_while_it_is_carried_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The user's own tests rename compiled files in an environment that a run copies for every checkout."""
    source, target = tmp_path / "venv", tmp_path / "copy"
    source.mkdir()
    for name in ("a.pyc.1", "b.pyc.2", "c.pyc.3"):
        (source / name).write_text(name)
    plain = shutil.copystat

    def copystat(one: Path, other: Path) -> None:
        for path in source.iterdir():
            if path != one:
                path.unlink()
        plain(one, other)

    monkeypatch.setattr("shutil.copystat", copystat)
    copy_tree(source, target)
    [copied] = target.iterdir()
    assert copied.read_text() == copied.name
    with pytest.raises(FileNotFoundError):
        copy_tree(source / "never", tmp_path / "other")


def test_carried_paths_are_copies_outside_every_tree(user: ScratchRepository) -> None:
    """They are in worktree and checkouts, a write to them never reaches the user's, a rollback puts them right."""
    user.write(
        {"node_modules/dep/index.js": "1\n", "src/_ext.so": "ELF", "node_modules/x/.git/HEAD": "r"}
    )
    (user.root / "node_modules" / "link").symlink_to("dep")
    (user.root / ".git" / "info" / "exclude").write_text("*.so\n")
    carry = ["node_modules/", "src/_ext.so"]
    with open_workspace(found(user), RUN, home=user.home, carry=carry) as workspace:
        inside = workspace.path / "node_modules"
        assert (inside / "link" / "index.js").read_text() == "1\n"
        assert (inside / "dep" / "index.js").stat().st_nlink == 1
        workspace.apply(
            [FileEdit(path=".gitignore", text=""), FileEdit(path="src/app.py", text="1")]
        )
        (inside / "dep" / "index.js").write_text("poisoned")
        (workspace.path / "src" / "_ext.so").unlink()
        tree = workspace.snapshot()
        assert workspace.diff(workspace.base_tree, tree).paths == (".gitignore", "src/app.py")
        with workspace.checkout(tree) as folder:
            assert (folder / "node_modules" / "dep" / "index.js").read_text() == "1\n"
            assert (folder / "src" / "_ext.so").read_text() == "ELF"
        workspace.restore(tree)
        assert (inside / "dep" / "index.js").read_text() == "1\n"
        assert (workspace.path / "src" / "_ext.so").read_text() == "ELF"
        with pytest.raises(UsageError, match="carried in"):
            workspace.apply([FileEdit(path="node_modules/dep/index.js", text="x")])
    assert (user.root / "node_modules" / "dep" / "index.js").read_text() == "1\n"


@pytest.mark.parametrize(
    ("carry", "told"),
    [
        ("src", "tracked"),
        ("README.md/x", "tracked"),
        ("../outside", "inside the repository"),
        ("/etc", "inside the repository"),
        (".git/hooks", "inside the repository"),
        ("missing", "does not exist"),
    ],
)
def test_what_cannot_be_carried_is_refused(user: ScratchRepository, carry: str, told: str) -> None:
    """Tracked, outside, or not there; the run does not begin and leaves nothing."""
    with pytest.raises(UsageError, match=told):
        open_workspace(found(user), RUN, home=user.home, carry=[carry])
    assert "surefoot" not in user.git("for-each-ref")
    assert not (user.home / RUN).exists()


def test_a_new_file_is_part_of_the_work_where_rules_ignore_it(user: ScratchRepository) -> None:
    """An edit says so; what a command leaves in such a place is none of it, until somebody edits that."""
    user.commit({".gitignore": "lib/\n.env*\n*.o[*]\n"})
    new = (".env.example", "lib/new.py", "lib/more/:(top)x [1]?.py", "a.o*", "src/plain.py")
    with open_workspace(found(user), RUN, home=user.home) as workspace:
        workspace.apply([FileEdit(path=path, text="x\n") for path in new])
        (workspace.path / "lib" / "left.py").write_text("left\n")
        (workspace.path / "lib" / "built.o").write_text("left\n")
        tree = workspace.snapshot()
        assert sorted(workspace.diff(workspace.base_tree, tree).paths) == sorted(new)
        workspace.apply([FileEdit(path="lib/left.py", text="edited\n")])
        more = workspace.snapshot()
        assert workspace.diff(tree, more).paths == ("lib/left.py",)
        workspace.commit(more, "turn", {})
        workspace.restore(workspace.base_tree)
        assert not (workspace.path / "lib").exists()
        workspace.restore(more)
        workspace.apply([FileEdit(path="lib/new.py", text=None)])
        assert workspace.diff(more, workspace.snapshot()).paths == ("lib/new.py",)
    accept(
        found(user),
        RUN,
        home=user.home,
        pieces=[Piece(tree=more, message="more")],
        verify=lambda *_: "",
    )
    assert (user.root / "lib" / "left.py").read_text() == "edited\n"


@pytest.mark.parametrize("commits", [0, 1])
def test_a_nested_repository_is_refused_and_can_be_rolled_back(
    user: ScratchRepository, commits: int
) -> None:
    """Its files would be lost in the tree, so the snapshot fails and names it; afterwards all works again."""
    with open_workspace(found(user), RUN, home=user.home) as workspace:
        (workspace.path / "inner").mkdir()
        inner = user.at(workspace.path / "inner")
        inner.git("init", "-q")
        for number in range(commits):
            inner.commit({"x.py": str(number)})
        for _ in range(2):
            with pytest.raises(GitError, match=r"nested git repository.*inner"):
                workspace.snapshot()
        workspace.restore(workspace.base_tree)
        assert workspace.snapshot() == workspace.base_tree
        inner.root.mkdir()
        inner.git("init", "-q")
        workspace.apply([FileEdit(path="inner/x.py", text="1\n")])
        with pytest.raises(GitError, match=r"nested git repository.*inner"):
            workspace.snapshot()
        workspace.restore(workspace.base_tree)
        # One inside a tracked folder hides nothing, so it is no fault.
        user.at(workspace.path / "src").git("init", "-q")
        workspace.apply([FileEdit(path="src/app.py", text="1\n")])
        tree = workspace.snapshot()
        assert workspace.diff(workspace.base_tree, tree).paths == ("src/app.py",)


def test_what_a_turn_does_to_git_itself_changes_no_later_command(
    user: ScratchRepository, tmp_path: Path
) -> None:
    """A worktree whose `.git` was pointed elsewhere, with locks, pipes, locked and endless folders, is put back."""
    evil = ScratchRepository.create(tmp_path / "evil", os.environ["PATH"])
    evil.commit({"x": "1"})
    with open_workspace(found(user), RUN, home=user.home) as workspace:
        root = workspace.path
        (root / ".git").unlink()
        (root / ".git").symlink_to(evil.root / ".git")
        workspace.apply([FileEdit(path="src/app.py", text="1\n")])
        tree = workspace.snapshot()
        assert workspace.diff(workspace.base_tree, tree).paths == ("src/app.py",)
        os.mkfifo(root / "pipe")
        deep = os.open(root, os.O_RDONLY)
        for _ in range(1500):
            os.mkdir("folder-with-a-name", dir_fd=deep)
            below = os.open("folder-with-a-name", os.O_RDONLY, dir_fd=deep)
            os.close(deep)
            deep = below
        os.close(deep)
        (root / "src").chmod(0o500)
        admin = user.root / ".git" / "worktrees" / RUN
        (admin / "surefoot-index.lock").touch()
        workspace.restore(workspace.base_tree)
        assert sorted(p.name for p in root.iterdir()) == sorted(
            [".git", ".gitignore", "README.md", "run.sh", "src"]
        )
        assert user.at(root).git("rev-parse", "--abbrev-ref", "HEAD") == "surefoot/run-1"


def test_tools_in_the_worktree_see_git_as_usual(user: ScratchRepository) -> None:
    """`git ls-files` lists what the last snapshot saw, and tools' commands never disturb ours."""
    with open_workspace(found(user), RUN, home=user.home) as workspace:
        tool = user.at(workspace.path)
        assert "src/app.py" in tool.git("ls-files").split("\n")
        workspace.apply([FileEdit(path="src/new.py", text="N\n")])
        tree = workspace.snapshot()
        assert "src/new.py" in tool.git("ls-files").split("\n")
        tool.git("reset", "-q", "--hard")
        tool.git("rm", "-rq", "src")
        (user.root / ".git" / "worktrees" / RUN / "index.lock").touch()
        workspace.restore(tree)
        assert workspace.snapshot() == tree


def test_a_sha256_repository_works_the_same(tmp_path: Path) -> None:
    """Ids are 64 digits all the way, removals in an overlay included."""
    user = ScratchRepository.create(tmp_path, os.environ["PATH"], "--object-format=sha256")
    user.commit({"src/app.py": "0\n"})
    assert len(turn(user, {"src/app.py": "1\n", "b": "2\n"})) == 64
    with reopen_workspace(found(user), RUN, home=user.home) as workspace:
        tree = workspace.head[1]
        assert workspace.overlay(tree, workspace.base_tree, ["src", "b"]) == workspace.base_tree


def test_a_home_inside_the_checkout_and_a_used_id_are_refused(user: ScratchRepository) -> None:
    """A worktree in the checkout would be part of it; an id names one run for good."""
    repository = found(user)
    for home in (user.root / ".surefoot" / "w", user.root / ".git" / "w"):
        with pytest.raises(UsageError, match="outside"):
            open_workspace(repository, RUN, home=home)
        assert not home.exists()
    turn(user, {"src/app.py": "1\n"})
    with pytest.raises(UsageError, match="exists already"):
        open_workspace(repository, RUN, home=user.home)
    with pytest.raises(UsageError, match="not a run id"):
        open_workspace(repository, RunId("../x"), home=user.home)
    with pytest.raises(UsageError, match="no work of run"):
        reopen_workspace(repository, RunId("other"), home=user.home)


def test_trees_can_be_read_after_the_worktree_is_gone(user: ScratchRepository) -> None:
    """A run that has ended is reported on without its worktree."""
    with open_workspace(found(user), RUN, home=user.home) as workspace:
        workspace.apply([FileEdit(path="src/app.py", text="1\n")])
        tree = workspace.snapshot()
        workspace.commit(tree, "turn", {})
    workspace.close()
    remove_worktree(found(user), RUN, user.home)
    assert workspace.diff(workspace.base_tree, tree).paths == ("src/app.py",)
    assert workspace.read(tree, "src/app.py") == b"1\n"
    assert "run.sh" in workspace.files(workspace.base_tree)
    workspace.close()


def test_an_empty_tree_is_a_tree(tmp_path: Path) -> None:
    """A repository whose only commit holds nothing can be worked on."""
    user = ScratchRepository.create(tmp_path, os.environ["PATH"])
    user.commit({})
    with open_workspace(found(user), RUN, home=user.home) as workspace:
        assert workspace.files(workspace.base_tree) == ()
        workspace.apply([FileEdit(path="a", text="1")])
        workspace.commit(workspace.snapshot(), "turn", {})
        workspace.restore(workspace.base_tree)
        assert [p.name for p in workspace.path.iterdir()] == [".git"]


def test_worktrees_are_added_one_at_a_time(user: ScratchRepository) -> None:
    """Git reads every entry when it adds one, and fails on that of another git which is half written."""
    git_dir = user.root / ".git"
    held = os.open(git_dir, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    run = threading.Thread(target=turn, args=(user, {"src/app.py": "mended"}))
    run.start()
    inode = f":{git_dir.stat().st_ino} "
    waits = False
    while run.is_alive() and not waits:
        lines = Path("/proc/locks").read_text().splitlines()
        waits = any("->" in line and inode in line for line in lines)
    assert waits
    assert not (git_dir / "worktrees").exists()
    os.close(held)
    run.join()
    assert user.git("log", "--format=%s", "-1", f"surefoot/{RUN}") == "turn 1"


def test_worktrees_of_ours_are_linked_by_absolute_paths(user: ScratchRepository) -> None:
    """With relative ones git 2.48 changes the format of the user's repository, so that older ones refuse it."""
    user.git("config", "worktree.useRelativePaths", "true")
    own = Repository.discover(user.root, user.env).git()
    assert own.run("config", "--type=bool", "worktree.useRelativePaths").line == "false"
