"""Matrix products: every combination of vectors, matrices and stacks against torch; messages."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import ops
from tests.compare import assert_agrees_with_torch
from tests.each import each

SHAPES = [
    ((2, 3), (3, 4)),
    ((3,), (3,)),
    ((3,), (3, 4)),
    ((2, 3), (3,)),
    ((5, 2, 3), (3, 4)),
    ((2, 3), (5, 3, 4)),
    ((5, 2, 3), (5, 3, 4)),
    ((5, 1, 2, 3), (6, 3, 4)),
    ((1, 2, 3), (5, 3, 4)),
    ((5, 2, 3), (1, 3, 4)),
    ((6, 5, 2, 3), (3, 4)),
    ((5, 2, 3), (3,)),
    ((3,), (5, 3, 4)),
    ((1, 1), (1, 1)),
]
EMPTY = [((2, 0), (0, 4)), ((0, 3), (3, 4)), ((5, 2, 0), (0, 4)), ((0, 2, 3), (3, 4)), ((0,), (0,)), ((2, 3), (3, 0))]


@each("dtype", [np.float64, np.float32], ids=["float64", "float32"])
@each("shapes", SHAPES + EMPTY, ids=str)
def test_values_and_gradients_are_torchs(device: str, rng: np.random.Generator, shapes: Any, dtype: Any) -> None:
    pair = [rng.standard_normal(s).astype(dtype) for s in shapes]
    assert_agrees_with_torch(operator.matmul, operator.matmul, pair, rng, device)


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_first_and_second_derivatives_are_those_of_differences(rng: np.random.Generator, shapes: Any) -> None:
    assert mr.gradcheck(ops.matmul, [rng.standard_normal(s) for s in shapes], order=2)


@pytest.mark.parametrize("which", [0, 1])
def test_only_the_gradient_that_is_needed_is_computed(rng: np.random.Generator, which: int) -> None:
    pair = [mr.tensor(rng.standard_normal((5, 2, 3))), mr.tensor(rng.standard_normal((3, 4)))]
    pair[which].requires_grad_()
    y = pair[0] @ pair[1]
    gradients = y.op.backward(mr.tensor(np.ones(y.shape)), y, *pair)
    assert gradients[which] is not None
    assert gradients[1 - which] is None
