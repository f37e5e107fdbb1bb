"""What an answer may not do, and how it is kept from it: limits, an audit hook, and Landlock where Linux has it.

The hook sees what Python code does and says it in words; it does not see native code. Landlock binds the whole process
and all it starts, native or not: files can be written below one folder only, and nothing that can be read holds a
course, a solution or another student's work.
"""

from __future__ import annotations

import ctypes
import os
import resource
import struct
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

PROCESSES = (
    "os.fork",
    "os.forkpty",
    "os.posix_spawn",
    "os.spawn",
    "os.exec",
    "os.system",
    "subprocess.Popen",
    "pty.spawn",
)
FILES = (
    "os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.truncate", "os.chmod", "os.chown",
    "os.chflags", "os.lchflags", "os.utime", "os.setxattr", "os.removexattr", "shutil.rmtree", "shutil.move",
    "shutil.copyfile", "shutil.copytree", "sqlite3.connect",
)  # fmt: skip
NETWORK = ("socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg", "socket.getaddrinfo", "urllib.Request")
NATIVE = (
    "ctypes.dlopen",
    "ctypes.dlsym",
    "ctypes.dlsym/handle",
    "ctypes.call_function",
    "ctypes.cdata",
    "ctypes.string_at",
)
SIGNALS = ("os.kill", "os.killpg", "signal.pthread_kill")
FORBIDDEN = {
    **dict.fromkeys(PROCESSES, "starts another process"),
    **dict.fromkeys(FILES, "changes files"),
    **dict.fromkeys(NETWORK, "uses the network"),
    **dict.fromkeys(NATIVE, "calls native code"),
    **dict.fromkeys(SIGNALS, "sends a signal to a process"),
}
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def limit(seconds: float, megabytes: int) -> None:
    """Bound processor time, memory and files of this process."""
    for kind, most in (
        (resource.RLIMIT_CPU, int(seconds) + 10),  # if all else fails: the judge stops it before, and says the line
        (resource.RLIMIT_AS, megabytes << 20),
        (resource.RLIMIT_FSIZE, 64 << 20),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, 256),
    ):
        _, hard = resource.getrlimit(kind)
        try:
            resource.setrlimit(kind, (most, most if hard == resource.RLIM_INFINITY else min(most, hard)))
        except (ValueError, OSError):  # macOS knows RLIMIT_AS and refuses it
            continue


def lock(violation: Callable[[str], None], scratch: str, secret: str, readable: Sequence[str] = ()) -> None:
    """From here on call `violation` with a sentence at all that is forbidden, and close files as `landlock` says."""
    landlock(scratch, secret, readable)
    import _posixsubprocess  # the one way to a process that raises no event

    _posixsubprocess.fork_exec = lambda *args: violation(FORBIDDEN["os.fork"])  # type: ignore[assignment]
    below = os.path.join(os.path.realpath(scratch), "")

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if event == "open":
            path, mode, flags = args
            if not isinstance(path, str | bytes) or path in ("/dev/null", b"/dev/null"):
                return
            writes = isinstance(mode, str) and any(c in mode for c in "wxa+")
            if writes or (isinstance(flags, int) and flags & WRITING):
                name = os.fsdecode(path)
                if not os.path.realpath(name).startswith(below):
                    violation(f"writes to the file {name}")
        elif event in FORBIDDEN:
            violation(FORBIDDEN[event])

    sys.addaudithook(hook)


# From linux/landlock.h: the rights that a rule set handles, and the system calls.
READ = 1 << 2  # read_file
WRITE = 0b1_1111_1111_0010  # write_file (1 << 1) and all of remove_dir (1 << 4) .. make_sym (1 << 12)
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
SYSTEM = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache", "/etc/localtime", "/dev/urandom", "/dev/null")


def landlock(scratch: str, secret: str, readable: Sequence[str] = ()) -> bool:
    """Let this process and its children change files only below `scratch`, and read nothing but what Python needs.

    What can be read are Python's own folders, those of its packages and the system's libraries, all without `secret`,
    and what `readable` names. The result is whether the system can do that.
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        attribute = struct.pack("<Q", READ | WRITE)
        rules = libc.syscall(CREATE_RULESET, attribute, ctypes.c_size_t(len(attribute)), 0)
        if rules < 0:
            return False

        def allow(path: str, rights: int) -> None:
            try:
                descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
            except OSError:
                return
            try:
                of_a_file = rights if os.path.isdir(path) else rights & (READ | 1 << 1)
                libc.syscall(ADD_RULE, rules, 1, struct.pack("<Qi", of_a_file, descriptor), 0)
            finally:
                os.close(descriptor)

        allow(scratch, READ | WRITE)
        allow("/dev/null", READ | WRITE)
        python = [os.path.dirname(os.__file__), os.path.join(sys.base_prefix, "lib")]
        packages = [path for path in sys.path if os.path.basename(path) in ("site-packages", "dist-packages")]
        for path in (*python, *packages, *SYSTEM):
            for allowed in around(os.path.realpath(path), os.path.realpath(secret)):
                allow(allowed, READ)
        for path in readable:
            allow(path, READ)
        libc.prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
        done: bool = libc.syscall(RESTRICT_SELF, rules, 0) == 0
        os.close(rules)
        return done
    except (OSError, AttributeError):
        return False


def around(path: str, secret: str) -> Iterator[str]:
    """`path` itself or, if `secret` lies in it, everything in it but `secret`: rules can only allow."""
    if path == secret or path.startswith(os.path.join(secret, "")):
        return
    if not secret.startswith(os.path.join(path, "")):
        yield path
        return
    for name in os.listdir(path):
        yield from around(os.path.realpath(os.path.join(path, name)), secret)
