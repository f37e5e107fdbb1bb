"""How the gradient flows back through time in a character model, measured at every step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minirnn.commands.train_model import CharModel
from minirnn.ops import cross_entropy
from minirnn.tape import grad
from minirnn.tensor import Tensor


def gradient_norms(model: CharModel, ids: Any, target: Any) -> np.ndarray:
    """How the gradient of the loss at the last step alone flows back through time.

    The sequence is computed step by step, every step a node of its own, so that the gradient at each can be looked at.

    Parameters
    ----------
    ids : (T, B)
    target : (B,)
        The characters that follow.

    Returns
    -------
    ndarray, (L, T)
        Norm of the gradient of a row's loss, mean over the rows of the batch. Rows: x, h and, for the LSTM, c. The
        gradient of c includes what comes through h of the same step: ``dcs`` in `minirnn.ops.lstm_block`.
    """
    steps = model.steps(ids, model.zero_state(ids.shape[1]))
    loss = cross_entropy(steps[-1].scores, target, "sum")  # a sum: rows do not share anything
    xs, hs = [step.x for step in steps], [step.state[-1] for step in steps]
    if model.state_names == ("h",):
        grads = grad(loss, [*xs, *hs])
        return _norms(grads, 2)
    cs = [step.state[0] for step in steps]
    grads = grad(loss, [*xs, *hs, *cs])
    T = len(steps)
    total = []
    for step, h_grad, cs_grad in zip(steps, grads[T : 2 * T], grads[2 * T :], strict=True):
        o, co = step.gates["o"], step.gates["co"]
        total.append(cs_grad + h_grad * o * (1 - co * co))
    return _norms([*grads[: 2 * T], *total], 3)


def _norms(grads: Sequence[Tensor], L: int) -> np.ndarray:
    """(L * T) gradients (B, n) -> (L, T) norms, mean over B."""
    norms = [np.linalg.norm(g.numpy().astype(np.float64), axis=1).mean() for g in grads]
    return np.array(norms).reshape(L, -1)
