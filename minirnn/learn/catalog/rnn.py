"""Chapters 3 and 6: the tanh RNN, one step and many, ragged lengths, two directions."""

from __future__ import annotations

from typing import Any

import numpy as np

from minirnn.learn.catalog.edited import mistakes
from minirnn.learn.catalog.stages import sample_stages, time_stages, zero
from minirnn.learn.exercise import Exercise, Inputs, Sizes, Stage
from minirnn.learn.formulas import rnn


def weights(rng: np.random.Generator, s: Sizes) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return 0.5 * rng.normal(size=(s.I, s.H)), 0.5 * rng.normal(size=(s.H, s.H)), 0.5 * rng.normal(size=s.H)


def run(x: np.ndarray, h0: np.ndarray, W: np.ndarray, R: np.ndarray, b: np.ndarray, lengths: Any = None) -> np.ndarray:
    """All states (T, B, H); beyond its length a sample's state stays as it is."""
    h = []
    for t in range(len(x)):
        new = np.tanh(x[t] @ W + h0 @ R + b)
        h0 = new if lengths is None else np.where((t < lengths)[:, None], new, h0)
        h.append(h0)
    return np.stack(h)


def one_step(rng: np.random.Generator, s: Sizes) -> Inputs:
    W, R, b = weights(rng, s)
    x, h_prev = rng.normal(size=(s.B, s.I)), rng.normal(size=(s.B, s.H))
    return dict(x=x, h_prev=h_prev, W=W, R=R, h=np.tanh(x @ W + h_prev @ R + b), dh=rng.normal(size=(s.B, s.H)))


def many_steps(rng: np.random.Generator, s: Sizes) -> Inputs:
    W, R, b = weights(rng, s)
    x, h0 = rng.normal(size=(s.T, s.B, s.I)), rng.normal(size=(s.B, s.H))
    return dict(x=x, h0=h0, W=W, R=R, h=run(x, h0, W, R, b), dh=rng.normal(size=(s.T, s.B, s.H)))


def ragged(rng: np.random.Generator, s: Sizes) -> Inputs:
    W, R, b = weights(rng, s)
    x, h0 = rng.normal(size=(s.T, s.B, s.I)), rng.normal(size=(s.B, s.H))
    lengths = np.array([s.T, max(1, s.T - 2), max(1, s.T - 1), 1])[: s.B]
    h = run(x, h0, W, R, b, lengths)
    dy, dh_n = rng.normal(size=(s.T, s.B, s.H)), rng.normal(size=(s.B, s.H))
    return dict(x=x, h0=h0, W=W, R=R, h=h, lengths=lengths, dy=dy, dh_n=dh_n)


def both_ways(rng: np.random.Generator, s: Sizes) -> Inputs:
    W, R, b = (np.stack(pair) for pair in zip(weights(rng, s), weights(rng, s), strict=True))
    x, zero = rng.normal(size=(s.T, s.B, s.I)), np.zeros((s.B, s.H))
    h = np.stack([run(x, zero, W[0], R[0], b[0]), run(x[::-1], zero, W[1], R[1], b[1])[::-1]])
    dy = rng.normal(size=(s.T, s.B, 2 * s.H))
    return dict(x=x, W=W, R=R, h=h, dy=dy, rnn_backward=rnn.rnn_backward)


TURNED = {"dx": ("two[0][::-1]", "two[0]"), "dy": ("dy[::-1, :, H:]", "dy[:, :, H:]"), "x": ("x[::-1]", "x"),
          "h": ("h[1, ::-1]", "h[1]")}  # fmt: skip
DIRECTION_MISTAKES = mistakes(
    rnn.bidirectional_backward,
    ("dx of the second direction is added in its own order of time, without being reversed", *TURNED["dx"]),
    *((f"{name} of the second direction is passed in without being reversed", *TURNED[name])
      for name in ("dy", "x", "h")),
    ("the halves of dy are exchanged: the first H columns belong to the forward direction",
     "dy[:, :, :H]", "dy[:, :, H:]", "dy[::-1, :, H:]", "dy[::-1, :, :H]"),
    ("dx is that of the forward direction alone, although both directions read x", " + two[0][::-1]", ""),
    ("nothing of the second direction is reversed", *(text for pair in TURNED.values() for text in pair)),
)  # fmt: skip


def full_lengths(inputs: Inputs) -> Inputs:
    """The inputs as if no sample were shorter: the states are computed again."""
    x, T = inputs["x"], len(inputs["x"])
    # The exercise is not given b. Without b the states differ, but they serve just as well.
    h = run(x, inputs["h0"], inputs["W"], inputs["R"], np.zeros(inputs["R"].shape[0]))
    return {**inputs, "lengths": np.full(x.shape[1], T), "h": h}


LENGTHS_STAGES = (
    Stage(
        "when all samples have full length and dh_n = 0",
        "the backward pass without lengths (ex06)",
        change=lambda inputs: zero("dh_n")(full_lengths(inputs)),
    ),
    Stage(
        "when all samples have full length",
        "where dh_n comes in: it is the gradient of the state after the last step",
        change=full_lengths,
    ),
    Stage("for ragged lengths with dy = 0", "how dh_n passes over the steps beyond a sample's end", change=zero("dy")),
    Stage("for ragged lengths", "what happens at steps beyond a sample's end"),
)

WEIGHTS = {"dW": "(I, H)", "dR": "(H, H)", "db": "(H,)"}
SEQUENCE = {"dx": "(T, B, I)", "dh0": "(B, H)", **WEIGHTS}

EXERCISES = (
    Exercise(
        "03_rnn/ex05_rnn_cell_backward.py", one_step, rnn.rnn_cell_backward,
        {"dx": "(B, I)", "dh_prev": "(B, H)", **WEIGHTS},
        stages=sample_stages(
            "the chain rule itself: tanh, then the products", "products with x.T and h_prev.T, the sum in db"
        ),
    ),
    Exercise(
        "03_rnn/ex06_bptt.py", many_steps, rnn.rnn_backward, SEQUENCE,
        stages=time_stages("", "", "h_prev"),
    ),
    Exercise(
        "08_batches/ex12_lengths.py", ragged, rnn.rnn_lengths_backward, SEQUENCE,
        stages=LENGTHS_STAGES,
    ),
    Exercise(
        "08_batches/ex13_bidirectional.py", both_ways, rnn.bidirectional_backward,
        {"dx": "(T, B, I)", "dW": "(2, I, H)", "dR": "(2, H, H)", "db": "(2, H)"}, wrong=DIRECTION_MISTAKES,
    ),
)  # fmt: skip
