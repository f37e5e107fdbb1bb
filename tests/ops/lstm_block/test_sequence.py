"""BlockLSTM and BlockLSTMV2: a loop over the cell, clipping, lengths, float16; `tests/ops/test_fused.py` has more."""

from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import ops
from minirnn.devices.cpu.sequence import visit
from minirnn.devices.cpu.sequence.named import in_columns
from tests.each import each
from tests.ops.block_cases import lstm_inputs

B, I, H, T = 2, 3, 5, 4
LSTM_OPS = {"cell": ops.lstm_block_cell, "sequence": lambda *a, **attributes: ops.block_lstm(T, *a, **attributes)}


def inputs_of(form: str, rng: np.random.Generator, device: str = "cpu", dtype: str = "f8") -> list[mr.Tensor]:
    values = lstm_inputs(rng, (B,) if form == "cell" else (T, B), I, H, dtype)
    return [mr.tensor(v, device=device) for v in values.values()]


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


@each("L", [0, 1, 2, T])
@each("use_peephole", [False, True])
def test_nothing_past_seq_len_max_is_read_not_even_in_second_derivatives(
    rng: np.random.Generator, device: str, monkeypatch: pytest.MonkeyPatch, L: int, use_peephole: bool
) -> None:
    monkeypatch.setattr(visit, "CACHED_CELLS", 40)  # pieces of a few steps
    values = lstm_inputs(rng, (T, B), I, H)
    cotangents, found = [rng.standard_normal((T, B, H)) for _ in range(7)], []
    for fill in (0.0, np.nan):
        for a in (values["x"], *cotangents):
            a[L:] = fill
        inputs = [mr.tensor(v, True, device) for v in values.values()]
        y = ops.block_lstm(L, *inputs, use_peephole=use_peephole)
        gs = mr.grad(list(y), inputs, [mr.tensor(g, device=device) for g in cotangents], create_graph=True)
        again = mr.grad([(g * g).sum() for g in gs], inputs) if L else []
        found.append([t.numpy() for t in (*y, *gs, *again)])
        saved = [t.numpy().copy() for t in y]
        for a in saved:
            a[L:] = fill
        raw = [mr.tensor(a, device=device) for a in (*values.values(), *saved, *cotangents[:2])]
        found[-1] += [t.numpy() for t in ops.block_lstm_grad(L, *raw, use_peephole=use_peephole)]
    for zero, nan in zip(*found, strict=True):
        assert np.isfinite(nan).all()
        np.testing.assert_array_equal(zero, nan)
    assert not any(a[L:].any() for a in found[0][:8]) and all(a[:L].all() for a in found[0][:7])
    assert L or not any(a.any() for a in found[0])


def test_saved_outputs_reach_the_gradient_without_a_copy(rng: np.random.Generator) -> None:
    *outputs, h = (y.array for y in LSTM_OPS["sequence"](*inputs_of("sequence", rng), cell_clip=3.0, use_peephole=True))
    assert h.flags.c_contiguous  # it is read by rows
    for a in outputs:
        assert np.shares_memory(in_columns(a), a)
        assert not np.shares_memory(in_columns(a.copy("C")), a)


# ---- the edges of the numbers


@each("form", LSTM_OPS)
@each("off", [0.0, -0.0, -1.0, -np.inf, np.inf])
def test_a_clip_that_is_not_positive_or_infinite_clips_nothing(
    rng: np.random.Generator, device: str, form: str, off: float
) -> None:
    args = inputs_of(form, rng, device)
    args[1] = args[1] * 100
    attributes: dict[str, Any] = {"forget_bias": 3.0, "use_peephole": True}
    want = LSTM_OPS[form](*args, **attributes, cell_clip=1e30)
    assert np.abs(want.cs.numpy()).max() > 50
    for a, b in zip(LSTM_OPS[form](*args, **attributes, cell_clip=off), want, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-12)


@each("form", LSTM_OPS)
def test_the_output_cs_is_the_clipped_one_on_both_sides_and_nan_passes(
    rng: np.random.Generator, device: str, form: str
) -> None:
    args = inputs_of(form, rng, device)
    args[1] = args[1] * 100
    y = LSTM_OPS[form](*args, forget_bias=3.0, cell_clip=0.5)
    cs, co = y.cs.numpy(), y.co.numpy()
    assert (cs.min(), cs.max()) == (-0.5, 0.5)
    np.testing.assert_allclose(co, np.tanh(cs), rtol=1e-15)
    args[1][1, 2] = np.nan
    cs = LSTM_OPS[form](*args, cell_clip=0.1).cs.numpy().reshape(-1, B, H)[0]
    assert np.isnan(cs[1, 2]) and np.isnan(cs).sum() == 1


@each("form", [*LSTM_OPS, "gru"])
@each("dtype", ["f4", "f8"])
@each("sign", [-1, 1])
def test_saturated_gates_are_exactly_zero_or_one(form: str, dtype: str, sign: int) -> None:
    if form == "gru":
        shapes = [(B, I), (B, H), (I + H, 2 * H), (I + H, H), (2 * H,), (H,)]
        given = [np.full(s, 1 if k < 2 else sign * 1e4 if k < 4 else 0, dtype) for k, s in enumerate(shapes)]
        *gates, candidate, _ = (t.numpy() for t in ops.gru_block_cell(*given))
    else:
        x = np.ones((B, I) if form == "cell" else (T, B, I), dtype)
        w = np.full((I + H, 4 * H), sign * 1e4, dtype)
        args = [x, *np.zeros((2, B, H), dtype), w, *np.zeros((3, H), dtype), np.zeros(4 * H, dtype)]
        with np.errstate(all="raise"):
            y = LSTM_OPS[form](*args, forget_bias=1.0, cell_clip=-1.0, use_peephole=True)
        gates, candidate = [t.numpy() for t in (y.i, y.f, y.o)], y.ci.numpy()
    assert all((gate == (sign > 0)).all() for gate in gates) and (candidate == sign).all()


# ---- float16, as a cell and as a sequence


@pytest.mark.parametrize("form", LSTM_OPS)
def test_attributes_are_rounded_to_float16_first(form: str, rng: np.random.Generator, device: str) -> None:
    args, run = inputs_of(form, rng, device, "f2"), LSTM_OPS[form]
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
    x, cs_prev, h_prev, w, wci, wcf, wco, b = inputs_of(form, rng, device, "f2")
    cs_prev, w, b = cs_prev * 0 + 65504, w * 0, b * 0 + 10
    # i = f = 1, ci = 1: each step adds one
    cs = LSTM_OPS[form](x, cs_prev, h_prev, w, wci, wcf, wco, b, forget_bias=1e6, cell_clip=1e6).cs
    assert cs.dtype == np.float16
    assert (np.asarray(cs) >= 65472).all()
    scores = mr.tensor(np.array([[-60000.0, 60000.0]], "f2"), device=device)
    assert np.isinf(np.asarray(ops.cross_entropy(scores, np.array([0]))))
