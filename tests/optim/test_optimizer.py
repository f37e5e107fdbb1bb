"""The common behavior of all optimizers in a step: recorded gradients, values of another dtype, names, and calls
that fail.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import nn, optim
from minirnn.engine.tensor import leaf


class Halves(optim.Optimizer):
    """A step to what a test wants."""

    settings = {"lr": lambda optimizer, name, value: value}

    def __init__(self, params: Any, value: Any) -> None:
        self.value = value
        super().__init__(params, {"lr": 0.0})

    def updated(self, p: mr.Tensor, g: mr.Tensor, memory: dict[str, Any], group: dict[str, Any]) -> mr.Tensor:
        return mr.tensor(self.value)


def test_a_new_value_of_another_dtype_is_converted_and_one_of_another_shape_refused() -> None:
    p = nn.Parameter([1.0, 2.0])
    p.grad = mr.tensor([0.0, 0.0])
    Halves([p], np.array([3.0, 4.0])).step()
    assert (p.dtype, p.tolist()) == (np.float32, [3.0, 4.0])
    for wrong in (np.ones(3, np.float32), np.ones((2, 1))):
        with pytest.raises(ValueError, match="assign: got values of shape"):
            Halves([p], wrong).step()
        assert (p.shape, p.tolist()) == ((2,), [3.0, 4.0])


def test_a_gradient_whose_dtype_is_a_copy_fits() -> None:
    """A dtype from a pickle equals NumPy's own, but is another object."""
    p = nn.Parameter([1.0, 2.0])
    other = np.dtype(np.float32, copy=True)  # type: ignore[call-overload]
    assert other is not np.dtype(np.float32)
    p.grad = leaf(p.device, np.ones(2, other))
    optim.SGD([p], 0.5).step()
    assert p.tolist() == [0.5, 1.5]


@pytest.mark.parametrize("kind", ["recorded", "a leaf", "constant"])
def test_what_is_remembered_of_a_recorded_gradient_is_no_part_of_the_tape(kind: str) -> None:
    p = nn.Parameter(np.array([1.0, 2.0]))
    g = mr.tensor(np.array([3.0, 4.0]), requires_grad=kind != "constant")
    p.grad = g * 1.0 if kind == "recorded" else g
    sgd = optim.SGD([p], 0.5, momentum=0.5)
    sgd.step()
    kept = sgd.state[p]["momentum_buffer"]
    assert (kept.op, kept.parents, kept.requires_grad) == (None, (), False)
    assert kept.tolist() == [3.0, 4.0]


def test_a_parameter_is_called_by_its_name_or_its_place() -> None:
    p, q = nn.Parameter([1.0]), nn.Parameter([1.0])
    assert optim.SGD([p, q])._label(q) == "parameter 1"
    assert optim.SGD([{"params": [("a", p)]}, {"params": [("b", q)]}])._label(q) == "parameter b"


def test_zeros_take_the_place_of_a_gradient_only_where_there_was_one() -> None:
    p, q = nn.Parameter(np.ones((2, 3))), nn.Parameter([1.0])
    p.grad = mr.tensor(np.ones((2, 3)))
    optim.SGD([p, q]).zero_grad(set_to_none=False)
    assert (p.grad.shape, p.grad.dtype, p.grad.numpy().any()) == ((2, 3), np.float64, False)
    assert q.grad is None


def test_a_state_that_was_loaded_keeps_parameters_and_names_and_takes_the_rest() -> None:
    p, q = nn.Parameter([1.0]), nn.Parameter([1.0])
    first = optim.SGD([("a", p)], 0.5, momentum=0.25)
    second = optim.SGD([("b", q)], 1.5)
    second.load_state_dict(first.state_dict())
    (group,) = second.param_groups
    assert group["params"] == [q] and group["param_names"] == ["b"]
    assert (second.lr, second.momentum) == (0.5, 0.25)
    assert group is second.param_groups[0] and set(group) == set(first.param_groups[0])


def test_an_optimizer_without_updated_says_so() -> None:
    p = nn.Parameter([1.0])
    p.grad = mr.tensor([1.0])
    with pytest.raises(NotImplementedError, match="Optimizer defines no updated"):
        optim.Optimizer([p], {"lr": 0.5}).step()
    with pytest.raises(TypeError, match="closure is 3"):
        optim.SGD([p]).step(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="layout"):
        optim.SGD([p]).state_dict(layout="json")
