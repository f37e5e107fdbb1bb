"""Makes this Python look like one on Windows to minirnn: POSIX features are missing, and calls that Windows rejects
fail.

Python imports this file at its start. minirnn, and the program that is run, get stand-ins for some modules of the
standard library; the library itself and other packages keep the real ones.
"""

import builtins
import os
import select
import stat
import subprocess
import types
import warnings
from collections.abc import Callable
from typing import Any

DECEIVED = ("minirnn", "_sandbox", "__main__", "tests")
"""Packages that see Windows."""
GONE = "_posixsubprocess fcntl grp posix pty pwd readline resource syslog termios tty"
WITHOUT = {
    "faulthandler": "register unregister",
    "os": "O_CLOEXEC O_DIRECTORY O_NOFOLLOW O_NONBLOCK O_PATH WNOHANG chown fchmod fork forkpty getegid geteuid getgid"
    " getloadavg getpgid getsid getuid killpg lchown mkfifo nice posix_spawn pread pwrite register_at_fork"
    " sched_getaffinity sendfile set_blocking setpgid setsid statvfs sysconf uname wait wait3 wait4 waitid",
    "select": "epoll poll",
    "signal": "SIGALRM SIGCHLD SIGCONT SIGHUP SIGKILL SIGPIPE SIGQUIT SIGSTOP SIGTSTP SIGTTIN SIGTTOU SIGUSR1 SIGUSR2"
    " SIGXCPU alarm getitimer pause pthread_kill pthread_sigmask setitimer siginterrupt sigwait",
    "socket": "AF_UNIX CMSG_SPACE SCM_RIGHTS SO_PASSCRED recv_fds send_fds",
    "subprocess": "",
    "sys": "",
}
"""Names that a module of the standard library lacks on Windows."""


class Module(types.ModuleType):
    """A module without some of its names, and with others replaced."""

    def __init__(self, name: str, without: str, exchanged: dict[str, Any]) -> None:
        super().__init__(name)
        self.__dict__.update(_real=real_import(name), _without=without.split(), **exchanged)

    def __getattr__(self, name: str) -> Any:
        if name in self._without:
            raise AttributeError(f"on Windows, module {self.__name__!r} has no attribute {name!r}")
        return getattr(self._real, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._real, name, value)


def open_file(path: Any, flags: int, *mode: int, **named: Any) -> int:
    """`os.open`, with Windows' refusal to open folders."""
    if named or os.path.isdir(path):
        raise PermissionError(13, "Permission denied (Windows opens no folders)", path)
    return os.open(path, flags, *mode)


def replace(source: Any, target: Any) -> None:
    """`os.replace`, with Windows' refusal to move or replace open files."""
    for path in map(os.path.realpath, (source, target)):
        links = (f"/proc/self/fd/{number}" for number in os.listdir("/proc/self/fd"))
        with open("/proc/self/maps", encoding="utf-8") as maps:
            if path in maps.read() or path in [os.readlink(link) for link in links if os.path.islink(link)]:
                raise PermissionError(13, "Permission denied (Windows does not replace what is open)", path)
    os.replace(source, target)


def wait_for(*descriptors: Any) -> Any:
    """`select.select`, with Windows' refusal to wait for anything but sockets."""
    for one in (one for some in descriptors[:3] for one in some):
        if not stat.S_ISSOCK(os.fstat(one if isinstance(one, int) else one.fileno()).st_mode):
            raise OSError(10038, "Windows waits for sockets alone")
    return select.select(*descriptors)


class Popen(subprocess.Popen):  # type: ignore[type-arg]
    def __init__(self, *arguments: Any, **named: Any) -> None:
        for name in {"pass_fds", "preexec_fn"} & set(named):
            raise ValueError(f"{name} is not supported on Windows platforms")
        super().__init__(*arguments, **named)


def run(*arguments: Any, **named: Any) -> Any:
    """`subprocess.run`, with the same refusals."""
    if "preexec_fn" in named:
        raise ValueError("preexec_fn is not supported on Windows platforms")
    return subprocess.run(*arguments, **named)


def importing(name: str, globals: Any = None, *rest: Any, **named: Any) -> Any:
    """`__import__`, which executes every ``import`` statement."""
    importer = (globals or {}).get("__name__") or ""
    if importer.partition(".")[0] in DECEIVED:
        if name in GONE.split():
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        if name in stand_ins:
            return stand_ins[name]
    return real_import(name, globals, *rest, **named)


real_import: Callable[..., Any] = builtins.__import__
exchanged = {
    "os": {"name": "nt", "open": open_file, "replace": replace},
    "select": {"select": wait_for},
    "subprocess": {"Popen": Popen, "run": run},
    "sys": {"platform": "win32"},
}
stand_ins = {name: Module(name, without, exchanged.get(name, {})) for name, without in WITHOUT.items()}
builtins.__import__ = importing
# On Windows files are not in UTF-8 by default.
warnings.filterwarnings("error", category=EncodingWarning, module=r"minirnn\b|_sandbox\b|__main__")
