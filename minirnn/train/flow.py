"""How the gradient flows through time in a character model, measured at every layer and step."""

from __future__ import annotations

from typing import Any

import numpy as np

from minirnn.engine.backward import grad
from minirnn.engine.tensor import Tensor
from minirnn.ops import cross_entropy
from minirnn.train.model import CharModel


def row_names(model: CharModel) -> list[str]:
    """What the rows of `gradient_norms` are: x, then h (and c) of each layer (and direction)."""
    net, rows = model.recurrent.net, ["x"]
    for p in range(net.L * net.D):
        place = f"{p // net.D}" if net.L > 1 else ""
        arrow = ("\u2192", "\u2190")[p % net.D] if net.D > 1 else ""  # the way it reads
        rows += [f"{name}{place}{arrow}" for name in (("h", "c") if net.rnn_mode == "lstm" else ("h",))]
    return rows


def gradient_norms(model: CharModel, ids: Any, target: Any, at: int = -1) -> np.ndarray:
    """How the gradient of the loss at one step alone flows to all steps.

    The sequence is computed step by step, every value a node of its own, so that the gradient at each can be looked at.

    Parameters
    ----------
    ids : (T, B)
    target : (B,)
        The right characters at step `at`.
    at : int
        The time step whose loss is taken, by default the last.

    Returns
    -------
    ndarray, (rows, T)
        The 2-norm of the gradient of one sequence's loss, over the numbers of x, h or c at one step; the mean over
        the batch. The rows are `row_names`. The gradient of c includes what comes through h of the same step.
    """
    seen = model.trace(ids, model.zero_state(ids.shape[1]))
    loss = cross_entropy(seen.scores[at], target, "sum")  # a sum: rows do not share anything
    series = [seen.x]
    for p, hs in enumerate(seen.h):
        series += [hs, seen.c[p]] if seen.c else [hs]
    grads = grad(loss, [t for values in series for t in values])
    return _norms(grads, len(series))


def _norms(grads: tuple[Tensor, ...], rows: int) -> np.ndarray:
    """(rows * T) gradients (B, n) -> (rows, T) norms, mean over B."""
    norms = [np.linalg.norm(g.numpy().astype(np.float64), axis=1).mean() for g in grads]
    return np.array(norms).reshape(rows, -1)
