"""Gradients step by step: Jacobians from state to state, and the share of each step in the gradient of a weight."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from minirnn.engine.backward import grad
from minirnn.engine.tensor import Tensor
from minirnn.ops import identity
from minirnn.viz.colors import BLUE, ORANGE, RED
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


def per_step_gradients(
    step: Callable[[int, Tensor, Any], Any], weight: Tensor, state: Any, T: int, loss: Callable[[Any], Tensor]
) -> np.ndarray:
    """Split the gradient of a weight into the shares of the time steps that used it.

    A weight used T times has T gradients, and ``weight.grad`` is their sum. Here each step gets its own copy of the
    weight as a node of the tape, so that the gradient of each use can be computed.

    Parameters
    ----------
    step : callable
        ``step(t, weight, state)`` returns the state after step t; any ops, any state.
    weight : Tensor
        A tensor with ``requires_grad``.
    state : any
        The state before step 0.
    T : int
        Number of steps.
    loss : callable
        ``loss(state)`` of the last state, or of other values that `step` collected.

    Returns
    -------
    numpy.ndarray
        (T, \\*weight.shape); the sum over the first axis is the gradient of the weight.
    """
    if T < 1:
        raise ValueError(f"per_step_gradients: T is {T}\n  expected at least one step")
    check_tensor("per_step_gradients", "weight", weight)
    if not weight.requires_grad:
        raise ValueError("per_step_gradients: weight does not require a gradient\n  expected requires_grad=True")
    copies = [identity(weight) for _ in range(T)]
    for t in range(T):
        state = step(t, copies[t], state)
    return np.stack([g.numpy() for g in grad(loss(state), copies)])


def gradient_shares(shares: Any, *, name: str = "W", ax: Axes | None = None) -> Picture:
    """Draw the contribution of each time step, counted from 1, to the gradient of a weight.

    Bars are the norms of the shares. The line is the component of each share along their sum. Where it is much lower
    than the bar, or below zero, the shares of different steps cancel.

    Parameters
    ----------
    shares : array_like
        (T, ...), from `per_step_gradients`.
    name : str
        The name of the weight, for the labels.
    ax : Axes, optional
        Where to draw; None makes a new figure.

    Returns
    -------
    Picture
        ``data``: norm (T,), along (T,), total, 0-d: the norm of the sum. ``artists``: "bars", "line".
    """
    flat = as_numbers("gradient_shares", "shares", shares, None, "(T, ...), one gradient per step")
    flat = flat.reshape(len(flat), -1)  # (T, n)
    total = flat.sum(axis=0)
    size = float(np.linalg.norm(total))
    norm = np.linalg.norm(flat, axis=1)
    along = flat @ total / size if size else np.zeros(len(flat))
    ax = axes_or_new("gradient_shares", ax, 8, 3)
    steps = np.arange(1, len(flat) + 1)
    bars = ax.bar(steps, norm, width=0.85, color=BLUE, label=f"norm of step t's share of d{name}")
    (line,) = ax.plot(
        steps, along, color=ORANGE, marker="o", markersize=3.5, linewidth=1.5, label=f"component along all of d{name}"
    )
    ax.axhline(0, color="0.4", linewidth=0.8)
    if (along < -1e-3 * max(norm.max(), 1e-300)).any():
        against = along < 0
        ax.plot(steps[against], along[against], "o", color=RED, markersize=5, label="works against the others")
    ax.set_title(f"Which time steps contribute to d{name}?")
    ax.set_xlabel("time step t")
    ax.set_ylabel(f"share of the gradient\n(the total has norm {size:.3g})")
    ax.margins(x=0.01)
    whole_steps(ax)
    ax.legend(frameon=False, fontsize="small")
    return Picture(ax, {"bars": bars, "line": line}, {"norm": norm, "along": along, "total": np.array(size)})
