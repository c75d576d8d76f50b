"""A run killed at any git command goes on from its last closed turn, to the same trees, and the user notices nothing."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from surefoot.gitops import Repository
from surefoot.gitops.collect import collect_garbage
from surefoot.gitops.workspace import open_workspace
from surefoot.testing.manifest import manifest
from surefoot.testing.repository import ScratchRepository
from surefoot.values import FileEdit, RunId

_RUN = '''
"""Three turns, the second after a rollback; each is closed by a line in a ledger. Runs again, it goes on."""
import os, sys
from pathlib import Path
from surefoot.gitops import Repository
from surefoot.gitops.workspace import open_workspace, reopen_workspace
from surefoot.values import FileEdit
root, home, ledger = map(Path, sys.argv[1:])
repository = Repository.discover(root)
closed = ledger.read_text().split() if ledger.exists() else None
if closed is None:
    ledger.write_text(repository.head + "\\n")
    workspace = open_workspace(repository, "run-1", home=home, carry=["node_modules"])
else:
    head, carry = closed[-1], ["node_modules"]
    base = closed[0]
    workspace = reopen_workspace(repository, "run-1", home=home, carry=carry, head=head, base=base)
for number in range(len(closed or ["base"]), 4):
    if number == 2:
        workspace.apply([FileEdit(path="src/app.py", text="bad"), FileEdit(path="x/y.py", text="")])
        workspace.snapshot()
        workspace.restore(workspace.head[1])
    workspace.apply([FileEdit(path="src/app.py", text=f"{number}"), FileEdit(path=f"n/{number}.py", text="")])
    if number == 3:
        workspace.apply([FileEdit(path="src/util.py", text=None)])
    commit = workspace.commit(workspace.snapshot(), f"turn {number}", {})
    with ledger.open("a") as file:
        file.write(commit + "\\n")
workspace.close()
'''

_ACCEPT = """
import sys
from pathlib import Path
from surefoot.gitops import Repository
from surefoot.gitops.accept import Piece, accept
root, home, _ = map(Path, sys.argv[1:])
repository = Repository.discover(root)
tree = repository.git().run("rev-parse", "refs/heads/surefoot/run-1^{tree}").line
work = Piece(tree=tree, message="accepted")
accept(repository, "run-1", home=home, pieces=[work], verify=lambda result: None, carry=["node_modules"])
"""

_SHIM = """#!/bin/sh
# Counts the git commands, and kills the caller before or after the one that was asked for.
count=$(($(cat "$KILL_COUNT" 2>/dev/null || echo 0) + 1))
echo $count > "$KILL_COUNT"
if [ "$count" = "$KILL_AT" ] && [ "$KILL_WHEN" != after ]; then
    if [ "$KILL_WHEN" = locked ]; then
        # What a git that is killed itself leaves behind.
        if [ -n "$GIT_INDEX_FILE" ]; then : > "$GIT_INDEX_FILE.lock"; fi
        mkdir -p "$KILL_REFS/surefoot/run-1" "$KILL_REFS/heads/surefoot"
        : > "$KILL_REFS/heads/surefoot/run-1.lock"
        : > "$KILL_REFS/surefoot/run-1/base.lock"
        : > "$KILL_REFS/surefoot/run-1/2.lock"
    fi
    kill -9 $PPID
    exit 1
fi
"$KILL_GIT" "$@"
code=$?
if [ "$count" = "$KILL_AT" ]; then kill -9 $PPID; fi
exit $code
"""


def start(
    user: ScratchRepository, script: str = _RUN, **kill: str
) -> subprocess.CompletedProcess[bytes]:
    """Run the script to its end, or to the point at which it is killed."""
    shim = user.folder / "shim"
    shim.mkdir(exist_ok=True)
    (shim / "git").write_text(_SHIM)
    (shim / "git").chmod(0o755)
    git = shutil.which("git")
    assert git is not None
    env = {
        **user.env,
        "PATH": f"{shim}:{user.env['PATH']}",
        "KILL_GIT": git,
        "KILL_COUNT": str(user.folder / "count"),
        "KILL_REFS": str(user.root / ".git" / "refs"),
        **kill,
    }
    (user.folder / "count").unlink(missing_ok=True)
    places = [str(user.root), str(user.home), str(user.folder / "ledger")]
    return subprocess.run(
        [sys.executable, "-c", script, *places], env=env, capture_output=True, check=False
    )


def trees(user: ScratchRepository) -> list[str]:
    """The trees of the run's commits, newest first."""
    return user.git("log", "--format=%T", "surefoot/run-1").split()


def campaign(tmp_path: Path, path: str, points: list[tuple[int, str]]) -> int:
    """Kill at each point in a fresh repository, resume, compare; the number of git commands of a whole run."""

    def fresh(name: str) -> ScratchRepository:
        user = ScratchRepository.create(tmp_path / name, path)
        user.commit({"src/app.py": "0\n", "src/util.py": "U\n", ".gitignore": "node_modules/\n"})
        user.write({"node_modules/dep.js": "1\n", "src/app.py": "dirty\n", "new.py": "untracked\n"})
        return user

    whole = fresh("whole")
    assert start(whole).returncode == 0
    total = int((whole.folder / "count").read_text())
    wanted = trees(whole)
    for at, when in points:
        user = fresh(f"{when}-{at}")
        repository = Repository.discover(user.root, user.env)
        before = manifest(repository, home=user.home)
        killed = start(user, KILL_AT=str(at), KILL_WHEN=when)
        point = f"killed {when} command {at} of {total}"
        assert killed.returncode == (-9 if at <= total else 0), point
        done = start(user)
        assert done.returncode == 0, (point, done.stderr.decode())
        assert trees(user) == wanted, point
        assert manifest(repository, home=user.home) == before, point
        worktree = user.at(user.home / "run-1")
        assert worktree.git("status", "--porcelain") == "", point
        assert (worktree.root / "node_modules" / "dep.js").read_text() == "1\n", point
        collect_garbage(repository, home=user.home, keep=lambda _: False)
        assert manifest(repository, home=user.home) == before, point
        assert user.git("for-each-ref", "--format=%(refname)") == "refs/heads/main", point
        assert [p for p in user.home.rglob("*") if p.is_file()] == [], point
        shutil.rmtree(user.folder)
    return total


def accepting(tmp_path: Path, path: str, points: list[tuple[int, str]]) -> int:
    """Kill `accept` at each point: afterwards all of it is on the branch or nothing, and asking again finishes it.

    A negative point counts from the last git command.
    """
    total = 0
    for point_at, when in [(0, "never"), *points]:
        at = point_at if point_at >= 0 else total + 1 + point_at
        user = ScratchRepository.create(tmp_path / f"accept-{when}-{at}", path)
        user.commit({"src/app.py": "0\n", "src/util.py": "U\n", ".gitignore": "node_modules/\n"})
        with open_workspace(
            Repository.discover(user.root, user.env), RunId("run-1"), home=user.home
        ) as workspace:
            workspace.apply([FileEdit(path="src/app.py", text="3")])
            workspace.commit(workspace.snapshot(), "turn", {})
        user.write({"node_modules/dep.js": "1\n"})
        user.commit({"README.md": "moved on\n"})
        user.hook("pre-commit", "echo formatted >> src/app.py; git add src/app.py")
        user.write({"README.md": "dirty\n", "staged.py": "S\n"})
        user.git("add", "staged.py")
        repository = Repository.discover(user.root, user.env)
        before = manifest(repository, home=user.home)
        killed = start(user, _ACCEPT, KILL_AT=str(at), KILL_WHEN=when)
        point = f"killed {when} command {at} of {total}"
        assert killed.returncode == (-9 if at else 0), (point, killed.stderr.decode())
        total = total or int((user.folder / "count").read_text())
        onto = user.git("log", "--format=%s", "-1")
        if onto == "change":
            assert manifest(repository, home=user.home) == before, point
        done = start(user, _ACCEPT)
        assert done.returncode == 0, (point, done.stderr.decode())
        assert user.git("log", "--format=%s").split() == ["accepted", "change", "change"], point
        assert user.git("show", "HEAD:src/app.py") == "3formatted", point
        status = user.git("status", "--porcelain").split("\n")
        assert sorted(status) == [" M README.md", "A  staged.py"], point
        assert (user.root / "README.md").read_text() == "dirty\n", point
        collect_garbage(repository, home=user.home, keep=lambda _: False)
        assert [p for p in user.home.rglob("*") if p.is_file()] == [], point
        shutil.rmtree(user.folder)
    return total


WAYS = ("before", "after", "locked")


def test_a_run_killed_at_some_git_commands_loses_nothing(
    tmp_path: Path, user: ScratchRepository
) -> None:
    """While it begins, between a turn's refs and its record, in a rollback; with the locks of a killed git left."""
    points = [(8, "locked"), (13, "before"), (20, "after"), (26, "locked")]
    assert campaign(tmp_path, user.env["PATH"], points) > points[-1][0]


def test_an_acceptance_killed_at_some_git_commands_is_whole_or_nothing(
    tmp_path: Path, user: ScratchRepository
) -> None:
    """Around the replay, the hook, the record and the merge."""
    points = [(-14, "before"), (-3, "after"), (-2, "after")]
    accepting(tmp_path, user.env["PATH"], points)


@pytest.mark.soak
def test_a_run_killed_at_every_git_command_loses_nothing(
    tmp_path: Path, user: ScratchRepository
) -> None:
    """Every command in all three ways."""
    total = campaign(tmp_path / "count", user.env["PATH"], [])
    points = [(at, when) for at in range(1, total + 1) for when in WAYS]
    campaign(tmp_path / "all", user.env["PATH"], points)


@pytest.mark.soak
def test_an_acceptance_killed_at_every_git_command_is_whole_or_nothing(
    tmp_path: Path, user: ScratchRepository
) -> None:
    """Every command, before and after it."""
    total = accepting(tmp_path / "count", user.env["PATH"], [])
    points = [(at, when) for at in range(1, total + 1) for when in ("before", "after")]
    accepting(tmp_path / "all", user.env["PATH"], points)
