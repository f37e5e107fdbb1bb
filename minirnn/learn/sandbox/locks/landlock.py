"""Landlock (Linux 5.13 and newer): the files that a process and its children can read, write, list and run.

Rules can only allow. Features of newer kernels are used if they are available: truncating (ABI 3), TCP (4), devices
(5), and signals and abstract sockets to processes outside (6). ``linux/landlock.h`` has the numbers.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections.abc import Iterable, Iterator, Sequence

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
REMOVE_DIR, REMOVE_FILE, MAKE_DIR, MAKE_REG = 1 << 4, 1 << 5, 1 << 7, 1 << 8
TRUNCATE = 1 << 14
READ = READ_FILE | READ_DIR
WRITE = WRITE_FILE | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG | TRUNCATE
OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE
HANDLED = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1, 5: (1 << 16) - 1}
"""All rights on files that an ABI knows. Links, sockets and devices are forbidden, because no rule allows them."""
TCP = 0b11
SIGNALS_AND_SOCKETS = 0b11
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
SYSTEM = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache", "/etc/localtime", "/dev/urandom", "/dev/null")
"""The files of the system that a Python program reads."""


def abi() -> int:
    """The version of Landlock on this system, or 0 if there is none."""
    if not sys.platform.startswith("linux"):
        return 0
    try:
        found = ctypes.CDLL(None, use_errno=True).syscall(CREATE_RULESET, None, ctypes.c_size_t(0), 1)
    except (OSError, AttributeError):
        return 0
    return max(0, int(found))


def lock(
    readable: Iterable[str],
    writable: Iterable[str] = (),
    runnable: Iterable[str] = (),
    secret: Sequence[str] = (),
) -> bool:
    """Restrict this process to reading, writing and running files in these folders.

    Parameters
    ----------
    readable, writable, runnable : iterable of str
        Folders and files. What can be written or run can also be read. Nothing that can be written can be run.
    secret : sequence of str
        Folders inside the others in which nothing can be read, except paths that the other arguments name. No folder
        that contains one can be listed, because a rule about it would include the secret one.

    Returns
    -------
    bool
        Whether the system supports this.
    """
    version = abi()
    if not version:
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    handled = HANDLED[min(version, 5)]
    attribute = struct.pack("<3Q", handled, TCP, SIGNALS_AND_SOCKETS)[: 8 if version < 4 else 16 if version < 6 else 24]
    rules = libc.syscall(CREATE_RULESET, attribute, ctypes.c_size_t(len(attribute)), 0)
    if rules < 0:
        return False

    def allow(path: str, rights: int) -> None:
        try:
            descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:  # does not exist, so there is nothing to allow
            return
        try:
            rights &= handled if os.path.isdir(path) else handled & OF_FILES
            libc.syscall(ADD_RULE, rules, 1, struct.pack("<Qi", rights, descriptor), 0)
        finally:
            os.close(descriptor)

    hidden = [os.path.realpath(path) for path in secret]
    allow("/dev/null", READ_FILE | WRITE_FILE)
    for paths, rights in ((readable, READ), (runnable, READ | EXECUTE), (writable, READ | WRITE)):
        for path in paths:
            real = os.path.realpath(path)
            for found in around(real, [folder for folder in hidden if not lies_in(real, folder)]):
                allow(found, rights)
    libc.prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
    done: bool = libc.syscall(RESTRICT_SELF, rules, 0) == 0
    os.close(rules)
    return done


def lies_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(os.path.join(folder, ""))


def around(path: str, secrets: Sequence[str]) -> Iterator[str]:
    """`path`, or everything else in it if it contains a secret."""
    if any(lies_in(path, secret) for secret in secrets):
        return
    if not any(lies_in(secret, path) for secret in secrets):
        yield path
        return
    for name in os.listdir(path):
        yield from around(os.path.realpath(os.path.join(path, name)), secrets)


def of_python() -> list[str]:
    """The folders that a Python program reads: Python's own, those of its packages, and the system's libraries."""
    packages = [path for path in sys.path if os.path.basename(path) in ("site-packages", "dist-packages")]
    return [os.path.dirname(os.__file__), os.path.join(sys.base_prefix, "lib"), *packages, *SYSTEM]
