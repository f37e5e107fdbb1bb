"""Chapter 5: the two GRUs."""

from __future__ import annotations

import numpy as np

from minirnn.devices import get
from minirnn.learn.exercise import Exercise, Inputs, Rung, Sizes
from minirnn.learn.formula import Formula
from minirnn.learn.formulas import gru


def reset_before(rng: np.random.Generator, s: Sizes) -> Inputs:
    x, h_prev = rng.normal(size=(s.B, s.I)), rng.normal(size=(s.B, s.H))
    w_ru, w_c = 0.5 * rng.normal(size=(s.I + s.H, 2 * s.H)), 0.5 * rng.normal(size=(s.I + s.H, s.H))
    r, u, c, _ = get("cpu").gru_block_cell(x, h_prev, w_ru, w_c, rng.normal(size=2 * s.H), rng.normal(size=s.H))
    return dict(x=x, h_prev=h_prev, w_ru=w_ru, w_c=w_c, r=r, u=u, c=c, d_h=rng.normal(size=(s.B, s.H)))


def reset_after(rng: np.random.Generator, s: Sizes) -> Inputs:
    x, h_prev = rng.normal(size=(s.B, s.I)), rng.normal(size=(s.B, s.H))
    W, R = 0.5 * rng.normal(size=(3 * s.H, s.I)), 0.5 * rng.normal(size=(3 * s.H, s.H))
    a, a2 = x @ W.T + rng.normal(size=3 * s.H), h_prev @ R.T + rng.normal(size=3 * s.H)
    sigmoid = lambda v: 1 / (1 + np.exp(-v))  # noqa: E731
    q = a2[:, 2 * s.H :]
    r, z = sigmoid(a[:, : s.H] + a2[:, : s.H]), sigmoid(a[:, s.H : 2 * s.H] + a2[:, s.H : 2 * s.H])
    n = np.tanh(a[:, 2 * s.H :] + r * q)
    return dict(x=x, h_prev=h_prev, W=W, R=R, r=r, z=z, n=n, q=q, dh=rng.normal(size=(s.B, s.H)))


LADDER = (
    Rung("for a batch of one sample (B=1)", "the chain rule through the gates", sizes=dict(B=1)),
    Rung("for several samples", "what mixes or sums samples: gradients of weights and biases"),
)

EXERCISES = (
    Exercise(
        "ex10", "05_gru/ex10_gru_cell_backward.py", "gru_cell_backward", reset_before, gru.gru_cell_backward,
        ("d_x", "d_h_prev", "d_w_ru", "d_w_c", "d_b_ru", "d_b_c"),
        ("(B, I)", "(B, H)", "(I+H, 2H)", "(I+H, H)", "(2H,)", "(H,)"),
        Formula(gru.gru_cell_backward), ladder=LADDER, gates=2,
    ),
    Exercise(
        "ex11", "05_gru/ex11_gru_reset_after.py", "gru_reset_after_backward", reset_after, gru.gru_reset_after_backward,
        ("dx", "dh_prev", "dW", "dR", "dbW", "dbR"), ("(B, I)", "(B, H)", "(3H, I)", "(3H, H)", "(3H,)", "(3H,)"),
        Formula(gru.gru_reset_after_backward), ladder=LADDER, gates=3,
    ),
)  # fmt: skip
