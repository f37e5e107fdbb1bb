"""Runs an answer in a process of its own, with limits; whatever it does, the judge goes on."""

from __future__ import annotations

import contextlib
import math
import os
import re
import secrets
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from minirnn.learn.sandbox import protocol
from minirnn.learn.sandbox.clock import INTERVAL, Clock, MachineIsBusy, TimeIsUp

CHILD = Path(__file__).with_name("child.py")
ROOT = Path(__file__).parents[3]
"""The folder that minirnn lies in."""
MOST_OUTPUT = 20_000
STARTING = 300.0
"""Seconds by the clock that a busy machine may need to start the process and to compile a CUDA kernel."""
FAR = 10
"""Only after so many times its own seconds an answer is given up by the clock: the machine is too busy to judge it."""
GPU_SECONDS = 30.0
"""Seconds by the clock that an answer on a GPU has in addition: nobody tells when its CUDA kernel is compiled."""
KEPT = ("PATH", "HOME", "LANG", "XDG_CACHE_HOME", "MINIRNN_CACHE", "CXX", "SYSTEMROOT")


@dataclass(frozen=True)
class Limits:
    """What an answer may use: seconds of its own (see `clock`) over all its calls, and megabytes."""

    seconds: float = 20.0
    megabytes: int = 2048


@dataclass
class Reply:
    """What came of a call: a value, or what went wrong, in words for the student.

    Attributes
    ----------
    value : dict or None
        What the process sent; None if there is none.
    error : dict or None
        An exception in the student's file: its ``type``, ``text``, ``line`` and ``code``.
    fatal : str
        Why the process is gone (time, memory, a forbidden deed); empty if it lives.
    counts : dict
        What the simulator counted.
    locals : dict
        The answer's own variables when it returned, by name, if they were asked for.
    """

    value: dict[str, Any] | None = None
    error: dict[str, Any] | None = None
    fatal: str = ""
    line: int | None = None
    counts: dict[str, int] = field(default_factory=dict)
    locals: dict[str, Any] = field(default_factory=dict)


class Child:
    """One answer at work. It is a context manager; at its end the process and all that it started are gone.

    On `device` "cuda" (a CUDA kernel on a GPU) there are no limits but the clock, and no locks.
    """

    def __init__(self, file: Path, shown: str, function: str, kind: str, limits: Limits, device: str = "cuda-sim"):
        self.limits, self.shown = limits, shown
        self.folder = Path(tempfile.mkdtemp(prefix="minirnn-"))
        self.token = secrets.token_hex(16)
        self.output = bytearray()
        self.complaints = bytearray()
        copy = self.folder / shown
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy)
        requests, self._requests = os.pipe()
        self._replies, replies = os.pipe()
        kept = os.environ if device == "cuda" else KEPT
        environment = {name: os.environ[name] for name in kept if name in os.environ}
        environment |= {"MINIRNN_ANSWER": self.token, "TMPDIR": str(self.folder), "OPENBLAS_NUM_THREADS": "1",
                        "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "VECLIB_MAXIMUM_THREADS": "1"}  # fmt: skip
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-I", "-B", "-u", str(CHILD), str(requests), str(replies)],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, pass_fds=(requests, replies),
                cwd=self.folder, env=environment, start_new_session=True,
            )  # fmt: skip
        finally:
            os.close(requests)
            os.close(replies)
        self._readers = [
            threading.Thread(target=drain, args=(self.process.stdout, self.output), daemon=True),
            threading.Thread(target=drain, args=(self.process.stderr, self.complaints), daemon=True),
        ]
        for reader in self._readers:
            reader.start()
        self.ready, self.on_gpu = False, device == "cuda"
        far = limits.seconds + GPU_SECONDS if self.on_gpu else STARTING
        self.clock = Clock(self.process.pid, math.inf, far)
        job = dict(
            file=shown, function=function, kind=kind, seconds=limits.seconds, memory=limits.megabytes, root=str(ROOT),
            device=device,
        )  # fmt: skip
        self._send(job)

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @property
    def prints(self) -> str:
        """What the answer printed, up to `MOST_OUTPUT` bytes."""
        return self.output.decode(errors="replace")

    def call(self, message: dict[str, Any], callbacks: Mapping[str, Callable[..., Any]] | None = None) -> Reply:
        """Have the answer called, and serve the functions that it calls in turn."""
        self._send(message)
        return self.wait(callbacks or {})

    def wait(self, callbacks: Mapping[str, Callable[..., Any]] | None = None) -> Reply:
        """The next reply."""
        while True:
            try:
                reply = protocol.receive(self._replies, self._wait)
            except TimeIsUp:
                return Reply(fatal=self._stopped())
            except MachineIsBusy:
                return Reply(fatal=self._stopped() if self.on_gpu else self._given_up())
            except (protocol.BadMessage, MemoryError, OSError) as error:
                return Reply(fatal=f"what came back could not be read ({error}): is NumPy or a pipe patched?")
            if reply is None:
                return Reply(fatal=self._ended())
            if "ready" in reply and not self.ready:
                self.ready = True  # once: saying it again wins no time
                self.clock = Clock(self.process.pid, self.limits.seconds, FAR * self.limits.seconds)
                continue
            if "violation" in reply:
                line = reply.get("line")
                return Reply(fatal=f"the answer {reply['violation']}, which no exercise may do", line=line)
            if "callback" in reply:
                function = (callbacks or {}).get(str(reply["callback"]))
                if function is None or not isinstance(reply.get("arguments"), list):
                    return Reply(fatal="the answer called a function that it was not given")
                try:
                    self._send({"value": function(*reply["arguments"])})
                except Exception as error:  # the answer called it with the wrong things: its own mistake
                    self._send({"error": f"{type(error).__name__}: {error}"})
                continue
            wrong, counts = reply.get("error"), reply.get("counts") or {}
            if wrong is not None and not isinstance(wrong, dict):
                return Reply(fatal="what came back could not be read")
            own = reply.get("locals")
            return Reply(reply.get("value"), wrong, counts=counts, locals=own if isinstance(own, dict) else {})

    def _send(self, message: dict[str, Any]) -> None:
        with contextlib.suppress(BrokenPipeError):  # it ended; the next wait says how
            protocol.send(self._requests, message)

    def _wait(self) -> None:
        since = time.monotonic()
        while not select.select([self._replies], [], [], INTERVAL)[0]:
            self.clock.look(since)
        self.clock.look(None)  # one that sends byte after byte comes to its limits, too

    def _given_up(self) -> str:
        """Why there is no answer though it has not used its time."""
        self.kill()
        if not self.ready:
            return f"not judged: the process did not start within {STARTING:g} s; the machine is busy, try again"
        return (
            f"not judged: no answer within {self.clock.far:g} s, of which the machine gave it {self.clock.used:.1f} s;"
            " the machine is busy, try again"
        )

    def _stopped(self) -> str:
        """Where the process was when its time was over, from the stack that it prints when asked."""
        self.process.send_signal(signal.SIGUSR1)
        end = time.monotonic() + 10  # on a busy machine it prints late
        while not re.search(rb"in <module>|\n  \.\.\.", self.complaints) and time.monotonic() < end:
            if self.process.poll() is not None:
                break
            time.sleep(0.02)
        self.kill()
        seconds = f"{self.limits.seconds:g} s"
        for reader in self._readers:
            reader.join(1)
        pattern = rf'File "{re.escape(self.shown)}", line (\d+) in (\S+)'
        if found := re.search(pattern, self.complaints.decode(errors="replace")):
            return f"stopped after {seconds} in {found[2]}, line {found[1]}: does a loop never end?"
        return f"stopped after {seconds}: does a loop never end?"

    def _ended(self) -> str:
        """Why the process ended without a reply."""
        try:
            status = self.process.wait(2)
        except subprocess.TimeoutExpired:
            return "the answer closed the pipe to the judge"
        if status == -signal.SIGXCPU or status == -signal.SIGKILL:
            return f"stopped: it used more than {self.limits.seconds:g} s of processor time, or too much memory"
        if status < 0:
            name = signal.Signals(-status).name
            return f"the process ended with {name}"
        return "the process ended before it returned anything: does it call os._exit, or quit?"

    def kill(self) -> None:
        """End the process and everything it started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        for pid in with_token(self.token):  # processes that left the group
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)

    def close(self) -> None:
        for descriptor in (self._requests, self._replies):
            os.close(descriptor)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(0.2)
        self.kill()
        self.process.wait()
        for reader in self._readers:
            reader.join(1)
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def drain(stream: Any, kept: bytearray) -> None:
    """Read all there is and keep the beginning: a flood of prints neither blocks the answer nor fills our memory."""
    try:
        while data := os.read(stream.fileno(), 1 << 16):
            kept += data[: max(0, MOST_OUTPUT - len(kept))]
    except (OSError, ValueError):
        pass


def with_token(token: str) -> list[int]:
    """The processes whose environment carries `token` (on Linux)."""
    found = []
    for entry in os.scandir("/proc") if os.path.isdir("/proc/self") else ():
        if entry.name.isdigit():
            try:
                with open(f"/proc/{entry.name}/environ", "rb") as file:
                    if token.encode() in file.read():
                        found.append(int(entry.name))
            except OSError:
                continue
    return found
