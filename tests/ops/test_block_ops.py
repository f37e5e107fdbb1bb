"""What holds for every block op: fused = composed, first and second derivatives, all outputs, dtypes, lengths."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import ops
from tests.ops.block_cases import gru_inputs, lstm_inputs

B, I, H, T = 2, 3, 5, 4


def build(op: str, rng: np.random.Generator, **attributes: Any) -> tuple[Any, dict[str, np.ndarray]]:
    """A function of the op's float inputs alone, and random values for them (float64, no active clip)."""
    if op == "gru_block_cell":
        return ops.gru_block_cell, gru_inputs(rng, B, I, H)
    if op == "lstm_block_cell":
        return lambda *a: ops.lstm_block_cell(*a, cell_clip=-1.0, **attributes), lstm_inputs(rng, (B,), I, H)
    L = attributes.pop("L", T)
    function = getattr(ops, op)
    return lambda *a: function(L, *a, cell_clip=-1.0, **attributes), lstm_inputs(rng, (T, B), I, H)


CASES = [
    pytest.param("gru_block_cell", {}, id="gru"),
    pytest.param("lstm_block_cell", {"use_peephole": False}, id="lstm"),
    pytest.param("lstm_block_cell", {"use_peephole": True, "forget_bias": 0.3}, id="lstm-peephole"),
    pytest.param("block_lstm", {"use_peephole": False}, id="block"),
    pytest.param("block_lstm", {"use_peephole": True, "L": 3}, id="block-peephole-short"),
    pytest.param("block_lstm", {"use_peephole": True, "L": 1}, id="block-peephole-one-step"),
    pytest.param("block_lstm_v2", {"use_peephole": True, "L": 3}, id="block-v2-peephole-short"),
    pytest.param("block_lstm_v2", {"use_peephole": False}, id="block-v2"),
]


def run(op: str, attributes: dict[str, Any], values: dict[str, Any], cotangents: list[Any], device: str) -> Any:
    function, _ = build(op, np.random.default_rng(0), **attributes)
    inputs = [mr.tensor(v, True, device) for v in values.values()]
    outputs = function(*inputs)
    seeds = [mr.tensor(g, device=device) for g in cotangents]
    return outputs, inputs, mr.grad(list(outputs), inputs, seeds, create_graph=True)


@pytest.mark.parametrize(("op", "attributes"), CASES)
def test_first_and_second_derivatives_agree_with_differences(
    op: str, attributes: dict[str, Any], rng: np.random.Generator, device: str
) -> None:
    function, values = build(op, rng, **attributes)
    inputs = [mr.tensor(v, True, device) for v in values.values()]
    mr.gradcheck(function, inputs)  # random cotangents on every output
    mr.gradcheck(function, inputs, order=2)


@pytest.mark.parametrize(("op", "attributes"), CASES)
def test_fused_equals_composed_in_outputs_first_and_second_gradients(
    op: str, attributes: dict[str, Any], rng: np.random.Generator, device: str, composed_device: str
) -> None:
    function, values = build(op, rng, **attributes)
    shapes = [y.shape for y in function(*values.values())]
    cotangents = [rng.standard_normal(shape) for shape in shapes]
    second = [rng.standard_normal(v.shape) for v in values.values()]
    results = []
    for name in (device, composed_device):
        outputs, inputs, gradients = run(op, attributes, values, cotangents, name)
        weighted = [mr.tensor(s, device=name) for s in second]
        again = mr.grad(list(gradients), inputs, weighted)
        results.append([np.asarray(t) for t in (*outputs, *gradients, *again)])
    for k, (fused, plain) in enumerate(zip(*results, strict=True)):
        # float64, sums of at most T * B * 4H terms of size 1
        np.testing.assert_allclose(fused, plain, rtol=1e-11, atol=1e-12, err_msg=f"result {k}")


@pytest.mark.parametrize(("op", "attributes"), CASES)
def test_each_output_alone_carries_gradient(
    op: str, attributes: dict[str, Any], rng: np.random.Generator, device: str, composed_device: str
) -> None:
    function, values = build(op, rng, **attributes)
    outputs = function(*values.values())
    for k, y in enumerate(outputs):
        cotangent = rng.standard_normal(y.shape)
        found = []
        for name in (device, composed_device):
            inputs = [mr.tensor(v, True, name) for v in values.values()]
            out = function(*inputs)[k]
            found.append([np.asarray(g) for g in mr.grad(out, inputs, mr.tensor(cotangent, device=name))])
        assert any(np.abs(g).max() > 0 for g in found[0]), outputs._fields[k]
        for fused, plain in zip(*found, strict=True):
            np.testing.assert_allclose(fused, plain, rtol=1e-11, atol=1e-12, err_msg=outputs._fields[k])


@pytest.mark.parametrize("use_peephole", [False, True])
def test_an_active_clip_is_passed_straight_through_fused_and_composed(
    rng: np.random.Generator, device: str, composed_device: str, use_peephole: bool
) -> None:
    values = lstm_inputs(rng, (T, B), I, H)
    cotangents = [rng.standard_normal((T, B, H)) for _ in range(7)]
    found = []
    for name in (device, composed_device):
        inputs = [mr.tensor(v, True, name) for v in values.values()]
        y = ops.block_lstm(T, *inputs, cell_clip=0.3, use_peephole=use_peephole)
        assert (np.abs(y.cs.numpy()) == 0.3).any() and (np.abs(y.cs.numpy()) < 0.3).any()
        gs = mr.grad(list(y), inputs, [mr.tensor(g, device=name) for g in cotangents], create_graph=True)
        again = mr.grad([(g * g).sum() for g in gs], inputs)
        found.append([np.asarray(g) for g in (*y, *gs, *again)])
    for fused, plain in zip(*found, strict=True):
        np.testing.assert_allclose(fused, plain, rtol=1e-10, atol=1e-11)


def test_block_lstm_is_a_loop_over_the_cell(rng: np.random.Generator, device: str) -> None:
    values = lstm_inputs(rng, (T, B), I, H, "f4")
    x, cs, h, *weights = [mr.tensor(v, device=device) for v in values.values()]
    whole = ops.block_lstm(T, x, cs, h, *weights, use_peephole=True)
    for t in range(T):
        one = ops.lstm_block_cell(x[t], cs, h, *weights, use_peephole=True)
        cs, h = one.cs, one.h
        for name, y in one._asdict().items():
            # float32: the order of summation differs, over I + H = 8 products and T = 4 steps
            np.testing.assert_allclose(getattr(whole, name)[t], y, rtol=0, atol=2e-6, err_msg=name)


def test_v2_is_v1_with_exchanged_columns_and_no_forget_bias(rng: np.random.Generator, device: str) -> None:
    values = lstm_inputs(rng, (T, B), I, H)
    exchanged = dict(values)
    order = np.concatenate([np.arange(H) + k * H for k in (0, 2, 1, 3)])
    exchanged["w"], exchanged["b"] = values["w"][:, order], values["b"][order]
    v1 = ops.block_lstm(3, *[mr.tensor(v, device=device) for v in values.values()], forget_bias=0.0, cell_clip=0.0)
    v2 = ops.block_lstm_v2(3, *[mr.tensor(v, device=device) for v in exchanged.values()])
    for a, b in zip(v1, v2, strict=True):
        np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


def test_nothing_past_seq_len_max_is_read_not_even_in_second_derivatives(rng: np.random.Generator, device: str) -> None:
    values = lstm_inputs(rng, (T, B), I, H)
    cotangents = [rng.standard_normal((T, B, H)) for _ in range(7)]
    L, found = 2, []
    for fill in (0.0, np.nan):
        for a in (values["x"], *cotangents):
            a[L:] = fill
        inputs = [mr.tensor(v, True, device) for v in values.values()]
        y = ops.block_lstm(L, *inputs, use_peephole=True)
        gs = mr.grad(list(y), inputs, [mr.tensor(g, device=device) for g in cotangents], create_graph=True)
        again = mr.grad([(g * g).sum() for g in gs], inputs)
        found.append([np.asarray(t) for t in (*y, *gs, *again)])
    for zero, nan in zip(*found, strict=True):
        assert np.isfinite(nan).all()
        np.testing.assert_array_equal(zero, nan)
    assert all((np.asarray(y)[L:] == 0).all() for y in found[0][:7])


@pytest.mark.parametrize(("op", "attributes"), CASES)
@pytest.mark.parametrize("dtype", ["f2", "f4"])
def test_low_precision_follows_float64(
    op: str, attributes: dict[str, Any], dtype: str, rng: np.random.Generator, device: str
) -> None:
    function, values = build(op, rng, **attributes)
    low = {name: v.astype(dtype) for name, v in values.items()}
    exact = {name: v.astype("f8") for name, v in low.items()}
    found = []
    for chosen in (low, exact):
        inputs = [mr.tensor(v, True, device) for v in chosen.values()]
        y = function(*inputs)
        seeds = [np.cos(np.arange(t.size)).reshape(t.shape).astype(t.dtype) for t in y]
        found.append([np.asarray(t) for t in (*y, *mr.grad(list(y), inputs, seeds))])
        assert all(t.dtype == inputs[0].dtype for t in found[-1])
    # half: 2^-11 a rounding, of inputs of the Grad kernel that are themselves rounded; single: 2^-24 a product
    tolerance = 1e-2 if dtype == "f2" else 5e-6
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a.astype("f8"), b, rtol=0, atol=tolerance * max(1, np.abs(b).max()))
