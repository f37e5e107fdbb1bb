"""Taking the rights of root from a process, and its memory from the eyes of others (Linux)."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import signal
import struct
import sys

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_CAPBSET_DROP, PR_SET_CHILD_SUBREAPER = 1, 4, 24, 36
PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 38, 47, 4
CAPABILITY_VERSION = 0x20080522


def prctl(*arguments: int) -> bool:
    """Whether the system could do it."""
    if not sys.platform.startswith("linux"):
        return False
    values = [ctypes.c_ulong(value) for value in (*arguments[1:], 0, 0, 0, 0)[:4]]
    return int(libc().prctl(arguments[0], *values)) == 0


@functools.cache
def libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def drop() -> None:
    """Give up all capabilities, also those that a program could bring; nobody may look into this process."""
    if not sys.platform.startswith("linux"):
        return
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
    for capability in range(64):
        prctl(PR_CAPBSET_DROP, capability)
    header, nothing = struct.pack("<Ii", CAPABILITY_VERSION, 0), bytes(24)
    libc().capset(header, nothing)
    hide()


def hide() -> None:
    """No other process of this user may read this one's memory, or trace it."""
    prctl(PR_SET_DUMPABLE, 0)


def show() -> None:
    """The opposite of `hide`."""
    prctl(PR_SET_DUMPABLE, 1)


def end_with_parent() -> None:
    """This process is ended when the one that started it is gone."""
    prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL))


def adopt() -> None:
    """Processes below this one, whose own parent is gone, become children of this one."""
    prctl(PR_SET_CHILD_SUBREAPER, 1)


def die_first() -> None:
    """When memory is short, the system ends this process before others."""
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")
