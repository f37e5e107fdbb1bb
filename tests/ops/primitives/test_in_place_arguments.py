"""A method that writes in place never makes one of its arguments the new value: gradients go to both.

Tests `minirnn/ops/primitives/in_place.py` and `minirnn/ops/primitives/gathering.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minirnn as mr

INDEX = mr.tensor(0)
WRITES: dict[str, Callable[[Any, Any], Any]] = {
    "scatter_": lambda y, s: y.scatter_(0, INDEX, s),
    "copy_": lambda y, s: y.copy_(s),
    "fill_": lambda y, s: y.fill_(s),
    "masked_fill_": lambda y, s: y.masked_fill_(mr.tensor(True), s),
    "y[...] =": lambda y, s: y.__setitem__(..., s),
    "y[()] =": lambda y, s: y.__setitem__((), s),
    "clamp_": lambda y, s: y.clamp_(min=s),
}


@pytest.mark.parametrize("recorded", [True, False], ids=["recorded", "not recorded"])
@pytest.mark.parametrize("name", WRITES)
def test_the_new_value_is_not_the_argument_itself(name: str, recorded: bool) -> None:
    x, s = mr.tensor(1.0, requires_grad=recorded), mr.tensor(2.0, requires_grad=True)
    y = x.clone()
    WRITES[name](y, s)
    assert y is not s and s.is_leaf and y.item() == 2.0
    if name != "clamp_":  # torch's limits of clamp get gradients, minirnn's are constants
        (y * 3.0).backward()
        assert s.grad is not None and s.grad.item() == 3.0
        assert x.grad is None or x.grad.item() == 0.0
    y = mr.tensor(1.0)
    with mr.no_grad():
        WRITES[name](y, s)
        y.add_(1.0)
    assert s.item() == 2.0 and y.item() == 3.0


def test_scatter_of_a_scalar_is_recorded() -> None:
    x, s = mr.tensor(1.0, requires_grad=True), mr.tensor(2.0, requires_grad=True)
    y = mr.scatter(x, 0, INDEX, s)
    assert y is not s
    np.testing.assert_array_equal([g.item() for g in mr.grad(y * 3.0, [x, s])], [0.0, 3.0])
    assert mr.scatter(x, 0, INDEX, 2.5).requires_grad
