"""Training steps leave nothing behind: no object, no memory, no thread."""

import gc
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import nn, optim


def rss() -> int:
    """Bytes of memory in use."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def growth(step: Callable[[], Any], steps: int, warm: int = 100) -> tuple[int, int]:
    """Objects and bytes that `steps` calls leave behind, without the help of the garbage collector."""
    for _ in range(warm):
        step()
    gc.collect()
    gc.disable()
    try:
        objects, memory = len(gc.get_objects()), rss()
        for _ in range(steps):
            step()
        return len(gc.get_objects()) - objects, rss() - memory
    finally:
        gc.enable()


class Steps:
    """Small training steps: every kind of cell in turn, with Adam."""

    def __init__(self) -> None:
        cells = [nn.GRUBlockCell(2, 3), nn.LSTMBlockCell(2, 3, use_peephole=True), nn.RNNCell(3, 2), nn.LSTM(3, 2)]
        self.x = mr.tensor(np.ones((2, 3), np.float32))
        self.work = [(cell, optim.Adam(cell.parameters(), lr=1e-4)) for cell in cells]
        self.k = 0

    def __call__(self) -> mr.Tensor:
        cell, adam = self.work[self.k % len(self.work)]
        self.k += 1
        y = cell(self.x)
        loss = ((y[0] if isinstance(y, tuple) else y) ** 2).sum()
        adam.zero_grad()
        loss.backward()
        adam.step()
        return loss


needs_proc = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="this system has no /proc")


def leaves_nothing_behind(step: Callable[[], Any], steps: int) -> bool:
    """Whether it holds in one of three tries. A leak shows every time, but other changes of pages do not."""
    return any(objects < 100 and memory < 2**20 for objects, memory in (growth(step, steps) for _ in range(3)))


@needs_proc
@pytest.mark.parametrize("steps", [250, pytest.param(10_000, marks=pytest.mark.slow)])
def test_thousands_of_steps_of_training_leave_nothing_behind(steps: int) -> None:
    assert leaves_nothing_behind(Steps(), steps)


@pytest.mark.slow
@needs_proc
def test_the_measure_of_memory_notices_a_loop_that_keeps_its_losses() -> None:
    steps, kept = Steps(), []
    assert not leaves_nothing_behind(lambda: kept.append(steps()), 110)


@needs_proc
def test_a_tape_that_is_never_used_is_given_back() -> None:
    x = mr.tensor(np.ones((50, 50)), requires_grad=True)
    assert leaves_nothing_behind(lambda: (x * 2).exp().sum(), 250)


def test_a_failed_step_leaves_nothing_behind() -> None:
    x = mr.tensor(np.ones((20, 30)), requires_grad=True)

    def fail() -> None:
        with pytest.raises(ValueError):
            (x * 2) @ x

    before = threading.active_count()
    for _ in range(50):
        fail()
    gc.collect()
    objects = len(gc.get_objects())
    for _ in range(200):
        fail()
    gc.collect()
    assert len(gc.get_objects()) - objects < 100
    assert threading.active_count() <= before  # a thread of another test may end in the meantime
