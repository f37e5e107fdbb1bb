"""An audit hook that describes in words what Python code does, so that a student learns what is forbidden.

It does not see native code and offers no protection. `landlock` and `seccomp` protect.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterable
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


def watch(violation: Callable[[str], None], writable: Iterable[str]) -> None:
    """Call `violation` with a sentence at each forbidden action from now on. Files may be written below `writable`."""
    with contextlib.suppress(ImportError):  # Windows has none
        import _posixsubprocess  # the only way to start a process that raises no audit event

        _posixsubprocess.fork_exec = lambda *args: violation(FORBIDDEN["os.fork"])  # type: ignore[assignment]
    below = tuple(os.path.join(os.path.realpath(folder), "") for folder in writable)

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
