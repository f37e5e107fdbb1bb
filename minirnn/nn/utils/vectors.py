"""All parameters as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from minirnn.engine.operands import tensor_list
from minirnn.engine.tensor import Tensor, as_tensor
from minirnn.ops.primitives import concat


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """One vector of all values in their order. It is on the tape, so gradients flow back into the parameters."""
    return concat([p.reshape(-1) for p in _leaves("parameters_to_vector", parameters)])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Assign the parts of a vector to the parameters in their order. On an error nothing is changed."""
    op = "vector_to_parameters"
    found = _leaves(op, parameters)
    values = as_tensor(vec).numpy()
    total = sum(p.size for p in found)
    if values.shape != (total,):
        raise ValueError(f"{op}: vec has shape {values.shape}\n  expected ({total},), from the parameters")
    for k, p in enumerate(found):
        if p.op is not None:
            raise ValueError(f"{op}: parameter {k} was made by {p.op.name}\n  expected a leaf, such as a Parameter")
    start = 0
    for p in found:
        p.assign(values[start : start + p.size].reshape(p.shape))
        start += p.size


def _leaves(op: str, parameters: Any) -> list[Tensor]:
    found = tensor_list(op, "parameter", parameters, "a list, or module.parameters()")
    if not found:
        raise ValueError(f"{op}: no parameters\n  expected at least one\n  likely an iterator that was used up")
    return found
