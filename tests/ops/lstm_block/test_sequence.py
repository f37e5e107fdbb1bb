"""BlockLSTM and BlockLSTMV2: a loop over the cell, clipping, lengths, float16; `tests/ops/test_fused.py` has more."""

from __future__ import annotations

import numpy as np
import pytest

import minirnn as mr
from minirnn import ops
from tests.ops.block_cases import lstm_inputs

B, I, H, T = 2, 3, 5, 4


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
        found.append([g.numpy() for g in (*y, *gs, *again)])
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
        found.append([t.numpy() for t in (*y, *gs, *again)])
    for zero, nan in zip(*found, strict=True):
        assert np.isfinite(nan).all()
        np.testing.assert_array_equal(zero, nan)
    assert all((np.asarray(y)[L:] == 0).all() for y in found[0][:7])


# ---- float16, as a cell and as a sequence


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
