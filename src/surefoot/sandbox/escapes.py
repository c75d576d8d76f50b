"""What a hostile program tries, one function an attempt.

It runs inside the fence as the text of `python -c`, so it is one file and imports the standard library only. Arguments:
names of attempts. Standard input: the facts, as JSON. It prints `ready`, then one JSON object an attempt: whether it
succeeded, and how it went. An attempt returns what it achieved, or raises.
"""
# ruff: noqa: ARG001, D103, T201  # attempts have one shape; what they return says what they are; printing is their voice

import contextlib
import ctypes
import errno
import fcntl
import json
import mmap
import os
import platform
import pwd
import resource
import select
import socket
import stat
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypedDict

LIBC: Final = ctypes.CDLL(None, use_errno=True)
IS_X86: Final = platform.machine() == "x86_64"
PATIENCE_S: Final = 2.0
BOMB: Final = 60
LARGE: Final = 8 * 1024**2


class Facts(TypedDict):
    """What is where. All of it is outside the fence but `work`, `bare`, `lock` and `reads`."""

    outside: str
    """A directory that the command may not even see; holds `secret`, `target`, `sock`."""
    work: str
    """Writable; holds `.git`, and a repository in `sub`."""
    bare: str
    """Writable; holds nothing."""
    lock: str
    """A file in `work`."""
    reads: str
    """Readable; holds `file`, and a socket `sock` that somebody outside listens on."""
    victim: int
    """A process of the same user."""
    tcp: int
    udp: int
    """Ports of 127.0.0.1 that answer."""
    abstract: str
    """Abstract names of a stream and, with `-dgram` appended, a datagram socket that answer."""
    memory_key: int
    """System V shared memory."""
    environment: list[str]
    """Names of variables that the command was given."""


class RefusedError(Exception):
    """The fence held, in a way that is no OSError."""


def call(number_x86: int, number_arm: int, *arguments: object) -> int:
    """A raw system call; raises OSError when it fails."""
    answer = int(LIBC.syscall(number_x86 if IS_X86 else number_arm, *arguments))
    if answer < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return answer


def _temporary(name: str) -> Path:
    """A path that every fence lets a command make."""
    return Path(os.environ["TMPDIR"], name)


def reaches_kernel(number_x86: int, number_arm: int, *arguments: object) -> str:
    """Make a call that is wrong in itself: a filter says EPERM or ENOSYS, the kernel's own code says something else."""
    try:
        call(number_x86, number_arm, *arguments)
    except OSError as error:
        if error.errno in {errno.EPERM, errno.ENOSYS}:
            raise
        return f"the kernel looked at it: {error.strerror}"
    return "the kernel did it"


# --- files ---------------------------------------------------------------------------------------


def write_outside(facts: Facts) -> str:
    Path(facts["outside"], "target").write_text("changed")
    return "wrote a file outside"


def write_readable(facts: Facts) -> str:
    Path(facts["reads"], "file").write_text("changed")
    return "wrote a file that is there to be read"


def change_mode_outside(facts: Facts) -> str:
    Path(facts["outside"], "target").chmod(0o700)
    return "changed the mode of a file outside"


def change_times_of_readable(facts: Facts) -> str:
    os.utime(Path(facts["reads"], "file"), (1, 1))
    return "changed the times of a file that is there to be read"


def read_secret(facts: Facts) -> str:
    return "read " + Path(facts["outside"], "secret").read_text()


def list_home(facts: Facts) -> str:
    home = Path(pwd.getpwuid(os.getuid()).pw_dir)
    secrets = [".ssh", ".gnupg", ".aws", ".netrc", ".config", ".bashrc", ".profile", ".cache"]
    seen = [name for name in secrets if os.access(home / name, os.R_OK)]
    found = [name for name in seen if _is_readable(home / name)]
    if not found:
        raise RefusedError("nothing of the home directory can be read")
    return f"can read {found} of the home directory"


def _is_readable(path: Path) -> bool:
    try:
        if path.is_dir():
            return any(path.iterdir()) or True
        with path.open("rb") as stream:
            stream.read(1)
    except OSError:
        return False
    return True


def follow_symlink(facts: Facts) -> str:
    link = _temporary("link")
    link.symlink_to(Path(facts["outside"], "secret"))
    return "read through a link " + link.read_text()


def write_through_symlink(facts: Facts) -> str:
    link = _temporary("link-to-target")
    link.symlink_to(Path(facts["outside"], "target"))
    link.write_text("changed")
    return "wrote through a link"


def hard_link(facts: Facts) -> str:
    link = _temporary("hard")
    os.link(Path(facts["reads"], "file"), link)
    link.write_text("changed")
    return "wrote through a second name of a readable file"


def rename_in(facts: Facts) -> str:
    Path(facts["reads"], "file").rename(_temporary("stolen"))
    return "moved a readable file into a writable directory"


def dot_dot(facts: Facts) -> str:
    name = Path(facts["outside"], "secret").name
    return "read " + Path(facts["work"], "..", "outside", name).read_text()


def proc_root(facts: Facts) -> str:
    path = Path(f"/proc/{facts['victim']}/root{facts['outside']}", "secret")
    return "read " + path.read_text()


def proc_environment(facts: Facts) -> str:
    environment = Path(f"/proc/{facts['victim']}/environ").read_bytes()
    return f"read {len(environment)} bytes of a process's environment"


def inherited_descriptor(facts: Facts) -> str:
    found = []
    for fd in range(3, 1024):
        with contextlib.suppress(OSError):
            os.fstat(fd)
            found.append(fd)
    if not found:
        raise RefusedError("only 0, 1 and 2 are open")
    return f"descriptors {found} are open"


def file_by_handle(facts: Facts) -> str:
    handle = ctypes.create_string_buffer(128)
    ctypes.memmove(handle, b"\x78\0\0\0", 4)
    mount = ctypes.c_int()
    path = facts["work"].encode()
    call(303, 264, -100, path, handle, ctypes.byref(mount), 0)
    return "got a file handle, which opens a file by number"


def device_node(facts: Facts) -> str:
    path = _temporary("zero")
    os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 5))
    with path.open("rb") as stream:
        stream.read(1)
    return "made a device and read from it"


# --- repositories --------------------------------------------------------------------------------


def write_git(facts: Facts) -> str:
    with Path(facts["work"], ".git", "config").open("a") as stream:
        stream.write("[core]\n\tfsmonitor = evil\n")
    return "wrote .git/config"


def move_git(facts: Facts) -> str:
    Path(facts["work"], ".git").rename(Path(facts["work"], "moved"))
    return "moved .git away"


def make_git(facts: Facts) -> str:
    hooks = Path(facts["bare"], ".git", "hooks")
    hooks.mkdir(parents=True)
    (hooks / "post-checkout").write_text("#!/bin/sh\n")
    return "made a repository with a hook"


def make_git_file(facts: Facts) -> str:
    Path(facts["bare"], ".git").write_text("gitdir: /evil\n")
    return "made a .git file"


def make_settings(facts: Facts) -> str:
    Path(facts["bare"], ".surefoot").mkdir()
    Path(facts["bare"], ".surefoot", "events.jsonl").write_text("{}")
    return "made a .surefoot directory"


def write_nested_hook(facts: Facts) -> str:
    Path(facts["work"], "sub", ".git", "hooks", "post-commit").write_text("#!/bin/sh\n")
    return "wrote a hook of a repository further down"


def replace_nested(facts: Facts) -> str:
    sub = Path(facts["work"], "sub")
    sub.rename(sub.with_name("aside"))
    (sub / ".git" / "hooks").mkdir(parents=True)
    (sub / ".git" / "hooks" / "post-commit").write_text("#!/bin/sh\n")
    return "put another repository in the place of one further down"


# --- processes -----------------------------------------------------------------------------------


def trace_process(facts: Facts) -> str:
    call(101, 117, 0x4206, facts["victim"], 0, 0)  # PTRACE_SEIZE
    return "traces a process outside"


def read_memory(facts: Facts) -> str:
    reaches = reaches_kernel(310, 270, facts["victim"], None, 0, None, 0, 0)
    return f"process_vm_readv: {reaches}"


def signal_process(facts: Facts) -> str:
    os.kill(facts["victim"], 0)
    return "may signal a process outside"


def limit_process(facts: Facts) -> str:
    before = resource.prlimit(facts["victim"], resource.RLIMIT_CORE)
    resource.prlimit(facts["victim"], resource.RLIMIT_CORE, before)
    return "set a limit of a process outside"


def steal_descriptor(facts: Facts) -> str:
    pidfd = os.pidfd_open(facts["victim"])
    call(438, 438, pidfd, 0, 0)
    return "took a descriptor of a process outside"


def _close_standard() -> None:
    for fd in (0, 1, 2):
        os.close(fd)


def surviving_daemon(facts: Facts) -> str:
    told, tell = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.setsid()
            lock = os.open(facts["lock"], os.O_RDWR)
            fcntl.flock(lock, fcntl.LOCK_EX)
            os.write(lock, str(os.getpid()).encode())
            os.write(tell, b"x")
            _close_standard()
            time.sleep(30)
        os._exit(0)
    os.close(tell)
    if not os.read(told, 1):
        raise RefusedError("the daemon did not start")
    return "left a daemon behind"


def fork_bomb(facts: Facts) -> str:
    count = 0
    try:
        while count < BOMB:
            if os.fork() == 0:
                _close_standard()
                time.sleep(10)
                os._exit(0)
            count += 1
    except BlockingIOError:
        raise RefusedError(f"stopped after {count} processes") from None
    time.sleep(PATIENCE_S)
    return f"{count} processes live"


# --- limits --------------------------------------------------------------------------------------


def much_memory(facts: Facts) -> str:
    try:
        block = bytearray(512 * 1024**2)
    except MemoryError:
        raise RefusedError("no memory beyond the limit") from None
    return f"took {len(block)} bytes"


def large_file(facts: Facts) -> str:
    with _temporary("large").open("wb") as stream:
        stream.write(bytes(LARGE))
    return "wrote 8 MiB"


def burn_cpu(facts: Facts) -> str:
    while time.process_time() < PATIENCE_S + 1:
        pass
    return "used seconds of processor time"


def flood_output(facts: Facts) -> str:
    sys.stdout.write("x" * LARGE + "\n")
    return "wrote 8 MiB of output"


def outstay(facts: Facts) -> str:
    time.sleep(PATIENCE_S)
    return "ran as long as it liked"


# --- network -------------------------------------------------------------------------------------


def connect_tcp(facts: Facts) -> str:
    with socket.create_connection(("127.0.0.1", facts["tcp"]), PATIENCE_S):
        return "reached a server outside"


def _ask(facts: Facts, query: bytes) -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as talk:
        talk.connect(("127.0.0.1", facts["udp"]))  # so that a missing listener is an error at once
        talk.send(query)
        if not select.select([talk], [], [], PATIENCE_S)[0]:
            raise RefusedError("no answer")
        return f"got {len(talk.recv(512))} bytes back"


def send_udp(facts: Facts) -> str:
    return _ask(facts, b"hello")


def ask_dns(facts: Facts) -> str:
    query = b"\x12\x34\x01\0\0\x01\0\0\0\0\0\0\x07example\x03com\0\0\x01\0\x01"
    return _ask(facts, query)


def connect_abstract(facts: Facts) -> str:
    with socket.socket(socket.AF_UNIX) as talk:
        talk.connect("\0" + facts["abstract"])
        return "reached an abstract socket outside"


def _connect_in(directory: str) -> None:
    os.chdir(directory)  # the whole path may be longer than an address can be
    with socket.socket(socket.AF_UNIX) as talk:
        talk.connect("sock")


def connect_path(facts: Facts) -> str:
    _connect_in(facts["outside"])
    return "reached a socket outside"


def connect_readable_path(facts: Facts) -> str:
    _connect_in(facts["reads"])
    return "reached a socket in a readable directory"


def redirect_pair(facts: Facts) -> str:
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with here, there:
        here.connect("\0" + facts["abstract"] + "-dgram")
        here.send(b"hello")
        return "turned a socket pair towards a socket outside"


def open_vsock(facts: Facts) -> str:
    socket.socket(40, socket.SOCK_STREAM).close()
    return "made a socket to the host of this virtual machine"


def open_packet(facts: Facts) -> str:
    socket.socket(17, socket.SOCK_RAW).close()
    return "made a raw packet socket"


# --- the kernel ----------------------------------------------------------------------------------


def push_terminal_input(facts: Facts) -> str:
    try:
        fcntl.ioctl(0, 0x5412, b"x")
    except OSError as error:
        if error.errno == errno.EPERM:
            raise
        return f"the kernel looked at it: {error.strerror}"
    return "pushed a character"


def controlling_terminal(facts: Facts) -> str:
    os.close(os.open("/dev/tty", os.O_RDWR))
    return "has a controlling terminal"


def make_user_namespace(facts: Facts) -> str:
    pid = os.fork()
    if pid == 0:
        os._exit(0 if LIBC.unshare(0x10000000) == 0 else 1)
    if os.waitpid(pid, 0)[1]:
        raise RefusedError("unshare says no")
    return "made a user namespace"


def clone_user_namespace(facts: Facts) -> str:
    pid = int(LIBC.syscall(56 if IS_X86 else 220, 0x10000000 | 17, 0, 0, 0, 0))
    if pid == 0:
        os._exit(0)
    if pid < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    os.waitpid(pid, 0)
    return "cloned into a user namespace"


def clone3_user_namespace(facts: Facts) -> str:
    return "clone3: " + reaches_kernel(435, 435, None, 0)


def mount_proc(facts: Facts) -> str:
    path = facts["bare"].encode()
    if LIBC.mount(b"proc", path, b"proc", 0, None) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    LIBC.umount2(path, 2)
    return "mounted /proc"


def use_io_uring(facts: Facts) -> str:
    return "io_uring: " + reaches_kernel(425, 425, 1, None)


def use_keyring(facts: Facts) -> str:
    return f"session keyring {call(250, 219, 0, -3, 1)}"


def use_bpf(facts: Facts) -> str:
    return "bpf: " + reaches_kernel(321, 280, 0, None, 0)


def use_userfaultfd(facts: Facts) -> str:
    return "userfaultfd: " + reaches_kernel(323, 282, 0xFFFF)


def executable_personality(facts: Facts) -> str:
    if LIBC.personality(0x0400000) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return "made all readable memory executable"


def gain_privileges(facts: Facts) -> str:
    if LIBC.prctl(39, 0, 0, 0, 0) == 1:
        raise RefusedError("no_new_privs is set")
    return "set-user-id programs work"


def hold_capabilities(facts: Facts) -> str:
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    sets = (ctypes.c_uint32 * 6)()
    LIBC.capget(header, sets)
    if not any(sets):
        raise RefusedError("no capability in any set")
    return f"has capabilities {list(sets)}"


def foreign_abi(facts: Facts) -> str:
    if not IS_X86:
        raise RefusedError("there is no other ABI")
    with mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC) as page:
        page.write(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3")  # getpid as a 32-bit program calls it
        address = ctypes.c_char.from_buffer(page)
        pid = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(address))()
        del address
    if pid != os.getpid():
        raise RefusedError(f"32-bit calls answer {pid}")
    return "32-bit calls pass the filter"


def share_memory(facts: Facts) -> str:
    if LIBC.shmget(facts["memory_key"], 0, 0) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return "found shared memory of a process outside"


# --- environment ---------------------------------------------------------------------------------


def environment_secrets(facts: Facts) -> str:
    shell = {"PWD", "OLDPWD", "SHLVL", "_", "LC_CTYPE", "HOME", "TMPDIR"}
    found = sorted(set(os.environ) - shell - set(facts["environment"]))
    if not found:
        raise RefusedError("only what the command was given")
    return f"found {found}"


def plant_in_home(facts: Facts) -> str:
    home = Path(os.environ["HOME"])
    planted = [home / name for name in (".bashrc", ".profile", ".pythonrc.py", ".gitconfig")]
    if any(path.exists() for path in planted):
        return "found what an earlier command had planted"
    for path in planted:
        path.write_text("echo evil\n")
    raise RefusedError("the home directory was empty")


def attempt(name: str, facts: Facts) -> dict[str, object]:
    """Try one, by name."""
    function: Callable[[Facts], str] = globals()[name]
    try:
        return {"name": name, "did": True, "detail": function(facts)}
    except (OSError, RefusedError) as error:
        return {"name": name, "did": False, "detail": str(error)}


if __name__ == "__main__":
    _facts: Facts = json.loads(sys.stdin.read())
    print("ready", flush=True)
    for _name in sys.argv[1:]:
        print("\n" + json.dumps(attempt(_name, _facts)), flush=True)
