"""Chapter 5: the two GRUs."""

from __future__ import annotations

import numpy as np

from minirnn.devices import get
from minirnn.devices.base import Weights
from minirnn.learn.catalog.stages import sample_stages
from minirnn.learn.exercise import Exercise, Inputs, Sizes
from minirnn.learn.formulas import gru
from minirnn.ops.gru_block.cells import gru_block


def reset_before(rng: np.random.Generator, s: Sizes) -> Inputs:
    x, h_prev = rng.normal(size=(s.B, s.I)), rng.normal(size=(s.B, s.H))
    w_ru, w_c = 0.5 * rng.normal(size=(s.I + s.H, 2 * s.H)), 0.5 * rng.normal(size=(s.I + s.H, s.H))
    z_ru = np.concatenate([x, h_prev], axis=1) @ w_ru + rng.normal(size=2 * s.H)
    x_c = x @ w_c[: s.I] + rng.normal(size=s.H)
    _, saved = get("cpu").cell_step(
        np.concatenate([z_ru, x_c], axis=1), (h_prev,), Weights(None, None, U=(w_c[s.I :].T,)), plan=gru_block.plan()
    )
    return dict(x=x, h_prev=h_prev, w_ru=w_ru, w_c=w_c) | saved | dict(d_h=rng.normal(size=(s.B, s.H)))


def reset_after(rng: np.random.Generator, s: Sizes) -> Inputs:
    x, h_prev = rng.normal(size=(s.B, s.I)), rng.normal(size=(s.B, s.H))
    W, R = 0.5 * rng.normal(size=(3 * s.H, s.I)), 0.5 * rng.normal(size=(3 * s.H, s.H))
    a, a2 = x @ W.T + rng.normal(size=3 * s.H), h_prev @ R.T + rng.normal(size=3 * s.H)
    sigmoid = lambda v: 1 / (1 + np.exp(-v))  # noqa: E731
    q = a2[:, 2 * s.H :]
    r, z = sigmoid(a[:, : s.H] + a2[:, : s.H]), sigmoid(a[:, s.H : 2 * s.H] + a2[:, s.H : 2 * s.H])
    n = np.tanh(a[:, 2 * s.H :] + r * q)
    return dict(x=x, h_prev=h_prev, W=W, R=R, r=r, z=z, n=n, q=q, dh=rng.normal(size=(s.B, s.H)))


STAGES = sample_stages("the chain rule through the gates", "gradients of weights and biases")

EXERCISES = (
    Exercise(
        "05_gru/ex10_gru_cell_backward.py", reset_before, gru.gru_cell_backward,
        {"d_x": "(B, I)", "d_h_prev": "(B, H)", "d_w_ru": "(I+H, 2H)", "d_w_c": "(I+H, H)", "d_b_ru": "(2H,)",
         "d_b_c": "(H,)"},
        stages=STAGES, gates=2,
    ),
    Exercise(
        "05_gru/ex11_gru_reset_after.py", reset_after, gru.gru_reset_after_backward,
        {"dx": "(B, I)", "dh_prev": "(B, H)", "dW": "(3H, I)", "dR": "(3H, H)", "dbW": "(3H,)", "dbR": "(3H,)"},
        stages=STAGES, gates=3,
    ),
)  # fmt: skip
