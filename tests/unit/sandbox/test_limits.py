"""Limits as options of prlimit, and the ways of counting processes."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from surefoot.sandbox.landlocked import Landlocked
from surefoot.sandbox.limits import Counting, counting, prlimit
from surefoot.sandbox.probe import _prlimit
from surefoot.sandbox.processes import FencedProcesses
from surefoot.values import Command, Limits, ProcessResult

NONE = Limits(cpu_s=None, memory_bytes=None, file_bytes=None, processes=None)


def options(limits: Limits, by: str) -> set[str]:
    return set(prlimit(limits, Counting(by=by), program=Path("/usr/bin/prlimit")))  # type: ignore[arg-type]


def test_no_limit_is_no_option() -> None:
    """What is not limited is not mentioned; core dumps and open files always are."""
    assert options(NONE, "watch") == {
        "/usr/bin/prlimit", "--core=0:0", "--nofile=4096:4096", "--"
    }  # fmt: skip


def test_each_limit() -> None:
    """Soft and hard limits are the same, but for a second in which a program may react to SIGXCPU."""
    found = options(Limits(cpu_s=5, memory_bytes=1000, file_bytes=10, processes=7), "group")
    assert {"--cpu=5:6", "--as=1000:1000", "--fsize=10:10"} <= found
    assert not any(option.startswith("--nproc") for option in found)


def test_processes_are_limited_where_a_namespace_counts_them() -> None:
    """Inside a user namespace the limit is exact; for the watch it only keeps a bomb from taking the machine."""
    assert "--nproc=7:7" in options(Limits(processes=7), "namespace")
    (loose,) = (o for o in options(Limits(processes=7), "watch") if o.startswith("--nproc"))
    assert int(loose.removeprefix("--nproc=").split(":")[0]) > 7


def test_counting_is_tried_out() -> None:
    """A group is only chosen when it exists; a user other than root is counted by the namespace."""
    found = counting(namespaced=True)
    if os.getuid() != 0:
        assert found.by in {"namespace", "group", "watch"}
    if found.by == "group":
        assert found.group is not None
        assert found.home is not None
        # Another process may be trying it out at this moment, so only what this one left behind counts.
        assert not list(found.group.glob(f"surefoot-probe-{os.getpid()}-*"))


def test_groups_of_killed_processes_are_removed() -> None:
    """A process that was killed while it tried a group out leaves one; the next that tries takes it away."""
    found = counting(namespaced=False)
    if found.group is None:
        pytest.skip("no groups can be made here")
    gone = subprocess.run(
        ["sh", "-c", "echo $$"], capture_output=True, text=True, check=True
    ).stdout.strip()
    left = [found.group / f"surefoot-probe-{gone}-x", found.group / f"surefoot-{gone}"]
    mine = found.group / f"surefoot-probe-{os.getpid()}-x"
    for group in (*left, mine):
        group.mkdir()
    try:
        counting(namespaced=False)
        assert not any(group.exists() for group in left)
        assert mine.exists()
    finally:
        mine.rmdir()


def unfenced(tmp_path: Path, held: Counting) -> FencedProcesses:
    session = tmp_path / "session"
    session.mkdir()
    return FencedProcesses(Landlocked(_prlimit(), held, fenced=False), session)


@pytest.fixture
def grouped() -> Counting:
    held = counting(namespaced=False)
    if held.by != "group":
        pytest.skip("no control group can be made here")
    return held


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[FencedProcesses]:
    processes = unfenced(tmp_path, Counting(by="watch"))
    yield processes
    processes.close()


def bomb(processes: FencedProcesses, tmp_path: Path, size: int) -> ProcessResult:
    script = f"for n in $(seq {size}); do sleep 30 & done; echo started; sleep 30"
    limits = Limits(processes=20, wall_s=25.0)
    env = {"PATH": "/usr/bin:/bin"}
    command = Command(
        argv=("sh", "-c", script), cwd=tmp_path, env=env, reads=(tmp_path,), limits=limits
    )
    return processes.run(command)


def test_watch_ends_a_tree_with_too_many(watched: FencedProcesses, tmp_path: Path) -> None:
    """Where nothing else counts, a tree with too many processes is ended and says why."""
    result = bomb(watched, tmp_path, 40)
    assert not result.timed_out
    assert b"more than 20 processes" in result.stderr
    assert result.exit_code is None


def test_group_refuses_what_is_too_many(tmp_path: Path, grouped: Counting) -> None:
    """Where a group counts, a fork beyond the limit fails, and the program can go on."""
    processes = unfenced(tmp_path, grouped)
    result = bomb(processes, tmp_path, 40)
    processes.close()
    assert b"fork" in result.stderr
    assert b"more than" not in result.stderr
    assert grouped.group is not None
    assert not list(grouped.group.glob(f"surefoot-{os.getpid()}*"))


def test_program_goes_on_at_what_a_group_refuses(tmp_path: Path, grouped: Counting) -> None:
    """What a group lets a tree have is not too many for the count of the tree, which comes by in the meantime."""
    processes = unfenced(tmp_path, grouped)
    script = """
import select, subprocess
started = []
try:
    while True:
        started.append(subprocess.Popen(["sleep", "30"]))
except OSError:
    select.select([], [], [], 0.5)  # the tree is counted ten times a second
print("went on")
"""
    command = Command(
        argv=(sys.executable, "-c", script),
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin"},
        reads=(tmp_path,),
        limits=Limits(processes=20, wall_s=25.0),
    )
    result = processes.run(command)
    processes.close()
    assert result.stdout == b"went on\n", result.stderr


def test_watch_lets_others_live(watched: FencedProcesses, tmp_path: Path) -> None:
    """A tree within its limit is left alone."""
    env = {"PATH": "/usr/bin:/bin"}
    script = "for n in 1 2 3 4 5; do sleep 0.4 & done; wait; echo done"
    command = Command(
        argv=("sh", "-c", script),
        cwd=tmp_path,
        env=env,
        reads=(tmp_path,),
        limits=Limits(processes=20),
    )
    assert watched.run(command).stdout == b"done\n"
