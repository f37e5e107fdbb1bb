"""The kernel of Adam under all checks of the simulator, in several thread orders: no report, cpu's results."""

from __future__ import annotations

import numpy as np
import pytest

import minirnn as mr
from minirnn.devices.base import Device
from minirnn.devices.cuda.device import Cuda
from tests.devices.cuda.checked import assert_equal_on_both, checked

__all__ = ["checked"]  # a fixture


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_three_steps(checked: Cuda, rng: np.random.Generator, dtype: str) -> None:
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
