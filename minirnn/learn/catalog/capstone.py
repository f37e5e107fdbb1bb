"""The capstone: a character model to write and train. Its gradients are judged first, then what it has learned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minirnn.learn.catalog.edited import slips
from minirnn.learn.exercise import Exercise, Inputs, Sizes, Wrong
from minirnn.learn.formulas import capstone
from minirnn.learn.hypotheses.program import Program

LETTERS, LENGTH = 4, 3
V = LETTERS + 2
WORDS = 2000
BOUND = 0.9
"""Bits per letter. The language has 0.75, and a model without memory needs 1.5."""
MOST_UNITS = 64


def language(rng: np.random.Generator, order: np.ndarray, words: int) -> np.ndarray:
    """Words of the language of echoes, (words, 8): letters, a mark, the same letters, an end; `order` names them."""
    letters = rng.integers(0, LETTERS, size=(words, LENGTH))
    mark, end = (np.full((words, 1), n) for n in (LETTERS, LETTERS + 1))
    text: np.ndarray = order[np.concatenate([letters, mark, letters, end], axis=1)]
    return text


def texts(seed: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """A text for training, (N,), and one for testing, (T+1, B)."""
    rng = np.random.default_rng([41, 1, *seed])
    order = rng.permutation(V)
    return language(rng, order, WORDS).ravel(), language(rng, order, 40 * 25).reshape(40, -1).T


def window(rng: np.random.Generator, s: Sizes) -> Inputs:
    """A model of any size and letters of any kind."""
    size, G = s.I + 2, 4 * s.H
    return dict(
        W=rng.normal(size=(size, G)), R=0.5 * rng.normal(size=(s.H, G)), b=rng.normal(size=G),
        U=rng.normal(size=(s.H, size)), c=rng.normal(size=size), ids=rng.integers(0, size, size=(s.T + 1, s.B)),
        weights=rng.uniform(0.1, 1, size=s.T),
    )  # fmt: skip


def rows_assigned(axis: int) -> Any:
    """dW with NumPy's dW[ids] += dz: step by step (axis 0), sample by sample (1), or all at once (-1)."""

    def wrong(**inputs: Any) -> Any:
        program = Program(capstone.loss_and_gradients, ("loss", "dW", "dR", "db", "dU", "dc", "flow"))
        found = {name: some[-1] for name, some in program.values(inputs, {}).items()}
        dW, ids = np.zeros_like(inputs["W"]), inputs["ids"][:-1]
        for n in range(ids.shape[axis]) if axis >= 0 else [slice(None)]:
            place = (n,) if axis <= 0 else (slice(None), n)
            dW[ids[place]] += found["steps"][place]
        return tuple(dW if name == "dW" else found[name] for name in program.outputs)

    return wrong


MODEL_MISTAKES = tuple(
    Wrong(f"dW: a letter that occurs several times {where} contributes only once, because NumPy's dW[ids] += dz "
          "adds to each row once (np.add.at adds every time)", rows_assigned(axis))
    for axis, where in ((0, "in one step"), (1, "in one sample"), (-1, "in a window"))
)  # fmt: skip

TRAINING_SLIPS = slips(
    ("the update follows the gradient instead of going against it", "", "parameters[k] - rate", "parameters[k] + rate"),
    ("all weights begin at zero", "", "rng.normal(size=(H, V)) / np.sqrt(H)", "np.zeros((H, V))",
     "rng.uniform(-limit, limit, size=(V, 4 * H))", "np.zeros((V, 4 * H))"),
    ("the windows are too short to contain an echo",
     "", "H, T, B, updates, lr = 32, 24", "H, T, B, updates, lr = 32, 3"),
    ("training stops much too early", "", "500, 0.01", "60, 0.01"),
    ("the letters of a window are not neighbors in the text", "", "start + np.arange(T + 1)[:, None]",
     "rng.integers(0, len(text), size=(T + 1, B))"),
)  # fmt: skip

CAPSTONE = Exercise(
    "14_capstone/ex41_capstone.py", window, capstone.loss_and_gradients,
    {"loss": "()", "dW": "(V, 4H)", "dR": "(H, 4H)", "db": "(4H,)", "dU": "(H, V)", "dc": "(V,)", "flow": "(T,)"},
    gates=4, slips=TRAINING_SLIPS, training="train",
    wrong=MODEL_MISTAKES,
)  # fmt: skip
EXERCISES = (CAPSTONE,)
