"""The node of a layer finds its weights among its inputs, for any cell; H follows from either matrix.

Tests `minirnn/ops/sequence/layer.py` and `minirnn/ops/sequence/compose.py`.
"""

from __future__ import annotations

import numpy as np
import pytest

import minirnn as mr
from minirnn import cell, product, sigmoid, tanh
from minirnn.devices.base import Weights
from minirnn.ops.sequence.compose import width_of
from minirnn.ops.sequence.layer import RecurrentLayer, flat, template
from tests.compare import assert_close

T, B, I, H = 3, 2, 4, 5


@cell(states="h")
def of_both_and_x(z_a, x_b, x_c, h):
    return tanh(z_a) * sigmoid(x_b) + tanh(x_c)


@cell(states=("c", "h"))
def without_h(x_a, x_b, c, h, *, w):
    c = sigmoid(x_a) * c + x_b
    return c, tanh(c) * w + 0.5 * h


@cell(states="h")
def with_product(h_a, h_b, h):
    return tanh(h_a) * sigmoid(h_b) + product(h)


@pytest.mark.parametrize("own", [of_both_and_x, without_h, with_product], ids=lambda own: own.__name__)
def test_weights_of_two_directions_come_back_by_name_and_the_kernel_gives_the_composition(
    own: mr.Cell, device: str, rng: np.random.Generator
) -> None:
    plan = own.plan()
    rows_of_W, rows_of_R, gates = plan.of_both + plan.of_x, plan.of_both + plan.of_h, len(plan.gate_names)

    def draw(*shape: int) -> mr.Tensor:
        return mr.tensor(rng.normal(size=shape) / 2, True, device)

    weights = [
        Weights(
            draw(rows_of_W * H, I) if rows_of_W else None, draw(rows_of_R * H, H) if rows_of_R else None, None,
            draw(gates * H), None, [draw(H, H) for _ in range(plan.matrices)], [draw(H) for _ in range(plan.vectors)],
        )
        for _ in range(2)
    ]  # fmt: skip
    assert width_of(plan, weights[0]) == H
    states = [draw(2, B, H) for _ in range(plan.states)]
    inputs = [draw(T, B, I), *states, *flat(weights)]
    layer = RecurrentLayer(plan, [template(plan)] * 2, np.array([3, 2]))
    x, h0, c0, found = layer.parted(inputs)
    assert x is inputs[0] and h0 is states[0] and (c0 is None) == (plan.states == 1)
    for mine, theirs in zip(found, weights, strict=True):
        assert all(a is b for a, b in zip(flat([mine]), flat([theirs]), strict=True))
        assert [w is None for w in mine[:5]] == [w is None for w in theirs[:5]]
    cotangents = [draw(*t.shape).detach() for t in layer.compose(*inputs)]
    results = []
    for run in (layer, layer.compose):
        outputs = list(run(*inputs))
        results.append([*outputs, *mr.grad(outputs, inputs, cotangents)])
    for a, b in zip(*results, strict=True):
        assert_close(a, b.numpy(), 1e-12, "roundings of a few steps in float64")
