"""Measures how long an answer has worked, so that no answer fails because the machine is busy.

The time that counts is what the answer's process used itself, on the processor or asleep by its own choice, plus the
processor time that the judge spends on its messages. Time in which the process waits for the processor or for the judge
does not count. Only a far limit in clock time ends such a wait.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from typing import NamedTuple

THREADS = 64
"""The largest number of threads of an answer. The system does not limit those of root's processes."""
BUDGET = 20.0
"""Seconds for compiling and running an answer together, unless its own limit is larger."""
INTERVAL = 0.05
"""Seconds between two checks of the process."""


class TimeIsUp(Exception):
    """The process has used all its time."""


class MachineIsBusy(Exception):
    """The limit in clock time was reached although the process has not used up its own time."""


class TooManyThreads(Exception):
    """The process has more threads than an answer may have."""


class Usage(NamedTuple):
    """The processor time that a process has used, in seconds, and whether it is asleep now.

    Attributes
    ----------
    busy : dict or None
        For each thread, the seconds for which it worked or was ready to run; None if unknown.
    threads : int
        The number of threads.
    held : bool
        Whether it is stopped or waits for a disk, which is not its own choice.
    """

    seconds: float
    asleep: bool
    busy: dict[str, float] | None = None
    threads: int = 1
    held: bool = False


def usage(pid: int) -> Usage | None:
    """The usage of the process `pid`, or None if it has ended."""
    if not os.path.isdir("/proc/self"):
        return usage_from_ps(pid) if pid else None
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # After the name, which may contain anything, comes the state. Fields 11 and 12 are user and system time in
            # ticks.
            state, *numbers = file.read().rpartition(b")")[2].split()
        seconds = (int(numbers[10]) + int(numbers[11])) / os.sysconf("SC_CLK_TCK")
    except OSError:
        return None
    if state == b"Z":
        return None
    return Usage(seconds, state == b"S", busy_threads(pid), int(numbers[16]), state in b"DTt")


def busy_threads(pid: int) -> dict[str, float] | None:
    """Seconds for which each thread of a process worked or was ready to run; None if the system does not report it."""
    found = {}
    try:
        for thread in os.listdir(f"/proc/{pid}/task")[: THREADS + 1]:
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has just ended
                with open(f"/proc/{pid}/task/{thread}/schedstat", encoding="ascii") as file:
                    found[thread] = sum(map(int, file.read().split()[:2])) / 1e9
                continue
            if not os.path.exists("/proc/self/schedstat"):
                return None
    except (OSError, ValueError, IndexError):
        return None
    return found


def usage_from_ps(pid: int) -> Usage | None:
    """The same for systems without /proc, such as macOS."""
    done = subprocess.run(["ps", "-o", "stat=,time=", "-p", str(pid)], capture_output=True, encoding="ascii")
    if not done.stdout.strip():
        return None
    state, text = done.stdout.split()
    seconds = 0.0
    for part in text.split(":"):  # minutes and seconds, with or without hours
        seconds = 60 * seconds + float(part)
    return Usage(seconds, state[0] in "SI")


class Clock:
    """Counts a process's own time from now on.

    Parameters
    ----------
    pid : int
        The process.
    own, far : float
        Limits in seconds: of the process's own time, and by the clock.
    """

    def __init__(self, pid: int, own: float, far: float) -> None:
        self.pid, self.own, self.far = pid, own, far
        self.begun = self.looked = time.monotonic()
        self.before = self.now = usage(pid) or Usage(0.0, False)
        self.slept = self.doubtful = self.quiet = self.served = 0.0
        self.judge = time.thread_time()

    @property
    def used(self) -> float:
        """The process's own time so far in seconds, including the judge's work for it."""
        return self.now.seconds - self.before.seconds + self.slept + self.served

    def serve(self) -> None:
        """Start counting the work of this thread for the answer, until the next check."""
        self.judge = time.thread_time()

    def sleep(self, found: Usage, passed: float, wall: float) -> float:
        """The seconds since the last check in which the process slept, with no thread working or waiting.

        The system reports a wait only when it is over. The report may then exceed the time since the last check
        (`wall`), and earlier sleep is subtracted again.

        The current state alone is not reliable, because a process that sends a byte and sleeps always looks busy. Only
        the busiest thread counts: many threads that wake at once wait for each other, although the machine is not busy.
        """
        worked = found.seconds - self.now.seconds
        if found.held:
            return 0.0
        if found.busy is not None and self.now.busy is not None:
            before = self.now.busy
            busy = max((now - before.get(t, 0.0) for t, now in found.busy.items()), default=0.0)
            if busy > wall:
                late, self.doubtful = min(self.doubtful, busy - wall), 0.0
                return -late
            slept = max(0.0, passed - busy)
            self.doubtful = slept if busy > 0 else self.doubtful + slept
            return slept
        return passed if found.asleep and worked == 0 else 0.0

    def look(self, quiet: float) -> None:
        """Check the process now, unless the last check was a moment ago.

        Parameters
        ----------
        quiet : float
            Seconds for which the judge has waited for the process since the last call. The process counts as asleep
            only during this time.

        Raises
        ------
        TimeIsUp, MachineIsBusy, TooManyThreads
            If a limit is reached.
        """
        moment = time.monotonic()
        self.quiet += quiet
        self.served += (now := time.thread_time()) - self.judge
        self.judge = now
        if self.used >= self.own:
            raise TimeIsUp
        if moment - self.looked < INTERVAL:
            return
        found = usage(self.pid) or self.now
        if found.threads > THREADS:
            raise TooManyThreads
        wall = moment - self.looked
        self.slept += self.sleep(found, min(self.quiet, wall), wall)
        self.now, self.looked, self.quiet = found, moment, 0.0
        if self.used >= self.own:
            raise TimeIsUp
        if moment - self.begun >= self.far:
            raise MachineIsBusy
