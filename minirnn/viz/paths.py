"""The paths from one cell state of an LSTM to the next: the forget path, and three paths through h and the gates."""

from __future__ import annotations

from itertools import cycle, product
from typing import TYPE_CHECKING, Any

import numpy as np

from minirnn.arguments.messages import shown
from minirnn.viz.colors import BLUE, GREEN, ORANGE, PURPLE
from minirnn.viz.picture import Picture, axes_or_new, whole_steps

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def cell_paths(i: Any, cs: Any, f: Any, o: Any, ci: Any, w: Any, *, gate_order: str = "icfo") -> dict[str, np.ndarray]:
    """Split d c_t / d c_{t-1} of one sequence into its four paths, by formula.

    With h' = o' * tanh(c'), and the recurrent rows R of w, (H, 4H)::

        forget path    diag(f)                                       straight ahead, the highway
        forget gate    dh'/dc' R_f  diag(c' * f * (1 - f))           c' -> h' -> gate f -> c
        input gate     dh'/dc' R_i  diag(ci * i * (1 - i))
        candidate      dh'/dc' R_ci diag(i * (1 - ci^2))             dh'/dc' = diag(o' * (1 - tanh(c')^2))

    The gate o of step t acts after c_t, so no path leads through it. The formulas hold without peepholes and without an
    active clip.

    Parameters
    ----------
    i, cs, f, o, ci : array_like
        (T, H): the outputs of `block_lstm` for one row of the batch.
    w : array_like
        (I+H, 4H).
    gate_order : str
        The order of the columns of w: "icfo" (BlockLSTM), "ifco" (BlockLSTMV2).

    Returns
    -------
    dict
        Name of the path -> (T-1, H, H), ``[t-1, k, j]`` = d c_t[j] / d c_{t-1}[k] along it. Their sum is the Jacobian.
    """
    i, cs, f, o, ci, w = (np.asarray(a, dtype=np.float64) for a in (i, cs, f, o, ci, w))
    if sorted(gate_order) != list("cfio"):
        raise ValueError(f"cell_paths: gate_order is {shown(gate_order)}\n  expected 'icfo' or 'ifco'")
    if cs.ndim != 2 or any(a.shape != cs.shape for a in (i, f, o, ci)) or len(cs) < 2:
        shapes = ", ".join(str(a.shape) for a in (i, cs, f, o, ci))
        raise ValueError(f"cell_paths: i, cs, f, o, ci have shapes {shapes}\n  expected (T, H), T at least 2; one row")
    H = cs.shape[1]
    if w.ndim != 2 or w.shape[1] != 4 * H or w.shape[0] < H:
        cause = "\n  likely transposed" if w.ndim == 2 and w.shape[0] == 4 * H else ""
        raise ValueError(f"cell_paths: w has shape {w.shape}\n  expected (I+H, 4H) with H = {H}{cause}")
    R = w[-H:]
    columns = {gate: R[:, gate_order.index(gate) * H : (gate_order.index(gate) + 1) * H] for gate in "icf"}
    dh = o[:-1] * (1 - np.tanh(cs[:-1]) ** 2)  # (T-1, H)
    into = {
        "forget gate": ("f", cs[:-1] * f[1:] * (1 - f[1:])),
        "input gate": ("i", ci[1:] * i[1:] * (1 - i[1:])),
        "candidate": ("c", i[1:] * (1 - ci[1:] ** 2)),
    }
    found = {"forget path f": f[1:, :, None] * np.eye(H)}
    for name, (gate, slope) in into.items():
        found[name] = dh[:, :, None] * columns[gate] * slope[:, None, :]
    return found


def path_strengths(paths: dict[str, np.ndarray], *, state: str = "c", ax: Axes | None = None) -> Picture:
    """Draw the strength of each path from cell state to cell state at each step.

    The strength is the root mean square over the rows of the path's Jacobian. This is the share of its norm that a
    gradient of random direction keeps in one step along this path alone. Where the blue line is near 1 and the others
    are small, the highway works: c_t carries its gradient back almost unchanged.

    Parameters
    ----------
    paths : dict
        The result of `cell_paths` or `layer_paths`.
    state : str
        The name of the state, for the title.
    ax : Axes, optional
        Where to draw; None makes a new figure.

    Returns
    -------
    Picture
        ``data``: strength of each path by name, (T-1,), and "step". ``artists``: a line by name.
    """
    shapes = {np.shape(a) for a in paths.values()}
    if len(shapes) != 1:
        raise ValueError(f"path_strengths: paths have shapes {sorted(shapes)}\n  expected one, (T-1, H, H)")
    ax = axes_or_new("path_strengths", ax, 8, 3.2)
    (shape,) = shapes
    steps = np.arange(1, shape[0] + 1)
    data: dict[str, np.ndarray] = {"step": steps}
    artists = {}
    looks = product(("-", "--", ":", "-."), (BLUE, ORANGE, GREEN, PURPLE))
    for (name, jacobians), (dashes, color) in zip(paths.items(), cycle(looks), strict=False):
        strength = np.sqrt((np.asarray(jacobians) ** 2).sum(axis=(1, 2)) / shape[1])
        data[name] = strength
        width = 2.4 if name in ("forget path f", "directly") else 1.4
        (artists[name],) = ax.plot(steps, strength, color=color, linestyle=dashes, linewidth=width, label=name)
    ax.axhline(1, color="0.4", linewidth=0.8, linestyle="--")
    ax.set_ylim(bottom=0)
    ax.set_title(f"Which path does a gradient take from {state} to {state} one step earlier?")
    ax.set_xlabel("time step t")
    ax.set_ylabel("share of a gradient that\none step keeps, by path")
    ax.margins(x=0.01)
    whole_steps(ax)
    ax.legend(frameon=False, fontsize="small", ncols=2)
    return Picture(ax, artists, data)
