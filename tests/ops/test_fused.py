"""What holds for every block op: fused = composed, first and second derivatives, all outputs, dtypes, lengths."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import ops
from tests.compare import DIRECTIONS, thoroughness
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


@pytest.mark.slow_elsewhere
@pytest.mark.parametrize(("op", "attributes"), CASES)
def test_first_and_second_derivatives_agree_with_differences(
    op: str, attributes: dict[str, Any], rng: np.random.Generator, device: str
) -> None:
    function, values = build(op, rng, **attributes)
    inputs = [mr.tensor(v, True, device) for v in values.values()]
    mr.gradcheck(function, inputs, **thoroughness(device))  # random cotangents on every output
    mr.gradcheck(function, inputs, order=2, **DIRECTIONS)


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


# ---- float16


@pytest.mark.parametrize(("op", "attributes"), [case for case in CASES if not case.id.startswith("lstm")])
def test_float16_is_computed_in_float32_and_rounded_once(
    op: str, attributes: dict[str, Any], rng: np.random.Generator, device: str
) -> None:
    """To the last bit, and so are the Grad ops; only LSTMBlockCell has its own kernels for float16, on a GPU."""
    function, values = build(op, rng, **attributes)
    half = [mr.tensor(v.astype("f2"), device=device) for v in values.values()]
    single = [t.astype("f4") for t in half]
    outputs = function(*half)
    for got, exact in zip(outputs, function(*single), strict=True):
        assert got.dtype == np.float16
        np.testing.assert_array_equal(np.asarray(got), np.asarray(exact).astype("f2"))
    upstream = [mr.tensor(rng.standard_normal(y.shape).astype("f2"), device=device) for y in outputs[-1:]]
    if op == "gru_block_cell":
        grad: Any = ops.gru_block_cell_grad
        given = (*half, *outputs[:-1], *upstream)
    else:
        L, use_peephole = attributes.get("L", T), attributes["use_peephole"]
        grad = lambda *a: getattr(ops, op.replace("lstm", "lstm_grad"))(L, *a, use_peephole=use_peephole)  # noqa: E731
        given = (*half, *outputs, *upstream, *upstream)
    for got, exact in zip(grad(*given), grad(*(t.astype("f4") for t in given)), strict=True):
        assert got.dtype == np.float16
        np.testing.assert_array_equal(np.asarray(got), np.asarray(exact).astype("f2"))


LSTM_OPS = {"cell": ops.lstm_block_cell, "sequence": lambda *a, **attributes: ops.block_lstm(T, *a, **attributes)}


def half_inputs(form: str, rng: np.random.Generator, device: str) -> list[mr.Tensor]:
    values = lstm_inputs(rng, (B,) if form == "cell" else (T, B), I, H, "f2")
    return [mr.tensor(v, device=device) for v in values.values()]


@pytest.mark.parametrize("form", LSTM_OPS)
def test_attributes_are_rounded_to_float16_first(form: str, rng: np.random.Generator, device: str) -> None:
    args, run = half_inputs(form, rng, device), LSTM_OPS[form]
    pairs = [
        ({"forget_bias": 2049.0, "cell_clip": -1.0}, {"forget_bias": 2048.0, "cell_clip": -1.0}),  # halfway to 2050
        ({"cell_clip": 0.25 + 1e-5}, {"cell_clip": 0.25}),
    ]
    for given, rounded in pairs:
        for a, b in zip(run(*args, **given), run(*args, **rounded), strict=True):
            np.testing.assert_array_equal(np.asarray(a), np.asarray(b))
    cs = np.asarray(run(*args, cell_clip=1e-9, use_peephole=True).cs)  # it rounds to 0
    assert not cs.any()


@pytest.mark.parametrize("form", LSTM_OPS)
def test_float16_that_overflows_is_infinite_without_a_warning(form: str, rng: np.random.Generator, device: str) -> None:
    x, cs_prev, h_prev, w, wci, wcf, wco, b = half_inputs(form, rng, device)
    cs_prev, w, b = cs_prev * 0 + 65504, w * 0, b * 0 + 10
    # i = f = 1, ci = 1: each step adds one
    cs = LSTM_OPS[form](x, cs_prev, h_prev, w, wci, wcf, wco, b, forget_bias=1e6, cell_clip=1e6).cs
    assert cs.dtype == np.float16
    assert (np.asarray(cs) >= 65472).all()
    scores = mr.tensor(np.array([[-60000.0, 60000.0]], "f2"), device=device)
    assert np.isinf(np.asarray(ops.cross_entropy(scores, np.array([0]))))
