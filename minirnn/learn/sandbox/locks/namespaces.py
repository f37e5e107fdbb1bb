"""Namespaces (Linux): a process sees a system with no other processes, no network and its own scratch folder.

When process 1 of a process namespace ends, all others in it end. No signal from inside the namespace reaches it.
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
"""The total size of all files of an answer, and their largest number."""


def enter() -> None:
    """Enter new namespaces. The next process that is started is process 1 there.

    Raises
    ------
    OSError
        If this is not allowed.
    """
    user, group = os.getuid(), os.getgid()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(ALL) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


def read_only() -> bool:
    """Make all mounts in these namespaces read-only for good (Linux 5.12). Returns whether this is allowed."""
    libc = ctypes.CDLL(None, use_errno=True)
    wanted = struct.pack("<4Q", MOUNT_READ_ONLY | MOUNT_NOSUID, 0, 0, 0)
    return int(libc.syscall(MOUNT_SETATTR, -100, b"/", AT_RECURSIVE, wanted, ctypes.c_size_t(len(wanted)))) == 0


def own_scratch(folder: str, others_read_only: bool = False) -> bool:
    """Mount memory on a folder, for a few small files that cannot be run. Returns whether this is allowed.

    With `others_read_only`, this process can change no other files from now on, if the system supports this.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(None, b"/", None, RECURSIVE | PRIVATE, None) != 0:
        return False
    if others_read_only:
        read_only()
    options = f"size={SCRATCH_BYTES},nr_inodes={SCRATCH_FILES},mode=700".encode()
    return int(libc.mount(b"tmpfs", os.fsencode(folder), b"tmpfs", NOSUID | NODEV | NOEXEC, options)) == 0
