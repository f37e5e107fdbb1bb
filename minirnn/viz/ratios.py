"""The size of each training step's update of each weight, compared with the weight."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from minirnn.engine.tensor import Tensor
from minirnn.viz.picture import Picture, as_numbers, axes_or_new, whole_steps

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RULE_OF_THUMB = 1e-3


class UpdateRatios:
    """Records the norm of the update / norm of the weight for each parameter at each step of an optimizer.

    Use it in place of the optimizer::

        steps = UpdateRatios(optimizer, model.named_parameters())
        ...
        loss.backward()
        steps.step()                    # calls optimizer.step() and measures
        update_ratios(steps.ratios)

    Attributes
    ----------
    ratios : dict of str to list of float
        Name of the parameter -> one ratio per step; NaN while the weight is all zero.
    """

    def __init__(self, optimizer: Any, named_parameters: Iterable[tuple[str, Tensor]]) -> None:
        self.optimizer = optimizer
        pairs = list(named_parameters)
        expected = "(name, parameter) pairs: model.named_parameters()"
        for pair in pairs:
            if not (isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[1], Tensor)):
                what = type(pair).__name__
                raise TypeError(f"UpdateRatios: got a {what} among the parameters\n  expected {expected}")
        self.parameters: dict[str, Tensor] = dict(pairs)
        if not self.parameters:
            raise ValueError(f"UpdateRatios: no parameters\n  expected {expected}")
        if not callable(getattr(optimizer, "step", None)):
            raise TypeError(f"UpdateRatios: optimizer is a {type(optimizer).__name__}\n  expected one with step()")
        self.ratios: dict[str, list[float]] = {name: [] for name in self.parameters}

    def step(self) -> None:
        """Make one step of the optimizer and measure the update."""
        before = {name: p.numpy().astype(np.float64) for name, p in self.parameters.items()}
        self.optimizer.step()
        for name, p in self.parameters.items():
            size = np.linalg.norm(before[name])
            moved = np.linalg.norm(p.numpy().astype(np.float64) - before[name])
            self.ratios[name].append(float(moved / size) if size else float("nan"))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.optimizer, name)  # zero_grad, lr, ...


def update_ratios(ratios: Mapping[str, Any], *, ax: Axes | None = None) -> Picture:
    """Draw the size of the update compared with the weight, for each parameter and training step.

    About one thousandth per step is a common rule of thumb. Far below, the parameter hardly learns. Far above, its
    updates are too large. If parameters have very different ratios, they need different learning rates.

    Parameters
    ----------
    ratios : mapping of str to array_like
        Name -> (steps,), from `UpdateRatios`.
    ax : Axes, optional
        Where to draw; None makes a new figure.

    Returns
    -------
    Picture
        ``data``: the ratios by name. ``artists``: a line by name.

    Raises
    ------
    ValueError
        If there are none, or their lengths differ.
    """
    values = {name: as_numbers("update_ratios", name, r, 1, "(steps,)") for name, r in ratios.items()}
    if len({len(r) for r in values.values()}) != 1:
        lengths = {name: len(r) for name, r in values.items()}
        raise ValueError(f"update_ratios: got lengths {lengths}\n  expected one number per step for each parameter")
    ax = axes_or_new("update_ratios", ax, 8, 3.4)
    artists = {}
    for name, r in values.items():
        shown = np.where(r > 0, r, np.nan)  # zero has no logarithm
        (artists[name],) = ax.plot(np.arange(1, len(r) + 1), shown, linewidth=1.3, label=name)
    ax.axhline(RULE_OF_THUMB, color="0.3", linestyle="--", linewidth=1)
    ax.annotate("rule of thumb: 1/1000", (0.995, RULE_OF_THUMB), xycoords=("axes fraction", "data"), ha="right",
                va="bottom", fontsize="small", color="0.3")  # fmt: skip
    ax.set_yscale("log")
    ax.set_title("How far does each step move each weight?")
    ax.set_xlabel("training step")
    ax.set_ylabel("norm of the update /\nnorm of the weight")
    whole_steps(ax)
    ax.legend(frameon=False, fontsize="small", ncols=2)
    return Picture(ax, artists, values)
