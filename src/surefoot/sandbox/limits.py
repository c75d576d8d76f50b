"""Limits of a command: those that `prlimit` sets, and how its processes are counted."""

import contextlib
import os
import re
import resource
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from surefoot.values import Limits

OPEN_FILES: Final = 4096
_CPU_GRACE_S: Final = 1
"""Between SIGXCPU and SIGKILL, for a program that wants to say something."""
_OWNER: Final = re.compile(r"surefoot-(?:probe-)?(\d+)(?:-|$)")
_COUNTED_BY_NAMESPACE: Final = (5, 14)
"""Since this kernel RLIMIT_NPROC counts the processes of a user namespace, not all of the user's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counting:
    """How the processes of a command are held to their limit.

    `namespace`: RLIMIT_NPROC inside the user namespace of a user who is not root; a fork beyond it fails.
    `group`: a cgroup's `pids.max`; a fork beyond the limits of all running commands together fails.
    With `group` and with `watch` each tree is counted ten times a second, and ended when it has too many.
    """

    by: Literal["group", "namespace", "watch"]
    group: Path | None = None
    """Where groups can be made, for `group`."""
    home: Path | None = None
    """The group in which this process is, for `group`."""


def counting(*, namespaced: bool) -> Counting:
    """The best way of counting that this machine offers; tries it out."""
    release = tuple(int(part) for part in os.uname().release.split("-")[0].split(".")[:2])
    if namespaced and os.getuid() != 0 and release >= _COUNTED_BY_NAMESPACE:
        return Counting(by="namespace")
    found = _writable_group()
    if found is None:
        return Counting(by="watch")
    return Counting(by="group", group=found[0], home=found[1])


def prlimit(limits: Limits, count: Counting, *, program: Path) -> tuple[str, ...]:
    """The command line before which a command is put to run under `limits`."""
    wanted = {
        "core": (resource.RLIMIT_CORE, 0, 0),
        "nofile": (resource.RLIMIT_NOFILE, OPEN_FILES, OPEN_FILES),
        "cpu": (
            resource.RLIMIT_CPU,
            limits.cpu_s,
            None if limits.cpu_s is None else limits.cpu_s + _CPU_GRACE_S,
        ),
        "as": (resource.RLIMIT_AS, limits.memory_bytes, limits.memory_bytes),
        "fsize": (resource.RLIMIT_FSIZE, limits.file_bytes, limits.file_bytes),
    }
    if limits.processes is not None and count.by == "namespace":
        wanted["nproc"] = (resource.RLIMIT_NPROC, limits.processes, limits.processes)
    if limits.processes is not None and count.by == "watch":
        # The count has to catch up with a bomb; until then it may not take the machine. Root is not held by this.
        most = limits.processes + _tasks_of_the_machine()
        wanted["nproc"] = (resource.RLIMIT_NPROC, most, most)
    options = [_option(name, *values) for name, values in wanted.items()]
    return (str(program), *(option for option in options if option), "--")


def _option(name: str, kind: int, soft: int | None, hard: int | None) -> str:
    if soft is None or hard is None:
        return ""
    _, present = resource.getrlimit(kind)
    if present != resource.RLIM_INFINITY:
        soft, hard = min(soft, present), min(hard, present)
    return f"--{name}={soft}:{hard}"


def _tasks_of_the_machine() -> int:
    running_of_all = Path("/proc/loadavg").read_text(encoding="ascii").split()[3]
    return int(running_of_all.split("/")[1])


def _writable_group() -> tuple[Path, Path] | None:
    """A directory of a pids controller below which a process of ours can be put into a new group, and our own group."""
    place = _own_group()
    if place is None:
        return None
    top, home = place
    for parent in (home, *home.parents):
        if not parent.is_relative_to(top):
            break
        if _takes_processes(parent):
            return parent, home
    return None


def _own_group() -> tuple[Path, Path] | None:
    """The mount point of the pids controller, and this process's group under it."""
    groups: dict[str, str] = {}
    for line in Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines():
        _, controllers, path = line.split(":", 2)
        groups.update(dict.fromkeys(controllers.split(","), path))
    for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines():
        before, _, after = line.partition(" - ")
        root, point = before.split()[3:5]
        kind, _, options = after.split()[:3]
        is_first = kind == "cgroup" and "pids" in options.split(",")
        is_second = kind == "cgroup2" and "pids" not in groups
        if not (is_first or is_second):
            continue
        own = groups.get("pids" if is_first else "")
        if own is not None and Path(own).is_relative_to(root):
            return Path(point), Path(point) / Path(own).relative_to(root)
    return None


def _takes_processes(parent: Path) -> bool:
    """Whether a group made in `parent` counts tasks and accepts one of ours. The kernel has the last word, so ask it."""
    _remove_abandoned(parent)
    try:
        group = Path(tempfile.mkdtemp(prefix=f"surefoot-probe-{os.getpid()}-", dir=parent))
    except OSError:
        return False
    try:
        if not (group / "pids.max").exists():
            return False
        script = 'echo 0 >"$1/cgroup.procs"'
        probe = ["/bin/sh", "-c", script, "sh", str(group)]
        return subprocess.run(probe, check=False, capture_output=True, env={}).returncode == 0
    finally:
        group.rmdir()


def _remove_abandoned(parent: Path) -> None:
    """Remove the groups of processes that were killed before they could. The kernel keeps a group that has tasks."""
    for group in parent.glob("surefoot-*"):
        pid = _OWNER.match(group.name)
        if pid is not None and not Path("/proc", pid[1]).exists():
            with contextlib.suppress(OSError):
                group.rmdir()
