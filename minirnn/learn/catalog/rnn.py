"""Chapters 3 and 6: the tanh RNN, one step and many, ragged lengths, two directions."""

from __future__ import annotations

from typing import Any

import numpy as np

from minirnn.learn.exercise import Exercise, Inputs, Rung, Sizes, Wrong
from minirnn.learn.formula import Formula
from minirnn.learn.formulas import rnn

WEIGHTS = ("(I, H)", "(H, H)", "(H,)")


def weights(rng: np.random.Generator, s: Sizes) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return 0.5 * rng.normal(size=(s.I, s.H)), 0.5 * rng.normal(size=(s.H, s.H)), 0.5 * rng.normal(size=s.H)


def run(x: np.ndarray, h0: np.ndarray, W: np.ndarray, R: np.ndarray, b: np.ndarray, lengths: Any = None) -> np.ndarray:
    """All states (T, B, H); beyond its length a sample's state stays."""
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


def directions(
    x: Any,
    W: Any,
    R: Any,
    h: Any,
    dy: Any,
    rnn_backward: Any,
    *,
    x_turned: bool = True,
    h_turned: bool = True,
    dy_turned: bool = True,
    dx_turned: bool = True,
    swapped: bool = False,
    both: bool = True,
) -> Any:
    """`bidirectional_backward` with one thing left out."""
    turn = lambda a, wanted: a[::-1] if wanted else a  # noqa: E731
    H = R.shape[1]
    first, second = (dy[:, :, H:], dy[:, :, :H]) if swapped else (dy[:, :, :H], dy[:, :, H:])
    zero = np.zeros_like(h[0, 0])
    one = rnn_backward(x, zero, W[0], R[0], h[0], first)
    two = rnn_backward(turn(x, x_turned), zero, W[1], R[1], turn(h[1], h_turned), turn(second, dy_turned))
    dx = one[0] + turn(two[0], dx_turned) if both else one[0]
    return dx, *(np.stack([one[k], two[k]]) for k in (2, 3, 4))


def mistake(sentence: str, **changed: bool) -> Wrong:
    return Wrong(sentence, lambda **inputs: directions(**inputs, **changed))


DIRECTION_MISTAKES = (
    mistake("dx of the second direction comes out in its own order: reverse it before adding", dx_turned=False),
    mistake("dy of the second direction goes in unreversed", dy_turned=False),
    mistake("x of the second direction goes in unreversed", x_turned=False),
    mistake("h of the second direction goes in unreversed", h_turned=False),
    mistake("the halves of dy are exchanged: the first H columns belong to the forward direction", swapped=True),
    mistake("dx is that of the forward direction alone: both directions read x", both=False),
    mistake(
        "nothing of the second direction is reversed", x_turned=False, h_turned=False, dy_turned=False, dx_turned=False
    ),
)


def keep_last(name: str) -> Any:
    """A gradient that reaches only the last step."""

    def change(inputs: Inputs) -> Inputs:
        only = np.zeros_like(inputs[name])
        only[-1] = inputs[name][-1]
        return {**inputs, name: only}

    return change


def zero(*names: str) -> Any:
    return lambda inputs: {**inputs, **{name: np.zeros_like(inputs[name]) for name in names}}


def full_lengths(inputs: Inputs) -> Inputs:
    """As if no sample were shorter: the states are computed again."""
    x, T = inputs["x"], len(inputs["x"])
    # b is not an input of the exercise; without it the run is another, and just as good.
    h = run(x, inputs["h0"], inputs["W"], inputs["R"], np.zeros(inputs["R"].shape[0]))
    return {**inputs, "lengths": np.full(x.shape[1], T), "h": h}


STEP_LADDER = (
    Rung("for a batch of one sample (B=1)", "the chain rule itself: tanh, then the products", sizes=dict(B=1)),
    Rung("for several samples", "what mixes or sums samples: products with x.T and h_prev.T, the sum in db"),
)
SEQUENCE_LADDER = (
    Rung("for one step (T=1)", "the formulas of a single step", sizes=dict(T=1)),
    Rung(
        "for two steps with a gradient into the last only (T=2)",
        "what is carried from step t+1 to t",
        dict(T=2),
        keep_last("dh"),
    ),
    Rung(
        "for two steps with a gradient into both",
        "how the gradient of this step and the one from t+1 are added",
        dict(T=2),
    ),
    Rung("for many steps", "what is carried from t+1 to t, and the first step's h_prev"),
)
LENGTHS_LADDER = (
    Rung(
        "when all samples have full length and dh_n = 0",
        "the backward pass without lengths (ex06)",
        change=lambda i: zero("dh_n")(full_lengths(i)),
    ),
    Rung(
        "when all samples have full length",
        "where dh_n comes in: it is the gradient of the state after the last step",
        change=full_lengths,
    ),
    Rung("for ragged lengths with dy = 0", "how dh_n passes over the steps beyond a sample's end", change=zero("dy")),
    Rung("for ragged lengths", "what happens at steps beyond a sample's end"),
)

EXERCISES = (
    Exercise(
        "ex05", "03_rnn/ex05_rnn_cell_backward.py", "rnn_cell_backward", one_step, rnn.rnn_cell_backward,
        ("dx", "dh_prev", "dW", "dR", "db"), ("(B, I)", "(B, H)", *WEIGHTS),
        Formula(rnn.rnn_cell_backward, {"h_prev": "h"}, ("R",)), ladder=STEP_LADDER,
    ),
    Exercise(
        "ex06", "03_rnn/ex06_bptt.py", "rnn_backward", many_steps, rnn.rnn_backward,
        ("dx", "dh0", "dW", "dR", "db"), ("(T, B, I)", "(B, H)", *WEIGHTS),
        Formula(rnn.rnn_backward, {"h_prev": "h[t]", "h[t]": "h_prev"}, ("R",)), ladder=SEQUENCE_LADDER,
    ),
    Exercise(
        "ex12", "06_sequence/ex12_lengths.py", "rnn_lengths_backward", ragged, rnn.rnn_lengths_backward,
        ("dx", "dh0", "dW", "dR", "db"), ("(T, B, I)", "(B, H)", *WEIGHTS),
        Formula(rnn.rnn_lengths_backward, {"h_prev": "h[t]", "h[t]": "h_prev"}, ("R",)), ladder=LENGTHS_LADDER,
    ),
    Exercise(
        "ex13", "06_sequence/ex13_bidirectional.py", "bidirectional_backward", both_ways, rnn.bidirectional_backward,
        ("dx", "dW", "dR", "db"), ("(T, B, I)", "(2, I, H)", "(2, H, H)", "(2, H)"), wrong=DIRECTION_MISTAKES,
    ),
)  # fmt: skip
