"""Runs an answer on systems without fork, such as Windows. There are no locks, and only a time limit.

This is only suitable for a student's own machine. Judging is the same as in `parent`, but the process is started, read
and ended differently. Threads read its pipes, because not every system can wait for a pipe.
"""

from __future__ import annotations

import contextlib
import os
import queue
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from minirnn.learn.sandbox import protocol
from minirnn.learn.sandbox.clock import INTERVAL, Clock, TimeIsUp
from minirnn.learn.sandbox.parent import CLOSING, GPU_SECONDS, STARTING, Child
from minirnn.learn.sandbox.replies import Reply
from minirnn.learn.sandbox.session import Session, drain
from minirnn.learn.sandbox.system_locks import START

NO_SIMULATOR = (
    "not judged: CUDA exercises run in the simulator, which needs Linux or macOS\n"
    "  on Windows install the Linux subsystem: wsl --install"
)


class ByTheClock(Clock):
    """Measures clock time, because the time that a process uses itself is not available here."""

    def __init__(self, seconds: float) -> None:
        super().__init__(0, seconds, seconds)

    @property
    def used(self) -> float:
        return time.monotonic() - self.begun

    def look(self, quiet: float) -> None:
        if self.used >= self.own:
            raise TimeIsUp


class Process(Session):
    """One process of an answer. Two threads exchange its messages, and a third reads its printed text.

    Attributes
    ----------
    inbox, outbox : SimpleQueue
        Messages from it and to it. An exception says why there are no more, and None marks the end.
    """

    def __init__(self, job: dict[str, Any], environment: dict[str, str], output: bytearray) -> None:
        self.output, self.ready, self.pid, self.status = output, False, 0, None
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-u", "-X", "utf8", str(START), "unlocked"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0, cwd=job["scratch"],
            env=environment, creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )  # fmt: skip
        assert self.process.stderr is not None
        self.inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.outbox: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self.readers = [
            threading.Thread(target=self._read, daemon=True),
            threading.Thread(target=drain, args=(os.dup(self.process.stderr.fileno()), output), daemon=True),
        ]
        self.writer = threading.Thread(target=self._write, daemon=True)
        for thread in (*self.readers, self.writer):
            thread.start()
        self.outbox.put(job)

    def _read(self) -> None:
        assert self.process.stdout is not None
        try:
            while (message := protocol.receive(self.process.stdout.fileno())) is not None:
                self.inbox.put(message)
            self.inbox.put(None)
        except (protocol.BadMessage, MemoryError, OSError) as error:
            self.inbox.put(error)

    def _write(self) -> None:
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):  # it has ended; whoever waits for its reply learns how
            while (message := self.outbox.get()) is not None:
                protocol.send(self.process.stdin.fileno(), message)

    def end(self) -> None:
        """End the process, and wait until all its printed text is read."""
        self.process.kill()
        self.process.wait()
        self.drained()

    def close(self) -> None:
        self.outbox.put(None)
        self.writer.join(5)
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert pipe is not None
            pipe.close()


class Unlocked(Child):
    """A running answer, like `Child`, but without locks."""

    session: Process

    def _start(self, job: dict[str, Any], environment: dict[str, str]) -> None:
        self.job, self.environment = {**job, "stack": str(self.folder / "stack")}, environment

    def _begin(self) -> None:
        scratch = Path(self.job["scratch"])
        shutil.rmtree(scratch, ignore_errors=True)
        copy = scratch / self.shown
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(self.file, copy)
        left = max(0.1, self.limits.seconds - self.spent)
        self.session = Process({**self.job, "seconds": left}, self.environment, self.output)
        self.clock = ByTheClock(self.limits.seconds + GPU_SECONDS if self.on_gpu else STARTING)

    def _clock(self, own: float) -> Clock:
        return ByTheClock(own)

    def wait(self, callbacks: Any = None, message: dict[str, Any] | None = None) -> Reply:
        if self.kind == "cuda" and not self.on_gpu:
            return Reply(fatal=NO_SIMULATOR)
        return super().wait(callbacks, message)

    def _send(self, message: dict[str, Any]) -> None:
        self.session.outbox.put(message)

    def _receive(self) -> dict[str, Any] | None:
        while True:
            with contextlib.suppress(queue.Empty):
                found: dict[str, Any] | Exception | None = self.session.inbox.get(timeout=INTERVAL)
                if isinstance(found, Exception):
                    raise found
                return found
            self.clock.look(0.0)

    def _stopped(self) -> str:
        """The position of the process, which it wrote down when its time was over."""
        end, stack = time.monotonic() + CLOSING, ""
        while "\n  File" not in stack and time.monotonic() < end:
            with contextlib.suppress(OSError):
                stack = Path(self.job["stack"]).read_text(encoding="utf-8", errors="replace")
            time.sleep(0.02)
        self.kill()
        return self._stopped_at(stack) if self.session.ready else "not judged: the process did not start"

    def _ended(self) -> str:
        """The reason why the process ended without a reply."""
        try:
            self.session.process.wait(CLOSING)
        except subprocess.TimeoutExpired:
            self.kill()
            return "the answer closed the pipe to the judge"
        self.session.drained()
        if not self.session.ready:
            said = self.prints.strip().splitlines()
            return f"not judged: the process could not be started: {said[-1] if said else 'no reason given'}"
        self.session.status = self.session.process.returncode
        if 0 <= self.session.status < 256:
            return "the process ended before it returned anything: does it call os._exit, or quit?"
        return f"the process ended with status {self.session.status}"

    def kill(self) -> None:
        self.session.end()

    def close(self) -> None:
        """End the process; nothing is left on the disk."""
        self.kill()
        self.session.close()
        shutil.rmtree(self.folder, ignore_errors=True)
