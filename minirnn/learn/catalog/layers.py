"""What surrounds a recurrent cell: dropout, normalization, attention, projection, a second layer."""

from __future__ import annotations

import numpy as np

from minirnn.learn.catalog.edited import mistakes
from minirnn.learn.catalog.lstm import CELL_STAGES
from minirnn.learn.catalog.rnn import run, weights
from minirnn.learn.exercise import Exercise, Inputs, Sizes
from minirnn.learn.formulas import layers, rnn
from minirnn.learn.sandbox.given import lstm_cell_forward

# ---- ex26: dropout


def dropped(rng: np.random.Generator, s: Sizes) -> Inputs:
    x, dy = rng.normal(size=(2, s.T, s.B, s.I))
    u = rng.uniform(size=(s.B, s.I))
    u[0, :2] = 0.1, 0.9  # at least one of each
    u[-1, -1] = rate = 0.25 + 0.5 / s.T  # a value at the bound is kept
    return dict(x=x, u=u, rate=rate, training=s.T % 2 == 0, dy=dy)


DROPOUT_MISTAKES = mistakes(
    layers.variational_dropout,
    ("the kept values are not divided by 1 - rate, so the next layer sees a smaller sum",
     "/ (1 - rate)", "* 1.0"),
    ("the kept values are divided by rate, not by 1 - rate, the share that stays", "/ (1 - rate)", "/ rate"),
    ("the mask keeps the values that should go, those with u < rate", "u >= rate", "u < rate"),
    ("dropout is also on in evaluation, where it must change nothing",
     "    if not training:\n        return x, dy\n", ""),
    ("in evaluation x is multiplied by 1 - rate, which belongs to another kind of dropout",
     "return x, dy\n", "return x * (1 - rate), dy * (1 - rate)\n"),
    ("dx: dy does not go through the mask, although x does", "dy * mask", "dy"),
    ("the kept values are multiplied by 1 - rate, but they must be divided by it", "/ (1 - rate)", "* (1 - rate)"),
    ("the mask keeps the right share, but the wrong values: those with u < 1 - rate",
     "u >= rate", "u < 1 - rate"),
    ("the mask keeps the values with u > 1 - rate, so a share of rate stays and 1 - rate is dropped",
     "u >= rate", "u > 1 - rate"),
)  # fmt: skip

# ---- ex27: layer normalization


def rows(rng: np.random.Generator, s: Sizes) -> Inputs:
    x, dy = rng.normal(size=(2, s.B, s.H + 1))
    return dict(x=2 * x + 1, g=rng.normal(size=s.H + 1), eps=0.4 / s.T, dy=dy)


SQUARES = "((x - mean) ** 2).mean(axis=-1, keepdims=True)"
NORM_MISTAKES = mistakes(
    layers.layer_norm_backward,
    ("the mean and the variance are those of a column (axis 0), but they must be those of a row", "axis=-1", "axis=0"),
    ("eps is added outside the square root, but it belongs to the variance, inside",
     f"np.sqrt({SQUARES} + eps)", f"(np.sqrt({SQUARES}) + eps)"),
    ("the variance is divided by K - 1, but it is the mean of the squares",
     SQUARES, "((x - mean) ** 2).sum(axis=-1, keepdims=True) / (x.shape[-1] - 1)"),
    ("dx: sums over the row are subtracted, but they must be means",
     "dn.mean(axis", "dn.sum(axis", "(dn * n).mean(axis", "(dn * n).sum(axis"),
    ("the square root is missing in the scale 1 / sqrt(variance + eps)", "np.sqrt(", "("),
)  # fmt: skip

# ---- ex28: attention


def attended(rng: np.random.Generator, s: Sizes) -> Inputs:
    q, k = rng.normal(size=(s.B, s.H)), rng.normal(size=(s.B, s.T, s.H))
    scores = np.einsum("bh,bth->bt", q, k) / np.sqrt(s.H)
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    return dict(q=q, k=k, v=rng.normal(size=(s.B, s.T, s.I)), p=p, dc=rng.normal(size=(s.B, s.I)))


ROOT = "np.sqrt(q.shape[1])"
ATTENTION_MISTAKES = mistakes(
    layers.attention_backward,
    ("softmax: the slope of a sigmoid, p * (1 - p), is used, but every score changes every weight",
     "p * dp - p * total", "dp * p * (1 - p)"),
    ("softmax: the sum is over dp alone, not over p * dp", "(p * dp).sum", "dp.sum"),
    ("softmax: the mean of dp is subtracted, not the sum of p * dp", "(p * dp).sum", "dp.mean"),
    ("softmax: the sum is over the batch (axis 0), but it must be over the time steps", "axis=1", "axis=0"),
    ("dq, dk: the division by sqrt(H) is missing, although the scores were divided by it", f" / {ROOT}", ""),
    ("dq, dk: they are divided by H, not by sqrt(H)", ROOT, "q.shape[1]"),
    ("dq, dk: they are divided by the root of T, not of H", ROOT, "np.sqrt(k.shape[1])"),
)  # fmt: skip

# ---- ex31: an LSTM with a projection


def projected(rng: np.random.Generator, s: Sizes) -> Inputs:
    P = s.I + 1
    x, cs_prev, h_prev = rng.normal(size=(s.B, s.I)), rng.normal(size=(s.B, s.H)), rng.normal(size=(s.B, P))
    w, wp = 0.5 * rng.normal(size=(s.I + P, 4 * s.H)), rng.normal(size=(s.H, P))
    i, cs, f, o, ci, co, _ = lstm_cell_forward(x, cs_prev, h_prev, w, rng.normal(size=4 * s.H))
    dcs, dh = rng.normal(size=(s.B, s.H)), rng.normal(size=(s.B, P))
    return dict(x=x, cs_prev=cs_prev, h_prev=h_prev, w=w, wp=wp, i=i, cs=cs, f=f, o=o, ci=ci, co=co, dcs=dcs, dh=dh)


# ---- ex32: two layers


def stacked(rng: np.random.Generator, s: Sizes) -> Inputs:
    x, h0 = rng.normal(size=(s.T, s.B, s.I)), np.zeros((s.B, s.H))
    W0, R0, b0 = weights(rng, s)
    W1, R1, b1 = weights(rng, Sizes(s.T, s.B, s.H, s.H))
    lower = run(x, h0, W0, R0, b0)
    h = np.stack([lower, run(lower, h0, W1, R1, b1)])
    dy, dh_n = rng.normal(size=(s.T, s.B, s.H)), rng.normal(size=(2, s.B, s.H))
    return dict(x=x, W=[W0, W1], R=np.stack([R0, R1]), h=h, dy=dy, dh_n=dh_n, rnn_backward=rnn.rnn_backward)


CELL = {"dx": "(B, I)", "dcs_prev": "(B, H)", "dh_prev": "(B, P)", "dw": "(I+P, 4H)", "dwp": "(H, P)", "db": "(4H,)"}

EXERCISES = (
    Exercise(
        "08_batches/ex26_dropout.py", dropped, layers.variational_dropout, {"y": "(T, B, I)", "dx": "(T, B, I)"},
        wrong=DROPOUT_MISTAKES,
    ),
    Exercise(
        "09_layers/ex27_layer_norm.py", rows, layers.layer_norm_backward,
        {"dx": "(B, K)", "dg": "(K,)", "db": "(K,)"}, wrong=NORM_MISTAKES,
    ),
    Exercise(
        "09_layers/ex28_attention.py", attended, layers.attention_backward,
        {"dq": "(B, H)", "dk": "(B, T, H)", "dv": "(B, T, I)"},
        wrong=ATTENTION_MISTAKES,
    ),
    Exercise(
        "04_lstm/ex31_projection.py", projected, layers.lstmp_cell_backward, CELL,
        stages=CELL_STAGES, gates=4,
    ),
    Exercise(
        "08_batches/ex32_two_layers.py", stacked, layers.two_layers_backward,
        {"dx": "(T, B, I)", "dW0": "(I, H)", "dW1": "(H, H)", "dR": "(2, H, H)", "db": "(2, H)"},
    ),
)  # fmt: skip
