"""An optimizer goes on after `Module.to`, and after a copy or a pickle.

Tests `minirnn/optim/state.py` and `minirnn/optim/optimizer.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import nn, optim
from minirnn.devices.cpu.device import CPU

MAKE: dict[str, Any] = {
    "SGD with momentum": lambda ps: optim.SGD(ps, lr=0.1, momentum=0.9),
    "Adam": lambda ps: optim.Adam(ps, lr=0.1),
}


def step(layer: nn.Module, optimizer: Any, k: int) -> None:
    optimizer.zero_grad()
    x = mr.tensor(np.sin(np.arange(12.0) + k).reshape(4, 3), device=layer.get_parameter("weight").device)
    (layer(x) ** 2).sum().backward()
    optimizer.step()


def trained(make: Any, moves: dict[int, str | CPU]) -> dict[str, np.ndarray]:
    mr.manual_seed(1)
    layer = nn.Linear(3, 2, dtype=np.float64)
    optimizer = make(layer.parameters())
    for k in range(6):
        if k in moves:
            layer.to(moves[k])
        step(layer, optimizer, k)
    return layer.state_dict()


class SecondDevice(CPU):
    """The cpu under another name, so that arrays of the two must not be mixed."""

    name = "second"


@pytest.mark.parametrize("name", MAKE)
def test_what_is_remembered_follows_a_moved_parameter(name: str, device: str) -> None:
    expected = trained(MAKE[name], {})
    for place in (device, SecondDevice()):
        found = trained(MAKE[name], {2: place, 4: "cpu"})
        for key, value in expected.items():
            np.testing.assert_allclose(found[key], value, rtol=1e-12, err_msg=key)


@pytest.mark.parametrize("name", MAKE)
def test_what_is_remembered_follows_a_parameter_to_another_dtype(name: str) -> None:
    layer = nn.Linear(3, 2, dtype=np.float64)
    optimizer = MAKE[name](layer.parameters())
    step(layer, optimizer, 0)
    layer.to(np.float32)
    optimizer.zero_grad()
    (layer(mr.tensor(np.ones((4, 3), np.float32))) ** 2).sum().backward()
    optimizer.step()
    for p in layer.parameters():
        assert p.dtype == np.float32
        tensors = [m for m in optimizer.state[p].values() if isinstance(m, mr.Tensor)]
        assert tensors and all(m.dtype == np.float32 for m in tensors)
