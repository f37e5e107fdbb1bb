"""Namespaces (Linux): a process sees its own system, with no other processes, no network and its own scratch.

The number 1 of a namespace of processes ends all others in it when it ends, and no signal from within reaches it.
"""

from __future__ import annotations

import ctypes
import os
import struct

NEW_MOUNTS, NEW_NAMES, NEW_IPC, NEW_USER, NEW_PROCESSES, NEW_NETWORK = (
    0x00020000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000,
)  # fmt: skip
ALL = NEW_MOUNTS | NEW_NAMES | NEW_IPC | NEW_USER | NEW_PROCESSES | NEW_NETWORK
NOSUID, NODEV, NOEXEC, RECURSIVE, PRIVATE = 2, 4, 8, 0x4000, 1 << 18
MOUNT_SETATTR, AT_RECURSIVE, MOUNT_READ_ONLY, MOUNT_NOSUID = 442, 0x8000, 1, 2
SCRATCH_BYTES, SCRATCH_FILES = 64 << 20, 1000
"""What all files of an answer together may hold, and how many there may be."""


def enter() -> None:
    """Enter new namespaces; the next process that is started is number 1 there.

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


def read_only() -> bool:
    """Make all files of all mounts read-only in these namespaces (Linux 5.12), for good; whether that is allowed."""
    libc = ctypes.CDLL(None, use_errno=True)
    wanted = struct.pack("<4Q", MOUNT_READ_ONLY | MOUNT_NOSUID, 0, 0, 0)
    return int(libc.syscall(MOUNT_SETATTR, -100, b"/", AT_RECURSIVE, wanted, ctypes.c_size_t(len(wanted)))) == 0


def own_scratch(folder: str, others_read_only: bool = False) -> bool:
    """Mount memory on a folder, for few small files that cannot be run; whether that is allowed.

    With `others_read_only` nothing else can be changed from here, as far as the system can do that.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(None, b"/", None, RECURSIVE | PRIVATE, None) != 0:
        return False
    if others_read_only:
        read_only()
    options = f"size={SCRATCH_BYTES},nr_inodes={SCRATCH_FILES},mode=700".encode()
    return int(libc.mount(b"tmpfs", os.fsencode(folder), b"tmpfs", NOSUID | NODEV | NOEXEC, options)) == 0
