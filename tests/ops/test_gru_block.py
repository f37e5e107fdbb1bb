"""GRUBlockCell: the mistakes in the formulas published for its gradient."""

import numpy as np
import pytest

from minirnn import ops
from tests.ops.block_cases import gru_inputs

B, I, H = 3, 4, 5


# ---- the formulas that TensorFlow publishes for GRUBlockCellGrad, taken literally (docs/ops/gru_block_cell.md)


def published(v: dict[str, np.ndarray], d_h: np.ndarray, mistake: int) -> tuple[np.ndarray, np.ndarray]:
    """d_x and d_h_prev with one of the mistakes 1 to 4 of the published text; with 0, without any."""
    x, h_prev, w_ru, w_c = v["x"], v["h_prev"], v["w_ru"], v["w_c"]
    sigmoid = lambda z: 1 / (1 + np.exp(-z))  # noqa: E731
    r, u = np.split(sigmoid(np.concatenate([x, h_prev], 1) @ w_ru + v["b_ru"]), 2, 1)
    c = np.tanh(np.concatenate([x, r * h_prev], 1) @ w_c + v["b_c"])
    h = u * h_prev + (1 - u) * c
    w_r, w_u = w_ru[:, :H], w_ru[:, H:]

    d_c_bar = d_h * (1 - u) * (1 - c * c)
    d_u_bar = d_h * ((h if mistake == 3 else h_prev) - c) * u * (1 - u)
    p2 = d_c_bar @ w_c.T
    d_r_bar = p2[:, I:] * h_prev * r * (1 - r)
    d_x = d_r_bar @ w_r[:I].T + d_u_bar @ (w_r if mistake == 1 else w_u)[:I].T + p2[:, :I]
    d_h_prev = d_r_bar @ w_r[I:].T + d_u_bar @ (w_r if mistake == 2 else w_u)[I:].T + p2[:, I:] * r
    return d_x, d_h_prev + (u if mistake == 4 else d_h * u)


def differences(v: dict[str, np.ndarray], d_h: np.ndarray, name: str) -> np.ndarray:
    """Central differences of sum(h * d_h)."""
    found = np.empty_like(v[name])
    for k in np.ndindex(found.shape):
        ends = []
        for step in (1e-6, -1e-6):
            moved = v[name].copy()
            moved[k] += step
            ends.append(np.sum(ops.gru_block_cell(**(v | {name: moved})).h.numpy() * d_h))
        found[k] = (ends[0] - ends[1]) / 2e-6
    return found


@pytest.mark.parametrize("mistake", [1, 2, 3, 4])
def test_each_published_mistake_disagrees_with_the_derivative(mistake: int, rng: np.random.Generator) -> None:
    v, d_h = gru_inputs(rng, B, I, H), rng.standard_normal((B, H))
    right = differences(v, d_h, "x"), differences(v, d_h, "h_prev")
    for formula, derivative in zip(published(v, d_h, 0), right, strict=True):
        np.testing.assert_allclose(formula, derivative, atol=1e-8)  # central differences: 1e-6^2 and 1e-16 / 1e-6
    off = [np.abs(a - b).max() for a, b in zip(published(v, d_h, mistake), right, strict=True)]
    assert max(off) > 1e-2
