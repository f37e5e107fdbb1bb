"""What the tests of single layers share: gradients as arrays, and torch modules with our parameters."""

from __future__ import annotations

from typing import Any

import numpy as np

import minirnn as mr
from minirnn import nn


def gradients(outputs: mr.Tensor, cotangent: np.ndarray, inputs: list[mr.Tensor]) -> list[np.ndarray]:
    return [g.numpy() for g in mr.grad(outputs, inputs, cotangent)]


def torch_twin(torch: Any, module: nn.Module, twin: Any) -> None:
    """Give a torch module the parameters of ours: the names and layouts are the same, or this fails."""
    twin.load_state_dict({name: torch.from_numpy(value) for name, value in module.state_dict().items()}, strict=True)
