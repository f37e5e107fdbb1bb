"""The same seed, device, versions and machine give the same bits. These tests also measure what else keeps them.

docs/determinism.md has the promise and its limits. Resuming is in test_faults.py, threads are in
test_threads_and_forks.py.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import nn, ops
from minirnn.train.options import Options
from minirnn.train.training import Training
from tests.hostile.test_threads_and_forks import train
from tests.slow import slow_unless

ROOT = Path(__file__).parents[2]
TEXT = "".join(f"{k} times {k} is {k * k}, " for k in range(60))

DIGESTS = """
import json
from tests import conftest  # registers cpu-composed
from tests.hostile import test_determinism
print(json.dumps(test_determinism.careless_digests()))
"""


def digest(*parts: bytes) -> str:
    return hashlib.sha256(b"".join(parts)).hexdigest()[:16]


def digests() -> dict[str, str]:
    """A few steps of training with each cell on the cpu, and of every fused op."""
    found = {}
    for cell in ("lstm", "gru", "rnn"):
        training = Training(Options(cell=cell, hidden=5, batch=4, length=6, layers=2, dropout=0.2, seed=3), TEXT)
        for _ in range(4):
            training.advance()
        parameters = (a.tobytes() for a in training.model.state_dict().values())
        found[cell] = digest(*parameters, repr(training.lines).encode())
    for device in ("cpu", "cpu-composed"):
        found[device] = digest(train(1, device))
    return found


def careless_digests() -> dict[str, str]:
    """The control: sets of text change their order from run to run."""
    names = {f"parameter {k}" for k in range(50)}
    return digests() | large_digests() | {"careless": digest(*(name.encode() for name in names))}


def large_digests() -> dict[str, str]:
    """Sizes from which OpenBLAS uses its threads."""
    training = Training(Options(hidden=150, batch=16, length=10, seed=3), TEXT)
    training.advance()
    return {"large": digest(*(a.tobytes() for a in training.model.state_dict().values()))}


def in_a_process(**environment: str) -> dict[str, str]:
    """The result of `careless_digests` in another process."""
    changed = ("PYTHONHASHSEED", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")
    kept = {k: v for k, v in os.environ.items() if k not in changed}
    environment = {**kept, "PYTHONPATH": os.fspath(ROOT), **environment}
    command = [sys.executable, "-c", DIGESTS]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280, env=environment, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    result: dict[str, str] = json.loads(done.stdout)
    return result


@cache
def run(hash_seed: int, threads: int) -> dict[str, str]:
    """A process with another hash seed, other addresses and another time, and its number of threads of the BLAS."""
    return in_a_process(PYTHONHASHSEED=str(hash_seed), OPENBLAS_NUM_THREADS=str(threads))


@pytest.mark.slow
def test_three_processes_compute_the_same_bits() -> None:
    runs = [run(0, 1), run(1, 2), run(2, 2)]
    for name in runs[0]:
        if name not in ("careless", "large"):
            assert len({found[name] for found in runs}) == 1, f"{name} differs between runs"
    assert len({found["careless"] for found in runs}) == 3, "what depends on the hash seed is not noticed"


def test_this_process_computes_the_same_bits_as_another() -> None:
    """Its memory has been used, its caches are full, other tests ran before."""
    found = digests()
    assert found == {name: run(0, 1)[name] for name in found}


@pytest.mark.slow
def test_large_matrix_products_repeat_with_two_threads() -> None:
    assert run(1, 2)["large"] == run(2, 2)["large"]


@pytest.mark.parametrize("where", slow_unless(["cpu", "native"], ["cpu", "cpu-composed", "native", "cuda-sim"]))
def test_a_run_repeats_after_other_work(where: str) -> None:
    if (reason := mr.devices.available()[where]) is not None:
        pytest.skip(f"{where}: {reason}")
    first = train(4, where, 1)
    mr.random.generator().random(7)
    x = mr.tensor(np.ones((50, 60)), requires_grad=True)
    ((x @ x.T).tanh().sum()).backward()
    train(5, where, 1)
    assert train(4, where, 1) == first
    assert train(5, where, 1) != first, "the seed makes no difference: this shows nothing"


def test_the_number_of_natives_threads_changes_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    if (reason := mr.devices.available()["native"]) is not None:
        pytest.skip(f"native: {reason}")
    found = []
    for count in ("1", "2", "5"):
        monkeypatch.setenv("MINIRNN_NUM_THREADS", count)
        mr.manual_seed(3)
        model = nn.Sequential(nn.Linear(90, 110, device="native"), nn.Linear(110, 70, device="native"))
        layer = nn.LSTM(70, 130, device="native")  # large enough for several threads
        x = mr.tensor(np.random.default_rng(3).standard_normal((9, 40, 90)).astype("f4"), device="native")
        (layer(model(x))[0] ** 2).sum().backward()
        gradients = [p.grad.numpy() for p in (*model.parameters(), *layer.parameters()) if p.grad is not None]
        found.append(digest(*(a.tobytes() for a in gradients)))
    assert len(set(found)) == 1


def test_one_seed_gives_the_same_weights_and_masks_on_every_device() -> None:
    names = [
        name for name in ("cpu", "cpu-composed", "native", "cuda-sim", "cuda") if mr.devices.available()[name] is None
    ]
    found = []
    for name in names:
        mr.manual_seed(11)
        model = nn.LSTM(3, 4, num_layers=2, device=name)
        kept = nn.functional.dropout(mr.tensor(np.ones((30, 20), np.float32), device=name), 0.5)
        found.append(digest(*(a.tobytes() for a in model.state_dict().values()), kept.numpy().tobytes()))
    assert len(names) > 1 and len(set(found)) == 1


# ---- the order in which the simulator runs threads

ADDS = """extern "C" __global__ void adds(const float *x, float *sum) {
    atomicAdd(sum, x[threadIdx.x]);
}
"""


@pytest.fixture(scope="module")
def orders() -> list[Any]:
    """Three simulated devices: threads in the order of their numbers, and in two random orders."""
    if (reason := mr.devices.available()["cuda-sim"]) is not None:
        pytest.skip(f"cuda-sim: {reason}")
    from minirnn.devices.cuda.device import Cuda
    from minirnn.devices.cuda.sim.driver import SimDriver
    from minirnn.devices.cuda.sim.options import SimOptions

    return [Cuda(SimDriver(SimOptions(seed=seed))) for seed in (0, 1, 2)]


def layers(device: Any) -> str:
    """Forward and backward of every kernel of cells and sequences, and of the primitives around them."""
    rng = np.random.default_rng(5)
    mr.manual_seed(5)
    out = []
    with mr.use_device(device):
        for model in (nn.LSTM(3, 5, 2), nn.GRU(3, 5, bidirectional=True), nn.RNN(3, 5), nn.LSTMBlockFusedCell(5, 3)):
            x = mr.tensor(rng.standard_normal((6, 4, 3)).astype(np.float32), requires_grad=True)
            y = model(x)[0]
            loss = ops.cross_entropy(y, rng.integers(0, y.shape[-1], y.shape[:-1]))
            loss.backward()
            assert x.grad is not None
            out += [y.numpy(), x.grad.numpy(), *(p.grad.numpy() for p in model.parameters() if p.grad is not None)]
        x = mr.tensor(rng.standard_normal((4, 3)).astype(np.float32), requires_grad=True)
        (nn.GRUBlockCell(5, 3)(x)[0].softmax() ** 2).sum().backward()
        table = nn.Embedding(7, 3)
        table([1, 2, 1, 1, 6, 2]).sum().backward()  # rows that are used twice add up
        assert x.grad is not None and table.weight.grad is not None
        out += [x.grad.numpy(), table.weight.grad.numpy()]
    return digest(*(a.tobytes() for a in out))


def test_three_orders_of_threads_give_the_same_bits(orders: list[Any]) -> None:
    assert len({layers(device) for device in orders}) == 1


def test_a_kernel_whose_sum_depends_on_the_order_is_noticed(orders: list[Any]) -> None:
    x = (10.0 ** np.linspace(-6, 2, 256) * np.resize([1, -1, 1], 256)).astype(np.float32)
    found = set()
    for device in orders:
        driver = device.driver
        there, total = driver.alloc(x.nbytes), driver.alloc(4)
        driver.h2d(there.ptr, x)
        driver.h2d(total.ptr, np.zeros(1, np.float32))
        driver.module(ADDS, "adds.cu").function("adds")(there, total, grid=(1,), block=(256,))
        result = np.zeros(1, np.float32)
        driver.d2h(result, total.ptr)
        found.add(result.tobytes())
    assert len(found) > 1


def test_the_page_on_determinism_names_tests_that_exist() -> None:
    tests = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    names = re.findall(r"`(test_\w+)`", (ROOT / "docs" / "determinism.md").read_text())
    assert len(names) >= 8
    assert [name for name in names if f"def {name}(" not in tests] == []
