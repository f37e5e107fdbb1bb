"""Gradients on their way back through time, with one color for each layer and time step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from minirnn.arguments import check
from minirnn.viz.colors import RED, SIZES
from minirnn.viz.picture import Picture, as_numbers, axes_or_new, whole_steps

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def gradient_flow(
    norms: Any,
    *,
    layers: Sequence[str] | None = None,
    quantity: str = "gradient norm of h",
    max_columns: int = 400,
    first: int = 0,
    ax: Axes | None = None,
) -> Picture:
    """Draw the norm of the loss's gradient that reaches each layer at each time step.

    Backpropagation goes from right to left and multiplies by one Jacobian per step. Colors have a logarithmic scale. A
    picture that gets evenly darker to the left shows a gradient that vanishes exponentially. If it gets brighter, the
    gradient explodes. Exactly zero has no logarithm. It gets its own pattern, because it has another meaning: this step
    has no path to the loss, or every value on the path has underflowed.

    Parameters
    ----------
    norms : array_like
        (L, T), not negative: a norm of the gradient that arrives at each layer (first row: next to the input) and time
        step, for instance ``np.linalg.norm(h.grad, axis=(1, 2))`` with h.grad (T, B, H).
    layers : sequence of str, optional
        L names; "layer 0", "layer 1", ... by default, as in the parameters' names.
    quantity : str
        The name of the quantity, for the color bar.
    max_columns : int
        The largest number of columns. In a longer sequence, each column shows the largest norm of several neighboring
        steps, and the picture says so.
    first : int
        The number of the first step.
    ax : Axes, optional
        Where to draw; None makes a new figure.

    Returns
    -------
    Picture
        ``data``: norms (L, columns) as drawn; first_step (columns,); steps_per_column, 0-d.
        ``artists``: "mesh"; "color bar", if any norm is finite and not zero; "not finite", a mesh over NaN and
        infinities, if there are any.
    """
    norms = as_numbers("gradient_flow", "norms", norms, 2, "(L, T): one row per layer, one column per time step")
    L, T = norms.shape
    if (norms < 0).any():
        raise ValueError(f"gradient_flow: norms contains {norms[norms < 0][0]:g}\n  expected norms, 0 or above")
    layers = [f"layer {layer}" for layer in range(L)] if layers is None else layers
    if len(layers) != L:
        raise ValueError(
            f"gradient_flow: {len(layers)} names in layers\n  expected {L}, from norms {norms.shape} = (L, T)"
        )
    check.integer("gradient_flow", "max_columns", max_columns, 1)
    check.integer("gradient_flow", "first", first)
    ax = axes_or_new("gradient_flow", ax, 8, 2.1 + 0.45 * min(L, 16))

    per_column = math.ceil(T / max_columns)
    start = np.arange(0, T, per_column)  # (columns,)
    shown = np.maximum.reduceat(norms, start, axis=1)  # (L, columns); the maximum with a NaN is NaN

    finite = np.isfinite(shown)
    edges_t = first + np.append(start, T) - 0.5  # step t fills t - 0.5 .. t + 0.5; the last column may be narrower
    edges_layer = np.arange(L + 1) - 0.5
    sizes = np.ma.masked_where(~finite | (shown == 0), shown)
    mesh = ax.pcolormesh(edges_t, edges_layer, sizes, cmap=SIZES, norm=_whole_decades(sizes))
    artists: dict[str, Any] = {"mesh": mesh}
    if sizes.count():
        artists["color bar"] = ax.figure.colorbar(mesh, ax=ax, label=f"{quantity}\n(log scale)", pad=0.02)

    notes = []
    if per_column > 1:
        notes.append(f"each column: the largest of {per_column} steps")
    if (shown == 0).any():
        ax.patch.set(facecolor="white", edgecolor="0.65", hatch="////", linewidth=0)  # visible where the mesh is masked
        notes.append("hatched: exactly zero")
    if not finite.all():
        from matplotlib.colors import ListedColormap

        broken = np.ma.masked_where(finite, np.ones_like(shown))
        artists["not finite"] = ax.pcolormesh(edges_t, edges_layer, broken, cmap=ListedColormap([RED]), vmin=0, vmax=1)
        notes.append("orange-red: NaN or infinite")

    ax.grid(False)
    ax.set_title("How much of the loss's gradient reaches each step?")
    said = "time step t   (\u2190 backpropagation goes this way)"
    ax.set_xlabel("\n".join([said, "; ".join(notes)]).strip())
    whole_steps(ax)
    ax.set_yticks(range(L), layers)
    return Picture(ax, artists, {"norms": shown, "first_step": first + start, "steps_per_column": np.array(per_column)})


def _whole_decades(sizes: np.ma.MaskedArray) -> Any:
    """Return a log scale between two powers of ten, so that both ends have labels even if all norms are equal."""
    from matplotlib.colors import LogNorm

    values = sizes.compressed()
    if not values.size:
        return LogNorm(0.1, 1)
    # Matplotlib needs finite, positive ends for its ticks: 10.0**-324 is 0, 10.0**309 overflows.
    low = min(max(math.floor(math.log10(values.min())), -200), 199)
    high = min(max(math.ceil(math.log10(values.max())), low + 1), 200)
    return LogNorm(10.0**low, 10.0**high)
