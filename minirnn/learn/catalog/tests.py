"""Chapter 10: tests. A student's test must accept what is right and reject every wrong formula."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from minirnn.learn.catalog.lstm import CELL, cell
from minirnn.learn.exercise import Exercise, Inputs, Sizes
from minirnn.learn.formulas import lstm
from minirnn.learn.hypotheses.program import Program
from minirnn.learn.sandbox.given import lstm_cell_forward


@dataclass(frozen=True)
class Tester(Exercise):
    """An exercise whose answer is a test: a function of a forward pass, its backward pass and a random generator.

    Attributes
    ----------
    shapes : dict
        Name -> shape in axis letters of what the backward pass returns.
    """

    kind: str = "tester"
    shapes: Mapping[str, str] = field(default_factory=dict)


def nothing(rng: np.random.Generator, s: Sizes) -> Inputs:
    """The inputs that all cases share. The backward pass to test is added to them."""
    return dict(forward=lstm_cell_forward)


def check_backward(forward, backward, rng):  # type: ignore[no-untyped-def]
    B, I, H = 2, 3, 5
    x, cs_prev, h_prev = rng.normal(size=(B, I)), rng.normal(size=(B, H)), rng.normal(size=(B, H))
    w, b = rng.normal(size=(I + H, 4 * H)), rng.normal(size=4 * H)
    i, cs, f, o, ci, co, h = forward(x, cs_prev, h_prev, w, b)
    # Random gradients into both outputs, because ones, or a single output, would hide whole terms.
    dcs, dh = rng.normal(size=(2, B, H))
    gradients = backward(x, cs_prev, h_prev, w, i, cs, f, o, ci, co, dcs, dh)

    inputs = [x, cs_prev, h_prev, w, b]
    for k, gradient in enumerate(gradients):
        # One random direction per input finds as much as all its elements do, with two calls instead of hundreds.
        v = rng.normal(size=inputs[k].shape)
        ends = []
        for sign in (1, -1):
            moved = [a + sign * 1e-5 * v if n == k else a for n, a in enumerate(inputs)]
            outputs = forward(*moved)
            ends.append(np.sum(dcs * outputs[1]) + np.sum(dh * outputs[6]))
        slope = (ends[0] - ends[1]) / 2e-5
        assert abs(slope - np.sum(gradient * v)) < 1e-6 * max(1, abs(slope)), f"gradient {k} is wrong"


BACKWARD = Program(lstm.lstm_cell_backward, tuple(CELL) + ("db",) * ("db" not in CELL))
"""The right backward pass, from which the wrong ones are made."""


def wrong_cells(rng: np.random.Generator, s: Sizes) -> Inputs:
    """Inputs on which the formulas can be told apart."""
    return cell(rng, s, peephole=False)


KINDS = ("right", "missing", "doubled", "sign", "factor", "square", "complement", "step", "batch", "layout",
         "transposed", "small")  # fmt: skip
"""The parts that have points: accepting a right backward pass, and rejecting all mistakes of each kind."""

EXERCISES = (
    Tester(
        "11_beneath/ex21_kill_the_mutants.py", nothing, check_backward, dict.fromkeys(KINDS, ""),
        shapes={**CELL, "db": "(4H,)"},
    ),
)  # fmt: skip
