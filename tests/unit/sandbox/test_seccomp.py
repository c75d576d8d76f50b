"""The system-call filter, run by a small interpreter of classic BPF, so that both architectures can be looked at."""

import errno
import re
import struct
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefoot.sandbox import seccomp
from surefoot.sandbox.seccomp import ALLOW, ENOSYS, EPERM, KILL, Machine, program

MACHINES: Final[tuple[Machine, ...]] = ("x86_64", "aarch64")
ARCH: Final[dict[Machine, int]] = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
CALLS: Final = {
    # name: number on x86_64, on aarch64
    "read": (0, 63), "write": (1, 64), "openat": (257, 56), "execve": (59, 221), "futex": (202, 98),
    "clone": (56, 220), "clone3": (435, 435), "ioctl": (16, 29), "socket": (41, 198), "socketpair": (53, 199),
    "ptrace": (101, 117), "mount": (165, 40), "unshare": (272, 97), "personality": (135, 92), "chmod": (90, 53),
    "prlimit64": (302, 261), "setpriority": (141, 140), "shmget": (29, 194), "wait4": (61, 260),
}  # fmt: skip


def run(code: bytes, arch: int, number: int, *arguments: int) -> int:
    """What the kernel would answer: the value of the RET that the program reaches."""
    arguments = (*arguments, 0, 0, 0, 0, 0, 0)[:6]
    data = struct.pack("=iIQ6Q", number, arch, 0, *arguments) if number < 2**31 else b""
    data = data or struct.pack("=IIQ6Q", number, arch, 0, *arguments)
    steps = [struct.unpack_from("=HBBI", code, at) for at in range(0, len(code), 8)]
    at, word = 0, 0
    while True:
        kind, when_true, when_false, operand = steps[at]
        at += 1
        match kind:
            case 0x20:
                (word,) = struct.unpack_from("=I", data, operand)
            case 0x54:
                word &= operand
            case 0x06:
                return int(operand)
            case 0x15:
                at += when_true if word == operand else when_false
            case 0x25:
                at += when_true if word > operand else when_false
            case 0x45:
                at += when_true if word & operand else when_false
            case _:
                raise AssertionError(f"unknown instruction {kind:#x}")


@pytest.fixture(params=[(m, n) for m in MACHINES for n in (True, False)])
def answer(request: pytest.FixtureRequest) -> "Answer":
    return Answer(*request.param)


class Answer:
    """Asks one filter by name."""

    def __init__(self, machine: Machine, namespaces: bool) -> None:  # noqa: FBT001
        self.machine, self.namespaces = machine, namespaces
        self.code = program(machine, namespaces=namespaces)

    def __call__(self, name: str, *arguments: int) -> int:
        number = CALLS[name][MACHINES.index(self.machine)]
        return run(self.code, ARCH[self.machine], number, *arguments)


def test_what_programs_need_is_allowed(answer: Answer) -> None:
    """Reading, writing, starting and waiting for programs, and threads are allowed."""
    for name in ("read", "write", "openat", "execve", "futex", "wait4"):
        assert answer(name) == ALLOW
    assert answer("clone", 0x3D0F00) == ALLOW
    assert answer("clone", 17) == ALLOW
    assert answer("ioctl", 0, 0x5401) == ALLOW
    assert answer("prlimit64", 0, 7) == ALLOW


def test_what_nobody_needs_is_refused(answer: Answer) -> None:
    """Tracing, mounting and new namespaces are refused, however the flags are dressed."""
    for name in ("ptrace", "mount", "unshare"):
        assert answer(name) == EPERM
    for flag in (17, 25, 26, 27, 28, 29, 30):
        assert answer("clone", 1 << flag | 17) == EPERM
    assert answer("clone3") == ENOSYS


def test_terminal_input_is_refused_with_high_bits_set(answer: Answer) -> None:
    """The kernel looks at 32 bits of the request, and so does the filter."""
    assert answer("ioctl", 0, 0x5412) == EPERM
    assert answer("ioctl", 0, 0x5412 | 1 << 32) == EPERM
    assert answer("ioctl", 0, 0x541C) == EPERM


def test_personality(answer: Answer) -> None:
    """Asking and staying is allowed, executable memory is not."""
    for allowed in (0, 8, 0xFFFFFFFF):
        assert answer("personality", allowed) == ALLOW
    for refused in (0x0400000, 0x0040000, 1):
        assert answer("personality", refused) == EPERM


def test_sockets(answer: Answer) -> None:
    """With a network of one's own the ordinary families are allowed; without it no socket is."""
    for family in (1, 2, 10, 16):
        assert answer("socket", family) == (ALLOW if answer.namespaces else EPERM)
    for family in (17, 31, 38, 40):
        assert answer("socket", family) == EPERM


def test_socket_pairs(answer: Answer) -> None:
    """Without a network of one's own only pairs that cannot be connected anew are allowed."""
    flags = 0o2000000 | 0o4000
    assert answer("socketpair", 1, 1 | flags) == ALLOW
    assert answer("socketpair", 1, 5) == ALLOW
    expected = ALLOW if answer.namespaces else EPERM
    assert answer("socketpair", 1, 2 | flags) == expected
    assert answer("socketpair", 1, 3) == expected
    assert answer("socketpair", 2, 1) == expected


def test_what_reaches_outside_without_namespaces(answer: Answer) -> None:
    """File modes, shared memory and other processes' limits are refused where nothing else encloses them."""
    expected = ALLOW if answer.namespaces else EPERM
    assert answer("chmod") == expected
    assert answer("shmget") == expected
    assert answer("prlimit64", 4711, 7) == expected
    assert answer("setpriority", 1, 0) == expected
    assert answer("setpriority", 0, 4711) == expected
    assert answer("setpriority", 0, 0) == ALLOW


def test_other_architectures_end_the_process(answer: Answer) -> None:
    """A call of another architecture, 32-bit x86 among them, ends the process whatever its number."""
    for arch in (0x40000003, 0x40000028, 0xC00000F3):
        assert run(answer.code, arch, 20) == KILL


@given(number=st.integers(470, 2**32 - 1))
def test_unknown_calls_do_not_exist(number: int) -> None:
    """A call that the table does not know yet, x32 and negative numbers among them, answers ENOSYS."""
    for machine in MACHINES:
        code = program(machine, namespaces=True)
        assert run(code, ARCH[machine], number) == ENOSYS


@given(number=st.integers(0, 469), arguments=st.lists(st.integers(0, 2**64 - 1), max_size=6))
def test_every_call_is_decided(number: int, arguments: list[int]) -> None:
    """Whatever the call and its arguments, the filter ends with one of its answers, the narrow one refusing more."""
    for machine in MACHINES:
        wide = run(program(machine, namespaces=True), ARCH[machine], number, *arguments)
        narrow = run(program(machine, namespaces=False), ARCH[machine], number, *arguments)
        assert {wide, narrow} <= {ALLOW, EPERM, ENOSYS}
        assert narrow != ALLOW or wide == ALLOW


def test_answers_are_the_kernel_s() -> None:
    """The answers carry the error numbers that programs see."""
    assert (EPERM & 0xFFFF, ENOSYS & 0xFFFF) == (errno.EPERM, errno.ENOSYS)


HEADERS = {
    0: Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    1: Path("/usr/include/asm-generic/unistd.h"),
}


@pytest.mark.parametrize("column", [0, 1], ids=MACHINES)
def test_numbers_are_the_kernel_s(column: int) -> None:
    """Every number of the tables is what the kernel's own headers say, where they are installed and know the call."""
    if not HEADERS[column].exists():
        pytest.skip("the kernel's headers are not installed")
    pattern = r"#define __NR(?:3264)?_(\w+)\s+(\d+)"
    known = {name: int(n) for name, n in re.findall(pattern, HEADERS[column].read_text())}
    tables = {**seccomp._ALWAYS, **seccomp._WITHOUT_NAMESPACES, **seccomp._NAMING_A_PROCESS}
    wrong = {
        name: numbers[column]
        for name, numbers in tables.items()
        if name in known and numbers[column] is not None and known[name] != numbers[column]
    }
    assert wrong == {}
    assert len(set(tables) & set(known)) > 60
