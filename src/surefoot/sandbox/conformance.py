"""The conformance suite: hostile programs run inside a fence, and judged from the outside.

Each class of escape has at least one attempt (`escapes.py`). One counts as refused only when the program ran, did not get
through, and nothing outside shows its traces. That each of them can succeed is shown by the tests, which run the
same programs without a fence.
"""

import contextlib
import ctypes
import fcntl
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Final

from surefoot.errors import SandboxError
from surefoot.kernel.ports import Processes
from surefoot.sandbox.escapes import Facts
from surefoot.values import Command, Limits, ProcessResult

_PARALLEL: Final = 4
_MIB: Final = 1024**2
_PATIENT: Final = Limits(wall_s=20.0)
_FAREWELL: Final = b"farewell"
_CREATE_ALONE: Final = 0o3000
"""IPC_CREAT and IPC_EXCL."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeResult:
    """One attempt to escape."""

    name: str
    escape_class: str
    refused: bool
    detail: str


class Evidence(StrEnum):
    """What shows that an attempt got through."""

    WORD_OR_TRACE = "word or trace"
    """It says so, or something outside has changed."""
    TRACE = "trace"
    """Something outside has changed when the command has ended; what it did meanwhile does not count."""
    TRACE_OF_SUCCESS = "trace of success"
    """The same, and it must have succeeded inside, or else it shows nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """What is tried; `name` is a function of `escapes.py`."""

    name: str
    escape_class: str
    limits: Limits = _PATIENT
    evidence: Evidence = Evidence.WORD_OR_TRACE
    alone: bool = True
    """Whether it needs a process and a ground of its own."""
    times: int = 1
    """How often the program runs, for what one run leaves to the next."""
    may_be_detected: bool = False
    """Whether a `SandboxError` after the fact is an answer too."""


_TOGETHER: Final[dict[str, tuple[str, ...]]] = {
    "write outside": ("write_outside", "write_readable", "change_mode_outside", "change_times_of_readable"),
    "read outside": ("read_secret", "list_home", "dot_dot", "file_by_handle"),
    "symbolic link": ("follow_symlink", "write_through_symlink"),
    "hard link": ("hard_link", "rename_in"),
    "repository records": ("write_git", "move_git", "write_nested_hook"),
    "another process's files": ("proc_root", "proc_environment"),
    "inherited descriptor": ("inherited_descriptor",),
    "device": ("device_node",),
    "another process": (
        "trace_process", "read_memory", "signal_process", "limit_process", "steal_descriptor", "share_memory"
    ),
    "network": ("connect_tcp", "send_udp", "ask_dns", "open_vsock", "open_packet"),
    "local socket": ("connect_abstract", "connect_path", "connect_readable_path", "redirect_pair"),
    "terminal": ("push_terminal_input", "controlling_terminal"),
    "namespace": ("make_user_namespace", "clone_user_namespace", "clone3_user_namespace", "mount_proc"),
    "kernel surface": ("use_io_uring", "use_keyring", "use_bpf", "use_userfaultfd", "executable_personality"),
    "privileges": ("gain_privileges", "hold_capabilities"),
    "environment": ("environment_secrets",),
}  # fmt: skip
_RECORDS_TO_BE: Final = "repository records that do not exist yet"

ATTEMPTS: Final = (
    *(
        Attempt(name=name, escape_class=kind, alone=False)
        for kind, names in _TOGETHER.items()
        for name in names
    ),
    *(
        Attempt(name=name, escape_class=_RECORDS_TO_BE, evidence=Evidence.TRACE)
        for name in ("make_git", "make_git_file", "make_settings")
    ),
    Attempt(name="replace_nested", escape_class="repository records", may_be_detected=True),
    Attempt(name="foreign_abi", escape_class="kernel surface"),
    Attempt(
        name="surviving_daemon",
        escape_class="surviving process",
        evidence=Evidence.TRACE_OF_SUCCESS,
    ),
    Attempt(name="plant_in_home", escape_class="planted start-up file", times=2),
    Attempt(name="fork_bomb", escape_class="processes", limits=Limits(processes=30)),
    Attempt(name="much_memory", escape_class="memory", limits=Limits(memory_bytes=256 * _MIB)),
    Attempt(name="large_file", escape_class="file size", limits=Limits(file_bytes=_MIB)),
    Attempt(name="burn_cpu", escape_class="processor time", limits=Limits(cpu_s=1)),
    Attempt(name="flood_output", escape_class="output", limits=Limits(output_bytes=_MIB)),
    Attempt(name="outstay", escape_class="wall clock", limits=Limits(wall_s=1.0)),
)
_QUICK: Final = (
    "write_outside", "write_readable", "read_secret", "follow_symlink", "write_git", "make_git", "write_nested_hook",
    "proc_root", "inherited_descriptor", "trace_process", "signal_process", "limit_process", "connect_tcp",
    "connect_abstract", "connect_path", "make_user_namespace", "clone_user_namespace", "use_io_uring", "use_keyring",
    "gain_privileges", "hold_capabilities", "environment_secrets",
)  # fmt: skip


def conformance(processes: Processes, scratch: Path) -> tuple[ProbeResult, ...]:
    """Try every class of escape; takes a few seconds. `scratch` must exist; what is made in it is removed."""
    batches = [[attempt] for attempt in ATTEMPTS if attempt.alone]
    batches += [
        [each for each in ATTEMPTS if each.escape_class == kind and not each.alone]
        for kind in _TOGETHER
    ]
    with open_victims(scratch) as victims, ThreadPoolExecutor(_PARALLEL) as pool:
        tried = pool.map(lambda batch: try_escapes(processes, batch, victims), batches)
        found = [result for results in tried for result in results]
        return (*found, _start_outside(processes, victims))


def quick_conformance(processes: Processes, scratch: Path) -> tuple[ProbeResult, ...]:
    """Try the most telling attempts in one process, in a fraction of a second."""
    with open_victims(scratch) as victims:
        return try_escapes(processes, [each for each in ATTEMPTS if each.name in _QUICK], victims)


def try_escapes(
    processes: Processes, attempts: Sequence[Attempt], victims: "Victims"
) -> tuple[ProbeResult, ...]:
    """Try several in one process, which runs as the first of them says."""
    ground = victims.ground()
    error = ""
    result = None
    try:
        for _ in range(attempts[0].times):
            result = ground.run(processes, [each.name for each in attempts], attempts[0].limits)
    except SandboxError as problem:
        error = str(problem)
    trace = ground.trace()
    return tuple(_judge(attempt, result, trace, error) for attempt in attempts)


def _judge(attempt: Attempt, result: ProcessResult | None, trace: str, error: str) -> ProbeResult:
    """Refused is what ran and did not get through, by the evidence that counts for it."""
    if error or result is None:
        refused, detail = attempt.may_be_detected, error
    else:
        did, word = _testimony(attempt, result)
        escaped = {
            Evidence.WORD_OR_TRACE: did is not False or bool(trace),
            Evidence.TRACE: did is None or bool(trace),
            Evidence.TRACE_OF_SUCCESS: not did or bool(trace),
        }
        refused, detail = not escaped[attempt.evidence], trace or word
    return ProbeResult(
        name=attempt.name, escape_class=attempt.escape_class, refused=refused, detail=detail
    )


def _testimony(attempt: Attempt, result: ProcessResult) -> tuple[bool | None, str]:
    """Whether the program got through by its own words and by how it ended; None when it did not even try."""
    lines = result.stdout.splitlines()
    if attempt.name == "outstay":
        return not result.timed_out, f"ran for {result.wall_s:.1f} s"
    if not lines or lines[0] != b"ready":
        problem = result.stderr.decode("utf-8", "replace").strip()
        return None, f"the attempt did not start, so it shows nothing: {problem[-300:]}"
    if attempt.name == "flood_output":
        kept = len(result.stdout)
        is_over = kept > attempt.limits.output_bytes or not result.truncated
        return is_over, f"{kept} bytes were kept"
    for line in lines:
        with contextlib.suppress(ValueError):
            said = json.loads(line)
            if isinstance(said, dict) and said.get("name") == attempt.name:
                return bool(said["did"]), str(said["detail"])
    if result.exit_code is not None:
        problem = result.stderr.decode("utf-8", "replace").strip()
        return None, f"the attempt broke, so it shows nothing: {problem[-300:]}"
    return False, f"ended by signal {result.signal}"


def _start_outside(processes: Processes, victims: "Victims") -> ProbeResult:
    """A command may not start in, and thereby open, a directory that it was not given."""
    ground = victims.ground()
    outside = ground.root / "outside"
    script = ("/bin/sh", "-c", "echo x > made")
    command = Command(argv=script, cwd=outside, writes=(ground.root / "work",))
    try:
        processes.run(command)
    except SandboxError as error:
        refused, detail = True, str(error)
    else:
        refused, detail = not (outside / "made").exists(), "it started in a directory outside"
    return ProbeResult(
        name="start_outside", escape_class="working directory", refused=refused, detail=detail
    )


# --- what is outside -----------------------------------------------------------------------------


@cache
def _program() -> str:
    return Path(__file__).with_name("escapes.py").read_text(encoding="utf-8")


class Ground:
    """Directories for one attempt, and what they looked like before."""

    def __init__(self, root: Path, facts: Facts) -> None:
        self.root = root
        self._facts: Facts = {
            **facts,
            "outside": str(root / "outside"),
            "work": str(root / "work"),
            "bare": str(root / "bare"),
            "reads": str(root / "reads"),
            "lock": str(root / "work" / "alive"),
        }
        for name in ("outside", "work/.git/hooks", "work/sub/.git/hooks", "bare", "reads"):
            (root / name).mkdir(parents=True)
        for name in (
            "outside/secret",
            "outside/target",
            "reads/file",
            "work/.git/config",
            "work/alive",
        ):
            (root / name).write_text("untouched", encoding="ascii")
        self._before: dict[str, str] = {}

    def run(self, processes: Processes, names: Sequence[str], limits: Limits) -> ProcessResult:
        """Run attempts on this ground."""
        self._before = self._before or self._look()
        work = self.root / "work"
        return processes.run(
            Command(
                argv=(sys.executable, "-I", "-S", "-c", _program(), *names),
                cwd=work,
                env=dict.fromkeys(self._facts["environment"], "given"),
                stdin=json.dumps(self._facts).encode(),
                reads=(self.root / "reads",),
                writes=(work, self.root / "bare"),
                limits=limits,
            )
        )

    def trace(self) -> str:
        """What there is to see that may not be; empty when there is nothing."""
        after = self._look()
        changed = sorted(name for name in self._before if self._before[name] != after.get(name))
        made = sorted(set(after) - set(self._before))
        if changed or made:
            return f"changed: {changed}, made: {made}"
        with (self.root / "work" / "alive").open() as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return f"process {lock.read()} of the command is still alive"
        return ""

    def _look(self) -> dict[str, str]:
        """Mode, time and contents of all that a command may not change or make."""
        kept = ("outside", "reads", "work/.git", "work/sub/.git", "bare/.git", "bare/.surefoot")
        found: dict[str, str] = {}
        for top in (self.root / name for name in kept if os.path.lexists(self.root / name)):
            for path in (top, *top.rglob("*")):
                about = path.lstat()
                text = path.read_text(encoding="ascii") if path.is_file() else ""
                name = str(path.relative_to(self.root))
                found[name] = f"{about.st_mode:o} {about.st_mtime_ns} {text}"
        return found


class Victims:
    """What is outside the fence: listeners, a process, shared memory."""

    def __init__(self, root: Path, resources: ExitStack) -> None:
        """All that is opened is closed with `resources`."""
        self._root = root
        self._resources = resources
        self._lock = threading.Lock()
        self._grounds = 0
        self._short = Path(resources.enter_context(tempfile.TemporaryDirectory(prefix="sf-")))
        abstract = f"surefoot-{os.getpid()}-{id(self)}"
        self._listen("\0" + abstract, socket.SOCK_STREAM)
        self._listen("\0" + abstract + "-dgram", socket.SOCK_DGRAM)
        self._facts: Facts = {
            "outside": "",
            "work": "",
            "bare": "",
            "reads": "",
            "lock": "",
            "victim": self._process(),
            "tcp": self._tcp(),
            "udp": self._udp(),
            "abstract": abstract,
            "memory_key": self._shared_memory(),
            "environment": ["GIVEN"],
        }

    def ground(self) -> Ground:
        """Fresh directories, with sockets that somebody listens on."""
        with self._lock:
            self._grounds += 1
            root = self._root / str(self._grounds)
            ground = Ground(root, self._facts)
            for name in ("outside", "reads"):
                # an address is at most 107 bytes long, a scratch directory's path may be longer
                alias = self._short / f"{self._grounds}{name}"
                alias.symlink_to(root / name)
                self._listen(str(alias / "sock"), socket.SOCK_STREAM)
            return ground

    def _listen(self, address: str, kind: socket.SocketKind) -> None:
        listener = self._resources.enter_context(socket.socket(socket.AF_UNIX, kind))
        listener.bind(address)
        if kind is socket.SOCK_STREAM:
            listener.listen()

    def _tcp(self) -> int:
        listener = self._resources.enter_context(socket.create_server(("127.0.0.1", 0)))
        port: int = listener.getsockname()[1]
        return port

    def _udp(self) -> int:
        listener = self._resources.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]

        def answer() -> None:
            while True:
                query, sender = listener.recvfrom(512)
                if query == _FAREWELL:
                    return
                listener.sendto(query, sender)

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        self._resources.callback(thread.join)
        self._resources.callback(listener.sendto, _FAREWELL, ("127.0.0.1", port))
        return port

    def _process(self) -> int:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", "import time; time.sleep(300)"],
            stdin=subprocess.DEVNULL,
            env={"SECRET": "of the victim"},
        )
        self._resources.callback(process.wait)
        self._resources.callback(process.kill)
        return process.pid

    def _shared_memory(self) -> int:
        libc = ctypes.CDLL(None)
        key = (os.getpid() << 8 | id(self) >> 4 & 0xFF) & 0x7FFFFFFF
        number = libc.shmget(key, 4096, _CREATE_ALONE | 0o600)
        self._resources.callback(libc.shmctl, number, 0, None)
        return key


@contextmanager
def open_victims(scratch: Path) -> Iterator[Victims]:
    """Victims in a directory of their own below `scratch`, gone afterwards."""
    root = Path(tempfile.mkdtemp(prefix="conformance-", dir=scratch.resolve()))
    try:
        with ExitStack() as resources:
            yield Victims(root, resources)
    finally:
        shutil.rmtree(root)
