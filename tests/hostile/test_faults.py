"""What goes wrong around a program: it is killed, the disk is full, the folder is read-only, Ctrl-C, others write."""

from __future__ import annotations

import gc
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import nn, optim, viz
from minirnn.devices.cpu import workspace
from minirnn.devices.cuda.debug import DebugDriver
from minirnn.devices.cuda.gpu import memory as gpu_memory
from minirnn.devices.cuda.sim.driver import SimDriver
from minirnn.devices.cuda.sim.options import SimOptions
from minirnn.engine.hooks import running
from minirnn.engine.tape import mode
from minirnn.io import load, save, write_arrays
from minirnn.train import work
from minirnn.train.folder import CHECKPOINT, opened
from minirnn.train.options import Options
from minirnn.train.progress import Interrupt
from minirnn.train.run import Training
from minirnn.train.saved import read_checkpoint
from minirnn.user_error import UserError

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
TEXT = "".join(f"{k} times {k} is {k * k}, " for k in range(60))
posix = pytest.mark.skipif(os.name != "posix", reason="signals, fork and limits are those of POSIX")


def run(*arguments: str, timeout: float = 280) -> str:
    """The output of a Python process that can import minirnn and these tests."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": os.fspath(ROOT)}
    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, timeout=timeout, env=environment, cwd=HERE
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


# ---- kill -9


@posix
@pytest.mark.parametrize("seed", [0, 1])
def test_after_a_hundred_kills_the_checkpoint_is_whole_and_the_newest_that_was_safe(seed: int, tmp_path: Path) -> None:
    found = json.loads(run(os.fspath(HERE / "killed_writers.py"), os.fspath(tmp_path), "100", "atomic", str(seed)))
    assert found["broken"] == found["lost"] == found["crowded"] == 0
    assert found["leftovers"] > 10, "hardly a kill came in the middle of a write: this run showed nothing"
    assert found["steps"] > 10, "hardly a write was completed: this run showed nothing"
    assert found["files"] == ["c.safetensors"]


@posix
def test_the_same_kills_break_a_file_that_is_written_in_place(tmp_path: Path) -> None:
    found = json.loads(run(os.fspath(HERE / "killed_writers.py"), os.fspath(tmp_path), "60", "plain", "0"))
    assert found["broken"] > 0


# ---- a full disk


@contextmanager
def disk_with_room_for(size: int) -> Iterator[None]:
    """No file may grow beyond `size` bytes: a write fails in the middle, as on a full disk."""
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def picture() -> viz.Picture:
    return viz.gradient_flow(np.ones((2, 3)))


WRITERS: dict[str, Callable[[Path, int], None]] = {
    "save": lambda path, n: save(path, {"w": np.full(9000, n)}, {"n": n}),
    "write_arrays": lambda path, n: write_arrays(path, {"w": np.full(9000, n)}, {"n": str(n)}),
    "viz.save": lambda path, n: viz.save(picture(), path.with_suffix(".png")),
}


@posix
@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("room", [0, 1, 512, 4096])
def test_on_a_full_disk_the_older_file_stays_and_nothing_else(writer: str, room: int, tmp_path: Path) -> None:
    WRITERS[writer](tmp_path / "c.safetensors", 1)
    (path,) = tmp_path.iterdir()
    before = path.read_bytes()
    assert len(before) > room
    with disk_with_room_for(room), pytest.raises(OSError, match="File too large"):
        WRITERS[writer](tmp_path / "c.safetensors", 2)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    assert path.read_bytes() == before
    WRITERS[writer](tmp_path / "c.safetensors", 3)


@posix
def test_a_file_written_in_place_is_cut_off_on_that_disk(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"a" * 1000)
    with disk_with_room_for(512), pytest.raises(OSError, match="File too large"):
        path.write_bytes(b"b" * 1000)
    assert len(path.read_bytes()) < 1000


@posix
def test_training_on_a_full_disk_says_so_and_keeps_its_last_checkpoint(tmp_path: Path) -> None:
    training = small_training()
    training.advance()
    training.save(tmp_path / CHECKPOINT)
    before = (tmp_path / CHECKPOINT).read_bytes()
    training.advance()
    with disk_with_room_for(1000), pytest.raises(UserError, match="File too large"):
        training.save(tmp_path / CHECKPOINT)
    assert (tmp_path / CHECKPOINT).read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == [CHECKPOINT]


# ---- a folder that may not be written to

READ_ONLY = """
import os, sys
from pathlib import Path
import numpy as np
from minirnn.user_error import UserError
from minirnn.train.run import Training
from minirnn.train.options import Options
from minirnn.io import load, save, write_arrays
import safetensors.numpy
training = Training(Options(hidden=4, batch=2, length=5), {text!r})
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)  # root may write everywhere
folder = Path(sys.argv[1])
path = folder / "c.safetensors"
for error, write in [
    (ValueError, lambda: save(path, dict(w=np.ones(2)), dict())),
    (ValueError, lambda: write_arrays(path, dict(w=np.ones(2)), dict())),
    (UserError, lambda: training.save(path)),
]:
    try:
        write()
    except error as refusal:
        assert "Permission denied" in str(refusal) and "c.safetensors" in str(refusal), refusal
    else:
        print("written")
print(load(path)[1].get("n"), *os.listdir(folder))
"""


@posix
@pytest.mark.parametrize(("permissions", "expected"), [(0o555, "7 c.safetensors\n"), (0o777, "written\n" * 3)])
def test_in_a_read_only_folder_nothing_is_written(permissions: int, expected: str) -> None:
    with tempfile.TemporaryDirectory() as name:  # the folders of pytest are closed to other users
        os.chmod(name, 0o755)
        folder = Path(name, "folder")
        folder.mkdir()
        save(folder / "c.safetensors", {}, {"n": 7})
        os.chmod(folder / "c.safetensors", 0o666)
        os.chmod(folder, permissions)
        try:
            out = run("-c", READ_ONLY.format(text=TEXT), os.fspath(folder))
        finally:
            os.chmod(folder, 0o755)
    assert out.startswith(expected)


# ---- Ctrl-C


def small_training(steps: int = 60, cell: str = "lstm") -> Training:
    training = Training(Options(cell=cell, hidden=4, batch=2, length=5, layers=2, dropout=0.3, steps=steps), TEXT)
    training.start()
    return training


def bits(path: Path) -> dict[str, Any]:
    """Everything in a checkpoint, exactly."""
    arrays, metadata = load(path)
    return {name: (a.dtype.str, a.shape, a.tobytes()) for name, a in arrays.items()} | {"metadata": metadata}


ATTEMPTS = 10
"""If a run is too short to be interrupted often (its time was taken while the machine was busier), sooner, and anew."""


@contextmanager
def ctrl_c_within(seconds: float) -> Iterator[None]:
    """Press Ctrl-C once, after that time, wherever the program is then."""
    # Not by raising SIGINT: then this frame would be the last one of the traceback, whatever it interrupts.
    before = signal.signal(signal.SIGALRM, signal.getsignal(signal.SIGINT))
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@posix
@pytest.mark.parametrize("cell", ["lstm", "gru", "rnn"])
def test_ctrl_c_at_random_moments_of_training_and_resuming_changes_no_bit(
    cell: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)  # of no interest here, and slow
    (tmp_path / "once").mkdir()
    training = small_training(cell=cell)
    start = time.perf_counter()
    with Interrupt() as interrupt:
        work.train(training, tmp_path / "once", interrupt, quiet=True)
    seconds = time.perf_counter() - start
    moments = random.Random(7)
    for attempt in range(ATTEMPTS):
        folder = tmp_path / f"broken {attempt}"
        folder.mkdir()
        training = small_training(cell=cell)
        stopped_at = set()
        for k in range(100):
            with Interrupt() as interrupt, ctrl_c_within(seconds * moments.uniform(0.02, 0.4) * (1 + k / 10)):
                work.train(training, folder, interrupt, quiet=True)
            if not interrupt.requested:
                break
            stopped_at.add(training.step)
            mr.random.generator().random(3)  # what another program would have drawn meanwhile
            training = small_training(cell=cell)
            training.restore(*read_checkpoint(folder / CHECKPOINT))
        assert training.step == 60
        assert bits(folder / CHECKPOINT) == bits(tmp_path / "once" / CHECKPOINT)
        if len(stopped_at) > 2:
            return
        seconds /= 2
    raise AssertionError("hardly interrupted: this run showed nothing")


def test_resuming_without_the_random_stream_changes_bits(tmp_path: Path) -> None:
    """The control of the test above: it compares what depends on all that a checkpoint holds."""
    for name, forget in (("a", False), ("b", True)):
        training = small_training(steps=20)
        for step in range(20):
            if step == 10 and forget:
                mr.manual_seed(99)
            training.advance()
        training.save(tmp_path / name)
    assert bits(tmp_path / "a") != bits(tmp_path / "b")


def own_loop(path: Path, steps: int) -> None:
    """A loop as a user writes it: it goes on from `path` if that is there, and saves every second step."""
    mr.manual_seed(0)
    model = nn.LSTM(3, 4, num_layers=2, dropout=0.2)
    adam = optim.Adam(model.parameters(), lr=0.01)
    first = 0
    if path.exists():
        arrays, metadata = load(path)
        model.load_state_dict({k[2:]: v for k, v in arrays.items() if k.startswith("m.")})
        moments = {k[2:]: v for k, v in arrays.items() if k.startswith("o.")}
        adam.load_state_dict({**metadata["adam"], **moments})
        first = metadata["step"]
    for step in range(first, steps):
        mr.manual_seed(step)
        x = mr.random.generator().standard_normal((5, 2, 3)).astype(np.float32)
        loss = (model(mr.tensor(x))[0] ** 2).mean()
        adam.zero_grad()
        loss.backward()
        with mr.no_grad():
            optim.clip_grad_norm_(model.parameters(), 1.0)
        adam.step()
        if step % 2 == 1:
            o = adam.state_dict()
            arrays = {f"m.{k}": v for k, v in model.state_dict().items()}
            arrays |= {f"o.{k}": v for k, v in o.items() if isinstance(v, np.ndarray)}
            settings = {k: v for k, v in o.items() if not isinstance(v, np.ndarray)}
            save(path, arrays, {"step": step + 1, "adam": settings})


def raised_in(error: BaseException) -> str:
    """The function in which Python raised it, with what that is defined in."""
    trace = error.__traceback__
    while trace and trace.tb_next:
        trace = trace.tb_next
    return trace.tb_frame.f_code.co_qualname if trace else ""


def in_a_with(error: BaseException) -> bool:
    """Whether Python raised it in an ``__enter__`` that had begun, or in an ``__exit__`` that had not."""
    return raised_in(error).endswith((".__enter__", ".__exit__"))


def in_an_errstate(error: BaseException) -> bool:
    """Whether Python raised it like that in NumPy's decorator ``np.errstate``, below which a generator is made."""
    return raised_in(error) == "errstate.__call__.<locals>.inner"


@posix
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # one that is raised inside a __del__
def test_keyboard_interrupts_anywhere_in_the_library_leave_it_and_the_file_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    moments, errors = random.Random(3), np.geterr()
    start = time.perf_counter()
    own_loop(tmp_path / "once", 40)
    seconds = time.perf_counter() - start
    try:
        for attempt in range(ATTEMPTS):
            path = tmp_path / f"broken {attempt}"
            stops = 0
            for k in range(300):
                try:
                    with ctrl_c_within(seconds * moments.uniform(0.01, 0.3) * (1 + k / 20)):
                        own_loop(path, 40)
                    break
                except KeyboardInterrupt as error:
                    stops += 1
                    # No context manager that is written in Python can do anything about these two.
                    if in_a_with(error):
                        mode.enabled = True
                    if in_a_with(error) or in_an_errstate(error):
                        np.seterr(**errors)
                    assert mode.enabled
                    assert np.geterr() == errors
                    assert mr.devices.get().name == "cpu"
            assert bits(path) == bits(tmp_path / "once")
            if stops > 3:
                return
            seconds /= 2
    finally:
        signal.signal(signal.SIGINT, before)
    raise AssertionError("hardly interrupted: this run showed nothing")


def test_a_keyboard_interrupt_at_any_call_of_a_training_step_leaves_recording_on() -> None:
    x = mr.tensor(np.ones((3, 2, 3), np.float32))
    model = nn.LSTM(3, 4)
    adam = optim.Adam(model.parameters(), lr=0.01)
    calls = 0

    def interrupt(frame: FrameType, event: str, _: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == stop:
            raise KeyboardInterrupt

    def step() -> bool:
        loss = (model(x)[0] ** 2).mean()
        sys.settrace(interrupt)
        try:
            loss.backward()
            adam.step()
        except KeyboardInterrupt:
            return True
        finally:
            sys.settrace(None)
        return False

    gc.collect()
    gc.disable()  # the finalizers of what other tests have left are calls, too, and swallow what is raised in them
    try:
        stop = -1
        assert not step()
        every = calls
        assert every > 200
        for stop in range(1, every + 1):
            calls = 0
            assert step(), f"call {stop} of {every}: {calls} were made"
            assert mode.enabled, f"call {stop} of {every}"
            assert running.callbacks is None
    finally:
        gc.enable()


class NoGpu:
    """As much of a GPU and of PyCUDA as memory needs: blocks that are numbers."""

    alive, MemoryError, blocks = True, MemoryError, 0

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass

    def mem_alloc(self, size: int) -> int:
        self.blocks += 1
        return 4096 * self.blocks


def memory_of(name: str) -> partial[Any]:
    """What makes a new array, or a block of memory, of one size."""
    if name == "cpu":
        return partial(workspace.Pool().empty, (workspace.MIN_BLOCK,), np.uint8)
    if name == "cuda":
        gpu = NoGpu()
        return partial(gpu_memory.Memory("cuda", gpu, gpu).alloc, 1000)
    driver = SimDriver(SimOptions(check=name == "check"))
    return partial((DebugDriver(driver) if name == "debug" else driver).alloc, 1000)


@pytest.mark.parametrize("name", ["cpu", "cuda", "cuda-sim", "check", "debug"])
def test_a_keyboard_interrupt_at_any_moment_in_the_life_of_an_array_is_the_only_thing_said(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[Any] = []  # a Ctrl-C inside a __del__ is said, and lost; nothing else may be
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: said.append(unraisable.exc_type))
    moments = 0

    def interrupt(frame: FrameType, event: str, _: Any) -> None:
        nonlocal moments
        if event in ("call", "c_return"):  # then Python looks for signals
            moments += 1
            if moments == stop:
                raise KeyboardInterrupt

    def live_and_die(make: partial[Any]) -> None:
        sys.setprofile(interrupt)
        try:
            first, second = make(), make()
            del first
            first = make()
            del first, second
        finally:
            sys.setprofile(None)

    gc.collect()
    gc.disable()
    try:
        stop = -1
        live_and_die(memory_of(name))
        every, interrupted = moments, 0
        assert every > 20
        for stop in range(1, every):
            moments = 0
            make = memory_of(name)
            try:
                live_and_die(make)
            except KeyboardInterrupt:
                interrupted += 1
            alive = [make() for _ in range(3)]
            if name != "cpu":
                assert len({array.ptr for array in alive}) == 3
            if name == "debug":
                known = make.func.__self__.memory
                assert known._starts == sorted(known._owners)
            assert set(said) <= {KeyboardInterrupt}, f"moment {stop} of {every}"
        assert interrupted > every / 3
    finally:
        gc.enable()


# ---- others write, too

RACER = """
import sys
import numpy as np
from minirnn.io import load, save
me, path = int(sys.argv[1]), sys.argv[2]
for k in range(60):
    save(path, {"w": np.full(20_000, me)}, {"writer": me, "k": k})
    arrays, metadata = load(path)
    assert (arrays["w"] == metadata["writer"]).all()
print("done")
"""


@posix
def test_processes_that_write_one_file_at_the_same_time_always_leave_the_file_of_one(tmp_path: Path) -> None:
    path = os.fspath(tmp_path / "c.safetensors")
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": os.fspath(ROOT)}
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", RACER, str(k), path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
        )
        for k in range(3)
    ]
    for racer in racers:
        out, errors = racer.communicate(timeout=280)
        assert (racer.returncode, out) == (0, b"done\n"), errors.decode()
    assert load(path)[1]["k"] == 59
    assert os.listdir(tmp_path) == ["c.safetensors"]


@posix
def test_two_runs_of_training_do_not_share_a_folder(tmp_path: Path) -> None:
    refused = pytest.raises(UserError, match="another minirnn train is writing there")
    with opened(tmp_path), refused, opened(tmp_path):
        pass
    with opened(tmp_path):
        pass
