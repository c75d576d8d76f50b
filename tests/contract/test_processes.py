"""The `Processes` port, over every fence that works on this machine, and without one."""

import fcntl
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from surefoot.errors import SandboxError
from surefoot.kernel.ports import Processes, RunningProcess
from surefoot.sandbox import conformance, open_processes, probe, quick_conformance
from surefoot.sandbox.probe import find_binaries, open_bubblewrap
from surefoot.values import Command, Limits, ProcessResult, SandboxLevel

PATH = {"PATH": "/usr/local/bin:/usr/bin:/bin"}
PATIENCE_S = 60.0
"""For a machine that is busy with other things; nothing waits that long where all is well."""
BACKENDS = ("bubblewrap", "bubblewrap-bundled", "landlock", "none")
FENCED = BACKENDS[:-1]


def open_backend(name: str, scratch: Path) -> Processes:
    if name == "bubblewrap-bundled":
        return open_bubblewrap(find_binaries()[-1], scratch)
    return open_processes(SandboxLevel(name), unsandboxed=name == "none", scratch=scratch)


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("scratch")


@pytest.fixture(scope="module")
def opened(scratch: Path) -> Iterator[Callable[[str], Processes]]:
    cache: dict[str, Processes] = {}
    working = {backend.level for backend in probe().backends if backend.works}

    def open_once(name: str) -> Processes:
        level = SandboxLevel(name.removesuffix("-bundled"))
        if level is not SandboxLevel.NONE and level not in working:
            pytest.skip(f"{level} does not work on this machine")
        if name == "bubblewrap-bundled" and len(find_binaries()) == 1:
            pytest.skip("there is only one bubblewrap binary")
        if name not in cache:
            cache[name] = open_backend(name, scratch)
        return cache[name]

    yield open_once
    for processes in cache.values():
        processes.close()  # type: ignore[attr-defined]


@pytest.fixture(params=BACKENDS)
def processes(request: pytest.FixtureRequest, opened: Callable[[str], Processes]) -> Processes:
    return opened(request.param)


@pytest.fixture(params=FENCED)
def fenced(request: pytest.FixtureRequest, opened: Callable[[str], Processes]) -> Processes:
    return opened(request.param)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    path = tmp_path / "work"
    path.mkdir()
    return path


def sh(processes: Processes, work: Path, script: str, **more: object) -> ProcessResult:
    fields: dict[str, object] = {"cwd": work, "env": PATH, "writes": (work,)} | more
    return processes.run(Command(argv=("sh", "-c", script), **fields))  # type: ignore[arg-type]


def is_locked(path: Path) -> bool:
    with path.open() as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


class TestRun:
    def test_output_and_exit_code(self, processes: Processes, work: Path) -> None:
        """Both streams come back apart, with the exit code."""
        result = sh(processes, work, "echo out; echo err >&2; exit 3")
        assert (result.exit_code, result.signal) == (3, None)
        assert (result.stdout, result.stderr) == (b"out\n", b"err\n")
        assert not result.timed_out
        assert not result.truncated

    def test_standard_input(self, processes: Processes, work: Path) -> None:
        """A command reads the bytes it was given, however many, and then the end."""
        data = os.urandom(300_000)
        assert sh(processes, work, "cat", stdin=data).stdout == data

    def test_input_that_nobody_reads(self, processes: Processes, work: Path) -> None:
        """A command may end without reading its input."""
        assert sh(processes, work, "exit 0", stdin=bytes(300_000)).exit_code == 0

    def test_death_by_signal(self, processes: Processes, work: Path) -> None:
        """A command that a signal ends has no exit code but a signal."""
        result = sh(processes, work, "kill -SEGV $$")
        assert (result.exit_code, result.signal) == (None, signal.SIGSEGV)

    def test_missing_program(self, processes: Processes, work: Path) -> None:
        """A program that does not exist ends with 127, one that is not executable with 126, as in a shell."""
        (work / "text").write_text("no program")
        missing = processes.run(Command(argv=("no-such-tool",), cwd=work, writes=(work,)))
        text = processes.run(Command(argv=("./text",), cwd=work, writes=(work,)))
        assert (missing.exit_code, text.exit_code) == (127, 126)

    def test_environment_is_exactly_what_was_given(self, processes: Processes, work: Path) -> None:
        """Nothing is inherited; HOME and TMPDIR are there; odd names survive."""
        given = {**PATH, "A.B-c": "x=y\n", "HOME": "/nonsense"}
        command = Command(argv=("/usr/bin/env", "-0"), cwd=work, env=given, writes=(work,))
        lines = processes.run(command).stdout.decode().split("\0")[:-1]
        found = dict(line.split("=", 1) for line in lines)
        assert found.pop("HOME") != "/nonsense"
        assert found.pop("TMPDIR")
        found.pop("PWD", None)
        assert found == {**PATH, "A.B-c": "x=y\n"}

    def test_home_is_fresh_and_goes(self, processes: Processes, work: Path, scratch: Path) -> None:
        """HOME and TMPDIR are writable and empty for each command, and nothing of them stays."""
        script = (
            'ls -A "$HOME" "$TMPDIR" | grep planted; mkdir -p "$HOME/planted/x" "$TMPDIR/planted"'
        )
        sh(processes, work, script + '; chmod 0 "$HOME/planted" || :')
        assert sh(processes, work, script).stdout == b""
        for session in scratch.glob("fence-*"):
            assert [path.name for path in session.iterdir() if path.name != "etc"] == []

    def test_wall_clock(self, processes: Processes, work: Path) -> None:
        """A command that outstays its time is ended, and what it said is kept."""
        result = sh(processes, work, "echo here; sleep 60", limits=Limits(wall_s=0.5))
        assert result.timed_out
        assert (result.exit_code, result.stdout) == (None, b"here\n")
        assert result.wall_s < 60

    def test_a_limit_before_the_start_is_a_limit(self, processes: Processes, work: Path) -> None:
        """Also while the fence is being put up: what ends a command says so, and no fence is blamed."""
        for tenths in range(60):
            result = sh(processes, work, "sleep 60", limits=Limits(wall_s=tenths / 10_000))
            assert result.timed_out
            assert (result.exit_code, result.signal) == (None, signal.SIGKILL)

    def test_output_is_bounded(self, processes: Processes, work: Path) -> None:
        """Of each stream only so much is kept, and the rest does not block the command."""
        script = "head -c 3000000 /dev/zero; head -c 3000000 /dev/zero >&2; exit 4"
        result = sh(processes, work, script, limits=Limits(output_bytes=1000))
        assert result.truncated
        assert (len(result.stdout), len(result.stderr), result.exit_code) == (1000, 1000, 4)

    def test_background_process_does_not_hold_it_up(self, processes: Processes, work: Path) -> None:
        """A command has ended when its main process has, also when another one keeps its output open."""
        result = sh(processes, work, "echo done; sleep 60 &")
        assert result.stdout == b"done\n"
        assert result.wall_s < 60

    def test_start_directory(self, processes: Processes, work: Path) -> None:
        """The command starts in `cwd`."""
        (work / "deep").mkdir()
        assert sh(processes, work, "pwd", cwd=work / "deep").stdout.strip() == bytes(work / "deep")

    def test_written_files_are_there(self, processes: Processes, work: Path) -> None:
        """What a command writes in a writable path is there afterwards, and nothing else."""
        sh(processes, work, "echo new > file; mkdir sub; echo deep > sub/file")
        found = {str(path.relative_to(work)) for path in work.rglob("*")}
        assert found == {"file", "sub", "sub/file"}

    def test_path_through_a_link(self, processes: Processes, work: Path, tmp_path: Path) -> None:
        """A path that was named through a symbolic link is there under that name."""
        (tmp_path / "alias").symlink_to(work)
        (work / "sub").mkdir()
        alias = tmp_path / "alias"
        script = f"echo x > sub/made; cat {shlex.quote(str(alias / 'sub' / 'made'))}"
        assert sh(processes, alias, script).stdout == b"x\n"

    def test_system_tools_and_interpreter(self, processes: Processes, work: Path) -> None:
        """The system's programs and the interpreter that runs Surefoot work inside."""
        script = f"{shlex.quote(sys.executable)} -c 'import ssl, json, subprocess; print(7)' && ls / >/dev/null || :"
        assert sh(processes, work, script).stdout == b"7\n"

    def test_parallel_commands(self, processes: Processes, work: Path) -> None:
        """Commands run at the same time, do not mix, and the orphans of one are not the others' business."""
        script = "(setsid sleep 60 &) ; sleep 0.1; echo $N"
        with ThreadPoolExecutor(8) as pool:
            runs = [
                pool.submit(sh, processes, work, script, env={**PATH, "N": str(n)})
                for n in range(12)
            ]
        assert [run.result().stdout for run in runs] == [f"{n}\n".encode() for n in range(12)]

    def test_orphans_live_while_their_command_does(self, processes: Processes, work: Path) -> None:
        """The end of one command does not touch a process that another one has let loose."""
        (work / "lock").touch()
        script = (
            "(setsid sh -c 'exec 9<>lock; flock 9; echo ready; exec sleep 60' &); exec sleep 60"
        )
        command = Command(argv=("sh", "-c", script), cwd=work, env=PATH, writes=(work,))
        worker = processes.start(command)
        assert worker.receive(PATIENCE_S) == b"ready"
        sh(processes, work, "true")
        assert is_locked(work / "lock")
        worker.stop()
        assert not is_locked(work / "lock")

    def test_interrupt_ends_the_tree(self, processes: Processes, work: Path) -> None:
        """When ctrl-C comes while a command runs, its processes are gone before the exception is seen."""
        lock = work / "lock"
        lock.touch()
        interrupt = (os.getpid(), signal.SIGINT)
        thread = threading.Thread(target=_when_locked, args=(lock, os.kill, interrupt))
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            sh(processes, work, "exec 9<>lock; flock 9; (setsid sleep 60 &); sleep 60")
        thread.join()
        assert not is_locked(lock)


def _when_locked(lock: Path, act: Callable[..., object], args: tuple[object, ...]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not is_locked(lock) and time.monotonic() < deadline:
        threading.Event().wait(0.02)
    act(*args)


class TestView:
    def test_reads(self, fenced: Processes, work: Path, tmp_path: Path) -> None:
        """A readable path can be read and not written; its neighbour cannot be seen."""
        (tmp_path / "shown").mkdir()
        (tmp_path / "shown" / "file").write_text("text")
        (tmp_path / "hidden").write_text("secret")
        script = "cat ../shown/file; echo x > ../shown/file; cat ../hidden"
        result = sh(fenced, work, script, reads=(tmp_path / "shown",))
        assert result.stdout == b"text"
        assert (tmp_path / "shown" / "file").read_text() == "text"

    def test_readable_below_writable(self, fenced: Processes, work: Path) -> None:
        """Of nested paths the deepest decides: what is readable below a writable path is not writable."""
        (work / "kept").mkdir()
        (work / "kept" / "file").write_text("text")
        sh(fenced, work, "echo x > kept/file; echo x > kept/new", reads=(work / "kept",))
        assert [path.read_text() for path in (work / "kept").iterdir()] == ["text"]

    def test_writable_below_readable(self, fenced: Processes, work: Path, tmp_path: Path) -> None:
        """A writable path below a readable one is writable."""
        sh(fenced, work, "echo x > new; echo x > ../new", reads=(tmp_path,))
        assert (work / "new").exists()
        assert not (tmp_path / "new").exists()

    def test_binds(self, processes: Processes, work: Path, tmp_path: Path) -> None:
        """A bind shows a directory at another place, and leaves nothing behind there."""
        (tmp_path / "modules").mkdir()
        (tmp_path / "modules" / "a.js").write_text("code")
        bind = (tmp_path / "modules", work / "web" / "node_modules")
        result = sh(processes, work, "cat web/node_modules/a.js", binds=(bind,))
        assert result.stdout == b"code"
        assert list(work.iterdir()) == []

    def test_binds_are_read_only(self, fenced: Processes, work: Path, tmp_path: Path) -> None:
        """What a bind shows cannot be changed through it."""
        (tmp_path / "modules").mkdir()
        (tmp_path / "modules" / "a.js").write_text("code")
        sh(
            fenced,
            work,
            "echo x > m/a.js; echo x > m/b.js",
            binds=((tmp_path / "modules", work / "m"),),
        )
        assert [path.read_text() for path in (tmp_path / "modules").iterdir()] == ["code"]

    def test_bind_of_two_commands(self, processes: Processes, work: Path, tmp_path: Path) -> None:
        """A bind that two commands share lives until the longer one has ended."""
        (tmp_path / "modules").mkdir()
        (tmp_path / "modules" / "a.js").write_text("code")
        bind = (tmp_path / "modules", work / "m")
        command = Command(
            argv=("sh", "-c", "read line; cat m/a.js"),
            cwd=work,
            env=PATH,
            writes=(work,),
            binds=(bind,),
        )
        worker = processes.start(command)
        sh(processes, work, "cat m/a.js", binds=(bind,))
        worker.send(b"go")
        assert worker.receive(PATIENCE_S) is None
        assert worker.stop().stdout == b"code"
        assert list(work.iterdir()) == []

    def test_protected_names_leave_nothing(self, processes: Processes, work: Path) -> None:
        """The masks over `.git` and `.surefoot` are not to be seen after a command."""
        sh(processes, work, "ls -a")
        assert list(work.iterdir()) == []

    def test_mask_lasts_as_long_as_any_command(self, fenced: Processes, work: Path) -> None:
        """While one command still runs, the end of another does not open `.git` to it."""
        command = Command(
            argv=("sh", "-c", "read line; mkdir .git && echo x > .git/config"),
            cwd=work,
            env=PATH,
            writes=(work,),
        )
        worker = fenced.start(command)
        sh(fenced, work, "true")
        worker.send(b"go")
        worker.receive(PATIENCE_S)
        worker.stop()
        assert not (work / ".git" / "config").exists()

    def test_git_file_is_kept(self, fenced: Processes, work: Path) -> None:
        """The `.git` file of a linked worktree cannot be changed, removed or replaced."""
        (work / ".git").write_text("gitdir: /somewhere\n")
        (work / "code.py").write_text("old")
        script = "echo x >> .git; rm -f .git; mv .git away; ln -sf /evil .git; echo new > code.py"
        sh(fenced, work, script)
        assert (work / ".git").read_text() == "gitdir: /somewhere\n"
        assert (work / "code.py").read_text() == "new\n"

    @pytest.mark.parametrize("field", ["cwd", "reads", "writes", "binds"])
    def test_missing_path(self, processes: Processes, work: Path, field: str) -> None:
        """A path that does not exist is refused before anything runs, with its name."""
        gone = work / "gone"
        value = {"cwd": gone, "binds": ((gone, work / "x"),)}.get(field, (gone,))
        with pytest.raises(SandboxError, match="gone"):
            sh(processes, work, "true", **{field: value})

    def test_relative_path(self, processes: Processes, work: Path) -> None:
        """A relative path is refused, because nobody knows relative to what."""
        with pytest.raises(SandboxError, match="not an absolute path"):
            sh(processes, work, "true", reads=(Path("x"),))

    @pytest.mark.parametrize("path", ["/", "/usr", "/etc", "/proc"])
    def test_system_directories(self, processes: Processes, work: Path, path: str) -> None:
        """No command gets the system to write on."""
        with pytest.raises(SandboxError, match="may not be writable"):
            sh(processes, work, "true", writes=(work, Path(path)))

    def test_link_in_the_place_of_git(self, processes: Processes, work: Path) -> None:
        """A `.git` that is a symbolic link cannot be protected, so the command is refused."""
        (work / ".git").symlink_to("elsewhere")
        with pytest.raises(SandboxError, match="symbolic link"):
            sh(processes, work, "true")

    def test_start_directory_outside_the_view(
        self, processes: Processes, work: Path, tmp_path: Path
    ) -> None:
        """A start directory outside the view is refused, also through a link inside it."""
        (work / "out").symlink_to(tmp_path)
        for cwd in (tmp_path, work / "out", work / ".."):
            with pytest.raises(SandboxError, match="not inside what the command may see"):
                sh(processes, work, "true", cwd=cwd)


class TestWorker:
    ECHO = ("sh", "-c", "while read line; do echo got $line; done")

    def test_conversation(self, processes: Processes, work: Path) -> None:
        """A worker hears its first input, then lines, and answers each."""
        command = Command(argv=self.ECHO, cwd=work, env=PATH, stdin=b"first\n", writes=(work,))
        worker = processes.start(command)
        assert worker.receive(PATIENCE_S) == b"got first"
        for number in range(50):
            worker.send(str(number).encode())
            assert worker.receive(PATIENCE_S) == b"got %d" % number
        assert worker.receive(0.01) is None
        assert worker.stop().signal == signal.SIGKILL

    def test_stop_ends_the_tree(self, processes: Processes, work: Path) -> None:
        """Nothing of a worker's tree survives `stop`, and a second `stop` says the same."""
        (work / "lock").touch()
        script = "exec 9<>lock; flock 9; (setsid sleep 60 &); echo ready; sleep 60"
        command = Command(argv=("sh", "-c", script), cwd=work, env=PATH, writes=(work,))
        worker = processes.start(command)
        assert worker.receive(PATIENCE_S) == b"ready"
        assert is_locked(work / "lock")
        result = worker.stop()
        assert not is_locked(work / "lock")
        assert worker.stop() is result

    def test_end_of_a_worker(self, processes: Processes, work: Path) -> None:
        """A worker that ends by itself is heard to the end; sending to it then is harmless."""
        script = "echo one; echo two; echo why >&2; exit 5"
        command = Command(argv=("sh", "-c", script), cwd=work, env=PATH, writes=(work,))
        worker = processes.start(command)
        assert [worker.receive(PATIENCE_S) for _ in range(3)] == [b"one", b"two", None]
        worker.send(b"are you there")
        result = worker.stop()
        assert (result.exit_code, result.stderr) == (5, b"why\n")

    def test_life_is_bounded(self, processes: Processes, work: Path) -> None:
        """A worker that nobody asks anything is ended when its time is up."""
        command = Command(
            argv=self.ECHO, cwd=work, env=PATH, writes=(work,), limits=Limits(wall_s=0.3)
        )
        worker = processes.start(command)
        assert worker.receive(PATIENCE_S) is None
        assert worker.stop().timed_out

    def test_flood(self, processes: Processes, work: Path) -> None:
        """Of lines that nobody takes only so many are kept, each as a whole and without holes."""
        command = Command(
            argv=("sh", "-c", "seq 1 50000; echo >&2 end"),
            cwd=work,
            env=PATH,
            writes=(work,),
            limits=Limits(output_bytes=1000),
        )
        worker = processes.start(command)
        lines = list(iter(lambda: worker.receive(PATIENCE_S), None))
        assert lines == [b"%d" % n for n in range(1, len(lines) + 1)]
        assert worker.stop().truncated

    def test_worker_outlives_its_thread(self, processes: Processes, work: Path) -> None:
        """A worker goes on when the thread that started it has ended."""
        command = Command(argv=self.ECHO, cwd=work, env=PATH, writes=(work,))
        with ThreadPoolExecutor(1) as pool:
            worker = pool.submit(processes.start, command).result()
        worker.send(b"x")
        assert worker.receive(PATIENCE_S) == b"got x"
        worker.stop()


PARENT = """
import sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from test_processes import PATH, open_backend
from surefoot.values import Command
work = Path({work!r})
processes = open_backend({backend!r}, Path({scratch!r}))
script = "exec 9<>lock; flock 9; (setsid sh -c 'setsid sleep 60 &'); sleep 60"
processes.run(Command(argv=("sh", "-c", script), cwd=work, env=PATH, writes=(work,)))
"""


@pytest.mark.parametrize(
    ("backend", "number"),
    [
        *((backend, signal.SIGKILL) for backend in BACKENDS),
        ("bubblewrap", signal.SIGTERM),
        ("bubblewrap", signal.SIGINT),
    ],
)
def test_nothing_survives_surefoot(
    opened: Callable[[str], Processes],
    backend: str,
    number: signal.Signals,
    work: Path,
    tmp_path: Path,
) -> None:
    """When Surefoot itself is killed, the processes of its commands end too, and its scratch directory goes."""
    opened(backend)
    (work / "lock").touch()
    own = tmp_path / "own"
    text = PARENT.format(
        tests=str(Path(__file__).parent), work=str(work), backend=backend, scratch=str(own)
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", text], stderr=subprocess.DEVNULL, start_new_session=True
    )
    _when_locked(work / "lock", parent.send_signal, (number,))
    parent.wait()
    deadline = time.monotonic() + PATIENCE_S
    while (is_locked(work / "lock") or any(own.iterdir())) and time.monotonic() < deadline:
        threading.Event().wait(0.02)
    assert not is_locked(work / "lock")
    assert list(own.iterdir()) == []
    assert [path.name for path in work.iterdir()] == ["lock"]


@pytest.mark.parametrize("backend", BACKENDS)
def test_close_ends_what_runs(
    opened: Callable[[str], Processes], backend: str, work: Path, tmp_path: Path
) -> None:
    """Closing ends workers that nobody stopped, and their `stop` says so."""
    opened(backend)
    (work / "lock").touch()
    processes = open_backend(backend, tmp_path / "own")
    # `exec`: a shell that is about to fork when the end comes would say that it cannot, and end by itself.
    script = "exec 9<>lock; flock 9; echo ready; exec sleep 60"
    worker = processes.start(Command(argv=("sh", "-c", script), cwd=work, env=PATH, writes=(work,)))
    assert worker.receive(PATIENCE_S) == b"ready"
    processes.close()  # type: ignore[attr-defined]
    assert not is_locked(work / "lock")
    assert list((tmp_path / "own").iterdir()) == []
    assert worker.stop().signal == signal.SIGKILL
    with pytest.raises(SandboxError, match="sandbox was closed"):
        sh(processes, work, "true")


def test_conformance(fenced: Processes, scratch: Path) -> None:
    """Every class of escape is refused."""
    results = conformance(fenced, scratch)
    assert [result for result in results if not result.refused] == []
    assert len({result.escape_class for result in results}) >= 25
    assert not list(scratch.glob("conformance-*"))


def test_quick_conformance(fenced: Processes, scratch: Path) -> None:
    """The quick suite tries the most telling attempts, and all are refused."""
    results = quick_conformance(fenced, scratch)
    assert len(results) > 15
    assert [result for result in results if not result.refused] == []


def test_conformance_notices_a_missing_fence(
    opened: Callable[[str], Processes], scratch: Path
) -> None:
    """Without a fence the quick suite says so."""
    escaped = [each for each in quick_conformance(opened("none"), scratch) if not each.refused]
    assert len(escaped) > 10


class Unfenced:
    """Runs a command as any program would: with a terminal, the environment, an open file, and no limit."""

    level = SandboxLevel.NONE

    def __init__(self, home: Path) -> None:
        self._home = home
        (home / "open").touch()
        self._inherited = os.open(home / "open", os.O_RDONLY)

    def run(self, command: Command) -> ProcessResult:
        take_terminal = (
            "import fcntl, os, sys, termios; os.setsid(); "
            "fcntl.ioctl(os.open(sys.argv[1], os.O_RDWR), termios.TIOCSCTTY, 0); "
            "os.execv(sys.argv[2], sys.argv[2:])"
        )
        terminals = os.openpty()
        started = time.monotonic()
        process = subprocess.Popen(
            [sys.executable, "-c", take_terminal, os.ttyname(terminals[1]), *command.argv],
            cwd=command.cwd,
            env={**command.env, "HOME": str(self._home), "TMPDIR": str(self._home), "TOKEN": "x"},
            pass_fds=(self._inherited,),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        stdout, stderr = process.communicate(command.stdin)
        for fd in terminals:
            os.close(fd)
        return ProcessResult(
            exit_code=process.returncode,
            signal=None,
            stdout=stdout,
            stderr=stderr,
            wall_s=time.monotonic() - started,
        )

    def start(self, command: Command) -> RunningProcess:
        raise NotImplementedError

    def close(self) -> None:
        os.close(self._inherited)


MACHINE_MAY_REFUSE = frozenset({
    "trace_process", "steal_descriptor",  # Yama
    "open_vsock", "open_packet", "device_node", "mount_proc",  # need root or a module
    "hold_capabilities",  # root has them
    "make_user_namespace", "clone_user_namespace",  # AppArmor, sysctl
    "use_keyring", "use_io_uring", "use_bpf", "use_userfaultfd", "foreign_abi",  # the kernel's configuration
    "file_by_handle", "list_home", "controlling_terminal", "gain_privileges",  # the container
})  # fmt: skip


def test_attempts_succeed_without_a_fence(tmp_path: Path) -> None:
    """Each attempt of the suite succeeds where nothing stands in its way, so a refusal means something."""
    unfenced = Unfenced(tmp_path)
    with kill_strays(tmp_path):
        results = conformance(unfenced, tmp_path)
    unfenced.close()
    failed = {each.name: each.detail for each in results if each.refused}
    assert [each for each in results if "shows nothing" in each.detail] == []
    assert {name: why for name, why in failed.items() if name not in MACHINE_MAY_REFUSE} == {}


@contextmanager
def kill_strays(directory: Path) -> Iterator[None]:
    """End the processes that the attempts leave behind, which all have the directory in their environment."""
    yield
    mark = f"HOME={directory}".encode()
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if mark in path.read_bytes().split(b"\0"):
                os.kill(int(path.parent.name), signal.SIGKILL)


def test_no_fence_is_refused_unless_allowed(tmp_path: Path) -> None:
    """The level without a fence is only to be had when the user said so."""
    with pytest.raises(SandboxError, match="--unsandboxed"):
        open_processes(SandboxLevel.NONE, scratch=tmp_path)
