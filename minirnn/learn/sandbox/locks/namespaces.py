"""Namespaces (Linux): a process sees a system of its own, with no other processes, no network and its own scratch.

The number 1 of a namespace of processes ends all others in it when it ends, and no signal from within reaches it.
"""

from __future__ import annotations

import ctypes
import os

NEW_MOUNTS, NEW_NAMES, NEW_IPC, NEW_USER, NEW_PROCESSES, NEW_NETWORK = (
    0x00020000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000,
)  # fmt: skip
ALL = NEW_MOUNTS | NEW_NAMES | NEW_IPC | NEW_USER | NEW_PROCESSES | NEW_NETWORK
NOSUID, NODEV, NOEXEC, RECURSIVE, PRIVATE = 2, 4, 8, 0x4000, 1 << 18
SCRATCH_BYTES, SCRATCH_FILES = 64 << 20, 1000
"""What all files of an answer together may hold, and how many there may be."""


def enter() -> None:
    """Go into namespaces of one's own; the next process that is started is the number 1 there.

    Raises
    ------
    OSError
        If that is not allowed.
    """
    user, group = os.getuid(), os.getgid()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(ALL) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


def own_scratch(folder: str) -> bool:
    """Mount memory on a folder, for few small files that cannot be run; whether that is allowed."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(None, b"/", None, RECURSIVE | PRIVATE, None) != 0:
        return False
    options = f"size={SCRATCH_BYTES},nr_inodes={SCRATCH_FILES},mode=700".encode()
    return int(libc.mount(b"tmpfs", os.fsencode(folder), b"tmpfs", NOSUID | NODEV | NOEXEC, options)) == 0
