"""A run that is taken up again stands at its last closed turn, whatever a kill or a careless hand has left."""

import shutil

import pytest

from surefoot.errors import AcceptError, RepositoryError, UsageError
from surefoot.gitops import Repository
from surefoot.gitops.accept import Piece, accept, reject
from surefoot.gitops.collect import collect_garbage
from surefoot.gitops.workspace import open_workspace, reopen_workspace
from surefoot.testing.manifest import manifest
from surefoot.testing.repository import ScratchRepository
from surefoot.values import CommitId, FileEdit, RunId

RUN = RunId("run-1")


def found(user: ScratchRepository) -> Repository:
    return Repository.discover(user.root, user.env)


def turns(user: ScratchRepository, count: int) -> list[CommitId]:
    """A run of some turns; each writes its number into a file."""
    commits = []
    with open_workspace(found(user), RUN, home=user.home) as workspace:
        for number in range(1, count + 1):
            workspace.apply([FileEdit(path="src/app.py", text=f"{number}\n")])
            commits.append(workspace.commit(workspace.snapshot(), "turn", {}))
    return commits


@pytest.mark.parametrize("left", ["whole", "no number", "no branch", "number only", "packed"])
def test_a_turn_that_the_ledger_does_not_know_is_taken_back(
    user: ScratchRepository, left: str
) -> None:
    """Whatever a kill between the two refs of turn 2 has left, the run stands at turn 1 and its next turn is 2."""
    commits = turns(user, 2)
    if left == "no number":
        user.git("update-ref", "-d", "refs/surefoot/run-1/2")
    if left == "no branch":
        user.git("update-ref", "-d", "refs/heads/surefoot/run-1")
    if left == "number only":
        user.git("update-ref", "refs/heads/surefoot/run-1", commits[0])
    if left == "packed":
        user.git("pack-refs", "--all")
    with pytest.raises(UsageError, match="no commit of run"):
        reopen_workspace(found(user), RUN, home=user.home, head=CommitId("1" * 40))
    with reopen_workspace(found(user), RUN, home=user.home, head=commits[0]) as workspace:
        assert workspace.head[0] == commits[0]
        assert (workspace.path / "src" / "app.py").read_text() == "1\n"
        workspace.apply([FileEdit(path="src/app.py", text="again\n")])
        again = workspace.commit(workspace.snapshot(), "turn", {})
    names = [f"refs/surefoot/run-1/{n}" for n in (1, 2)]
    assert user.git("rev-parse", "surefoot/run-1^", "surefoot/run-1", *names).split() == [
        *(commits[0], again),
        *(commits[0], again),
    ]


@pytest.mark.parametrize("left", ["whole", "no number", "no branch", "number only"])
def test_without_a_ledgers_word_the_refs_decide(user: ScratchRepository, left: str) -> None:
    """The branch says which turn was the last; the numbered refs do when it is gone or stands at the base."""
    (commit,) = turns(user, 1)
    repository = found(user)
    if left == "no number":
        user.git("update-ref", "-d", "refs/surefoot/run-1/1")
    if left == "no branch":
        user.git("update-ref", "-d", "refs/heads/surefoot/run-1")
    if left == "number only":
        user.git("update-ref", "refs/heads/surefoot/run-1", "main")
    with reopen_workspace(repository, RUN, home=user.home) as workspace:
        assert workspace.head[0] == commit
    assert user.git("rev-parse", "surefoot/run-1") == commit


def test_a_damaged_worktree_is_made_again(user: ScratchRepository) -> None:
    """A torn index, a missing entry, a missing folder, another branch: the head's tree is there afterwards."""
    (commit,) = turns(user, 1)
    admin = user.root / ".git" / "worktrees" / RUN
    for damage in (
        lambda: (admin / "surefoot-index").write_bytes(b"DIRC torn"),
        lambda: (admin / "index").write_bytes(b""),
        lambda: shutil.rmtree(admin),
        lambda: shutil.rmtree(user.home / RUN),
        lambda: (user.home / RUN / ".git").write_text("gitdir: /nowhere\n"),
        lambda: (admin / "HEAD").write_text("ref: refs/heads/main\n"),
        lambda: (admin / "locked").write_text("initializing"),
        (admin / "commondir").unlink,
    ):
        damage()
        with reopen_workspace(found(user), RUN, home=user.home, head=commit) as workspace:
            assert (workspace.path / "src" / "app.py").read_text() == "1\n"
            tool = user.at(workspace.path)
            assert tool.git("status", "--porcelain", "--branch") == "## surefoot/run-1"
    assert user.git("worktree", "list").count("\n") == 1


def test_a_worktree_that_git_had_only_begun_is_no_ones_and_goes(user: ScratchRepository) -> None:
    """Its entry does not say yet where it belongs: no change of the user's, and gone once the run is opened again."""
    before = manifest(found(user), home=user.home)
    (commit,) = turns(user, 1)
    entries = user.root / ".git" / "worktrees"
    shutil.rmtree(entries / RUN)
    shutil.rmtree(user.home / RUN)
    (entries / RUN).mkdir(parents=True)
    (entries / RUN / "locked").write_text("initializing")
    assert manifest(found(user), home=user.home) == before
    with reopen_workspace(found(user), RUN, home=user.home, head=commit):
        assert [entry.name for entry in entries.iterdir()] == [RUN]


def test_a_run_killed_before_its_refs_were_whole_begins_again(user: ScratchRepository) -> None:
    """From the base and the branch that the ledger names, whatever is checked out meanwhile."""
    base = found(user).head
    user.git("update-ref", "refs/surefoot/run-1/base", base)
    user.git("switch", "-q", "-c", "elsewhere")
    user.commit({"src/app.py": "later\n"})
    with reopen_workspace(
        found(user), RUN, home=user.home, base=base, branch="refs/heads/main"
    ) as workspace:
        assert workspace.head[0] == workspace.base == base
        workspace.apply([FileEdit(path="src/app.py", text="work\n")])
        workspace.commit(tree := workspace.snapshot(), "turn", {})
    work = Piece(tree=tree, message="m")
    with pytest.raises(AcceptError, match="git switch main"):
        accept(found(user), RUN, home=user.home, pieces=[work], verify=lambda *_: None)


def test_a_run_whose_turns_have_no_refs_is_not_begun_again(user: ScratchRepository) -> None:
    """Its last turn would be taken for its base, and be missing in what is accepted."""
    base = found(user).head
    (head,) = turns(user, 1)
    reject(found(user), RUN, home=user.home)
    with pytest.raises(UsageError, match="`surefoot reject run-1` finishes it"):
        reopen_workspace(found(user), RUN, home=user.home, head=head, base=base)
    assert user.git("for-each-ref", "--format=%(refname)") == "refs/heads/main"


def test_a_commit_of_the_users_is_kept_where_a_run_begins_again(user: ScratchRepository) -> None:
    """Nothing but the run's branch holds it, and the run's other refs are gone."""
    base = found(user).head
    user.git("switch", "-q", "-c", "surefoot/run-1")
    mine = user.commit({"mine.txt": "mine\n"})
    user.git("switch", "-q", "main")
    with pytest.raises(RepositoryError, match="no commit of the run; keep yours"):
        reopen_workspace(found(user), RUN, home=user.home, head=base, base=base)
    assert user.git("rev-parse", "surefoot/run-1") == mine


def test_a_commit_of_the_users_on_the_runs_branch_is_not_left_without_a_name(
    user: ScratchRepository,
) -> None:
    """It is told how to keep it, and the run goes on after that."""
    last = turns(user, 1)[0]
    name = "refs/heads/surefoot/run-1"
    user.at(user.home / "run-1").commit({"src/app.py": "mine\n"})
    with pytest.raises(RepositoryError, match=f"git update-ref {name} {last}"):
        reopen_workspace(found(user), RUN, home=user.home, head=last)
    assert user.git("show", "surefoot/run-1:src/app.py") == "mine"
    user.git("branch", "mine", name)
    user.git("update-ref", name, last)
    with reopen_workspace(found(user), RUN, home=user.home, head=last) as workspace:
        assert workspace.head[0] == last


def test_a_branch_that_took_the_place_of_ours_is_told_with_the_mend(
    user: ScratchRepository,
) -> None:
    """Where a run has no refs (any more), it can be rejected and collected all the same, and resumed after the mend."""
    base = found(user).head
    user.git("branch", "surefoot")
    with pytest.raises(RepositoryError, match="git branch -m surefoot"):
        reopen_workspace(found(user), RUN, home=user.home, head=base, base=base)
    reject(found(user), RUN, home=user.home)
    with pytest.raises(RepositoryError, match="git branch -m surefoot"):
        reopen_workspace(found(user), RUN, home=user.home, head=base, base=base)
    assert collect_garbage(found(user), home=user.home, keep=lambda _: True).runs == ()
    user.git("branch", "-m", "surefoot", "my-surefoot")
    with reopen_workspace(found(user), RUN, home=user.home, head=base, base=base) as workspace:
        assert workspace.head[0] == base
