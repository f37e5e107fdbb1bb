"""The raw _grad and _backprop ops as what they are: functions, with gradients of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import ops
from minirnn.ops.cudnn_rnn.params import Network
from tests.compare import assert_close
from tests.ops.block_cases import gru_inputs, lstm_inputs
from tests.ops.cudnn_rnn.cudnn_cases import attributes_of, random_call
from tests.ops.derivatives import DIFFERENCES, along, derivatives
from tests.ops.fused_cases import LENGTHS

T, B, I, H = 3, 2, 2, 3


def saved(rng: np.random.Generator, count: int, *shape: int) -> list[np.ndarray]:
    """Any values will do: a gradient kernel is a function of its arguments alone."""
    return [rng.uniform(0.1, 0.9, shape) for _ in range(count)]


def lstm_cell(rng: np.random.Generator) -> tuple[Callable[..., Any], list[np.ndarray]]:
    values = [*lstm_inputs(rng, (B,), I, H).values(), *saved(rng, 8, B, H)]
    return lambda *a: ops.lstm_block_cell_grad(*a, use_peephole=True), values


def gru_cell(rng: np.random.Generator) -> tuple[Callable[..., Any], list[np.ndarray]]:
    return ops.gru_block_cell_grad, [*gru_inputs(rng, B, I, H).values(), *saved(rng, 4, B, H)]


def sequence(op: str, steps: int, peephole: bool) -> Callable[..., Any]:
    def build(rng: np.random.Generator) -> tuple[Callable[..., Any], list[np.ndarray]]:
        values = [*lstm_inputs(rng, (T, B), I, H).values(), *saved(rng, 9, T, B, H)]
        return lambda *a: getattr(ops, op)(steps, *a, use_peephole=peephole), values

    return build


def network(net: Network, version: int, dropout: float = 0.0) -> Callable[..., Any]:
    """The gradient as a function of input, states, params and the gradients that arrive, with its own forward call."""

    def build(rng: np.random.Generator) -> tuple[Callable[..., Any], list[np.ndarray]]:
        lstm = net.rnn_mode == "lstm"
        attributes = attributes_of(net) | {"dropout": dropout, "seed": 1}
        lengths = [np.array(LENGTHS)] if version == 3 else []
        if version < 3:
            del attributes["num_proj"]
        forward = getattr(ops, "cudnn_rnn" + ("" if version == 1 else f"_v{version}"))
        backprop = getattr(ops, "cudnn_rnn_backprop" + ("" if version == 1 else f"_v{version}"))

        def function(*a: mr.Tensor) -> list[mr.Tensor]:
            x, h, c, params, dy, dh, dc = a if lstm else (*a[:2], None, *a[2:5], None)
            with mr.no_grad():
                y = forward(x, h, c, params, *lengths, **attributes)
            kept = y[3:]  # reserve_space, and host_reserved of versions 2 and 3
            gradients = backprop(x, h, c, params, *lengths, *y[:3], dy, dh, dc, *kept, **attributes)
            return [g for g in gradients if g.size]

        x, h, c, params = (t.numpy() for t in random_call(rng, net, T, B, "cpu"))
        shapes = [(T, B, net.D * net.P), h.shape, c.shape]
        values = [x, h, c, params] if lstm else [x, h, params]
        return function, values + [rng.standard_normal(s) for s in shapes[: 3 if lstm else 2]]

    return build


RAW = {
    "lstm_block_cell_grad": lstm_cell,
    "gru_block_cell_grad": gru_cell,
    "block_lstm_grad": sequence("block_lstm_grad", T, False),
    "block_lstm_grad-peephole-short": sequence("block_lstm_grad", 2, True),
    "block_lstm_grad_v2-peephole": sequence("block_lstm_grad_v2", T, True),
    "cudnn_rnn_backprop-lstm": network(Network("lstm", 1, H, I), 1),
    "cudnn_rnn_backprop-rnn_tanh": network(Network("rnn_tanh", 1, I, I, "bidirectional", "skip_input"), 1),
    "cudnn_rnn_backprop_v2-gru-dropout": network(Network("gru", 2, 2, I, "bidirectional"), 2, dropout=0.4),
    "cudnn_rnn_backprop_v3-lstm-projected": network(Network("lstm", 2, H, I, num_proj=2), 3, dropout=0.3),
    "cudnn_rnn_backprop_v3-gru": network(Network("gru", 1, H, I), 3),
}


@pytest.mark.slow_elsewhere
@pytest.mark.parametrize("name", RAW)
def test_first_and_second_derivatives_are_differences(name: str, rng: np.random.Generator, device: str) -> None:
    function, values = RAW[name](rng)
    weights = [rng.standard_normal(y.shape) for y in function(*[mr.tensor(v) for v in values])]
    directions = [[rng.standard_normal(v.shape) for v in values]]
    at = lambda vs, order: derivatives(function, device, vs, weights, directions, order)  # noqa: E731
    first, second = at(values, 1), at(values, 2)
    slope = sum(float((g * d).sum()) for g, d in zip(first, directions[0], strict=True))
    assert_close(np.array(slope), along(lambda vs: at(vs, 0), values, directions[0])[0], *DIFFERENCES)
    for k, (g, e) in enumerate(zip(second, along(lambda vs: at(vs, 1), values, directions[0]), strict=True)):
        assert_close(g, e, *DIFFERENCES, what=f"input {k}")


def test_an_input_computed_from_another_one_is_an_input_of_its_own(
    rng: np.random.Generator, device: str, composed_device: str
) -> None:
    net = Network("lstm", 1, H, H)
    x, _, c, params = (t.numpy() for t in random_call(rng, net, T, B, "cpu"))
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


@pytest.mark.parametrize("name", RAW)
def test_without_gradients_to_keep_nothing_is_recorded(
    name: str, rng: np.random.Generator, device: str, composed_device: str
) -> None:
    function, values = RAW[name](rng)
    for place in (device, composed_device):
        constants = function(*[mr.tensor(v, False, place) for v in values])
        with mr.no_grad():
            unrecorded = function(*[mr.tensor(v, True, place) for v in values])
        assert not any(y.requires_grad for y in (*constants, *unrecorded))


@pytest.mark.parametrize("name", [name for name in RAW if name.startswith(("block_lstm", "gru_block"))])
def test_float16_is_computed_in_float32_and_rounded_once(name: str, rng: np.random.Generator, device: str) -> None:
    function, values = RAW[name](rng)
    half = [mr.tensor(v.astype("f2"), device=device) for v in values]
    for got, exact in zip(function(*half), function(*[t.astype("f4") for t in half]), strict=True):
        assert got.dtype == np.float16
        np.testing.assert_array_equal(got.numpy(), exact.numpy().astype("f2"))
