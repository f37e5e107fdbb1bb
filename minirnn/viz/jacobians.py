"""The effect of the state at step t on the last state: products of step Jacobians, and their singular values."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from minirnn.engine.backward import grad
from minirnn.engine.tensor import Tensor
from minirnn.viz.colors import BLUE, GRAY, ORANGE
from minirnn.viz.picture import Picture, as_numbers, axes_or_new, check_tensor, whole_steps

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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

    Raises
    ------
    ValueError
        If T is not positive, or a step changes the shape of the state.
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


def jacobian_spectrum(jacobians: Any, *, label: str = "state", ax: Axes | None = None) -> Picture:
    """Draw the singular values of d state_T / d state_t against t.

    The largest is the most by which a gradient can grow from the last step back to step t, and the smallest the most by
    which it can shrink. The band between them covers all directions. A straight line on the log scale is exponential
    decay (or growth).

    Parameters
    ----------
    jacobians : array_like
        (T+1, n, n), from `state_jacobians`.
    label : str
        The name of the state.
    ax : Axes, optional
        Where to draw; None makes a new figure.

    Returns
    -------
    Picture
        ``data``: singular_values (T+1, n), largest first. ``artists``: "largest", "median", "band".

    Raises
    ------
    ValueError
        If `jacobians` is not (T+1, n, n) or has values that are not finite.
    """
    jacobians = as_numbers("jacobian_spectrum", "jacobians", jacobians, 3, "(T+1, n, n)")
    if jacobians.shape[1] != jacobians.shape[2]:
        raise ValueError(f"jacobian_spectrum: jacobians has shape {jacobians.shape}\n  expected (T+1, n, n)")
    if not np.isfinite(jacobians).all():
        raise ValueError("jacobian_spectrum: jacobians contains NaN or infinity\n  expected finite numbers")
    values = np.linalg.svd(jacobians, compute_uv=False)  # (T+1, n)
    tiny = 1e-30
    shown = np.maximum(values, tiny)
    ax = axes_or_new("jacobian_spectrum", ax, 8, 3.4)
    steps = np.arange(len(values))
    band = ax.fill_between(
        steps, shown[:, -1], shown[:, 0], color=BLUE, alpha=0.18, linewidth=0, label="all directions"
    )
    (largest,) = ax.plot(steps, shown[:, 0], color=BLUE, linewidth=2, label="largest")
    (median,) = ax.plot(steps, np.median(shown, axis=1), color=ORANGE, linewidth=1.5, label="median")
    ax.axhline(1, color=GRAY, linewidth=1, linestyle="--")
    ax.set_yscale("log")
    ax.set_title(f"What survives on the way back from step {len(values) - 1}?")
    ax.set_xlabel("time step t   (\u2190 backpropagation goes this way)")
    ax.set_ylabel(f"singular values of\nd {label}_T / d {label}_t")
    ax.margins(x=0.01)
    whole_steps(ax)
    ax.legend(frameon=False, fontsize="small")
    return Picture(ax, {"largest": largest, "median": median, "band": band}, {"singular_values": values})
