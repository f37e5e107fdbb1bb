"""The effect of the state at step t on the last state: products of step Jacobians."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from minirnn.engine.backward import grad
from minirnn.engine.tensor import Tensor
from minirnn.viz.picture import check_tensor


def state_jacobians(step: Callable[[int, Tensor], Tensor], state: Tensor, T: int) -> np.ndarray:
    """Jacobians of the last state with respect to each earlier state: d state_T / d state_t, for t = 0 .. T.

    Each is the product of the Jacobians of steps t+1 .. T, and the last one is the identity. This needs one backward
    pass for each element of the state, so keep the state small.

    Parameters
    ----------
    step : callable
        ``step(t, state)`` returns the state after step t, of the same shape. For an LSTM, concatenate c and h.
    state : Tensor
        The state before step 0, of any shape, with n elements.
    T : int
        Number of steps.

    Returns
    -------
    numpy.ndarray
        (T+1, n, n): ``[t, j, k]`` is d state_T[j] / d state_t[k].
    """
    if T < 1:
        raise ValueError(f"state_jacobians: T is {T}\n  expected at least one step")
    check_tensor("state_jacobians", "state", state)
    states = [state.detach().requires_grad_()]
    for t in range(T):
        after = step(t, states[-1])
        check_tensor("state_jacobians", f"the result of step {t}", after)
        if after.shape != state.shape:
            raise ValueError(
                f"state_jacobians: step {t} returned shape {after.shape}\n  expected {state.shape}, that of the state"
            )
        states.append(after)
    n = state.size
    found = np.zeros((T + 1, n, n))
    for j, seed in enumerate(np.eye(n)):
        rows = grad(states[-1], states, grad_outputs=seed.reshape(state.shape), retain_graph=True)
        found[:, j] = [g.numpy().reshape(n) for g in rows]
    return found
