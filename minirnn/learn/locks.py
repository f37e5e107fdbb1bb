"""What an answer may not do, and how it is kept from it: limits, an audit hook, and Landlock where Linux has it.

The hook sees what Python code does and says it in words; native code it does not see. Landlock binds the whole process
and all it starts, native or not: files can be written below one folder only. Neither hides what can be read: where that
matters, run the grader in a container.
"""

from __future__ import annotations

import ctypes
import os
import resource
import struct
import sys
from collections.abc import Callable
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
    """Bound processor time, memory, files and processes of this process."""
    for kind, most in (
        (resource.RLIMIT_CPU, int(seconds) + 2),
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


def lock(violation: Callable[[str], None], scratch: str) -> None:
    """From here on, call `violation` with a sentence at anything forbidden; write below `scratch` only."""
    landlock(scratch)
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


# Of linux/landlock.h: which rights a rule set handles (all that change files), and the system calls.
WRITE_RIGHTS = 0b1_1111_1111_0010  # write_file (1 << 1) and all of remove_dir (1 << 4) .. make_sym (1 << 12)
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446


def landlock(folder: str) -> bool:
    """Let this process and its children change files only below `folder`; whether the system can do that."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        attribute = struct.pack("<Q", WRITE_RIGHTS)
        rules = libc.syscall(CREATE_RULESET, attribute, ctypes.c_size_t(len(attribute)), 0)
        if rules < 0:
            return False
        for path in (folder, "/dev/null"):
            descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
            rights = WRITE_RIGHTS if path == folder else 1 << 1
            rule = struct.pack("<Qi", rights, descriptor)
            libc.syscall(ADD_RULE, rules, 1, rule, 0)
            os.close(descriptor)
        libc.prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
        done: bool = libc.syscall(RESTRICT_SELF, rules, 0) == 0
        os.close(rules)
        return done
    except (OSError, AttributeError):
        return False
