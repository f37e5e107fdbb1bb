"""The process between the judge and an answer. It locks itself, starts the answer as a child, and ends it.

If namespaces are allowed, it is process 1 inside. No signal of an answer reaches process 1, and its end is the end of
all others. No code of an answer runs here. The judge sends a
line for each session, with the descriptors of its pipes. A session is a new process that knows nothing of earlier ones.
The judge gets records of one letter and two numbers.

It begins as a fork of the `template`. The first that it reads is its job; then a request is ``s``, with four
descriptors, for a new session instead of the one before, or ``k`` to end that.

- ``w``  an answer's process has started; the kernel adds its number as the judge sees it
- ``e``  it has ended, and all that it left: the exit status, the seconds of processor time that it used
"""

from __future__ import annotations

import array
import contextlib
import json
import os
import resource
import select
import shutil
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable
from typing import Any

from .locks import landlock, namespaces, privileges, seccomp
from .records import RECORD

PIPES = 4
"""The descriptors of a session: requests, replies, standard output, standard error."""


def main(control: socket.socket, namespaced: bool) -> None:
    """Serve the judge at the other end of the socket, until it is closed.

    Parameters
    ----------
    control : socket
        The first message is the job: four bytes with its length, and JSON.
    namespaced : bool
        Whether the system allows namespaces.
    """
    (size,) = struct.unpack("<I", control.recv(4, socket.MSG_WAITALL))
    job = json.loads(control.recv(size, socket.MSG_WAITALL))
    job["alone"] = "namespaces" in job["ways"] and namespaced
    if job["alone"]:
        namespaces.enter()
        if os.fork():  # only a child is inside
            os._exit(0)
        # A kernel is compiled in a child, and the library is kept on the disk, so the child's own locks apply.
        job["bounded"] = namespaces.own_scratch(job["scratch"], others_read_only=job["kind"] != "cuda")
    else:
        privileges.adopt()
    privileges.hide()
    os.environ["TMPDIR"] = job["scratch"]
    os.chdir(job["scratch"])
    serve(control, job)


def probe() -> dict[str, Any]:
    """The locks that this system supports, as `system_locks.Locks` names them. Each is tested in a separate process."""

    def scratch() -> bool:
        namespaces.enter()
        return namespaces.own_scratch("/tmp")

    return {
        "namespaces": tried(namespaces.enter),
        "scratch": tried(scratch),
        "landlock": landlock.abi() if tried(lambda: landlock.lock(["/"])) else 0,
        "seccomp": tried(seccomp.lock),
    }


def tried(lock: Callable[[], bool | None]) -> bool:
    """Whether a lock can be put on a process."""
    pid = os.fork()
    if pid == 0:
        done = False
        try:
            done = lock() is not False
        finally:
            os._exit(0 if done else 1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def serve(control: socket.socket, job: dict[str, Any]) -> None:
    """Start a session whenever the judge asks for one, and report when it has ended."""
    awake, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    running = 0
    while True:
        ready, _, _ = select.select([control.fileno(), awake], [], [])
        if awake in ready:
            os.read(awake, 4096)
            running = reaped(control, running, job)
        if control.fileno() in ready:
            request, pipes = received(control)
            if not request:
                break
            if running:
                os.kill(running, signal.SIGKILL)
                running = ended(control, running, os.wait4(running, 0), job)
            if request == b"s":
                running = start(control, pipes, job)
            for descriptor in pipes:
                os.close(descriptor)
    if running:
        os.kill(running, signal.SIGKILL)
    end_the_rest(job)
    os._exit(0)


def received(control: socket.socket) -> tuple[bytes, list[int]]:
    """A letter from the judge, and the descriptors sent with it."""
    kept = array.array("i")
    request, ancillary, _, _ = control.recvmsg(1, socket.CMSG_SPACE(PIPES * kept.itemsize))
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            kept.frombytes(data[: len(data) - len(data) % kept.itemsize])
    return request, list(kept)


def tell(control: socket.socket, letter: bytes, number: int, seconds: float = 0.0) -> None:
    with contextlib.suppress(OSError):  # the judge is gone; the next look at the socket shows it
        control.sendall(RECORD.pack(letter, number, seconds))


def start(control: socket.socket, pipes: list[int], job: dict[str, Any]) -> int:
    """Start a session in a separate process and return its process id."""
    from . import child, locking  # the template has imported them; a query for the locks does not need NumPy

    clear(job)
    pid = os.fork()
    if pid:
        return pid
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()
        privileges.end_with_parent()
        privileges.die_first()
        tell(control, b"w", os.getpid())
        control.detach()
        nothing = os.open(os.devnull, os.O_RDONLY)
        requests, replies, out, err = (os.dup2(descriptor, 200 + k) for k, descriptor in enumerate(pipes))
        for number, descriptor in enumerate((nothing, out, err, requests, replies)):
            os.dup2(descriptor, number)
        os.closerange(5, min(1 << 16, resource.getrlimit(resource.RLIMIT_NOFILE)[0]))
        child.main(job, 3, 4, locking.lock)
        sys.stdout.flush()
    finally:
        os._exit(0)


def clear(job: dict[str, Any]) -> None:
    """Empty the scratch folder of an earlier session, except for the answer's file."""
    for entry in os.scandir(job["scratch"]):
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path, ignore_errors=True)
        else:
            os.unlink(entry.path)
    copy = os.path.join(job["scratch"], job["file"])
    os.makedirs(os.path.dirname(copy), exist_ok=True)
    shutil.copyfile(job["source"], copy)


def reaped(control: socket.socket, running: int, job: dict[str, Any]) -> int:
    """Wait for children that have ended. Returns the process id of the session if it still runs, else 0."""
    while True:
        try:
            found = os.wait4(-1, os.WNOHANG)
        except ChildProcessError:
            return running
        if found[0] == 0:
            return running
        if found[0] == running:
            running = ended(control, running, found, job)


def ended(control: socket.socket, running: int, found: tuple[int, int, Any], job: dict[str, Any]) -> int:
    """End what a finished session left behind, and notify the judge."""
    end_the_rest(job)
    _, status, usage = found
    tell(control, b"e", os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime)
    return 0


def end_the_rest(job: dict[str, Any]) -> None:
    """End every descendant of this process, and wait until none is left."""
    while True:
        if job["alone"]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(-1, signal.SIGKILL)  # all processes of this namespace except this one
        else:
            for pid in below(os.getpid()):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(0.001)


def below(pid: int) -> list[int]:
    """The descendants of the process `pid` (on Linux)."""
    parents: dict[int, list[int]] = {}
    if not os.path.isdir("/proc/self"):
        return []
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{entry.name}/stat", "rb") as file:
                parents.setdefault(int(file.read().rpartition(b")")[2].split()[1]), []).append(int(entry.name))
    found, todo = [], [pid]
    while todo:
        found += parents.get(todo[0], [])
        todo += parents.get(todo.pop(0), [])
    return found
