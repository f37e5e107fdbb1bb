"""Block cells, losses and Adam under all checks of the simulator, in several thread orders: no report, cpu's results.

Tests `minirnn/devices/cuda/launch/sequence/step.py`, `minirnn/devices/cuda/launch/losses.py`,
`minirnn/devices/cuda/launch/adam.py` and `minirnn/devices/cuda/launch/threads.py`.
"""

import numpy as np
import pytest

import minirnn as mr
from minirnn import ops
from minirnn.devices.base import Device
from minirnn.devices.cuda.device import Cuda
from minirnn.devices.cuda.launch import threads
from tests.devices.cuda.checked import BLOCK_OPS, assert_equal_on_both, block_op, checked

__all__ = ["checked"]  # a fixture

WAYS = [("f2", False), ("f4", True), ("f8", False)]


# Rows of whole vectors: threads take several units each; `odd`: from addresses where they cannot.
@pytest.mark.parametrize(("dtype", "odd"), WAYS)
@pytest.mark.parametrize("case", BLOCK_OPS)
def test_rows_of_whole_vectors(checked: Cuda, rng: np.random.Generator, case: str, dtype: str, odd: bool) -> None:
    tolerance = {"f2": 0.03, "f4": 1e-4, "f8": 1e-12}[dtype]
    for I in (5, 8) if case.startswith("gru") else (5,):
        assert_equal_on_both(checked, block_op(*BLOCK_OPS[case], dtype, rng, H=12, I=I, odd=odd), tolerance)


def test_a_thread_takes_several_units_where_rows_and_addresses_permit(checked: Cuda) -> None:
    at_once = threads.units_at_once
    for dtype, n in (("float16", 2), ("float32", 4), ("float64", 2)):
        array = checked.empty((3, 8), np.dtype(dtype))
        assert at_once(8, array, None, dtype=array.dtype) == at_once(n, array, dtype=array.dtype) == n
        assert at_once(8 + n // 2, array, dtype=array.dtype) == 1
        for offset in range(1, n):
            assert at_once(8, array, array.seen_as((2, 8), (8, 1), offset), dtype=array.dtype) == 1
        assert at_once(8, array.seen_as((2, 8), (8, 1), n), dtype=array.dtype) == n
    # float16 is summed in float32: those arrays are read eight bytes at once
    half, sums = np.dtype(np.float16), checked.empty((4, 8), np.float32)
    assert at_once(8, sums.seen_as((3, 8), (8, 1), 2), dtype=half) == 2
    assert at_once(8, sums.seen_as((3, 8), (8, 1), 1), dtype=half) == 1


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("shape", [(7,), (5, 1), (2, 3, 45), (3, 300)], ids=str)
def test_losses_and_gradients(checked: Cuda, rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> None:
    x, dy = (rng.standard_normal(s).astype(dtype) for s in (shape, shape[:-1]))
    target = rng.integers(0, shape[-1], shape[:-1])

    def work(device: Device) -> list[np.ndarray]:
        t = mr.tensor(x, True, device)
        y = ops.cross_entropy(t, target, "none")
        return [y.numpy(), mr.grad(y, t, mr.tensor(dy, device=device)).numpy()]

    assert_equal_on_both(checked, work, {"f2": 2e-3, "f4": 1e-6, "f8": 1e-14}[dtype])


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_three_steps_of_adam(checked: Cuda, rng: np.random.Generator, dtype: str) -> None:
    p, *gradients = (rng.standard_normal((21, 15)).astype(dtype) for _ in range(4))

    def work(device: Device) -> list[np.ndarray]:
        parameter = mr.tensor(p, True, device)
        optimizer = mr.optim.Adam([parameter], lr=0.1, betas=(0.7, 0.9), eps=1e-3, weight_decay=0.1)
        for g in gradients:
            parameter.grad = mr.tensor(g, device=device)
            optimizer.step()
        memory = optimizer.state[parameter]
        return [parameter.numpy(), memory["exp_avg"].numpy(), memory["exp_avg_sq"].numpy()]

    assert_equal_on_both(checked, work, {"f2": 5e-3, "f4": 1e-6, "f8": 1e-14}[dtype])
