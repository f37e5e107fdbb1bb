"""Several threads, each with its own tape and device, and forked processes compute the same bits as one."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import nn, ops, optim
from minirnn.engine.tape import mode
from tests.devices import process

ROOT = Path(__file__).parents[2]
T, B, I, H = 4, 2, 3, 5


def train(seed: int, device: str, steps: int = 2) -> bytes:
    """All bits of a few training steps through every kind of fused op, with dropout and second derivatives."""
    mr.manual_seed(seed)
    with mr.use_device(device):
        lstm = nn.LSTM(I, H, num_layers=2, dropout=0.3)
        cell, gru, head = nn.LSTMBlockFusedCell(H, H, use_peephole=True), nn.GRUBlockCell(H, H), nn.Linear(H, I)
        modules = (lstm, cell, gru, head)
        adam = optim.Adam([p for m in modules for p in m.parameters()], lr=0.01)
        out = []
        for _ in range(steps):
            x = mr.tensor(mr.random.generator().standard_normal((T, B, I)).astype(np.float32), requires_grad=True)
            y, _ = lstm(x, lengths=[T, T - 1])
            y, _ = cell(nn.functional.dropout(y, 0.2))
            y, _ = gru(y[-1])
            loss = ops.cross_entropy(head(y), [0, 2])
            (g,) = mr.grad(loss, [x], create_graph=True)
            adam.zero_grad()
            (loss + (g * g).sum()).backward()
            with mr.no_grad():
                optim.clip_grad_norm_(adam.parameters, 1.0)
            adam.step()
            out.append(loss.numpy().tobytes())
        assert mode.enabled and mr.devices.get().name == device
    return b"".join(out + [p.numpy().tobytes() for m in modules for p in m.parameters()])


@pytest.fixture(autouse=True)
def threads_change_often() -> Iterator[None]:
    """Between any two instructions, not every 5 ms."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def in_threads(work: list[Callable[[], Any]]) -> list[Any]:
    """The results of functions that run at the same time; raises their exceptions."""
    results: list[Any] = [None] * len(work)
    barrier = threading.Barrier(len(work))

    def call(k: int) -> None:
        barrier.wait()
        try:
            results[k] = work[k]()
        except BaseException as error:
            results[k] = error

    threads = [threading.Thread(target=call, args=(k,), daemon=True) for k in range(len(work))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=280)
        assert not thread.is_alive(), "a thread waits for ever"
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return results


def test_threads_with_their_own_tapes_and_devices_compute_the_same_bits_as_one_after_the_other() -> None:
    places = [name for name in ("cpu", "cpu-composed", "native") if mr.devices.available()[name] is None]
    jobs = [(seed, places[seed % len(places)]) for seed in range(6)]
    alone = [train(*job) for job in jobs]
    together = in_threads([lambda job=job: train(*job) for job in jobs])  # type: ignore[misc]
    assert [a == b for a, b in zip(alone, together, strict=True)] == [True] * len(jobs)
    assert len(set(alone)) == len(jobs), "the seeds make no difference: this shows nothing"


@pytest.mark.slow
def test_threads_on_the_simulator_compute_the_same_bits_as_one_after_the_other() -> None:
    reason = mr.devices.available()["cuda-sim"]
    if reason is not None:
        pytest.skip(f"cuda-sim: {reason}")
    jobs = [(0, "cuda-sim"), (1, "cpu"), (2, "cuda-sim")]
    alone = [train(seed, device, 1) for seed, device in jobs]
    together = in_threads([lambda job=job: train(*job, 1) for job in jobs])  # type: ignore[misc]
    assert [a == b for a, b in zip(alone, together, strict=True)] == [True] * len(jobs)


def test_a_backward_pass_may_run_in_another_thread_than_its_forward_pass() -> None:
    x = mr.tensor(np.ones(3), requires_grad=True)
    y = (x * x).sum()
    in_threads([lambda: y.backward()])
    assert x.grad is not None
    np.testing.assert_array_equal(x.grad.numpy(), 2.0)


def test_many_threads_record_one_graph_and_its_order_stays_right() -> None:
    """Numbers of the tape's clock come from one counter: none comes twice, and later ones are larger."""
    x = mr.tensor(np.ones(2), requires_grad=True)

    def chain() -> mr.Tensor:
        y = x
        for _ in range(300):
            y = y * 1.0
        return y

    ends = in_threads([chain] * 4)
    mr.ops.stack(ends).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), 4.0)


# ---- fork

FORK = """
import os, sys
import numpy as np
import minirnn as mr
from tests import conftest  # registers cpu-composed
from tests.hostile.test_threads_and_forks import train

devices = sys.argv[1].split(",")
before = [train(0, device, 1) for device in devices]  # caches, pools and threads of the BLAS are there now
mr.tensor(np.ones((300, 300))) @ mr.tensor(np.ones((300, 300)))
mr.manual_seed(3)
children = []
for k in range(3):
    ours, theirs = os.pipe()
    if os.fork() == 0:
        try:
            drawn = mr.random.generator().random()
            same = [train(0, device, 1) for device in devices] == before
            (mr.tensor(np.ones((300, 300))) @ mr.tensor(np.ones((300, 300)))).sum().item()
            os.write(theirs, f"{same} {drawn}".encode())
        finally:
            os._exit(0)
    os.close(theirs)
    children.append(ours)
assert mr.random.generator().random() == np.random.Generator(np.random.Philox(3)).random()
print([train(0, device, 1) for device in devices] == before)
for ours in children:
    print(os.read(ours, 1000).decode())
    os.wait()
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_forked_children_compute_the_same_bits_and_leave_the_parent_alone() -> None:
    reasons = mr.devices.available()
    devices = ",".join(name for name in ("cpu", "cpu-composed", "native", "cuda-sim") if reasons[name] is None)
    environment = {**os.environ, "PYTHONPATH": os.fspath(ROOT), "PYTHONWARNINGS": "ignore", "OPENBLAS_NUM_THREADS": "2"}
    done = subprocess.run(
        [sys.executable, "-c", FORK, devices], capture_output=True, text=True, timeout=280, env=environment, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    drawn = np.random.Generator(np.random.Philox(3)).random()
    # Each child continues its parent's stream, so a program that forks must give each child a different seed.
    assert done.stdout.splitlines() == ["True", *[f"True {drawn}"] * 3], done.stderr


HELD = """
from minirnn.devices.{module} import {lock} as the_lock
at_work, locked, end, kept = threading.Event(), threading.Event(), threading.Event(), threading.local()
def work():
    {work}
    at_work.set()
    end.wait()
def lock():
    with the_lock:
        locked.set()
        time.sleep(0.5)
for function, begun in ((work, at_work), (lock, locked)):
    threading.Thread(target=function).start()
    begun.wait()
child = os.fork()  # it has neither thread, and frees what they had before its first instruction
if child == 0:
    mr.devices.available()
    os._exit(0)
until = time.monotonic() + 20
while not (ended := os.waitpid(child, os.WNOHANG)[0]) and time.monotonic() < until:
    time.sleep(0.05)
if not ended:
    os.kill(child, signal.SIGKILL)
end.set()
print(ended == child)
"""
WORK = {
    "native": ("native.blas", "_lock", "mr.use_device('native')"),
    "cuda-sim": ("cuda.sim.library", "lock", "kept.x = mr.ones(100, device='cuda-sim')"),
    "cpu": ("registry", "_lock", "mr.use_device('cpu')"),
}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize("name", WORK)
def test_a_forked_child_ends_although_another_thread_held_a_lock(name: str) -> None:
    if mr.devices.available()[name] is not None:
        pytest.skip(f"{name}: {mr.devices.available()[name]}")
    module, lock, work = WORK[name]
    assert process.say(HELD.format(module=module, lock=lock, work=work)) == "True\n"
