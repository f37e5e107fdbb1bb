"""The tasks in the tests of executors, as functions of a module so that other processes find them."""

import os
import signal
import time
from pathlib import Path


def square(x: int) -> int:
    return x * x


def refuse_odd(x: int) -> int:
    if x % 2:
        raise ValueError(f"{x} is odd")
    return x


def die_once(task: tuple[int, str]) -> int:
    """Task 3 kills its worker the first time; each start of a task creates a file."""
    x, folder = task
    begun = len(list(Path(folder).glob(f"{x}-*")))
    (Path(folder) / f"{x}-{begun}").touch()
    if x == 3 and not begun:
        os.kill(os.getpid(), signal.SIGKILL)
    return x * x


def die(x: int) -> int:
    """Task 3 kills every worker."""
    if x == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return x * x


def wait_for(task: tuple[str, str]) -> str:
    """Write a file with the worker's process id, and wait for another file."""
    begun, end = map(Path, task)
    (begun.with_suffix(".part")).write_text(str(os.getpid()))
    os.replace(begun.with_suffix(".part"), begun)
    while not end.exists():
        time.sleep(0.01)
    return begun.name
