"""The process that supervisors are forked from. It has imported what answers need, so that none waits for imports.

No part of an answer reaches it. It gets a letter and two descriptors, forks, and reports the id of the new process. The
job comes through the first descriptor, which only the fork reads. So this process is the same for every answer.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import socket
import struct
import sys

from . import supervisor
from .locks import namespaces, privileges

NUMBER = struct.Struct("<q")


def main(arguments: list[str]) -> None:
    """Fork a supervisor whenever the judge asks for one ("f"), until it closes the socket, or become one ("b").

    The arguments are the number of the socket, the kind of the exercises, the folder that contains minirnn, and the
    number of the judge's process, for people who look at a list of processes.
    """
    if arguments == ["probe"]:
        print(json.dumps(supervisor.probe()))
        return
    asked, (kind, root) = socket.socket(fileno=int(arguments[0])), arguments[1:3]
    alone = supervisor.tried(namespaces.enter)
    from . import child, locking  # noqa: F401  NumPy comes with it

    child.prepare(kind, root)
    privileges.hide()
    privileges.adopt()  # supervisors in namespaces are forks of forks, which end at once
    signal.signal(signal.SIGCHLD, lambda number, frame: reap())
    gc.collect()
    gc.freeze()  # what is here stays: no later collection touches it, so that forks share its memory
    while True:
        request, descriptors = supervisor.received(asked)
        if not request:
            os._exit(0)  # those that are at work end with their own sockets
        pid = os.fork() if request == b"f" else 0
        if pid == 0:
            if request == b"f":
                os.setsid()
            else:
                asked.sendall(NUMBER.pack(os.getpid()))
            begin(asked, descriptors, alone)
        for descriptor in descriptors:
            os.close(descriptor)
        asked.sendall(NUMBER.pack(pid))


def reap() -> None:
    """Note which supervisors have ended."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def begin(asked: socket.socket, descriptors: list[int], alone: bool) -> None:
    """Become a supervisor. Complaints go to the second descriptor, and the first leads to the judge."""
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        asked.close()
        control, complaints = descriptors
        os.dup2(complaints, 2)
        os.close(complaints)
        privileges.show()  # otherwise it could not map its user in namespaces
        supervisor.main(socket.socket(fileno=control), alone)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(1)
