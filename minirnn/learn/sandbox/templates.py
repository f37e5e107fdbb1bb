"""The judge's side of `template`: a process for each kind of exercise, from which supervisors are forked."""

from __future__ import annotations

import atexit
import contextlib
import os
import shlex
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

START = Path(__file__).with_name("start.py")
ROOT = Path(__file__).parents[3]
"""The folder that contains minirnn."""
NUMBER = struct.Struct("<q")
PATIENCE = 300.0
"""Seconds of clock time that a busy machine may take to start a template."""
JAIL = "MINIRNN_JAIL"
"""The environment variable with a command that is put before each template, such as that of a container: ``bwrap ...``.
The container must show Python, minirnn and the folder of temporary files, and pass on open files.
"""
MOST = 4
"""The largest number of templates that are kept. Each takes about 30 MB of memory, shared with its forks."""


class Broken(RuntimeError):
    """Raised if the template has ended. The text is its last message."""


class Template:
    """A process that has imported everything that answers need.

    Parameters
    ----------
    kind : str
        Its imports: "simulated" for CUDA kernels in the simulator; "gpu" or "python" for only NumPy.
    environment : mapping
        The environment variables of the template and the answers.
    """

    def __init__(self, kind: str, environment: Mapping[str, str]) -> None:
        self.lock = threading.Lock()
        self.asked, theirs = socket.socketpair()
        self.asked.settimeout(PATIENCE)
        with theirs:
            self.process = subprocess.Popen(
                [*jail(), sys.executable, "-I", "-u", str(START), str(theirs.fileno()), kind, str(ROOT),
                 str(os.getpid())],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                pass_fds=(theirs.fileno(),), cwd=os.sep, env=dict(environment), start_new_session=True,
            )  # fmt: skip

    def ask(self, letter: bytes, control: int, complaints: int) -> int:
        """Let it fork a supervisor (``f``) or become one (``b``) that gets its requests through the socket `control`.
        Returns the id of the process.
        """
        with self.lock:
            try:
                socket.send_fds(self.asked, [letter], [control, complaints])
                data = self.asked.recv(NUMBER.size, socket.MSG_WAITALL)
            except OSError:
                data = b""
        if len(data) < NUMBER.size:
            raise Broken(self.close())
        return int(NUMBER.unpack(data)[0])

    def close(self) -> str:
        """End the template and return the last line of its complaints. Running supervisors continue."""
        self.asked.close()
        with contextlib.suppress(OSError):
            self.process.kill()
        _, said = self.process.communicate()
        return (said.decode(errors="replace").strip().splitlines() or [""])[-1]


def jail() -> list[str]:
    """The command in `JAIL`, as words."""
    return shlex.split(os.environ.get(JAIL, ""))


kept: dict[tuple[object, ...], Template] = {}
begun: set[tuple[object, ...]] = set()
"""The kinds of which there was an answer."""
processes: list[subprocess.Popen[bytes]] = []
"""Those that became supervisors and have not ended."""
keeping = threading.Lock()


def supervisor(kind: str, environment: Mapping[str, str], control: int, complaints: int) -> int:
    """Start a supervisor: the first of a kind alone, and later ones from a template that is kept. Returns its process
    id; 0 in a jail, which may number its processes anew.

    Raises
    ------
    Broken
        If there is no template and a new one cannot be started.
    """
    key = (os.getpid(), kind, *jail(), *sorted(environment.items()))  # a fork of the judge has its own templates
    if key not in begun:  # for a check of one exercise, a template would be started for nothing
        begun.add(key)
        return alone(kind, environment, control, complaints)
    for _ in range(2):
        with keeping:
            template = kept.pop(key, None) or Template(kind, environment)
            kept[key] = template  # the last one in the order is the one used last
            for old in [other for other in kept if other[0] == os.getpid()][:-MOST]:
                kept.pop(old).close()
        try:
            number = template.ask(b"f", control, complaints)
            return 0 if jail() else number
        except Broken as error:
            reason = error
            with keeping:
                if kept.get(key) is template:
                    del kept[key]
    raise reason


def alone(kind: str, environment: Mapping[str, str], control: int, complaints: int) -> int:
    """Start a process that becomes a supervisor: no other answer has to do with it."""
    template = Template(kind, environment)
    number = template.ask(b"b", control, complaints)
    template.asked.close()
    if template.process.stderr is not None:
        template.process.stderr.close()
    processes[:] = [process for process in processes if process.poll() is None] + [template.process]
    return 0 if jail() else number


@atexit.register
def close_all() -> None:
    """End all templates."""
    for process in processes:
        process.poll()
    with keeping:
        for key in list(kept):
            template = kept.pop(key)
            if key[0] == os.getpid():
                template.close()
