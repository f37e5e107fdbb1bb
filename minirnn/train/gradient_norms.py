"""How the gradient flows through time in a character model, measured at every layer and step."""

from __future__ import annotations

from typing import Any

import numpy as np

from minirnn.engine.backward import grad
from minirnn.engine.tensor import Tensor
from minirnn.ops import cross_entropy
from minirnn.train.model import CharModel


def row_names(model: CharModel) -> list[str]:
    """Names of the rows of `gradient_norms`: x, then each state of each layer (and direction)."""
    one, rows = model.opened, ["x"]
    for p in range(one.L * one.D):
        place = f"{p // one.D}" if one.L > 1 else ""
        arrow = ("\u2192", "\u2190")[p % one.D] if one.D > 1 else ""  # in the direction in which it reads
        rows += [f"{name}{place}{arrow}" for name in one.states]
    return rows


def gradient_norms(model: CharModel, ids: Any, target: Any, at: int = -1) -> np.ndarray:
    """Compute how the gradient of the loss at one step flows to all steps.

    The sequence is computed step by step. Every value is its own node, so its gradient can be read.

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
        The 2-norm of the gradient of one sequence's loss with respect to x or a state at one step; the mean over
        the batch. The rows are `row_names`. The gradient of c includes what comes through h of the same step.
    """
    seen = model.trace(ids, model.zero_state(ids.shape[1]))
    loss = cross_entropy(seen.scores[at], target, "sum")  # a sum: rows do not share anything
    series = [seen.x]
    series += [[values.states[name] for values in steps] for steps in seen.steps for name in model.state_names]
    grads = grad(loss, [t for values in series for t in values])
    return _norms(grads, len(series))


def _norms(grads: tuple[Tensor, ...], rows: int) -> np.ndarray:
    """(rows * T) gradients (B, n) -> (rows, T) norms, mean over B."""
    norms = [np.linalg.norm(g.numpy().astype(np.float64), axis=1).mean() for g in grads]
    return np.array(norms).reshape(rows, -1)
