"""Ctrl-C at any moment: training resumes with the same bits, and the state of the library stays consistent."""

import gc
import os
import random
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import nn, optim
from minirnn.devices.cpu import workspace
from minirnn.devices.cuda.debug import DebugDriver
from minirnn.devices.cuda.gpu import memory as gpu_memory
from minirnn.devices.cuda.sim.driver import SimDriver
from minirnn.devices.cuda.sim.options import SimOptions
from minirnn.engine.hooks import running
from minirnn.engine.tape import mode
from minirnn.io import load, save
from minirnn.train import run
from minirnn.train.checkpoint import CHECKPOINT, read_checkpoint
from minirnn.train.options import Options
from minirnn.train.progress import Interrupt
from minirnn.train.training import Training
from tests.slow import slow_unless

TEXT = "".join(f"{k} times {k} is {k * k}, " for k in range(60))


class Moments:
    """Counts the moments at which Ctrl-C can occur; at number `press_at` it calls `press`."""

    def __init__(self, press_at: int, press: Callable[[], Any], events: tuple[str, ...] = ("call",)) -> None:
        self.press_at, self.press, self.events = press_at, press, events
        self.seen = 0

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        if event not in self.events or in_a_with(frame):
            return
        self.seen += 1
        if self.seen == self.press_at:
            self.press()


def in_a_with(frame: FrameType | None) -> bool:
    """Whether a context manager is being entered or left, where one written in Python cannot be safe."""
    while frame is not None:
        if frame.f_code.co_name in ("__enter__", "__exit__"):
            return True
        frame = frame.f_back
    return False


@contextmanager
def ctrl_c(moments: Moments) -> Iterator[Moments]:
    sys.setprofile(moments)
    try:
        yield moments
    finally:
        sys.setprofile(None)


def keyboard_interrupt() -> None:
    raise KeyboardInterrupt


@pytest.fixture
def no_garbage() -> Iterator[None]:
    """Finalizers of objects from other tests are also calls, and swallow exceptions."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


# ---- minirnn train


def small_training(steps: int = 20) -> Training:
    training = Training(Options(hidden=4, batch=2, length=5, layers=2, dropout=0.3, steps=steps), TEXT)
    training.start()
    return training


def bits(path: Path) -> dict[str, Any]:
    """Everything in a checkpoint, exactly."""
    arrays, metadata = load(path)
    return {name: (a.dtype.str, a.shape, a.tobytes()) for name, a in arrays.items()} | {"metadata": metadata}


def train(folder: Path, press_at: int) -> Moments:
    """Train in the folder, or resume there; Ctrl-C is sent at one moment."""
    training = small_training()
    if (folder / CHECKPOINT).exists():
        training.restore(*read_checkpoint(folder / CHECKPOINT))
    moments = Moments(press_at, lambda: signal.raise_signal(signal.SIGINT))
    with Interrupt() as interrupt, ctrl_c(moments):
        run.train(training, folder, interrupt, quiet=True)
    assert interrupt.requested == (moments.seen >= press_at)
    return moments


@pytest.mark.slow
def test_ctrl_c_at_random_moments_of_training_and_resuming_changes_no_bit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)  # of no interest here, and slow
    once, broken = tmp_path / "once", tmp_path / "broken"
    once.mkdir()
    broken.mkdir()
    every = train(once, sys.maxsize).seen
    draw, stops = random.Random(7), 0
    while (press_at := draw.randrange(1, every // 3)) <= train(broken, press_at).seen:
        stops += 1
        mr.random.generator().random(3)  # as if another program had drawn numbers in the meantime
    assert stops > 2, "hardly interrupted: this run showed nothing"
    assert bits(broken / CHECKPOINT) == bits(once / CHECKPOINT)


def test_resuming_without_the_random_stream_changes_bits(tmp_path: Path) -> None:
    """The control of the test above: its comparison depends on everything in a checkpoint."""
    for name, forget in (("a", False), ("b", True)):
        training = small_training()
        for step in range(20):
            if step == 10 and forget:
                mr.manual_seed(99)
            training.advance()
        training.save(tmp_path / name)
    assert bits(tmp_path / "a") != bits(tmp_path / "b")


# ---- a loop as a user writes it


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # one that is raised inside a __del__
@pytest.mark.parametrize("share", [20, pytest.param(1, marks=pytest.mark.slow)])
def test_a_keyboard_interrupt_at_any_call_of_a_training_step_leaves_the_library_and_the_file_in_order(
    share: int, no_garbage: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At every call of the step, or at one of `share`."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    x = mr.tensor(np.ones((3, 2, 3), np.float32))
    model = nn.LSTM(3, 4, num_layers=2, dropout=0.2)
    adam = optim.Adam(model.parameters(), lr=0.01)
    path = tmp_path / "c.safetensors"
    save(path, model.state_dict(), {})

    def step() -> None:
        loss = (model(x)[0] ** 2).mean()
        adam.zero_grad()
        loss.backward()
        with mr.no_grad():
            optim.clip_grad_norm_(model.parameters(), 1.0)
        adam.step()
        save(path, model.state_dict(), {})

    step()  # creates the state of the optimizer
    with ctrl_c(Moments(-1, keyboard_interrupt)) as moments:
        step()
    every, errors = moments.seen, np.geterr()
    assert every > 400
    for press_at in range(1, every, share):
        with suppress(KeyboardInterrupt), ctrl_c(Moments(press_at, keyboard_interrupt)) as moments:
            step()
        assert moments.seen >= press_at, f"call {press_at} did not come"
        assert mode.enabled and running.callbacks is None, f"call {press_at}"
        assert np.geterr() == errors and mr.devices.get().name == "cpu", f"call {press_at}"
        assert load(path)[0].keys() == model.state_dict().keys(), f"call {press_at}"


# ---- the lifetime of an array


class NoGpu:
    """A minimal GPU and PyCUDA for memory, with numbers as blocks."""

    alive, MemoryError, blocks = True, MemoryError, 0

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass

    def mem_alloc(self, size: int) -> int:
        self.blocks += 1
        return 4096 * self.blocks


def memory_of(name: str) -> partial[Any]:
    """Functions that make a new array, or a block of memory, of one size."""
    if name == "cpu":
        return partial(workspace.Pool().empty, (workspace.MIN_BLOCK,), np.uint8)
    if name == "cuda":
        gpu = NoGpu()
        return partial(gpu_memory.Memory("cuda", gpu, gpu).alloc, 1000)
    driver = SimDriver(SimOptions(check=name == "check"))
    return partial((DebugDriver(driver) if name == "debug" else driver).alloc, 1000)


def live_and_die(make: partial[Any]) -> None:
    first, second = make(), make()
    del first
    first = make()
    del first, second


@pytest.mark.parametrize("name", slow_unless(["cpu", "debug"], ["cpu", "cuda", "cuda-sim", "check", "debug"]))
def test_a_keyboard_interrupt_at_any_moment_in_the_life_of_an_array_is_the_only_thing_said(
    name: str, no_garbage: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[Any] = []  # a Ctrl-C inside a __del__ is reported and lost; nothing else may be
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: said.append(unraisable.exc_type))
    at = partial(Moments, press=keyboard_interrupt, events=("call", "c_return"))  # then Python looks for signals
    make = memory_of(name)
    with ctrl_c(at(-1)) as moments:
        live_and_die(make)
    assert moments.seen > 20
    interrupted = 0
    for press_at in range(1, moments.seen):
        make = memory_of(name)
        try:
            with ctrl_c(at(press_at)):
                live_and_die(make)
        except KeyboardInterrupt:
            interrupted += 1
        alive = [make() for _ in range(3)]
        if name != "cpu":
            assert len({array.ptr for array in alive}) == 3
        if name == "debug":
            around = make.func.__self__.around
            assert all(around(array.ptr + 3) == (array.ptr, array.nbytes) for array in alive)
        assert set(said) <= {KeyboardInterrupt}, f"moment {press_at} of {moments.seen}"
    assert interrupted > moments.seen / 3
