"""Leases tell the living from the dead; garbage collection takes what is ours and dead, and nothing else."""

import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from surefoot.errors import GitError, LedgerError, RepositoryError, UsageError
from surefoot.gitops import Repository
from surefoot.gitops.collect import Collected, collect_garbage, remove_run, remove_worktree
from surefoot.gitops.lease import Home, Lease, is_alive, read_note
from surefoot.gitops.reading import ledger_head, publish_ledger_head
from surefoot.gitops.workspace import open_workspace, reopen_workspace
from surefoot.testing.manifest import manifest
from surefoot.testing.repository import ScratchRepository
from surefoot.values import FileEdit, RunId

_HOLD = """
import sys
from pathlib import Path
from surefoot.gitops import Repository
from surefoot.gitops.workspace import open_workspace
from surefoot.values import RunId
repository = Repository.discover(Path(sys.argv[1]))
workspace = open_workspace(repository, RunId(sys.argv[3]), home=Path(sys.argv[2]))
print("open", flush=True)
sys.stdin.read()
"""


def found(user: ScratchRepository) -> Repository:
    return Repository.discover(user.root, user.env)


def run(user: ScratchRepository, name: str) -> RunId:
    """A run with one commit whose process has let go of it."""
    run_id = RunId(name)
    with open_workspace(found(user), run_id, home=user.home) as workspace:
        workspace.apply([FileEdit(path="src/app.py", text=f"{name}\n")])
        workspace.commit(workspace.snapshot(), "turn", {})
    return run_id


@contextmanager
def held(user: ScratchRepository, name: str) -> Iterator[subprocess.Popen[bytes]]:
    """Another process that has the run open."""
    process = subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(user.root), str(user.home), name],
        env=dict(user.env),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdin is not None
    try:
        assert process.stdout.readline() == b"open\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def test_two_processes_never_use_one_run(user: ScratchRepository) -> None:
    """The second is told who has it; after the first was killed it may."""
    with held(user, "run-1") as process:
        for act in (
            lambda: reopen_workspace(found(user), RunId("run-1"), home=user.home),
            lambda: remove_worktree(found(user), RunId("run-1"), user.home),
        ):
            with pytest.raises(UsageError, match=f"in use by process {process.pid}"):
                act()
        process.kill()
        process.wait()
        reopen_workspace(found(user), RunId("run-1"), home=user.home).close()


def test_a_process_that_nobody_has_waited_for_is_dead(user: ScratchRepository) -> None:
    """Its parent may never do so, as a container's first process that takes no orphans up."""
    with held(user, "run-1") as process:
        note = read_note(Home(root=user.home).lease(RunId("run-1")))
        assert note is not None
        mark = f"{note.pid}:{note.started}"
        assert is_alive(mark)
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert not is_alive(mark)
        reopen_workspace(found(user), RunId("run-1"), home=user.home).close()


def test_a_git_command_that_outlives_its_process_keeps_the_lease(tmp_path: Path) -> None:
    """Whoever takes the lease waits for it, so a lock that he then finds is stale by proof."""
    path, common = Home(root=tmp_path).lease(RunId("run-1")), tmp_path / "common"
    take = f"lease = Lease.take(Path({str(path)!r}), 'run-1', Path({str(common)!r}))\n"
    imports = "from pathlib import Path; from surefoot.gitops.lease import Lease\n"
    orphan = "['sh', '-c', 'read line; echo orphan ends']"
    dies = (
        f"{imports}{take}import os, subprocess\n"
        f"subprocess.Popen({orphan}, pass_fds=[lease.fd]); os.kill(os.getpid(), 9)\n"
    )
    taken = f"{imports}print('trying', flush=True)\n{take}print('taken')\n"
    process = subprocess.Popen(
        [sys.executable, "-c", dies], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    process.wait()
    with path.open() as file, pytest.raises(BlockingIOError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    taker = subprocess.Popen([sys.executable, "-c", taken], stdout=subprocess.PIPE)
    assert taker.stdout is not None
    assert taker.stdout.readline() == b"trying\n"
    while taker.poll() is None and not waits_for(path):
        pass
    assert process.communicate(b"go\n")[0] == b"orphan ends\n"
    assert taker.communicate()[0] == b"taken\n"


def waits_for(path: Path) -> bool:
    """Whether some process is blocked in a lock on the file."""
    inode = f":{path.stat().st_ino} "
    return any(
        "->" in line and inode in line for line in Path("/proc/locks").read_text().split("\n")
    )


def test_git_commands_of_a_run_keep_its_lease(user: ScratchRepository) -> None:
    """Those that write inherit the descriptor; that is what makes the proof above one."""
    shim = user.folder / "shim"
    shim.mkdir()
    log = user.folder / "log"
    (shim / "git").write_text(
        f"#!/bin/sh\nPATH={user.env['PATH']}\n"
        f'ls -l /proc/$$/fd | grep -q .leases/run-1 && echo "$*" >> {log}\nexec git "$@"\n'
    )
    (shim / "git").chmod(0o755)
    env = {**user.env, "PATH": f"{shim}:{user.env['PATH']}"}
    repository = Repository.discover(user.root, env)
    with open_workspace(repository, RunId("run-1"), home=user.home) as workspace:
        workspace.apply([FileEdit(path="src/app.py", text="1\n")])
        workspace.commit(workspace.snapshot(), "turn", {})
    told = log.read_text()
    for command in (
        "worktree add",
        "read-tree",
        "add -A",
        "write-tree",
        "commit-tree",
        "update-ref",
    ):
        assert f" {command}" in told


def test_a_lease_names_its_repository_and_survives_torn_files(tmp_path: Path) -> None:
    """Another repository's run is not taken; a file cut short by a power loss is."""
    home = Home(root=tmp_path)
    path = home.lease(RunId("run-1"))
    lease = Lease.take(path, RunId("run-1"), tmp_path / "one")
    lease.release()
    lease.release()
    with pytest.raises(UsageError, match=r"belongs to .*one"):
        Lease.take(path, RunId("run-1"), tmp_path / "two")
    path.write_bytes(b'{"repos')
    Lease.take(path, RunId("run-1"), tmp_path / "two").discard()
    assert not path.exists()


def test_a_lease_without_locks_still_knows_a_living_process(tmp_path: Path) -> None:
    """Where a file system ignores flock, the process id with its start time decides; a reused id is not the same."""
    path = Home(root=tmp_path).lease(RunId("run-1"))
    path.parent.mkdir()
    parent = os.getppid()
    stat = Path(f"/proc/{parent}/stat").read_text()
    started = int(stat.rpartition(")")[2].split()[19])
    note = '{"version": 1, "repository": "%s", "pid": %d, "started": %d}'
    path.write_text(note % (tmp_path, parent, started))
    with pytest.raises(UsageError, match=f"in use by process {parent}"):
        Lease.take(path, RunId("run-1"), tmp_path)
    path.write_text(note % (tmp_path, parent, started + 1))
    Lease.take(path, RunId("run-1"), tmp_path).release()


def test_a_finished_worktree_goes_and_the_refs_stay(user: ScratchRepository) -> None:
    """The commits that the ledger names stay reachable when the user deletes the branch and packs his repository."""
    run_id = run(user, "run-1")
    commit = user.git("rev-parse", "surefoot/run-1")
    assert remove_worktree(found(user), run_id, user.home).worktrees == (user.home / "run-1",)
    assert remove_worktree(found(user), run_id, user.home).worktrees == ()
    assert not (user.root / ".git" / "worktrees").exists()
    user.git("branch", "-q", "-D", "surefoot/run-1")
    user.git("gc", "-q", "--prune=now")
    assert user.git("cat-file", "-t", commit) == "commit"
    with reopen_workspace(found(user), run_id, home=user.home) as workspace:
        assert workspace.head[0] == commit
        assert (workspace.path / "src" / "app.py").read_text() == "run-1\n"


def test_a_lock_that_a_killed_git_has_left_at_a_runs_ref_goes(user: ScratchRepository) -> None:
    """When the end of its ledger is kept, and with its worktree; one of a run that is in use stays."""
    run_id, repository = run(user, "run-1"), found(user)
    lock = user.root / ".git" / "refs" / "surefoot" / "run-1" / "ledger.lock"
    lock.touch()
    publish_ledger_head(repository, run_id, "1", home=user.home)
    assert (ledger_head(repository, run_id), lock.exists()) == ("1", False)
    lock.touch()
    remove_worktree(repository, run_id, user.home)
    assert not lock.exists()
    with held(user, "run-2"):
        other = lock.parents[1] / "run-2" / "ledger.lock"
        publish_ledger_head(repository, RunId("run-2"), "2", home=user.home)
        other.touch()
        with pytest.raises(GitError, match=r"ledger\.lock"):
            publish_ledger_head(repository, RunId("run-2"), "3", home=user.home)


def test_collection_spares_the_living_the_kept_and_the_users_own(user: ScratchRepository) -> None:
    """Of five runs only the dead ones that nobody keeps go, with refs, worktree and entry; the user's things stay."""
    user.git("branch", "-q", "surefooted")
    user.git("worktree", "add", "-q", "-b", "mine", "../mine")
    user.home.mkdir()
    user.git("worktree", "add", "-q", "-b", "odd", "../worktrees/not-a-run")
    before = manifest(found(user), home=user.folder / "no-home")
    run(user, "run-dead")
    remove_worktree(found(user), run(user, "run-done"), user.home)
    user.git("worktree", "prune")
    kept = run(user, "run-kept")
    (user.home / ".scratch" / "run-kept").mkdir(parents=True, exist_ok=True)
    (user.home / ".scratch" / "run-kept" / "checkout-0").mkdir()
    lock = user.root / ".git" / "worktrees" / "run-kept" / "surefoot-index.lock"
    lock.touch()
    lost = run(user, "run-lost")
    subprocess.run(["rm", "-r", str(user.home / lost)], check=True)
    with held(user, "run-live") as process:
        gone = collect_garbage(found(user), home=user.home, keep=lambda r: r == kept)
        assert (user.home / "run-live" / "src").exists()
    in_use = f"run run-live is in use by process {process.pid}"
    assert gone == Collected(
        runs=(RunId("run-dead"), RunId("run-done"), RunId("run-lost")),
        worktrees=(str(user.home / "run-dead"), str(user.home / "run-lost")),
        refs=tuple(
            ref
            for name in ("run-dead", "run-done", "run-lost")
            for ref in (
                f"refs/heads/surefoot/{name}",
                *(f"refs/surefoot/{name}/{kind}" for kind in ("1", "base", "run")),
            )
        ),
        kept=(f"run run-live: {in_use}; wait until it has ended, or end it, and try again",),
    )
    assert not lock.exists()
    assert not (user.home / ".scratch" / "run-kept" / "checkout-0").exists()
    reopen_workspace(found(user), kept, home=user.home).close()
    rest = collect_garbage(found(user), home=user.home, keep=lambda _: False)
    assert set(rest.runs) == {"run-kept", "run-live"}
    assert manifest(found(user), home=user.folder / "no-home") == before
    nothing = collect_garbage(found(user), home=user.home, keep=lambda _: False)
    assert nothing == Collected(runs=(), worktrees=(), refs=())


def test_two_repositories_may_share_a_home(user: ScratchRepository, tmp_path: Path) -> None:
    """Collecting in one leaves the other's runs alone, even when it knows no run of that name."""
    other = ScratchRepository.create(tmp_path / "other", user.env["PATH"])
    other.commit({"src/app.py": "0\n"})
    theirs = RunId("run-theirs")
    open_workspace(Repository.discover(other.root, other.env), theirs, home=user.home).close()
    run(user, "run-ours")
    gone = collect_garbage(found(user), home=user.home, keep=lambda _: False)
    assert gone.runs == ("run-ours",)
    with pytest.raises(UsageError, match="belongs to"):
        remove_worktree(found(user), theirs, user.home)
    assert (user.home / theirs / "src").exists()


def test_refs_that_only_another_checkout_can_know_stay(user: ScratchRepository) -> None:
    """Without a lease here they are ours when they say so; those of an earlier version say nothing, and stay."""
    user.git("worktree", "add", "-q", "-b", "other", "../second")
    second = Repository.discover(user.folder / "second", user.env)
    for name in ("run-1", "run-old"):
        remove_worktree(found(user), run(user, name), user.home)
    old = user.git("hash-object", "-w", "--stdin", stdin=b'{"branch": "refs/heads/main"}')
    user.git("update-ref", "refs/surefoot/run-old/run", old)
    nothing = Collected(runs=(), worktrees=(), refs=())
    # Whatever home is given: a folder may have been the other checkout's before.
    for home in (user.folder / "second-home", user.home):
        assert collect_garbage(second, home=home, keep=lambda _: False) == nothing
    assert collect_garbage(found(user), home=user.home, keep=lambda _: False).runs == ("run-1",)
    assert user.git("rev-parse", "surefoot/run-old")


def test_a_lease_here_does_not_make_another_checkouts_run_ours(user: ScratchRepository) -> None:
    """A folder that was another checkout's before has its home, too; what the refs say decides."""
    user.git("worktree", "add", "-q", "-b", "other", "../second")
    second = Repository.discover(user.folder / "second", user.env)
    run(user, "run-1")
    assert collect_garbage(second, home=user.home, keep=lambda _: False).runs == ()
    assert user.git("rev-parse", "surefoot/run-1")
    assert (user.home / "run-1" / "src").exists()


def test_branches_of_the_user_below_our_name_stay(user: ScratchRepository) -> None:
    """Whoever likes the name may use it: without refs of a run beside it a branch is nobody's but his."""
    user.git("switch", "-q", "-c", "surefoot/my-own-work")
    user.commit({"mine.py": "hours\n"})
    user.git("switch", "-q", "main")
    run(user, "run-1")
    remove_worktree(found(user), RunId("run-1"), user.home)
    user.git("branch", "-q", "-D", "surefoot/run-1")
    user.git("branch", "-q", "surefoot/run-1/review", "surefoot/my-own-work")
    gone = collect_garbage(found(user), home=user.home, keep=lambda _: False)
    assert gone.runs == ("run-1",)
    assert gone.kept == ()
    named = user.git("for-each-ref", "--format=%(refname:short)").split()
    assert named == ["main", "surefoot/my-own-work", "surefoot/run-1/review"]


@pytest.mark.parametrize("checked_out", [False, True], ids=["alone", "checked out"])
def test_a_branch_with_commits_of_the_user_stays_and_is_told(
    user: ScratchRepository, *, checked_out: bool
) -> None:
    """What he has added to a run's work no other ref holds, so it goes with nothing of the run's."""
    run(user, "run-1")
    remove_worktree(found(user), RunId("run-1"), user.home)
    user.git("worktree", "add", "-q", "../review", "surefoot/run-1")
    commit = user.at(user.folder / "review").commit({"review.py": "mine\n"})
    if not checked_out:
        user.git("worktree", "remove", "../review")
    gone = collect_garbage(found(user), home=user.home, keep=lambda _: False)
    told = "branch surefoot/run-1, which holds other commits than the run's"
    assert gone.kept == (f"{told}; `git branch -D surefoot/run-1` removes it",)
    assert gone.refs == tuple(f"refs/surefoot/run-1/{kind}" for kind in ("1", "base", "run"))
    assert user.git("rev-parse", "surefoot/run-1") == commit
    nothing = Collected(runs=(), worktrees=(), refs=())
    assert collect_garbage(found(user), home=user.home, keep=lambda _: False) == nothing
    assert user.git("rev-parse", "surefoot/run-1") == commit


def moved(user: ScratchRepository) -> ScratchRepository:
    """The user has given the folder of his repository another name."""
    return user.at(user.root.rename(user.folder / "renamed"))


def test_what_a_run_left_goes_after_the_repository_was_moved(user: ScratchRepository) -> None:
    """Its home goes by the repository's path, so another one is asked; the old worktree is no checkout of the user."""
    ended, rejected = run(user, "run-1"), run(user, "run-2")
    (user.home / ".scratch" / ended / "checkout-0").mkdir(parents=True)
    now, home = moved(user), user.folder / "other-home"
    gone = collect_garbage(
        found(now), home=home, keep=lambda _: False, keep_refs=lambda r: r == ended
    )
    assert gone.worktrees == (str(user.home / ended),)
    assert remove_run(found(now), rejected, home).worktrees == (user.home / rejected,)
    assert now.git("worktree", "list", "--porcelain").count("worktree ") == 1
    assert now.git("for-each-ref", "refs/surefoot/run-2/", "refs/heads/surefoot/run-2") == ""
    assert now.git("rev-parse", "surefoot/run-1")
    assert [p for h in (user.home, home) for p in h.rglob("run-*")] == []


def test_an_old_home_that_is_gone_is_no_hindrance(user: ScratchRepository) -> None:
    """The entry alone is left, for a folder that has the run's name."""
    rejected = run(user, "run-1")
    now = moved(user)
    subprocess.run(["rm", "-r", str(user.home)], check=True)
    remove_run(found(now), rejected, user.folder / "other-home")
    assert not (now.root / ".git" / "worktrees").exists()


def test_a_moved_run_that_is_in_use_stays(user: ScratchRepository) -> None:
    """Its process holds the lease in the home that it began with."""
    with held(user, "run-1") as process:
        now = moved(user)
        with pytest.raises(UsageError, match=f"in use by process {process.pid}"):
            remove_worktree(found(now), RunId("run-1"), user.folder / "other-home")
        assert (user.home / "run-1" / "src").exists()


def test_a_checkout_of_the_user_that_has_the_runs_name_is_his(user: ScratchRepository) -> None:
    """No lease lies beside it, and it is in his way to say that the branch may go."""
    run_id = run(user, "run-1")
    remove_worktree(found(user), run_id, user.home)
    user.git("worktree", "add", "-q", "../run-1", "surefoot/run-1")
    with pytest.raises(RepositoryError, match="is checked out at"):
        remove_run(found(user), run_id, user.home)
    remove_worktree(found(user), run_id, user.home)
    assert (user.folder / "run-1" / "src").exists()


def test_a_copy_of_a_repository_leaves_the_worktrees_of_the_original_alone(
    user: ScratchRepository,
) -> None:
    """Its entries were copied, too, and name folders that point back to the original."""
    run_id = run(user, "run-1")
    subprocess.run(["cp", "-a", str(user.root), str(user.folder / "copy")], check=True)
    copy = user.at(user.folder / "copy")
    remove_worktree(found(copy), run_id, user.folder / "other-home")
    assert (user.home / run_id / "src").exists()
    reopen_workspace(found(user), run_id, home=user.home).close()


def test_what_is_wrong_with_one_run_is_told_and_the_others_go(user: ScratchRepository) -> None:
    """A branch that the user has checked out, and a run that its keeper cannot answer for, stay as they are."""
    run(user, "run-1")
    remove_worktree(found(user), RunId("run-1"), user.home)
    user.git("worktree", "add", "-q", "../mine", "surefoot/run-1")
    run(user, "run-2")
    run(user, "run-3")

    def keep(run_id: RunId) -> bool:
        if run_id == "run-2":
            raise LedgerError("it is damaged; restore it")
        return False

    gone = collect_garbage(found(user), home=user.home, keep=keep)
    assert gone.runs == ("run-3",)
    checked_out = (
        f"branch 'refs/heads/surefoot/run-1' is checked out at {str(user.folder / 'mine')!r}"
    )
    assert gone.kept == (
        f"run run-1: {checked_out}; switch to another branch there first",
        "run run-2: it is damaged; restore it",
    )
    assert user.git("rev-parse", "surefoot/run-1", "surefoot/run-2")
    assert (user.home / "run-2" / "src").exists()
