"""A filter of system calls. Calls that a computing process does not need fail before the kernel reads their arguments.

The filter is a program for the kernel's packet filter (``linux/filter.h``). It lists the allowed calls and refuses all
others (io_uring, userfaultfd, ptrace, shared memory, sockets, keys, mounts, and calls of future kernels). Landlock and
namespaces restrict files and processes. This filter closes all other ways to reach them.
"""

from __future__ import annotations

import ctypes
import errno
import os
import signal
import struct
from collections.abc import Iterable, Sequence

from . import syscalls

LOAD, EQUAL, GREATER, AT_LEAST, BITS, AND, RETURN = 0x20, 0x15, 0x25, 0x35, 0x45, 0x54, 0x06
ALLOW, KILL, ERROR = 0x7FFF0000, 0x80000000, 0x00050000
NUMBER, ARCHITECTURE, ARGUMENTS = 0, 4, 16
X32 = 0x40000000
NEW_NAMESPACE = 0x7E020080  # CLONE_NEWNS, CGROUP, UTS, IPC, USER, PID, NET, TIME
CLONE_THREAD, ANONYMOUS, WRITE, EXECUTE = 0x10000, 0x20, 0x2, 0x4
ACCESS_MODE, TRUNCATE = 0o3, 0o1000
STOPS = (signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)
IOCTLS = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)  # TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX
FCNTLS = (0, 1, 2, 3, 4, 1030, 1032)  # F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD_CLOEXEC, F_GETPIPE_SZ
"""Locks and leases are excluded, because they would stop other programs that open a library."""
NO_FCNTLS = (8, 10, 15, 1024, 1026, 1031)  # F_SETOWN, F_SETSIG, F_SETOWN_EX, F_SETLEASE, F_NOTIFY, F_SETPIPE_SZ
PRCTLS = (3, 15, 16, 0x53564D41)  # PR_GET_DUMPABLE, PR_SET_NAME, PR_GET_NAME, PR_SET_VMA
NEWER = 435
"""From this number on (clone3), refused calls fail as unknown, so that libraries fall back to older ones."""

Step = tuple[int, int, int, int]


def step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> Step:
    return code, if_true, if_false, value


def argument(index: int) -> Step:
    """Load the lower half of an argument."""
    return step(LOAD, ARGUMENTS + 8 * index)


def refused(code: int = errno.EPERM) -> Step:
    return step(RETURN, ERROR | code)


ALLOWED = step(RETURN, ALLOW)


def only(values: Iterable[int]) -> list[Step]:
    """Allow the call if the loaded value is one of `values`."""
    return [s for value in values for s in (step(EQUAL, value, 0, 1), ALLOWED)] + [refused()]


def never(values: Iterable[int]) -> list[Step]:
    """Allow the call unless the loaded value is one of `values`."""
    return [s for value in values for s in (step(EQUAL, value, 0, 1), refused())] + [ALLOWED]


def without(bits: int) -> list[Step]:
    """Allow the call if none of the bits is set in the loaded value."""
    return [step(BITS, bits, 0, 1), refused(), ALLOWED]


def opened(flags: int) -> list[Step]:
    """Allow opening a file, unless this empties it without requesting write access.

    Landlock before ABI 3 allows this: ``O_TRUNC`` with ``O_RDONLY``, or with both bits of the mode.
    """
    return [
        argument(flags), step(AND, ACCESS_MODE), step(EQUAL, 3, 0, 1), refused(), step(EQUAL, 0, 1, 0), ALLOWED,
        argument(flags), *without(TRUNCATE),
    ]  # fmt: skip


def judged(pid: int, starts_programs: bool, name: str) -> dict[str, list[Step]]:
    """Calls that are allowed only with some arguments."""
    own_signals = [argument(0), step(EQUAL, pid, 1, 0), refused()]
    rules = {
        "clone3": [refused(errno.ENOSYS)],
        "ioctl": [argument(1), *only(IOCTLS)],
        "fcntl": [argument(1), *only(FCNTLS)],
        "open": opened(1),
        "openat": opened(2),
        "openat2": [refused(errno.ENOSYS)],  # its flags are in memory, which no filter can read
        "prctl": [argument(0), *only(PRCTLS)],
        "prlimit64": [argument(0), *only((0, pid))],
    }
    if starts_programs:
        # A compiler's driver ends its children, whose ids are not known in advance. Landlock and namespaces limit it.
        return rules | {
            "clone": [argument(0), *without(NEW_NAMESPACE)], "mmap": [ALLOWED], "mprotect": [ALLOWED],
            "fcntl": [argument(1), *never(NO_FCNTLS)],
            "kill": [argument(0), *never([0, 1, 0xFFFFFFFF])], "tgkill": [argument(0), *never([0, 1])],
        }  # fmt: skip
    rules["clone"] = [argument(0), step(BITS, CLONE_THREAD, 0, 1), ALLOWED, refused()]
    rules["kill"] = [*own_signals, argument(1), *never(STOPS)]
    rules["tgkill"] = [*own_signals, argument(2), *never(STOPS)]
    # Data in memory must not become instructions. Libraries come from files, which cannot be written.
    rules["mmap"] = [
        argument(2), step(BITS, EXECUTE, 1, 0), ALLOWED, step(BITS, WRITE, 0, 1), refused(),
        argument(3), *without(ANONYMOUS),
    ]  # fmt: skip
    # On ARM, the loader itself sets this flag for the code of a library (branch targets).
    rules["mprotect"] = [ALLOWED] if name == "aarch64" else [argument(2), *without(EXECUTE)]
    return rules


def ranges(values: Iterable[int]) -> list[tuple[int, int]]:
    """The numbers as ranges that include both ends."""
    found: list[tuple[int, int]] = []
    for value in sorted(values):
        if found and found[-1][1] == value - 1:
            found[-1] = found[-1][0], value
        else:
            found.append((value, value))
    return found


def program(pid: int, starts_programs: bool = False, name: str = "") -> list[Step]:
    """The filter for the process `pid`, on the machine `name` (default: this one)."""
    name = name or syscalls.machine()
    steps = [
        step(LOAD, ARCHITECTURE), step(EQUAL, syscalls.ARCHITECTURES[name], 1, 0), step(RETURN, KILL),
        step(LOAD, NUMBER), step(AT_LEAST, X32, 0, 1), refused(),
    ]  # fmt: skip
    table = syscalls.numbers(syscalls.JUDGED, name)
    for call, rule in judged(pid, starts_programs, name).items():
        if call not in table:  # this machine does not have the call
            continue
        steps += [step(EQUAL, table[call], 0, len(rule)), *rule]
    plain = syscalls.numbers(syscalls.COMPUTING | (syscalls.STARTING if starts_programs else {}), name)
    for low, high in ranges(plain.values()):
        steps += [step(AT_LEAST, low, 0, 2), step(GREATER, high, 1, 0), ALLOWED]
    return [*steps, step(AT_LEAST, NEWER, 0, 1), refused(errno.ENOSYS), refused()]


def packed(steps: Sequence[Step]) -> bytes:
    return b"".join(struct.pack("<HBBI", *one) for one in steps)


class Program(ctypes.Structure):
    """A ``sock_fprog``."""

    _fields_ = [("length", ctypes.c_ushort), ("steps", ctypes.c_char_p)]


def lock(starts_programs: bool = False) -> bool:
    """Filter the system calls of this process and its children for good. Returns whether the system supports this."""
    if os.name != "posix" or os.uname().sysname != "Linux" or not syscalls.machine():
        return False
    steps = program(os.getpid(), starts_programs)
    data = packed(steps)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
    if not starts_programs:  # PR_SET_MDWE (Linux 6.3): memory never becomes instructions, also on ARM
        libc.prctl(65, 1, 0, 0, 0)
    filters = Program(len(steps), data)
    return int(libc.prctl(22, 2, ctypes.byref(filters), 0, 0)) == 0  # PR_SET_SECCOMP, SECCOMP_MODE_FILTER
