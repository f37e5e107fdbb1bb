"""GRUBlockCell on cpu: its formula element by element, saturation, memory layouts.

Tests `minirnn/ops/gru_block/cell.py`.
"""

from __future__ import annotations

import numpy as np
import pytest

from minirnn import devices
from minirnn.ops.gru_block.cell import GRUBlockCell, GRUBlockCellGrad
from tests.devices.cpu.kernel_checks import (
    LAYOUTS,
    TOLERANCE,
    assert_all_close,
    assert_close,
)

INPUTS = ("x", "h_prev", "w_ru", "w_c", "b_ru", "b_c")
OUTPUTS = ("r", "u", "c", "h")
GRADIENTS = ("d_x", "d_h_prev", "d_c_bar", "d_r_bar_u_bar")
DTYPES = ("float32", "float64")
B, I, H = 3, 4, 5


def gru_block_cell(*arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    return tuple(GRUBlockCell().run(devices.get("cpu"), *arrays))


def gru_block_cell_grad(*arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    return tuple(GRUBlockCellGrad().run(devices.get("cpu"), *arrays))


def inputs(rng: np.random.Generator, B: int = B, dtype: str = "float64") -> list[np.ndarray]:
    shapes = [(B, I), (B, H), (I + H, 2 * H), (I + H, H), (2 * H,), (H,)]
    scales = [1, 1, 0.4, 0.4, 0.5, 0.5]
    return [(rng.standard_normal(s) * scale).astype(dtype) for s, scale in zip(shapes, scales, strict=True)]


def draw(rng: np.random.Generator, count: int, B: int = B, dtype: str = "float64") -> list[np.ndarray]:
    return [rng.standard_normal((B, H)).astype(dtype) for _ in range(count)]


def test_gradient_of_arbitrary_saved_values_follows_the_formula_element_by_element(rng: np.random.Generator) -> None:
    args, (r, u, c, d_h) = inputs(rng), draw(rng, 4)
    _, h_prev, w_ru, w_c, *_ = args
    d_x, d_h_prev, d_c_bar, d_ru_bar = (np.zeros(s) for s in ((B, I), (B, H), (B, H), (B, 2 * H)))
    for k in range(B):
        for j in range(H):
            d_c_bar[k, j] = d_h[k, j] * (1 - u[k, j]) * (1 - c[k, j] ** 2)
            d_ru_bar[k, H + j] = d_h[k, j] * (h_prev[k, j] - c[k, j]) * u[k, j] * (1 - u[k, j])
        for j in range(H):
            through_c = sum(d_c_bar[k, q] * w_c[I + j, q] for q in range(H))
            d_ru_bar[k, j] = through_c * h_prev[k, j] * r[k, j] * (1 - r[k, j])
            d_h_prev[k, j] = through_c * r[k, j] + d_h[k, j] * u[k, j]
        for j in range(H):
            d_h_prev[k, j] += sum(d_ru_bar[k, q] * w_ru[I + j, q] for q in range(2 * H))
        for j in range(I):
            d_x[k, j] = sum(d_c_bar[k, q] * w_c[j, q] for q in range(H))
            d_x[k, j] += sum(d_ru_bar[k, q] * w_ru[j, q] for q in range(2 * H))
    got = gru_block_cell_grad(*args, r, u, c, d_h)
    assert_all_close(GRADIENTS, got, [d_x, d_h_prev, d_c_bar, d_ru_bar])


def test_gradient_ignores_x_and_the_biases(rng: np.random.Generator) -> None:
    args, rest = inputs(rng), draw(rng, 4)
    want = gru_block_cell_grad(*args, *rest)
    for name in ("x", "b_ru", "b_c"):
        args[INPUTS.index(name)][:] = np.nan
    for a, b in zip(gru_block_cell_grad(*args, *rest), want, strict=True):
        np.testing.assert_array_equal(a, b)
        assert np.isfinite(a).all()


def test_update_gate_one_keeps_the_state(rng: np.random.Generator) -> None:
    args = inputs(rng)
    args[INPUTS.index("b_ru")][H:] = 1000
    *_, h = gru_block_cell(*args)
    np.testing.assert_array_equal(h, args[INPUTS.index("h_prev")])


def test_reset_gate_zero_forgets_the_state_in_the_candidate(rng: np.random.Generator) -> None:
    args = inputs(rng)
    args[INPUTS.index("b_ru")][:] = -1000
    r, u, c, h = gru_block_cell(*args)
    assert not r.any() and not u.any()
    x, _, _, w_c, _, b_c = args
    assert_close("c", c, np.tanh(x @ w_c[:I] + b_c))
    np.testing.assert_array_equal(h, c)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("sign", [-1, 1])
def test_saturated_gates_are_exactly_zero_or_one(rng: np.random.Generator, dtype: str, sign: int) -> None:
    args = inputs(rng, dtype=dtype)
    args[0][:], args[1][:] = 1, 1
    for k in (2, 3):
        args[k][:] = sign * 1e4
    with np.errstate(all="raise"):
        r, u, c, _ = gru_block_cell(*args)
    assert (r == (sign > 0)).all() and (u == (sign > 0)).all() and (c == sign).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_memory_layout_does_not_matter_and_nothing_is_modified(
    rng: np.random.Generator, layout: str, dtype: str
) -> None:
    other = LAYOUTS[layout]
    args, rest = inputs(rng, dtype=dtype), draw(rng, 4, dtype=dtype)
    before = [a.copy() for a in (*args, *rest)]
    tolerance = 0.1 * TOLERANCE[dtype]
    want, want_grad = gru_block_cell(*args), gru_block_cell_grad(*args, *rest)
    args2, rest2 = [other(a) for a in args], [other(a) for a in rest]
    assert_all_close(OUTPUTS, gru_block_cell(*args2), want, tolerance)
    assert_all_close(GRADIENTS, gru_block_cell_grad(*args2, *rest2), want_grad, tolerance)
    for a, a2, b in zip((*args, *rest), (*args2, *rest2), before, strict=True):
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(a2, b)
