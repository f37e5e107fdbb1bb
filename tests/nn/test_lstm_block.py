"""LSTMBlockCell and LSTMBlockFusedCell: state handling and masking around the ops."""

import copy
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import nn
from minirnn.arguments.host_array import values_of
from tests.each import each

T, B, I, H = 6, 4, 3, 5


def fused(device: str = "cpu", dtype: Any = np.float64, **settings: Any) -> nn.LSTMBlockFusedCell:
    return nn.LSTMBlockFusedCell(H, I, device=device, dtype=dtype, **settings)


def loop(module: nn.LSTMBlockFusedCell, x: Any, state: Any, lengths: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The definition of masking: each row separately, step by step, up to its length."""
    cell = nn.LSTMBlockCell(H, I, module.forget_bias, module.cell_clip, module.use_peephole, dtype=np.float64)
    cell.load_state_dict(module.state_dict())
    outputs, final_c, final_h = np.zeros((T, B, H)), np.zeros((B, H)), np.zeros((B, H))
    for b in range(B):
        row = (state[0][b : b + 1], state[1][b : b + 1])
        for t in range(lengths[b]):
            h, row = cell(x[t, b : b + 1], row)
            outputs[t, b] = h.numpy()[0]
        final_c[b], final_h[b] = values_of(row[0])[0], values_of(row[1])[0]
    return outputs, final_c, final_h


SETTINGS: list[dict[str, Any]] = [{}, {"use_peephole": True, "forget_bias": -0.5, "cell_clip": 0.3}]


@each("settings", SETTINGS)
@each("lengths", [(6, 6, 6, 6), (3, 0, 6, 1), (2, 4, 1, 3), (0, 0, 0, 0), None])
def test_a_fused_sequence_equals_each_row_run_by_itself(
    settings: dict[str, Any], lengths: Any, device: str, rng: np.random.Generator
) -> None:
    module = fused(device, **settings)
    for p in module.parameters():
        p.assign(rng.normal(size=p.shape))
    x, state = rng.normal(size=(T, B, I)), (rng.normal(size=(B, H)), rng.normal(size=(B, H)))
    outputs, final = module(x, state, lengths)
    expected = loop(module, x, state, (T,) * B if lengths is None else lengths)
    for ours, theirs in zip((outputs, final.c, final.h), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-14)


@pytest.mark.parametrize("settings", SETTINGS)
def test_what_lies_in_the_padding_never_matters_not_even_nan(
    settings: dict[str, Any], device: str, rng: np.random.Generator
) -> None:
    module, lengths = fused(device, **settings), np.array([3, 0, 6, 1])
    x, state = rng.normal(size=(T, B, I)), (rng.normal(size=(B, H)), rng.normal(size=(B, H)))
    padded = x.copy()
    padded[np.arange(T)[:, None] >= lengths] = np.nan
    dy, dc, dh = rng.normal(size=(T, B, H)), rng.normal(size=(B, H)), rng.normal(size=(B, H))
    results = []
    for data in (x, padded):
        t = mr.tensor(data, requires_grad=True, device=device)
        c0, h0 = (mr.tensor(a, requires_grad=True, device=device) for a in state)
        outputs, final = module(t, (c0, h0), lengths)
        grads = mr.grad([outputs, final.c, final.h], [t, c0, h0, *module.parameters()], [dy, dc, dh])
        results.append([outputs, *final, *grads])
    for ours, expected in zip(results[1], results[0], strict=True):
        assert np.isfinite(ours.numpy()).all()
        np.testing.assert_array_equal(ours, expected)


def test_gradients_with_lengths_equal_finite_differences(rng: np.random.Generator) -> None:
    module = fused(use_peephole=True)
    names = [name for name, _ in module.named_parameters()]

    def run(x: mr.Tensor, c0: mr.Tensor, h0: mr.Tensor, *values: mr.Tensor) -> Any:
        twin = copy.deepcopy(module)
        vars(twin).update(zip(names, values, strict=True))  # Tensors of the tape instead of the parameters
        outputs, final = twin(x, (c0, h0), [3, 0, 6, 1])
        return outputs, final.c, final.h

    arrays = [rng.normal(size=shape) for shape in ((T, B, I), (B, H), (B, H))]
    assert mr.gradcheck(run, [*arrays, *[p.numpy() for p in module.parameters()]], max_entries=0, directions=2)


def test_a_step_starts_from_zeros() -> None:
    x, zeros = np.ones((T, B, I)), (np.zeros((B, H)), np.zeros((B, H)))
    module = fused()
    cell = nn.LSTMBlockCell(H, I, dtype=np.float64)
    np.testing.assert_array_equal(cell(x[0])[0], cell(x[0], zeros)[0])
    np.testing.assert_array_equal(module(x)[0], module(x, zeros)[0])


def test_an_empty_sequence_returns_the_initial_state(rng: np.random.Generator) -> None:
    state = (rng.normal(size=(B, H)), rng.normal(size=(B, H)))
    outputs, final = fused()(np.zeros((0, B, I)), state)
    assert outputs.shape == (0, B, H)
    np.testing.assert_array_equal(final.c, state[0])
    np.testing.assert_array_equal(final.h, state[1])


def test_gates_hands_out_all_that_the_op_computes(device: str, rng: np.random.Generator) -> None:
    x = rng.normal(size=(T, B, I))
    module = fused(device, use_peephole=True)
    for p in module.parameters():
        p.assign(3 * rng.normal(size=p.shape))
    cs_prev, h_prev = 9 + rng.normal(size=(B, H)), rng.normal(size=(B, H))
    y = module.gates(x, (cs_prev, h_prev))
    assert np.abs(y.cs.numpy()).max() > 3  # the op's own default would clip here
    expected = mr.ops.block_lstm(
        T, x, cs_prev, h_prev, module.w, module.wci, module.wcf, module.wco, module.b, cell_clip=0.0, use_peephole=True
    )
    for name in ("i", "cs", "f", "o", "ci", "co", "h"):
        np.testing.assert_array_equal(getattr(y, name), getattr(expected, name), err_msg=name)


@pytest.mark.parametrize(("cell_clip", "c"), [(None, 5.0), (2.0, 2.0), (-1.0, 5.0), (np.inf, 5.0)])
def test_without_weights_a_cell_forgets_by_its_bias_and_clips_only_if_asked(
    cell_clip: Any, c: float, device: str
) -> None:
    cell = nn.LSTMBlockCell(2, 3, forget_bias=0.5, cell_clip=cell_clip, device=device, dtype=np.float64)
    cell.w.assign(np.zeros(cell.w.shape))
    h, state = cell(np.ones((1, 3)), (np.full((1, 2), 5.0), np.ones((1, 2))))
    kept = min(c, 5 / (1 + np.exp(-0.5)))
    np.testing.assert_allclose(state.c, np.full((1, 2), kept), rtol=1e-14)
    np.testing.assert_allclose(h, np.full((1, 2), np.tanh(kept) / 2), rtol=1e-14)


def sigmoid(a: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-a))


def test_a_step_with_peepholes_is_the_formula_with_the_gates_i_ci_f_o(device: str, rng: np.random.Generator) -> None:
    cell = nn.LSTMBlockCell(H, I, forget_bias=0.7, use_peephole=True, device=device, dtype=np.float64)
    for p in cell.parameters():
        p.assign(rng.normal(size=p.shape))
    w, b, wci, wcf, wco = (p.numpy() for p in (cell.w, cell.b, cell.wci, cell.wcf, cell.wco))  # type: ignore[union-attr]
    x, c, h = rng.normal(size=(B, I)), rng.normal(size=(B, H)), rng.normal(size=(B, H))
    i, ci, f, o = np.split(np.concatenate([x, h], 1) @ w + b, 4, 1)
    new_c = sigmoid(f + 0.7 + wcf * c) * c + sigmoid(i + wci * c) * np.tanh(ci)
    new_h = sigmoid(o + wco * new_c) * np.tanh(new_c)
    output, state = cell(x, (c, h))
    np.testing.assert_allclose(state.c, new_c, rtol=0, atol=1e-14)
    np.testing.assert_allclose(state.h, new_h, rtol=0, atol=1e-14)
    assert output is state.h
