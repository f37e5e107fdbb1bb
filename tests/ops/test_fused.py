"""What holds for every op with one kernel, beyond its values: the cases are those of `minirnn.proof`.

Values, derivatives and precision are in `tests/ops/test_verified.py`, wrong calls in the tables of `tests/hostile/`.
Tests `minirnn/ops/fused.py` and, with `tests/ops/test_verified.py`, `minirnn/ops/lstm_block/cell.py`.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import ops
from minirnn.ops.cudnn_rnn.params import Network
from minirnn.proof.case import COMPOSED, Case
from minirnn.proof.cases import block, cudnn
from tests.each import each
from tests.ops.cudnn_rnn.cudnn_cases import random_call

QUICK = [case for module in (block, cudnn) for case in module.cases() if case.quick and case.variant != "no step"]
FORWARD = [case for case in QUICK if "grad" not in case.op and "backprop" not in case.op]
RAW = [case for case in QUICK if case not in FORWARD]
HALF = [case for case in QUICK if case.op.startswith(("block_lstm", "gru_block"))]


def name_of(case: Case) -> str:
    return f"{case.op}, {case.variant}, {case.size}"


@pytest.mark.parametrize("case", FORWARD, ids=name_of)
def test_each_output_alone_carries_gradient(case: Case, device: str) -> None:
    """The gradients through one output agree with the composition, whether or not others are used."""
    found = gradients_by_output(case, mr.devices.get(device))
    for name, fused, plain in zip(case.outputs, found, composed(FORWARD.index(case)), strict=True):
        assert any(np.abs(g).max() > 0 for g in fused), name
        for a, b in zip(fused, plain, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-12, err_msg=name)


def gradients_by_output(case: Case, place: Any) -> list[list[np.ndarray]]:
    """The gradients through each output alone."""
    found = []
    for k in range(len(case.outputs)):
        inputs = [mr.tensor(a, True, place) for a in case.inputs.values()]
        y = case.call(*inputs)[k]
        seed = mr.tensor(case.cotangent(k, y.shape, "float64"), device=place)
        found.append([g.numpy() for g in mr.grad(y, inputs, seed)])
    return found


@cache
def composed(number: int) -> list[list[np.ndarray]]:
    """The gradients of the composition, computed once for all devices."""
    return gradients_by_output(FORWARD[number], COMPOSED)


@each("case", HALF, ids=name_of)
def test_float16_is_computed_in_float32_and_rounded_once(case: Case, device: str) -> None:
    """To the last bit; only LSTMBlockCell has its own kernels for float16, on a GPU."""
    half = [mr.tensor(a, device=device) for a in case.rounded("float16").values()]
    for got, exact in zip(case.call(*half), case.call(*[t.astype("f4") for t in half]), strict=True):
        assert got.dtype == np.float16
        np.testing.assert_array_equal(got.numpy(), exact.numpy().astype("f2"))


@each("case", RAW, ids=name_of)
def test_a_raw_gradient_without_gradients_to_keep_records_nothing(
    case: Case, device: str, composed_device: str
) -> None:
    for place in (device, composed_device):
        constants = case.call(*[mr.tensor(a, False, place) for a in case.inputs.values()])
        with mr.no_grad():
            unrecorded = case.call(*[mr.tensor(a, True, place) for a in case.inputs.values()])
        assert not any(y.requires_grad for y in (*constants, *unrecorded))


def test_an_input_computed_from_another_one_is_an_input_of_its_own(
    rng: np.random.Generator, device: str, composed_device: str
) -> None:
    x, _, c, params = (t.numpy() for t in random_call(rng, Network("lstm", 1, 3, 3), 3, 2, "cpu"))
    for place in (device, composed_device):
        found = []
        for tied in (True, False):
            leaf = mr.tensor(x, True, place)
            h = leaf[:1] * 2.0
            h = h if tied else h.detach()
            y = ops.cudnn_rnn(leaf, h, c, params)
            ones = [np.ones(t.shape) for t in y[:3]]
            found.append(ops.cudnn_rnn_backprop(leaf, h, c, params, *y[:3], *ones, y.reserve_space))
        for a, b in zip(*found, strict=True):
            np.testing.assert_array_equal(a.numpy(), b.numpy())
