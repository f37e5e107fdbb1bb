"""A user's backward pass is compared with the derivative, and then every layer of the cell runs it.

Tests `minirnn/cells/cell.py` and `minirnn/cells/by_hand.py`.
"""

# ruff: noqa: F841  (the lines of a backward pass are local variables)

from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import cell, sigmoid, tanh
from minirnn.cells.by_hand import ByHand
from minirnn.cells.expr import CellError
from minirnn.devices.cpu.sequence.step import text_of
from minirnn.devices.cpu.sequence.write_backward import back_of
from minirnn.nn.own.decorator import Cell


def coupled() -> Cell:
    @cell(states=("c", "h"))
    def coupled(z_i, z_n, z_o, c, h, *, w):
        i, n, o = sigmoid(z_i + w * c), tanh(z_n), sigmoid(z_o)
        c = i * c + (1 - i) * n
        h = o * tanh(c)
        return c, h

    return coupled


def by_hand(c_grad, dh, i, n, o, w, c_prev, tanh_c):
    dz_o = o * (1 - o) * tanh_c * dh
    dc = c_grad + (1 - tanh_c) * (1 + tanh_c) * dh * o
    dz_i = dc * (c_prev - n) * i * (1 - i)
    dz_n = dc * (1 - i) * (1 - n) * (1 + n)
    dc_prev = dz_i * w + dc * i
    dw = dz_i * c_prev


def gradients(own: Cell, layer: Any, rng: np.random.Generator) -> list[np.ndarray]:
    x = mr.tensor(rng.normal(size=(5, 2, 3)), requires_grad=True, device=layer.weight_ih.device)
    y, states = layer(x)
    return [g.numpy() for g in mr.grad([(y**2).sum() + states[0].sum()], [x, *layer.parameters()])]


def layer_of(own: Cell, device: Any) -> Any:
    mr.manual_seed(3)
    return own.layer(3, 4, dtype=np.float64, device=device)


def test_a_backward_pass_by_hand_runs_in_place_of_the_derived_one(rng: np.random.Generator, device: Any) -> None:
    own, other = coupled(), coupled()
    layer = layer_of(own, device)
    right = gradients(other, layer_of(other, device), np.random.default_rng(1))
    assert own.backward(by_hand) is by_hand
    assert isinstance(own.plan().derivation, ByHand)
    with pytest.raises(CellError, match="dc_prev is missing"):
        own.backward(lambda dh: {})
    assert isinstance(own.plan().derivation, ByHand)
    for found in (gradients(own, one, np.random.default_rng(1)) for one in (layer, layer_of(own, device))):
        for a, b in zip(found, right, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-13)


def test_the_lines_that_run_are_those_of_the_author() -> None:
    own = coupled()
    derived = text_of(own.plan(), True), back_of(own.plan()).factors.__doc__
    own.backward(by_hand)
    text = text_of(own.plan(), True)
    lines = [line.strip() for line in text.splitlines()]
    assert lines[1:7] == [
        "dz_o = o * (1 - o) * tanh_c * dh",
        "dc = c_grad + (1 - tanh_c) * (1 + tanh_c) * dh * o",
        "dz_i = dc * (c_prev - n) * i * (1 - i)",
        "dz_n = dc * (1 - i) * (1 - n) * (1 + n)",
        "dc_prev = dz_i * w + dc * i",
        "dw = dz_i * c_prev",
    ]
    assert (text, back_of(own.plan()).factors.__doc__) != derived


def test_a_value_is_computed_again_rather_than_saved() -> None:
    own = coupled()
    own.backward(by_hand)
    assert own.plan().value_names == ("i", "n", "o", "tanh_c")
    own.backward(again="tanh_c")(by_hand)
    assert own.plan().value_names == ("i", "n", "o")
    own.backward(by_hand, again=["tanh_c", "i"])
    assert "i" not in own.plan().value_names and own.verify(["cpu"])
