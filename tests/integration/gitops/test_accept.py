"""Accepting puts one commit of the user's on his branch, or changes nothing; rejecting leaves no trace."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from surefoot.errors import AcceptError, EnvironmentBrokenError, RepositoryError, UsageError
from surefoot.gitops import Repository
from surefoot.gitops.accept import Piece, Result, accept, reject
from surefoot.gitops.collect import remove_worktree
from surefoot.gitops.lease import Home, Lease
from surefoot.gitops.publish import Accepted
from surefoot.gitops.workspace import open_workspace
from surefoot.testing.manifest import manifest
from surefoot.testing.repository import ScratchRepository
from surefoot.values import FileEdit, RunId, TreeId

RUN = RunId("run-1")
FIXED = "def add(a, b):\n    return a + b\n"
MESSAGE = "fix: add adds\n\nIt subtracted.\n\nSurefoot-Run: run-1\n"


class Gates:
    """Remembers what it was asked, and answers as told."""

    def __init__(self, answer: str | None = None) -> None:
        self.answer = answer
        self.asked: list[Result] = []

    def __call__(self, result: Result) -> str | None:
        self.asked.append(result)
        return self.answer


def found(user: ScratchRepository) -> Repository:
    return Repository.discover(user.root, user.env)


def run(user: ScratchRepository, *turns: Mapping[str, str | None]) -> None:
    """A finished run with a commit a turn; by default it fixes `src/app.py` and adds `src/new.py`."""
    with open_workspace(found(user), RUN, home=user.home) as workspace:
        for edits in turns or (
            {"src/app.py": "half\n"},
            {"src/app.py": FIXED, "src/new.py": "N\n"},
        ):
            workspace.apply([FileEdit(path=path, text=text) for path, text in edits.items()])
            workspace.commit(workspace.snapshot(), "turn", {})
    remove_worktree(found(user), RUN, user.home)


def work(user: ScratchRepository) -> Piece:
    """All that the run has done, as its ledger would know it."""
    kept = user.git("for-each-ref", "--format=%(refname:lstrip=3)", "refs/surefoot/run-1").split()
    newest = max((n for n in kept if n.isdecimal()), key=int, default="base")
    tree = user.git("rev-parse", f"refs/surefoot/run-1/{newest}^{{tree}}")
    return Piece(tree=TreeId(tree), message=MESSAGE)


def take(user: ScratchRepository, gates: Gates | None = None) -> Accepted:
    return accept(
        found(user), RUN, home=user.home, pieces=[work(user)], verify=gates or Gates("not asked")
    )


_ACCEPT = """
import sys
from pathlib import Path
from surefoot.gitops import Repository
from surefoot.gitops.accept import Piece, accept
root, home, run_id, tree = sys.argv[1:]
work = Piece(tree=tree, message="work")
accept(Repository.discover(Path(root)), run_id, home=Path(home), pieces=[work], verify=lambda _: None)
"""


def take_killed(user: ScratchRepository, run_id: RunId, tree: str) -> None:
    """Accept in a process group of its own, which something kills."""
    argv = [sys.executable, "-c", _ACCEPT, str(user.root), str(user.home), run_id, tree]
    killed = subprocess.run(argv, env=dict(user.env), check=False, start_new_session=True)
    assert killed.returncode == -signal.SIGKILL


def take_both(user: ScratchRepository, gates: Gates | None = None) -> Accepted:
    """Accept a run of two turns, of which the first was a milestone, M1."""
    tree = TreeId(user.git("rev-parse", "surefoot/run-1^^{tree}"))
    before = (Piece(tree=tree, message="M1\n"),)
    return accept(
        found(user), RUN, home=user.home, pieces=(*before, work(user)), verify=gates or Gates()
    )


def subjects(user: ScratchRepository, since: str) -> list[str]:
    """Of the branch's commits, the last one first."""
    return user.git("log", "--format=%s", f"{since}..main").splitlines()


def refused(user: ScratchRepository, told: str, gates: Gates | None = None) -> None:
    """Accepting says this in one sentence, and not a byte of the checkout differs."""
    repository = found(user)
    before = manifest(repository, home=user.home)
    with pytest.raises(AcceptError, match=told) as caught:
        accept(repository, RUN, home=user.home, pieces=[work(user)], verify=gates or Gates())
    assert "Traceback" not in str(caught.value)
    assert manifest(repository, home=user.home) == before
    assert user.git("worktree", "list", "--porcelain").count("worktree ") <= 2
    assert not list(user.home.glob(".accept/*"))


def test_the_work_becomes_one_commit_of_the_user(user: ScratchRepository) -> None:
    """Author and committer are the user, the parent is his tip, the checkout is clean, the gates are not asked."""
    run(user)
    tip = user.git("rev-parse", "main")
    accepted = take(user)
    assert accepted.branch == "refs/heads/main"
    assert accepted.onto == tip
    assert user.git("rev-parse", "main", "HEAD", "main^").split() == [accepted.commit] * 2 + [tip]
    assert user.git("log", "-1", "--format=%an <%ae> %cn") == (
        "Ursula User <ursula@example.org> Ursula User"
    )
    assert user.git("log", "-1", "--format=%B").rstrip() == MESSAGE.rstrip()
    assert user.git("status", "--porcelain") == ""
    assert (user.root / "src" / "app.py").read_text() == FIXED
    assert "surefoot accept run-1" in user.git("reflog", "-1")


def test_accepting_twice_gives_the_first_answer(user: ScratchRepository) -> None:
    """A caller that was killed before it could write the answer down may ask again; after a reset it is done anew."""
    run(user)
    first = take(user)
    assert take(user) == first
    user.commit({"README.md": "later\n"})
    assert take(user) == first
    user.git("reset", "-q", "--hard", first.onto)
    assert take(user).onto == first.onto
    assert (user.root / "src" / "new.py").exists()


@pytest.mark.parametrize("away", [("-q", "-c", "other"), ("-q", "--detach")])
def test_a_branch_that_is_left_meanwhile_is_waited_for(
    user: ScratchRepository, away: tuple[str, ...]
) -> None:
    """Who goes to another branch while the gates run has nothing put there, although it stands at the same commit."""
    run(user)
    user.commit({"README.md": "later\n"})

    def verify(_: Result) -> None:
        user.git("switch", *away)

    tip = user.git("rev-parse", "main")
    with pytest.raises(AcceptError, match="git switch main"):
        accept(found(user), RUN, home=user.home, pieces=[work(user)], verify=verify)
    assert user.git("rev-parse", "main", "HEAD").split() == [tip, tip]
    user.git("switch", "-q", "main")
    assert take(user, Gates()).onto == tip


@pytest.mark.parametrize("moved", ["on", "back"])
def test_what_the_run_did_not_verify_is_not_accepted(user: ScratchRepository, moved: str) -> None:
    """A commit on its branch, or an older turn: it is told, and accepted after the mend."""
    run(user)
    newest = user.git("rev-parse", "surefoot/run-1")
    if moved == "on":
        user.git("switch", "-q", "surefoot/run-1")
        user.commit({"src/app.py": "never tested\n"})
        user.git("switch", "-q", "main")
    else:
        user.git("branch", "-q", "-f", "surefoot/run-1", "surefoot/run-1~1")
    refused(user, f"git update-ref refs/heads/surefoot/run-1 {newest}")
    user.git("update-ref", "refs/heads/surefoot/run-1", newest)
    take(user)
    assert (user.root / "src" / "app.py").read_text() == FIXED


def test_milestones_are_put_onto_one_commit(user: ScratchRepository) -> None:
    """It is the branch's old tip, the first time and when it is asked for again."""
    run(user, {"src/util.py": "VALUE = 2\n"}, {"src/app.py": FIXED})
    tip = user.git("rev-parse", "main")
    first = take_both(user)
    assert first.onto == tip
    assert subjects(user, tip) == ["fix: add adds", "M1"]
    assert take_both(user) == first
    user.git("reset", "-q", "--hard", "HEAD~1")
    moved = user.git("rev-parse", "main")
    again = take_both(user)
    assert again.onto == moved != tip
    assert take_both(user) == again


def test_unrelated_work_of_every_kind_survives(user: ScratchRepository) -> None:
    """Dirty, staged, staged and dirty again, removed from the index, untracked, ignored: files and index entries stay."""
    run(user)
    user.write(
        {"README.md": "dirty\n", "run.sh": "staged\n", "added.py": "A\n", "untracked.py": "U\n"}
    )
    user.git("add", "run.sh", "added.py")
    user.write({"run.sh": "staged, then dirty\n", "x.log": "ignored\n"})
    user.git("rm", "-q", "--cached", "src/util.py")
    user.git("stash", "push", "-q", "--", "README.md")
    user.write({"README.md": "dirty\n"})
    names = ["README.md", "run.sh", "added.py", "untracked.py", "x.log", "src/util.py"]
    files = {name: (user.root / name).read_bytes() for name in names}
    index = user.git("ls-files", "-s", "README.md", "run.sh", "added.py", "src/util.py")
    status, stash = user.git("status", "--porcelain"), user.git("stash", "list")
    take(user)
    assert {name: (user.root / name).read_bytes() for name in names} == files
    assert user.git("ls-files", "-s", "README.md", "run.sh", "added.py", "src/util.py") == index
    assert user.git("status", "--porcelain") == status
    assert user.git("stash", "list") == stash
    assert user.git("show", "--format=", "--name-only", "HEAD").split() == [
        "src/app.py",
        "src/new.py",
    ]


# --- what a checkout may hold -------------------------------------------------------------------


def test_the_users_filters_and_line_endings_are_kept(user: ScratchRepository) -> None:
    """Stored as `clean` leaves it, checked out as `smudge` and `eol` say, and nothing differs afterwards."""
    for name in ("clean", "smudge"):
        user.git("config", f"filter.turned.{name}", "tr a-z n-za-m")
    user.commit(
        {
            ".gitattributes": "*.sec filter=turned\n*.txt text eol=crlf\n",
            "key.sec": "open\n",
            "note.txt": "one\r\n",
        }
    )
    run(user, {"key.sec": "shut\n", "note.txt": "one\r\ntwo\r\n", "src/app.py": FIXED})
    take(user)
    assert user.git("cat-file", "blob", "HEAD:key.sec") == "fuhg"
    assert (user.root / "key.sec").read_text() == "shut\n"
    assert user.git("cat-file", "blob", "HEAD:note.txt") == "one\ntwo"
    assert (user.root / "note.txt").read_bytes() == b"one\r\ntwo\r\n"
    assert user.git("status", "--porcelain") == ""


def test_unusual_names_arrive_and_stay(user: ScratchRepository) -> None:
    """Names with blanks, quotes, a line break, a leading dash, no UTF-8: changed, added, and left alone."""
    kept = os.fsdecode(b"caf\xe9 \xff.bin")
    user.commit({"-dash.py": "1\n", "line\nbreak.py": "1\n", kept: "kept\n"})
    run(user, {"-dash.py": "2\n", "line\nbreak.py": "2\n", 'a "b" c.py': "new\n"})
    user.write({kept: "dirty\n"})
    take(user)
    for name, text in (("-dash.py", "2\n"), ("line\nbreak.py", "2\n"), ('a "b" c.py', "new\n")):
        assert (user.root / name).read_text() == text
    assert (user.root / kept).read_text() == "dirty\n"
    assert user.git("status", "--porcelain", "-z") == f" M {kept}\0"


def test_modes_and_links_arrive(user: ScratchRepository) -> None:
    """A program that was edited can still be run, one that became one too, and a link is a link."""
    (user.root / "run.sh").chmod(0o755)
    (user.root / "link").symlink_to("README.md")
    user.commit({})
    with open_workspace(found(user), RUN, home=user.home) as workspace:
        workspace.apply([FileEdit(path="run.sh", text="#!/bin/sh\necho ran\n")])
        (workspace.path / "src" / "util.py").chmod(0o755)
        (workspace.path / "link").unlink()
        (workspace.path / "link").symlink_to("run.sh")
        workspace.commit(workspace.snapshot(), "turn", {})
    remove_worktree(found(user), RUN, user.home)
    take(user)
    modes = [line.split()[0] for line in user.git("ls-tree", "-r", "HEAD").splitlines()]
    assert modes == ["100644", "100644", "120000", "100755", "100644", "100755"]
    assert (user.root / "link").readlink() == Path("run.sh")
    for name in ("run.sh", "src/util.py"):
        assert os.access(user.root / name, os.X_OK)
    assert user.git("status", "--porcelain") == ""


def test_a_submodule_stays_where_the_user_has_it(user: ScratchRepository, tmp_path: Path) -> None:
    """Its commit, its branch and what is dirty in it are not the run's."""
    library = ScratchRepository.create(tmp_path / "library", user.env["PATH"])
    library.commit({"lib.py": "1\n"})
    user.git("submodule", "--quiet", "add", str(library.root), "vendor")
    user.commit({}, "vendor")
    inner = user.at(user.root / "vendor")
    own = inner.commit({"lib.py": "2\n"})
    inner.write({"lib.py": "dirty\n"})
    run(user)
    before = user.git("status", "--porcelain", "--ignore-submodules=none")
    take(user)
    assert (user.root / "src" / "app.py").read_text() == FIXED
    assert inner.git("rev-parse", "HEAD") == own
    assert (inner.root / "lib.py").read_text() == "dirty\n"
    assert user.git("status", "--porcelain", "--ignore-submodules=none") == before


# --- what stands in the way ----------------------------------------------------------------------


def stage(user: ScratchRepository) -> None:
    user.write({"src/app.py": "staged\n"})
    user.git("add", "src/app.py")
    user.write({"src/app.py": "def add(a, b):\n    return a - b\n"})


def same_content(user: ScratchRepository) -> None:
    user.write({"src/app.py": FIXED})
    user.git("add", "src/app.py")


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda u: u.write({"src/app.py": "dirty\n"}), "src/app.py"),
        (stage, "src/app.py"),
        (same_content, "src/app.py"),
        (lambda u: u.write({"src/app.py": None}), "src/app.py"),
        (lambda u: u.write({"src/new.py": "mine\n"}), "src/new.py"),
        (lambda u: u.write({"src/new.py/mine.txt": "mine\n"}), "src/new.py/mine.txt"),
        (lambda u: u.write({"gen": "mine\n"}), "gen"),
        (lambda u: u.write({"a.log": "ignored\n"}), "a.log"),
        (lambda u: (u.root / "gen").symlink_to("src"), "gen"),
    ],
    ids=["dirty", "staged", "same", "deleted", "untracked", "folder", "parent", "ignored", "link"],
)
def test_uncommitted_work_in_the_way_is_named_and_nothing_changes(
    user: ScratchRepository, change: Callable[[ScratchRepository], None], named: str
) -> None:
    """Changed, staged, deleted, untracked or ignored, at the path, above it or below it."""
    work = {"src/app.py": FIXED, "src/new.py": "N\n", "gen/x.py": "X\n", "a.log": "tracked now\n"}
    run(user, {**work, ".gitignore": "node_modules/\n"})
    change(user)
    refused(user, f"'{named}'.*not committed")


def test_a_conflict_names_the_files(user: ScratchRepository) -> None:
    """The branch changed the same lines: one sentence, nothing changed, the gates are not asked."""
    run(user)
    user.commit({"src/app.py": "def add(a, b):\n    return sum((a, b))\n"})
    gates = Gates()
    refused(user, r"conflict with the work in 'src/app.py'", gates)
    assert gates.asked == []


@pytest.mark.parametrize("at_work", [True, False])
def test_the_hooks_of_another_run_do_not_have_the_branch(
    user: ScratchRepository, *, at_work: bool
) -> None:
    """Whether they are asked at this moment, or their `accept` was killed: what that has left goes with the next one."""
    other = RunId("run-2")
    with open_workspace(found(user), other, home=user.home) as workspace:
        workspace.apply([FileEdit(path="other.py", text="O\n")])
        workspace.commit(tree := workspace.snapshot(), "turn", {})
    remove_worktree(found(user), other, user.home)
    run(user)
    user.hook("pre-commit", "kill -9 $(cut -d ' ' -f 4 /proc/$PPID/stat)")
    take_killed(user, other, tree)
    user.hook("pre-commit", "exit 0")
    left = user.home / ".accept" / other
    assert (left / "tree" / "other.py").exists()
    with contextlib.ExitStack() as stack:
        if at_work:
            place = Home(root=user.home).accept_lease(other)
            lease = Lease.take(place, other, found(user).common_dir)
            stack.callback(lease.release)
        take(user)
        assert left.exists() == at_work
    if not at_work:
        user.git("switch", "-q", "-c", "elsewhere")
        user.git("switch", "-q", "main")


def test_a_state_in_which_nobody_should_commit_is_refused(user: ScratchRepository) -> None:
    """Another branch, a detached HEAD, a merge under way, no such work: each says what to do."""
    run(user)
    user.git("switch", "-q", "-c", "elsewhere")
    refused(user, "git switch main")
    repository = found(user)
    user.git("switch", "-q", "--detach", "main")
    with pytest.raises(AcceptError, match="detached HEAD"):
        accept(repository, RUN, home=user.home, pieces=[work(user)], verify=Gates())
    user.git("switch", "-q", "elsewhere")
    user.git("worktree", "add", "-q", "../second", "main")
    refused(
        user, r"checked out at '.*second'; switch to another branch there, `git switch main` here"
    )
    accepted = take(user.at(user.folder / "second"))
    assert user.git("rev-parse", "main") == accepted.commit
    assert (user.folder / "second" / "src" / "new.py").exists()
    user.git("worktree", "remove", "../second")
    user.git("switch", "-q", "main")
    user.git("reset", "-q", "--hard", "HEAD~1")
    user.commit({"README.md": "ours\n"})
    user.git("switch", "-q", "elsewhere")
    user.commit({"README.md": "theirs\n"})
    user.git("switch", "-q", "main")
    with pytest.raises(Exception, match="exit status 1"):
        user.git("merge", "elsewhere")
    refused(user, "a merge is under way")
    with pytest.raises(AcceptError, match="holds no work of run other"):
        accept(found(user), RunId("other"), home=user.home, pieces=[work(user)], verify=Gates())


def test_files_that_a_merge_has_written_before_it_broke_off_are_taken_back(
    user: ScratchRepository,
) -> None:
    """A filter that a file needs fails, as a full disk would: new files go, changed ones are as before."""
    user.commit({".gitattributes": "src/util.py filter=late\n"})
    run(user, {"src/app.py": FIXED, "src/new.py": "N\n", "src/util.py": "VALUE = 2\n"})
    user.git("config", "filter.late.smudge", "sed '/VALUE = 2/q1'")
    user.git("config", "filter.late.clean", "cat")
    user.git("config", "filter.late.required", "true")
    user.write({"README.md": "dirty\n"})
    with pytest.raises(EnvironmentBrokenError, match=r"util.py"):
        take(user)
    assert user.git("status", "--porcelain") == " M README.md"
    user.git("config", "filter.late.smudge", "cat")
    take(user)
    assert user.git("status", "--porcelain") == " M README.md"


@pytest.mark.parametrize("then", ["accept", "reject"])
@pytest.mark.parametrize("at", ["file", "branch"])
def test_what_a_merge_that_was_killed_has_left_is_taken_back(
    user: ScratchRepository, at: str, then: str
) -> None:
    """Before the work is accepted again, or rejected; a lock that it has left is named."""

    def go_on() -> None:
        if then == "accept":
            take(user)
        else:
            reject(found(user), RUN, user.home)

    user.commit({".gitattributes": "src/util.py filter=late\n", "old.py": "O\n"})
    files = {"src/app.py": FIXED, "src/new.py": "N\n", "src/util.py": "VALUE = 2\n"}
    run(user, {**files, "old.py": None})
    user.git("config", "filter.late.smudge", "kill -9 0")
    user.git("config", "filter.late.clean", "cat")
    take_killed(user, RUN, work(user).tree)
    user.git("config", "--remove-section", "filter.late")
    assert (user.root / "src" / "new.py").exists()
    with pytest.raises(AcceptError, match=r"was killed while git put .*\.git/index\.lock"):
        go_on()
    (user.root / ".git" / "index.lock").unlink()
    if at == "branch":  # files and index are moved before it
        user.git("clean", "-q", "--force")
        user.git("reset", "-q", "--hard")
        user.git("read-tree", "-m", "-u", "HEAD", "refs/surefoot/run-1/accepted")
    user.write({"README.md": "dirty\n"})
    go_on()
    assert user.git("status", "--porcelain") == " M README.md"
    assert (user.root / "src" / "new.py").exists() == (then == "accept")
    assert (user.root / "old.py").exists() == (then == "reject")


def test_what_the_user_made_of_the_rest_of_a_killed_merge_is_his(user: ScratchRepository) -> None:
    """He is told that it is in the way; the other files are as they were before the merge."""
    user.commit({".gitattributes": "src/util.py filter=late\n"})
    files = {"src/app.py": FIXED, "src/new.py": "N\n", "src/util.py": "VALUE = 2\n"}
    run(user, {**files, "src/other.py": "O\n"})
    user.git("config", "filter.late.smudge", "kill -9 0")
    user.git("config", "filter.late.clean", "cat")
    take_killed(user, RUN, work(user).tree)
    user.git("config", "--remove-section", "filter.late")
    (user.root / ".git" / "index.lock").unlink()
    user.write({"src/app.py": "mine\n", "src/new.py": "mine, too\n"})
    with pytest.raises(AcceptError, match=r"'src/app\.py', 'src/new\.py', where you have changes"):
        take(user)
    assert user.git("status", "--porcelain") == " M src/app.py\n?? src/new.py"
    assert (user.root / "src" / "app.py").read_text() == "mine\n"
    assert (user.root / "src" / "new.py").read_text() == "mine, too\n"


def test_what_the_user_keeps_of_accepted_work_is_his(user: ScratchRepository) -> None:
    """He has taken the commit off his branch and left its files as they are; nothing of it was left by a kill."""
    run(user)
    take(user)
    user.git("reset", "-q", "--soft", "HEAD^")
    reject(found(user), RUN, user.home)
    assert user.git("status", "--porcelain") == "M  src/app.py\nA  src/new.py"


def test_what_a_merge_that_never_began_did_not_write_stays(user: ScratchRepository) -> None:
    """An ignored file that the user's program wrote while a hook ran, and those behind a link that the work replaces."""
    other = user.folder / "other"
    other.mkdir()
    (other / "x.py").write_text("mine\n")
    (user.root / "vendor").symlink_to(other)
    user.commit({})
    with open_workspace(found(user), RUN, home=user.home) as workspace:
        (workspace.path / "vendor").unlink()
        edits = {".gitignore": "", "out.log": "tracked now\n", "vendor/x.py": "a copy\n"}
        workspace.apply([FileEdit(path=path, text=text) for path, text in edits.items()])
        workspace.commit(workspace.snapshot(), "turn", {})
    remove_worktree(found(user), RUN, user.home)
    user.hook("pre-commit", f"echo mine > {user.root}/out.log")
    with pytest.raises(AcceptError, match=r"git will not move refs/heads/main: .*out\.log"):
        take(user)
    assert (user.root / "out.log").read_text() == (other / "x.py").read_text() == "mine\n"
    (user.root / "out.log").unlink()
    user.hook("pre-commit", "exit 0")
    (user.root / ".git" / "index.lock").touch()
    with pytest.raises(AcceptError, match=r"git will not move refs/heads/main: .*index\.lock"):
        take(user)
    assert (other / "x.py").read_text() == "mine\n"
    (user.root / ".git" / "index.lock").unlink()
    take(user)
    assert (user.root / "vendor" / "x.py").read_text() == "a copy\n"
    assert (other / "x.py").read_text() == "mine\n"


def test_a_stash_that_status_shows_is_no_file(user: ScratchRepository) -> None:
    """Where the user's settings show it."""
    run(user)
    user.write({"README.md": "later\n"})
    user.git("stash", "push", "-q")
    user.git("config", "status.showStash", "true")
    take(user)
    assert user.git("status", "--porcelain") == ""


@pytest.mark.parametrize("lock", ["refs/heads/main.lock", "HEAD.lock"])
def test_a_lock_that_another_git_has_left_is_told_and_nothing_changes(
    user: ScratchRepository, lock: str
) -> None:
    """Not even for a moment; without the lock the work is accepted."""
    run(user)
    user.write({"README.md": "dirty\n", "run.sh": "staged\n"})
    user.git("add", "run.sh")
    path = user.root / ".git" / lock
    path.touch()
    refused(user, f"git will not move refs/heads/main: .*{lock}")
    path.unlink()
    take(user)
    assert user.git("status", "--porcelain") == " M README.md\nM  run.sh"


@pytest.mark.parametrize("name", ["accepted", "onto"])
def test_a_lock_that_a_killed_accept_has_left_at_its_own_refs_goes(
    user: ScratchRepository, name: str
) -> None:
    """The user's git has no part in it, and would not know how to mend it."""
    run(user)
    lock = user.root / ".git" / "refs" / "surefoot" / "run-1" / f"{name}.lock"
    lock.touch()
    assert take(user).commit == user.git("rev-parse", "main")
    assert not lock.exists()


def test_a_locked_index_is_told_as_git_tells_it(user: ScratchRepository) -> None:
    """Nothing was moved, so that there is nothing to take back, then or later."""
    run(user)
    lock = user.root / ".git" / "index.lock"
    lock.touch()
    with pytest.raises(AcceptError, match=r"^git will not move refs/heads/main: .*index.lock"):
        take(user)
    assert user.git("status", "--porcelain") == ""
    lock.unlink()
    user.write({"src/app.py": None})
    refused(user, r"'src/app\.py', where you have changes")


def late_lock(user: ScratchRepository, before: str = "true") -> Path:
    """From now on git finds `HEAD` locked when it has written `src/app.py`; it cannot where `before` fails."""
    lock = user.root / ".git" / "HEAD.lock"
    user.git("config", "filter.late.smudge", f"{before} && touch {lock} && cat")
    user.git("config", "filter.late.required", "true")
    user.git("config", "filter.late.clean", "cat")
    return lock


def test_a_branch_that_is_locked_while_files_are_moved_takes_them_back(
    user: ScratchRepository,
) -> None:
    """Files, index entries and HEAD are as they were, what the user has not committed included."""
    user.commit({".gitattributes": "src/app.py filter=late\n"})
    run(user, {"src/app.py": FIXED, "src/new.py": "N\n", "src/util.py": None})
    user.write({"README.md": "dirty\n", "run.sh": "staged\n", "mine.py": "untracked\n"})
    user.git("add", "run.sh")
    status, tip = user.git("status", "--porcelain"), user.git("rev-parse", "HEAD")
    lock = late_lock(user)
    with pytest.raises(AcceptError, match=r"git will not move refs/heads/main: .*HEAD.lock"):
        take(user)
    lock.unlink()
    assert user.git("status", "--porcelain") == status
    assert user.git("rev-parse", "HEAD") == tip
    assert (user.root / "src" / "app.py").read_text() == "def add(a, b):\n    return a - b\n"
    assert not (user.root / "src" / "new.py").exists()
    assert (user.root / "README.md").read_text() == "dirty\n"
    user.git("config", "--remove-section", "filter.late")
    take(user)


def test_what_cannot_be_taken_back_is_told_with_the_command_that_does(
    user: ScratchRepository,
) -> None:
    """The user runs it when the reason is gone, and has his checkout again."""
    user.commit({".gitattributes": "src/app.py filter=late\n"})
    run(user)
    lock = late_lock(user, before="test ! -e .git/HEAD.lock")
    with pytest.raises(AcceptError, match=r"cannot move refs/heads/main .*filter") as caught:
        take(user)
    lock.unlink()
    user.git("config", "--remove-section", "filter.late")
    assert user.git("status", "--porcelain") != ""
    command = str(caught.value).partition("`git read-tree ")[2].partition("`")[0]
    user.git("read-tree", *command.split())
    assert user.git("status", "--porcelain") == ""
    take(user)


def test_a_branch_that_was_renamed_is_told_to_be_gone(user: ScratchRepository) -> None:
    """There is nothing to switch to; with its name back it gets the work."""
    run(user)
    user.git("branch", "--move", "main", "trunk")
    refused(user, "started from refs/heads/main, which is gone; .*`git branch -m NEW-NAME main`")
    user.git("branch", "-m", "trunk", "main")
    take(user)


def test_work_that_the_branch_has_already_is_no_commit(user: ScratchRepository) -> None:
    """A run without changes, and one whose change somebody else has committed meanwhile."""
    run(user, {})
    refused(user, "changes nothing")
    reject(found(user), RUN, user.home)
    run(user)
    user.commit({"src/app.py": FIXED, "src/new.py": "N\n"})
    refused(user, "changes nothing")


# --- a branch that moved -------------------------------------------------------------------------


def test_a_moved_branch_gets_the_work_replayed_and_verified(user: ScratchRepository) -> None:
    """Their commit, a rename included, and the work are both in the result; the gates saw exactly that tree."""
    run(user)
    user.git("mv", "src/app.py", "src/math.py")
    tip = user.commit({"README.md": "moved on\n"})
    gates = Gates()
    accepted = take(user, gates)
    (asked,) = gates.asked
    assert "has moved" in asked.reason
    assert user.git("rev-parse", "HEAD^{tree}", "HEAD^").split() == [asked.tree, tip]
    assert asked.onto == user.git("rev-parse", "HEAD^^{tree}")
    assert accepted.tree == asked.tree == asked.replayed
    assert (user.root / "src" / "math.py").read_text() == FIXED
    assert not (user.root / "src" / "app.py").exists()
    assert user.git("status", "--porcelain") == ""


def test_a_milestone_that_fits_only_with_the_next_one_does_not_stop_the_whole(
    user: ScratchRepository,
) -> None:
    """Its files that clash with the branch are in its commit as they are in the whole, which is what the gates saw."""
    halves = {"src/app.py": "half\n", "src/util.py": "VALUE = 2\n"}
    run(user, halves, {"src/app.py": FIXED, "src/new.py": "N\n"})
    tip = user.commit({"src/app.py": FIXED, "README.md": "moved on\n"})
    gates = Gates()
    accepted = take_both(user, gates)
    (asked,) = gates.asked
    assert user.git("rev-parse", "HEAD^{tree}", "main~2").split() == [asked.tree, tip]
    assert accepted.tree == asked.tree
    assert subjects(user, tip) == ["fix: add adds", "M1"]
    assert user.git("show", "--format=", "--name-only", "main~1") == "src/util.py"
    assert user.git("show", "main~1:src/app.py") == FIXED.rstrip()


def test_a_milestone_that_the_branch_has_already_is_no_commit(user: ScratchRepository) -> None:
    """The other one is put onto the branch alone."""
    run(user, {"src/app.py": "half\n"}, {"src/app.py": FIXED, "src/new.py": "N\n"})
    tip = user.commit({"src/app.py": FIXED})
    assert take_both(user).onto == tip
    assert subjects(user, tip) == ["fix: add adds"]
    assert user.git("show", "--format=", "--name-only", "main") == "src/new.py"


def test_what_a_later_milestone_took_back_is_left_to_the_branch(user: ScratchRepository) -> None:
    """One by one they would undo what the branch has, which the whole does not; no hook is blamed for it."""
    run(user, {"src/util.py": "VALUE = 2\n"}, {"src/util.py": "VALUE = 1\n", "src/app.py": FIXED})
    tip = user.commit({"src/util.py": "VALUE = 2\n"})
    gates = Gates()
    assert take_both(user, gates).tree == gates.asked[0].tree
    assert len(gates.asked) == 1
    assert subjects(user, tip) == ["fix: add adds"]
    assert (user.root / "src" / "util.py").read_text() == "VALUE = 2\n"


def test_a_hooks_edit_that_clashes_with_a_later_milestone_is_named(user: ScratchRepository) -> None:
    """The hook is to blame, also on a branch that has moved."""
    run(user, {"src/app.py": "half\n"}, {"src/app.py": FIXED})
    user.commit({"README.md": "moved on\n"})
    user.hook("pre-commit", "echo formatted > src/app.py; git add src/app.py")
    with pytest.raises(AcceptError, match=r"hooks edited 'src/app.py', which a later milestone"):
        take_both(user)
    assert user.git("status", "--porcelain") == ""


def test_gates_that_refuse_the_replayed_work_stop_it(user: ScratchRepository) -> None:
    """Their sentence is passed on; nothing changed."""
    run(user)
    user.commit({"README.md": "moved on\n"})
    refused(
        user, "has moved .* test_x fails there; nothing was changed", Gates("test_x fails there")
    )


def test_a_rewritten_branch_brings_nothing_back(user: ScratchRepository) -> None:
    """A commit that the user dropped is the run's base; only what the run changed is replayed."""
    user.commit({"README.md": "to be dropped\n", "dropped.py": "D\n"})
    run(user)
    user.git("reset", "-q", "--hard", "HEAD~1")
    user.commit({"src/util.py": "VALUE = 2\n"})
    take(user, Gates())
    assert (user.root / "README.md").read_text() == "# Title\n"
    assert not (user.root / "dropped.py").exists()
    assert (user.root / "src" / "app.py").read_text() == FIXED


def test_a_branch_that_moved_without_another_tree_needs_no_gates(user: ScratchRepository) -> None:
    """An empty commit changes no file, so the verified tree is the result."""
    run(user)
    user.commit({})
    gates = Gates("must not be asked")
    take(user, gates)
    assert gates.asked == []


# --- hooks and signing ---------------------------------------------------------------------------


def test_hooks_run_once_as_for_a_commit_of_the_user(user: ScratchRepository) -> None:
    """They see the branch, the staged work and the message, may change the message, and post-commit sees the result."""
    log = user.folder / "log"
    run(user)
    user.hook(
        "pre-commit",
        f"(git symbolic-ref HEAD; git diff --cached --name-only; cat src/new.py) >> {log}",
    )
    user.hook("prepare-commit-msg", f'echo "prepare $2" >> {log}; echo "Ticket: 7" >> "$1"')
    user.hook("commit-msg", f'grep -c Ticket "$1" >> {log}')
    user.hook("post-commit", f"(pwd; git rev-parse HEAD) >> {log}")
    user.hook("post-merge", f"echo post-merge >> {log}")
    user.hook("post-checkout", f"echo post-checkout >> {log}")
    accepted = take(user)
    assert log.read_text().split() == [
        *("refs/heads/main", "src/app.py", "src/new.py", "N", "prepare", "message", "1"),
        *(str(user.root), accepted.commit),
    ]
    assert user.git("log", "-1", "--format=%(trailers:key=Ticket)").strip() == "Ticket: 7"


@pytest.mark.parametrize("name", ["pre-commit", "post-commit"])
def test_what_a_hook_leaves_at_work_is_not_waited_for(user: ScratchRepository, name: str) -> None:
    """A server that it starts keeps the hook's output open; git itself does not mind either."""
    pipe, late = user.folder / "pipe", user.folder / "late"
    os.mkfifo(pipe)
    run(user)
    # The limit is for a test that fails, which would never end.
    user.hook(name, f"(timeout 20 cat {pipe}; touch {late}) &")
    take(user)
    assert not late.exists()
    pipe.write_bytes(b"")


@pytest.mark.parametrize("name", ["pre-commit", "prepare-commit-msg", "commit-msg"])
def test_a_hook_that_rejects_changes_nothing(user: ScratchRepository, name: str) -> None:
    """Its words are passed on; what it did to the files it saw is gone with them."""
    run(user)
    user.write({"README.md": "dirty\n"})
    user.hook(name, "echo garbage > README.md; echo more > made.txt; echo no $0 >&2; exit 1")
    refused(user, f"your {name} hook refuses the work: .*no ")
    user.hook(name, "exit 0")
    take(user)
    assert (user.root / "README.md").read_text() == "dirty\n"


def test_a_hook_that_edits_and_adds_leads_to_new_verification(user: ScratchRepository) -> None:
    """The commit holds the edited tree, which is the one that the gates saw; other work of the user is not in it."""
    run(user)
    user.write({"README.md": "dirty\n"})
    user.hook("pre-commit", "echo '# formatted' >> src/new.py; git add src/new.py")
    gates = Gates()
    accepted = take(user, gates)
    (asked,) = gates.asked
    assert (asked.tree, asked.reason) == (accepted.tree, "your commit hooks edited 'src/new.py'")
    assert asked.onto == user.git("rev-parse", "HEAD^^{tree}")
    assert user.git("diff", "--name-only", asked.replayed, asked.tree) == "src/new.py"
    assert (user.root / "src" / "new.py").read_text() == "N\n# formatted\n"
    assert user.git("rev-parse", "HEAD^{tree}") == accepted.tree
    assert user.git("status", "--porcelain") == " M README.md"


def test_gates_that_refuse_a_hooks_edit_put_everything_back(user: ScratchRepository) -> None:
    """The edit was made outside the checkout, so there is nothing to put back."""
    run(user)
    user.hook("pre-commit", "echo broken > src/app.py; git add -A")
    refused(user, r"hooks edited 'src/app.py', and the gates refuse .*fails", Gates("fails"))


def test_a_hook_that_edits_what_the_user_has_changed_is_in_the_way(user: ScratchRepository) -> None:
    """The overlap is looked at again after the hook."""
    run(user)
    user.write({"README.md": "dirty\n"})
    user.hook("pre-commit", "echo formatted >> README.md; git add README.md")
    refused(user, "'README.md'.*not committed")


def test_a_formatter_that_edits_and_refuses_is_asked_again_with_its_edits(
    user: ScratchRepository,
) -> None:
    """As people do: add what it changed, commit again. The edit is verified like any other."""
    run(user)
    user.hook(
        "pre-commit",
        'grep -q formatted src/new.py || { echo "# formatted" >> src/new.py; exit 1; }',
    )
    gates = Gates()
    take(user, gates)
    assert len(gates.asked) == 1
    assert (user.root / "src" / "new.py").read_text() == "N\n# formatted\n"


def test_hooks_of_a_relative_hooks_path_find_what_is_carried(user: ScratchRepository) -> None:
    """A hooks folder that git ignores, as tools generate it, runs, with the ignored paths it needs beside the work."""
    user.write(
        {
            "node_modules/lint": "ok\n",
            "node_modules/.hooks/pre-commit": "#!/bin/sh\ntest -f node_modules/lint\n",
        }
    )
    (user.root / "node_modules" / ".hooks" / "pre-commit").chmod(0o755)
    user.git("config", "core.hooksPath", "node_modules/.hooks")
    run(user)
    refused(user, "your pre-commit hook refuses")
    accept(
        found(user),
        RUN,
        home=user.home,
        pieces=[work(user)],
        verify=Gates(),
        carry=["node_modules"],
    )
    assert (user.root / "src" / "new.py").exists()


def test_hooks_find_the_programs_of_the_users_environment(user: ScratchRepository) -> None:
    """By the path that they have in the checkout; a hook that adds all there is adds no link."""
    user.commit({".gitignore": ".venv/\n"})
    lint = user.root / ".venv" / "bin" / "lint"
    user.write({".venv/pyvenv.cfg": "home = /usr\n", ".venv/bin/lint": "#!/bin/sh\necho N > new\n"})
    lint.chmod(0o755)
    user.hook("pre-commit", ".venv/bin/lint && git add -A")
    run(user)
    accepted = take(user, Gates())
    assert "new" in user.git("ls-tree", "--name-only", accepted.commit).split()
    assert ".venv" not in user.git("ls-tree", "--name-only", accepted.commit).split()
    assert lint.is_file()


def test_a_broken_signing_key_or_a_missing_identity_changes_nothing(
    user: ScratchRepository,
) -> None:
    """The turn commits never needed them; the user's commit does, and says so."""
    user.git("config", "commit.gpgSign", "true")
    user.git("config", "gpg.program", "/bin/false")
    run(user)
    refused(user, "cannot write the commit in your name: .*sign")
    user.git("config", "commit.gpgSign", "false")
    user.git("config", "--global", "--remove-section", "user")
    user.git("config", "user.useConfigOnly", "true")
    refused(user, "cannot write the commit in your name")


def test_a_commit_is_signed_when_the_user_signs(user: ScratchRepository, tmp_path: Path) -> None:
    """With `commit.gpgSign` the commit carries the signature that the user's program made."""
    signer = tmp_path / "signer"
    signer.write_text(
        '#!/bin/sh\ncat > /dev/null\nprintf "\\n[GNUPG:] SIG_CREATED x\\n" >&2\n'
        "printf -- '-----BEGIN PGP SIGNATURE-----\\n\\nabc\\n-----END PGP SIGNATURE-----\\n'\n"
    )
    signer.chmod(0o755)
    user.git("config", "commit.gpgSign", "true")
    user.git("config", "gpg.program", str(signer))
    run(user)
    take(user)
    assert "gpgsig -----BEGIN PGP SIGNATURE-----" in user.git("cat-file", "commit", "HEAD")


def test_an_empty_message_is_no_commit(user: ScratchRepository) -> None:
    """A hook that empties the message stops the commit, as with git itself."""
    run(user)
    user.hook("commit-msg", ': > "$1"')
    refused(user, "message is empty")


# --- other checkouts -----------------------------------------------------------------------------


def test_a_sparse_checkout_stays_sparse(user: ScratchRepository) -> None:
    """Work outside the cone is committed and not written into the checkout."""
    user.commit({"other/y.py": "Y\n"})
    user.git("sparse-checkout", "set", "--cone", "src")
    run(user, {"src/app.py": FIXED, "other/y.py": "Z\n", "other/new.py": "N\n"})
    take(user)
    assert not (user.root / "other").exists()
    assert user.git("show", "HEAD:other/y.py", "HEAD:other/new.py") == "Z\nN"
    assert user.git("status", "--porcelain") == ""


@pytest.mark.parametrize("relative", [False, True])
def test_a_linked_worktree_is_accepted_in(user: ScratchRepository, *, relative: bool) -> None:
    """Also where it and the repository name each other by relative paths; elsewhere it is told by its folder."""
    user.git("worktree", "add", "-q", "-b", "dev", "../linked")
    linked = user.at(user.folder / "linked")
    if relative:
        entry = user.root / ".git" / "worktrees" / "linked"
        (entry / "gitdir").write_text("../../../../linked/.git\n")
        (linked.root / ".git").write_text("gitdir: ../checkout/.git/worktrees/linked\n")
    run(linked)
    refused(user, rf"checked out at '{linked.root}'; accept there")
    accepted = take(linked)
    assert user.git("rev-parse", "dev") == linked.git("rev-parse", "HEAD") == accepted.commit
    assert linked.git("status", "--porcelain") == ""


def test_the_users_settings_for_merges_do_not_matter(user: ScratchRepository) -> None:
    """No autostash, no merge commit, no signature check, no second remote's branch."""
    for setting in ("merge.autoStash", "merge.verifySignatures", "rebase.autoStash"):
        user.git("config", setting, "true")
    user.git("config", "merge.ff", "false")
    user.write({"README.md": "dirty\n", "run.sh": "staged\n"})
    user.git("add", "run.sh")
    run(user)
    status = user.git("status", "--porcelain")
    accepted = take(user)
    assert user.git("rev-parse", "HEAD") == accepted.commit
    assert user.git("status", "--porcelain") == status
    assert user.git("stash", "list") == ""


@pytest.mark.parametrize(
    "options", ["--squash", "--no-commit", "--no-ff", "--strategy=ours", "--nonsense"]
)
def test_the_branchs_options_for_merges_do_not_matter(
    user: ScratchRepository, options: str
) -> None:
    """What is said to be accepted is on the branch, as the one commit that was made."""
    user.git("config", "branch.main.mergeOptions", options)
    run(user)
    tip = user.git("rev-parse", "main")
    accepted = take(user)
    assert user.git("rev-parse", "HEAD", "main", "main^").split() == [accepted.commit] * 2 + [tip]
    assert user.git("status", "--porcelain") == ""


def before_merges(user: ScratchRepository, does: str) -> ScratchRepository:
    """The repository with a wrapper before git that does something before each merge."""
    own, wrapper = shutil.which("git"), user.folder / "bin" / "git"
    wrapper.parent.mkdir()
    wrapper.write_text(f'#!/bin/sh\ncase " $* " in *" merge "*) {does};; esac\nexec {own} "$@"\n')
    wrapper.chmod(0o755)
    return replace(user, env={**user.env, "PATH": f"{wrapper.parent}:{user.env['PATH']}"})


def test_what_the_user_saves_while_git_is_about_to_merge_is_his(user: ScratchRepository) -> None:
    """Of a file that the work changes, and of one that it removes: the merge refuses because of it, and it stays."""
    user.commit({"old.py": "O\n"})
    run(user, {"src/app.py": FIXED, "src/new.py": "N\n", "old.py": None})
    saves = "; ".join(f"echo mine > '{user.root / name}'" for name in ("src/app.py", "old.py"))
    with pytest.raises(AcceptError, match=r"will not move refs/heads/main: .*src/app\.py"):
        take(before_merges(user, saves))
    assert user.git("status", "--porcelain") == " M old.py\n M src/app.py"
    assert (user.root / "src" / "app.py").read_text() == "mine\n"
    assert (user.root / "old.py").read_text() == "mine\n"


def test_a_git_that_only_says_that_it_has_moved_the_branch_is_not_believed(
    user: ScratchRepository,
) -> None:
    """A wrapper that people put before git squashes every merge; what it did to the files is taken back."""
    run(user)
    tip = user.git("rev-parse", "main")
    with pytest.raises(AcceptError, match=rf"will not move refs/heads/main: .*HEAD is {tip}"):
        take(before_merges(user, 'set -- "$@" --squash'))
    assert user.git("status", "--porcelain") == ""
    take(user)


def test_one_process_accepts_at_a_time_and_the_run_may_be_open(user: ScratchRepository) -> None:
    """The gates may use the run's workspace; asking again from within is refused."""
    with open_workspace(found(user), RUN, home=user.home) as workspace:
        workspace.apply([FileEdit(path="src/app.py", text=FIXED)])
        workspace.commit(workspace.snapshot(), "turn", {})
        user.commit({"README.md": "moved on\n"})

        def verify(result: Result) -> str | None:
            with workspace.checkout(result.tree) as folder:
                assert (folder / "README.md").read_text() == "moved on\n"
            with pytest.raises(UsageError, match="in this process"):
                take(user)
            return None

        accept(found(user), RUN, home=user.home, pieces=[work(user)], verify=verify)
    assert (user.root / "src" / "app.py").read_text() == FIXED


# --- reject --------------------------------------------------------------------------------------


def test_reject_leaves_no_trace_and_may_be_repeated(user: ScratchRepository) -> None:
    """Branch, refs, worktree, entry and lease are gone and named; a second time there is nothing."""
    repository = found(user)
    before = manifest(repository, home=user.home)
    with open_workspace(repository, RUN, home=user.home) as workspace:
        workspace.apply([FileEdit(path="src/app.py", text=FIXED)])
        workspace.commit(workspace.snapshot(), "turn", {})
        with pytest.raises(UsageError, match="close its workspace"):
            reject(repository, RUN, user.home)
    user.git("pack-refs", "--all")
    removed = reject(repository, RUN, user.home)
    assert removed.worktrees == (user.home / RUN,)
    assert set(removed.refs) == {
        "refs/heads/surefoot/run-1",
        *(f"refs/surefoot/run-1/{name}" for name in ("1", "base", "run")),
    }
    assert user.git("for-each-ref", "--format=%(refname)") == "refs/heads/main"
    assert [p.name for p in user.home.rglob("*") if p.is_file()] == []
    assert manifest(repository, home=user.home) == before
    again = reject(repository, RUN, user.home)
    assert (again.worktrees, again.refs) == ((), ())


def test_a_branch_that_the_user_has_checked_out_is_not_taken_away(user: ScratchRepository) -> None:
    """His HEAD would point to nothing."""
    run(user)
    repository = found(user)
    user.git("switch", "-q", "surefoot/run-1")
    with pytest.raises(RepositoryError, match="switch to another branch"):
        reject(repository, RUN, user.home)
    assert user.git("rev-parse", "HEAD")
