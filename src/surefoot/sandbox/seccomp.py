"""The system-call filter, as classic BPF for x86_64 and aarch64.

The kernel runs the program on every system call of the sandboxed tree, and its answer cannot be taken back. A foreign
architecture (32-bit calls on a 64-bit kernel) ends the process; the x32 numbers and calls newer than this table answer
ENOSYS; what is listed answers EPERM. `clone3` answers ENOSYS, because its flags lie behind a pointer that a filter
cannot follow and every libc then falls back to `clone`, whose flags it can see.
"""

import errno
import platform
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from surefoot.errors import SandboxError

Machine = Literal["x86_64", "aarch64"]

ALLOW: Final = 0x7FFF0000
KILL: Final = 0x80000000
ERRNO: Final = 0x00050000
EPERM: Final = ERRNO | errno.EPERM
ENOSYS: Final = ERRNO | errno.ENOSYS

_ARCH: Final[dict[Machine, int]] = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32: Final = 0x40000000
_NEWEST: Final = 469
"""`file_setattr`, Linux 6.17; what comes later is not looked at yet, so it does not exist inside."""

_LD: Final = 0x20  # load a word of struct seccomp_data
_JEQ: Final = 0x15
_JGT: Final = 0x25
_JSET: Final = 0x45
_AND: Final = 0x54
_RET: Final = 0x06
_NR_AT, _ARCH_AT, _ARGS_AT = 0, 4, 16

# name: (number on x86_64, number on aarch64); None where the architecture has no such call.
_ALWAYS: Final[dict[str, tuple[int | None, int | None]]] = {
    # looking into and steering other processes
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "process_mrelease": (448, 448),
    "kcmp": (312, 272),
    "pidfd_getfd": (438, 438),
    "perf_event_open": (298, 241),
    # the view of the file system
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "move_mount": (429, 429),
    "open_tree": (428, 428),
    "open_tree_attr": (467, 467),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "fanotify_init": (300, 262),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    # namespaces
    "unshare": (272, 97),
    "setns": (308, 268),
    # large and often broken parts of the kernel that tests do not need
    "bpf": (321, 280),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "userfaultfd": (323, 282),
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "request_key": (249, 218),
    # the machine
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "reboot": (169, 142),
    "acct": (163, 89),
    "syslog": (103, 116),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "vhangup": (153, 58),
    "lookup_dcookie": (212, 18),
    "nfsservctl": (180, 42),
    "iopl": (172, None),
    "ioperm": (173, None),
    "modify_ldt": (154, None),
    "uselib": (134, None),
}
# Landlock mediates neither of these, and without namespaces they reach what lies outside.
_WITHOUT_NAMESPACES: Final[dict[str, tuple[int | None, int | None]]] = {
    # mode, owner, times and attributes of any file that the user owns
    "chmod": (90, None),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "chown": (92, None),
    "fchown": (93, 55),
    "lchown": (94, None),
    "fchownat": (260, 54),
    "utime": (132, None),
    "utimes": (235, None),
    "futimesat": (261, None),
    "utimensat": (280, 88),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    "setxattrat": (463, 463),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "fremovexattr": (199, 16),
    "removexattrat": (466, 466),
    "file_setattr": (469, 469),
    # memory, semaphores and queues shared by all processes of the user
    "shmget": (29, 194),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "semget": (64, 190),
    "semop": (65, 193),
    "semctl": (66, 191),
    "semtimedop": (220, 192),
    "msgget": (68, 186),
    "msgsnd": (69, 189),
    "msgrcv": (70, 188),
    "msgctl": (71, 187),
    "mq_open": (240, 180),
    "mq_unlink": (241, 181),
    # every kind of socket; `socketpair` below stays
    "socket": (41, 198),
    "ioprio_set": (251, 30),
    "migrate_pages": (256, 238),
    "move_pages": (279, 239),
}

_CLONE: Final = (56, 220)
_CLONE3: Final = (435, 435)
_IOCTL: Final = (16, 29)
_PERSONALITY: Final = (135, 92)
_SOCKET: Final = (41, 198)
_SOCKETPAIR: Final = (53, 199)
_SETPRIORITY: Final = (141, 140)
_NAMING_A_PROCESS: Final = {
    # calls that change the process named by their first argument; 0 is the caller
    "prlimit64": (302, 261),
    "sched_setaffinity": (203, 122),
    "sched_setscheduler": (144, 119),
    "sched_setparam": (142, 118),
    "sched_setattr": (314, 274),
}
_NEW_NAMESPACES: Final = 0x7E020000
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_SET_FLAGS, _SET_XATTR_FLAGS = 0x40086602, 0x401C5820
_PERSONALITIES: Final = (0x0, 0x8, 0xFFFFFFFF)
"""Linux, 32-bit Linux, and the question which one it is."""
_FAMILIES: Final = (1, 2, 10, 16)
"""UNIX, INET, INET6, NETLINK: what a network namespace of one's own encloses. Not VSOCK, which it does not."""
_UNIX, _STREAM, _SEQPACKET = 1, 1, 5
_TYPE_MASK: Final = 0xF
"""A socket's type carries flags (CLOEXEC, NONBLOCK) above these bits."""


@dataclass(frozen=True, slots=True)
class _Test:
    """One comparison of the low 32 bits of an argument. The kernel itself ignores the high ones where these are used."""

    argument: int
    kind: Literal["is", "is-not", "has"]
    values: tuple[int, ...]
    mask: int = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class _Rule:
    """Refuse a call with `answer` when any of the tests holds; without tests, always."""

    number: int
    answer: int = EPERM
    tests: tuple[_Test, ...] = ()


def machine() -> Machine:
    """The architecture of this machine.

    Raises:
        SandboxError: There is no table for it.
    """
    match platform.machine():
        case "x86_64":
            return "x86_64"
        case "aarch64" | "arm64":
            return "aarch64"
        case other:
            raise SandboxError(
                f"no system-call filter for the architecture {other!r}; Surefoot's sandbox knows x86_64 and aarch64"
            )


def program(arch: Machine, *, namespaces: bool) -> bytes:
    """The filter as an array of `struct sock_filter`.

    `namespaces` says whether the tree also has network, process and IPC namespaces of its own; without them sockets,
    file metadata, SysV IPC and calls that name another process are refused as well.
    """
    code = [
        _ins(_LD, 0, 0, _ARCH_AT),
        _ins(_JEQ, 1, 0, _ARCH[arch]),
        _ins(_RET, 0, 0, KILL),
        _ins(_LD, 0, 0, _NR_AT),
        # also catches x32, whose numbers have bit 30 set
        _ins(_JGT, 0, 1, _NEWEST),
        _ins(_RET, 0, 0, ENOSYS),
    ]
    for rule in _rules(arch, namespaces=namespaces):
        body = _body(rule)
        code += [_ins(_JEQ, 0, len(body), rule.number), *body]
    code.append(_ins(_RET, 0, 0, ALLOW))
    return b"".join(code)


def _rules(arch: Machine, *, namespaces: bool) -> Iterable[_Rule]:
    column = 0 if arch == "x86_64" else 1
    refused = dict(_ALWAYS) if namespaces else _ALWAYS | _WITHOUT_NAMESPACES
    for numbers in refused.values():
        number = numbers[column]
        if number is not None:
            yield _Rule(number)
    yield _Rule(_CLONE3[column], ENOSYS)
    yield _Rule(_CLONE[column], tests=(_Test(0, "has", (_NEW_NAMESPACES,)),))
    yield _Rule(_PERSONALITY[column], tests=(_Test(0, "is-not", _PERSONALITIES),))
    if namespaces:
        yield _Rule(_IOCTL[column], tests=(_Test(1, "is", (_TIOCSTI, _TIOCLINUX)),))
        yield _Rule(_SOCKET[column], tests=(_Test(0, "is-not", _FAMILIES),))
        return
    steering = (_TIOCSTI, _TIOCLINUX, _SET_FLAGS, _SET_XATTR_FLAGS)
    yield _Rule(_IOCTL[column], tests=(_Test(1, "is", steering),))
    # A datagram pair can be connected anew, to any address; the other two kinds cannot.
    kinds = _Test(1, "is-not", (_STREAM, _SEQPACKET), _TYPE_MASK)
    pair = (_Test(0, "is-not", (_UNIX,)), kinds)
    yield _Rule(_SOCKETPAIR[column], tests=pair)
    for numbers in _NAMING_A_PROCESS.values():
        yield _Rule(numbers[column], tests=(_Test(0, "is-not", (0,)),))
    own = (_Test(0, "is-not", (0,)), _Test(1, "is-not", (0,)))
    yield _Rule(_SETPRIORITY[column], tests=own)


def _body(rule: _Rule) -> Sequence[bytes]:
    if not rule.tests:
        return [_ins(_RET, 0, 0, rule.answer)]
    code: list[bytes] = []
    for test in rule.tests:
        code += _test(test, rule.answer)
    return [*code, _ins(_RET, 0, 0, ALLOW)]


def _test(test: _Test, answer: int) -> Sequence[bytes]:
    """Return `answer` when the test holds, else fall through."""
    code = [
        _ins(_LD, 0, 0, _ARGS_AT + 8 * test.argument),
        _ins(_AND, 0, 0, test.mask),
    ]
    if test.kind == "is-not":
        left = len(test.values)
        for value in test.values:
            code.append(_ins(_JEQ, left, 0, value))  # over the other comparisons and the RET
            left -= 1
        return [*code, _ins(_RET, 0, 0, answer)]
    jump = _JSET if test.kind == "has" else _JEQ
    for value in test.values:
        code += [_ins(jump, 0, 1, value), _ins(_RET, 0, 0, answer)]
    return code


def _ins(code: int, when_true: int, when_false: int, operand: int) -> bytes:
    return struct.pack("=HBBI", code, when_true, when_false, operand)
