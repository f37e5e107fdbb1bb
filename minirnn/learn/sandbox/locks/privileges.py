"""Drops root's rights and hides the memory of a process from others (Linux)."""

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
    """Whether the system supports it."""
    if not sys.platform.startswith("linux"):
        return False
    values = [ctypes.c_ulong(value) for value in (*arguments[1:], 0, 0, 0, 0)[:4]]
    return int(libc().prctl(arguments[0], *values)) == 0


@functools.cache
def libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def drop() -> None:
    """Drop all capabilities, including those a program file could add, and hide the memory of this process."""
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
    """Prevent other processes of this user from reading the memory of this one or tracing it."""
    prctl(PR_SET_DUMPABLE, 0)


def show() -> None:
    """Undo `hide`."""
    prctl(PR_SET_DUMPABLE, 1)


def end_with_parent() -> None:
    """End this process when its parent ends."""
    prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL))


def adopt() -> None:
    """Make this process the new parent of descendants whose own parent has ended."""
    prctl(PR_SET_CHILD_SUBREAPER, 1)


def die_first() -> None:
    """Make the system end this process before others when memory is short."""
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")
