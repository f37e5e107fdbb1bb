"""Moving the state of a parameter to the parameter's new device or dtype."""

from __future__ import annotations

from typing import Any

from minirnn.engine.tensor import Tensor, tensor


def follow(parameter: Tensor, memory: dict[str, Any]) -> None:
    """Move the Tensors in `memory` to the device and dtype of `parameter`, since ``module.to(...)`` may change them."""
    for name, value in memory.items():
        if isinstance(value, Tensor) and (value.device is not parameter.device or value.dtype != parameter.dtype):
            memory[name] = tensor(value, device=parameter.device, dtype=parameter.dtype)
