"""Runs an answer in a separate process with limits, under a supervisor. The judge survives whatever it does."""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import select
import shutil
import signal
import socket
import struct
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from minirnn.learn.cleaned import cleaned, cleaned_all
from minirnn.learn.sandbox import protocol, templates
from minirnn.learn.sandbox.clock import BUDGET, INTERVAL, THREADS, Clock, MachineIsBusy, TimeIsUp, TooManyThreads, usage
from minirnn.learn.sandbox.records import RECORD
from minirnn.learn.sandbox.replies import Reply, line_of, reply_of, text_of
from minirnn.learn.sandbox.session import Session, drain

LEARN = Path(__file__).parents[1]
"""The folder of the code that knows the course. No answer may read it."""
ROOT = templates.ROOT
WAYS = frozenset({"namespaces", "landlock", "seccomp", "hook"})
"""The locks that a system may support. All that it supports are used."""
ORDERS = (0, 1, 2)
"""The orders in which the simulator schedules the threads of a CUDA kernel."""
SCM_CREDENTIALS = 2
BUSY = "machine busy, grade again"
CALLS = 2000
"""The largest number of calls per case of functions that the judge computes for an answer."""
STARTING = 300.0
"""Seconds of clock time that a busy machine may take to start the process and to compile a CUDA kernel."""
FAR = 10
"""The limit in clock time as a multiple of an answer's own seconds. After it, the machine is too busy to judge."""
STACK = 1.0
"""Seconds of its own time in which a process must print its stack. A running process does this at once."""
CLOSING = 2.0
"""Seconds of clock time in which a process must end after it has closed its pipe."""
GPU_SECONDS = 30.0
"""Extra seconds of clock time for an answer on a GPU, because nothing reports when its kernel is compiled."""
KEPT = ("PATH", "HOME", "LANG", "XDG_CACHE_HOME", "MINIRNN_CACHE", "CXX", "SYSTEMROOT")


@dataclass(frozen=True)
class Limits:
    """The limits of an answer: seconds of its own time (see `clock`) for all its calls, and megabytes."""

    seconds: float = 20.0
    megabytes: int = 2048

    @property
    def together(self) -> float:
        """Seconds for compiling and running together."""
        return max(BUDGET, self.seconds)


class Child:
    """A running answer. It is a context manager that ends the process and everything that it started.

    On `device` "cuda" (a CUDA kernel on a GPU) the only limit is the clock, and there are no locks.

    Attributes
    ----------
    file : Path
        A copy of the answer, where the answer cannot write.
    output : bytearray
        The printed text. `hide_prints` starts a new one.
    lines : int
        The number of lines of the answer.
    imported : bool
        Whether the answer has imported minirnn.
    tried : str
        What the answer did that no exercise may do; empty if it did nothing of the kind.
    ways : frozenset of str
        The locks to use, from `WAYS`. Tests omit some.
    """

    ways = WAYS

    def __init__(
        self, file: Path, shown: str, function: str, kind: str, limits: Limits, device: str = "cuda-sim",
        secret: Sequence[Path] = (), changes: str = "", together: float | None = None,
    ):  # fmt: skip
        self.limits, self.shown, self.kind, self.secret = limits, shown, kind, secret
        self.function, self.together = function, limits.together if together is None else together
        self.folder = Path(tempfile.mkdtemp(prefix="minirnn-"))
        self.file, scratch = self.folder / "answer", self.folder / "work"
        self.output, self.imported, self.tried = bytearray(), False, ""
        scratch.mkdir()
        shutil.copyfile(file, self.file)
        self.lines = len(re.findall(rb"\r\n?|\n", self.file.read_bytes())) + 1
        self.on_gpu = device == "cuda"
        kept = os.environ if self.on_gpu else KEPT
        environment = {name: os.environ[name] for name in kept if name in os.environ}
        threads = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
        environment |= dict.fromkeys(threads, "1")
        job = dict(
            file=shown, function=function, kind=kind, seconds=limits.seconds, memory=limits.megabytes, root=str(ROOT),
            device=device, source=str(self.file), folder=str(self.folder), scratch=str(scratch), bounded=False,
            ways=[] if self.on_gpu else sorted(self.ways), secret=[str(path.resolve()) for path in (LEARN, *secret)],
            orders=ORDERS, changes=changes, together=self.together,
        )  # fmt: skip
        self._start(job, environment)
        self.spent = self.compiled = 0.0
        self._begin()

    def _start(self, job: dict[str, Any], environment: dict[str, str]) -> None:
        """Start the supervisor."""
        self.control, theirs = socket.socketpair()
        if hasattr(socket, "SO_PASSCRED"):
            self.control.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self.trouble = bytearray()
        complained, complaints = os.pipe()
        self._trouble = threading.Thread(target=drain, args=(complained, self.trouble), daemon=True)
        self._trouble.start()
        self.supervisor = 0
        with theirs:
            try:
                start = templates.alone if self.on_gpu else templates.supervisor
                told = json.dumps(job).encode()
                self.supervisor = start(self._prepared(), environment, theirs.fileno(), complaints)
                self.control.sendall(struct.pack("<I", len(told)) + told)
            except (templates.Broken, OSError) as error:  # the first wait reports it
                self.trouble += str(error).encode()
            finally:
                os.close(complaints)
        self._records = bytearray()

    def _prepared(self) -> str:
        """The kind of template."""
        return "python" if self.kind != "cuda" else "gpu" if self.on_gpu else "simulated"

    def _begin(self) -> None:
        """Start a session."""
        self.session = Session(self.control, self.output)
        self.clock = Clock(0, math.inf, self.limits.seconds + GPU_SECONDS if self.on_gpu else STARTING)

    def another(self, function: str) -> Child:
        """The same answer in another process, to call another of its functions."""
        return type(self)(self.file, self.shown, function, self.kind, self.limits, secret=self.secret)

    def changed(self, changes: str, seconds: float) -> Child:
        """The same CUDA kernel with all changes ("types" or "all"), within the answer's remaining budget."""
        left = max(0.0, self.together - self.compiled - self.spent - (self.clock.used if self.session.ready else 0.0))
        limits = Limits(seconds, self.limits.megabytes)
        return type(self)(self.file, self.shown, self.function, "cuda", limits, secret=self.secret,
                          changes=changes, together=left)  # fmt: skip

    def anew(self) -> None:
        """Continue in a new process that knows nothing of earlier calls. Its time keeps counting."""
        if self.session.ready:
            self.clock.now = usage(self.session.pid) or self.clock.now
            self.spent += self.clock.used
        self.kill()
        self.session.close()
        self._begin()

    def hide_prints(self) -> str:
        """Continue in a new process whose prints are only for the teacher. Returns the text printed so far."""
        self.kill()
        shown, self.output = self.prints, bytearray()
        self.anew()
        return shown

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @property
    def prints(self) -> str:
        """The printed text, up to `session.MOST_OUTPUT` bytes, which is kept in memory."""
        return cleaned(self.output.decode(errors="replace"))

    def call(self, message: dict[str, Any], callbacks: Mapping[str, Callable[..., Any]] | None = None) -> Reply:
        """Call the answer, and serve the functions that it calls."""
        return self.wait(callbacks or {}, message)

    def wait(
        self, callbacks: Mapping[str, Callable[..., Any]] | None = None, message: dict[str, Any] | None = None
    ) -> Reply:
        """The next reply, after sending `message` if there is one."""
        calls = 0
        self.clock.serve()
        while True:
            try:
                if message is not None:
                    self._send(message)
                    message = None
                reply = cleaned_all(self._receive())
                self.clock.look(0.0)  # reading it also took time
            except TimeIsUp:
                return Reply(fatal=self._stopped())
            except MachineIsBusy:
                return Reply(fatal=self._stopped()) if self.on_gpu else Reply(fatal=self._given_up(), busy=True)
            except TooManyThreads:
                self.kill()
                return Reply(fatal=f"the answer starts more than {THREADS} threads, which no exercise may do")
            except (protocol.BadMessage, MemoryError, OSError, RecursionError) as error:
                return Reply(fatal=f"what came back could not be read ({error}): is NumPy or a pipe patched?")
            if reply is None:
                why = self._ended()
                return Reply(fatal=why, busy=self.session.status is None and not self.session.ready)
            if "ready" in reply and not self.session.ready:
                self.session.ready = True  # only once, because repeating the claim must not gain time
                compiled = reply.get("compiled", 0.0)
                self.compiled += (
                    compiled if type(compiled) is float else 0.0
                )  # true, because no code of the answer has run yet
                left = min(self.limits.seconds, self.together - self.compiled) - self.spent
                self.clock = self._clock(max(0.0, left))
                continue
            if "violation" in reply:
                self.tried = f"{text_of(reply['violation'], 300)}, which no exercise may do"
                return Reply(fatal=f"the answer {self.tried}", line=line_of(reply.get("line"), self.lines))
            if "callback" in reply:
                name, arguments = text_of(reply["callback"]), reply.get("arguments")
                function = (callbacks or {}).get(name)
                if function is None or type(arguments) is not list:
                    return Reply(fatal="the answer called a function that it was not given")
                if (calls := calls + 1) > CALLS:
                    return Reply(fatal=f"the answer calls {name} more than {CALLS} times")
                try:
                    message = {"value": function(*arguments)}
                    protocol.pack(message)
                except Exception as error:  # the answer called it with wrong arguments, which is its own mistake
                    message = {"error": f"{type(error).__name__}: {error}"}
                continue
            found = reply_of(reply, self.lines)
            self.imported = self.imported or found.imported
            if found.error and found.error["type"] == "PermissionError":
                self.tried = f"was refused by a lock: {found.error['text'][:300]}"
            return found

    def _send(self, message: dict[str, Any]) -> None:
        with contextlib.suppress(BrokenPipeError):  # the process ended; the next wait reports how
            protocol.send(self.session.requests, message, lambda: self._wait(write=True))

    def _receive(self) -> dict[str, Any] | None:
        return protocol.receive(self.session.replies, self._wait)

    def _clock(self, own: float) -> Clock:
        """The clock of an answer that is ready and has this many seconds left."""
        return Clock(self.session.pid, own, FAR * self.limits.seconds)

    def _wait(self, write: bool = False) -> None:
        """Wait until the answer has sent or received something. Its time counts."""
        reading, writing = ([], [self.session.requests]) if write else ([self.session.replies], [])
        while True:
            since = time.monotonic()
            came = any(select.select(reading, writing, [], INTERVAL))
            quiet = time.monotonic() - since
            self._listen()
            self.clock.look(quiet)  # an answer that sends one byte at a time also reaches its limits
            if came:
                return

    def _listen(self, seconds: float = 0.0) -> bool:
        """Read a report of the supervisor, if one arrives within `seconds`. Returns whether it is still alive."""
        while select.select([self.control], [], [], seconds)[0]:
            try:
                data, ancillary, _, _ = self.control.recvmsg(RECORD.size - len(self._records), 256)
            except OSError:
                return False
            if not data:
                return False
            self._records += data
            if len(self._records) < RECORD.size:
                continue
            letter, number, used = RECORD.unpack(self._records)
            self._records.clear()
            if letter == b"w":  # the process id in the namespace may differ from the one here, which the kernel reports
                told = [struct.unpack("3i", rest[:12])[0] for _, kind, rest in ancillary if kind == SCM_CREDENTIALS]
                self.session.pid = (told or [number])[0]
                self.session.status = None
            else:
                self.session.status = number
            seconds = 0.0
        return True

    def _given_up(self) -> str:
        """The reason why there is no reply although the answer has not used up its time."""
        self.kill()
        if not self.session.ready:
            return f"not judged: the process did not start within {STARTING:g} s; {BUSY}"
        return (
            f"not judged: no answer within {self.clock.far:g} s, of which the machine gave it {self.clock.used:.1f} s;"
            f" {BUSY}"
        )

    def _stopped(self) -> str:
        """The position of the process when its time was up, from the stack that it prints on request."""
        with contextlib.suppress(OSError):
            if self.session.pid:
                os.kill(self.session.pid, signal.SIGUSR1)
        patience = self._clock(STACK)  # on a busy machine, it prints late
        with contextlib.suppress(TimeIsUp, MachineIsBusy, TooManyThreads):
            while not re.search(rb"in <module>|\n  \.\.\.", self.session.complaints):
                if self.session.status is not None or not self._listen(0.02):
                    break
                patience.look(0.02)
        self.kill()
        self.session.drained()
        return self._stopped_at(self.session.complaints.decode(errors="replace"))

    def _stopped_at(self, stack: str) -> str:
        """Describe where an answer was when its time was up."""
        seconds = f"{self.limits.seconds:g} s"
        if found := re.search(rf'File "{re.escape(self.shown)}", line (\d+) in (\S+)', stack):
            return f"stopped after {seconds} in {cleaned(found[2], 100)}, line {found[1]}: does a loop never end?"
        return f"stopped after {seconds}: does a loop never end?"

    def _ended(self) -> str:
        """The reason why the process ended without a reply."""
        patience = time.monotonic() + CLOSING
        while self.session.status is None and self._listen(0.05):
            if time.monotonic() > patience and usage(self.session.pid) is not None:
                self.kill()
                return "the answer closed the pipe to the judge"
        status = self.session.status
        if status is None:
            self._trouble.join(5)
            said = self.trouble.decode(errors="replace").strip().splitlines()
            return f"not judged: the process could not be started: {said[-1] if said else 'no reason given'}"
        if status == -signal.SIGXCPU or status == -signal.SIGKILL:
            return f"stopped: it used more than {self.limits.seconds:g} s of processor time, or too much memory"
        if status < 0:
            named = -status in {int(number) for number in signal.Signals}  # real-time signals have no names
            name = signal.Signals(-status).name if named else f"signal {-status}"
            return f"the process ended with {name}"
        return "the process ended before it returned anything: does it call os._exit, or quit?"

    def kill(self) -> None:
        """End the process and everything it started."""
        if self.session.status is None:
            with contextlib.suppress(OSError):
                self.control.send(b"k")
        while self.session.status is None and self._listen(60):
            pass  # it is killed, so this takes only as long as the machine needs
        self.session.drained()

    def close(self) -> None:
        """End the process, its children and its supervisor. Nothing is left on the disk."""
        with contextlib.suppress(OSError):
            self.control.shutdown(socket.SHUT_WR)  # the supervisor then ends; its end of the socket closes last
        end = time.monotonic() + 60
        while self._listen(1.0):
            if self.supervisor and time.monotonic() > end:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(self.supervisor, signal.SIGKILL)
        self.control.close()
        self.session.drained()
        self.session.close()
        self._trouble.join(5)
        shutil.rmtree(self.folder, ignore_errors=True)
