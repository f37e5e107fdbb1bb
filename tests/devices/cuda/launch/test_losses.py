"""cross_entropy's kernels under all checks of the simulator, in several thread orders: no report, cpu's results."""

from __future__ import annotations

import numpy as np
import pytest

import minirnn as mr
from minirnn import ops
from minirnn.devices.base import Device
from minirnn.devices.cuda.device import Cuda
from tests.devices.cuda.checked import assert_equal_on_both, checked

__all__ = ["checked"]  # a fixture


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
