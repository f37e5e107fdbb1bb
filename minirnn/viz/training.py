"""The loss in training, compared with baselines that need no memory."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from minirnn.arguments import check
from minirnn.viz.colors import BLUE, GRAY, ORANGE, RED
from minirnn.viz.picture import Picture, as_numbers, axes_or_new, whole_steps

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def loss_curve(
    steps: Any,
    train_loss: Any,
    *,
    validation: tuple[Any, Any] | None = None,
    baselines: Mapping[str, float] | None = None,
    bits: bool = False,
    ax: Axes | None = None,
) -> Picture:
    """Draw the training loss, the validation loss and the baselines to beat.

    Losses of single batches are noisy, so with 80 values or more, a mean of neighbors is drawn over them. A NaN or
    infinite loss leaves a gap, and the first one is marked.

    Parameters
    ----------
    steps, train_loss : array_like
        (N,) each: the number of the training step, and its loss in nats per character.
    validation : (array_like, array_like), optional
        Steps and losses, (M,) each, usually far fewer.
    baselines : mapping of str to float, optional
        Losses to compare with, in nats, drawn as horizontal lines: ``{"unigram entropy": 3.1}``.
    bits : bool
        Whether to add an axis on the right in bits, nats / log(2).
    ax : Axes, optional
        Where to draw; None makes a new figure.

    Returns
    -------
    Picture
        ``data``: steps, train_loss; mean_steps, mean_loss (the mean of neighbors, when drawn); validation_steps,
        validation_loss; baselines, in the order given.
    """
    where = "loss_curve"
    steps, train_loss = _curve("steps", steps, "train_loss", train_loss)
    data = {"steps": steps, "train_loss": train_loss}
    heights = {name: check.number(where, f"baselines[{name!r}]", value) for name, value in (baselines or {}).items()}
    if validation is not None:
        try:
            at, loss = validation
        except (TypeError, ValueError):
            raise ValueError(f"{where}: validation is not a pair\n  expected (steps, losses), (M,) each") from None
        data["validation_steps"], data["validation_loss"] = _curve("validation steps", at, "validation losses", loss)
    ax = axes_or_new(where, ax, 7.5, 4.2)
    artists: dict[str, Any] = {}

    window = len(steps) // 40
    averaged = window >= 2
    marker = "o" if len(steps) == 1 else ""
    (artists["train"],) = ax.plot(
        steps, train_loss, color=BLUE, marker=marker, lw=1, alpha=0.35 if averaged else 1, label="training"
    )
    if averaged:
        # Drawn in the middle of its window, because at the end, the mean of a falling loss would be above the loss.
        data["mean_steps"], data["mean_loss"] = _window_means(steps, window), _window_means(train_loss, window)
        label = f"training, mean of {window} neighbors"
        (artists["mean"],) = ax.plot(data["mean_steps"], data["mean_loss"], color=BLUE, lw=2, label=label)

    if validation is not None:
        at, loss = data["validation_steps"], data["validation_loss"]
        marker = "o" if len(at) <= 50 else ""
        (artists["validation"],) = ax.plot(at, loss, color=ORANGE, marker=marker, ms=4, lw=2, label="validation")

    data["baselines"] = np.array(list(heights.values()))
    for name, height in heights.items():
        artists[name] = ax.axhline(height, color=GRAY, ls="--", lw=1.2)

    broken = ~np.isfinite(train_loss)
    if broken.any():
        first = steps[broken.argmax()]
        artists["not finite"] = ax.axvline(
            first, color=RED, ls=":", lw=2, label=f"first NaN or infinite: step {first:.10g}"
        )

    whole_steps(ax)
    ax.set_xlabel("training step")
    ax.set_ylabel("loss (nats per character)")
    ax.set_title("How far does the loss fall below the baselines?" if baselines else "Loss while training")
    # The axis begins at zero, a perfect prediction, so that distances to the baselines can be compared by eye.
    shown = np.concatenate([data[name] for name in ("train_loss", "validation_loss", "baselines") if name in data])
    shown = shown[np.isfinite(shown)]
    if shown.size and shown.min() >= 0:
        ax.set_ylim(bottom=0)
    ax.legend(loc="lower left", ncols=2, framealpha=0.85)  # a loss curve falls and rarely ends at zero
    _name_baselines(ax, heights)
    if bits:
        right = ax.secondary_yaxis(
            "right", functions=(partial(np.multiply, 1 / math.log(2)), partial(np.multiply, math.log(2)))
        )
        right.set_ylabel("bits per character")
        artists["bits"] = right
    return Picture(ax, artists, data)


def _curve(x_name: str, x: Any, y_name: str, y: Any) -> tuple[np.ndarray, np.ndarray]:
    x = as_numbers("loss_curve", x_name, x, 1, "(N,): the number of the training step for each loss")
    y = as_numbers("loss_curve", y_name, y, 1, "(N,): one loss for each step")
    if x.shape != y.shape:
        raise ValueError(f"loss_curve: {x_name} has shape {x.shape}, {y_name} {y.shape}\n  expected (N,), (N,)")
    return x, y


def _window_means(values: np.ndarray, window: int) -> np.ndarray:
    return np.lib.stride_tricks.sliding_window_view(values, window).mean(axis=1)  # (N-window+1,)


def _name_baselines(ax: Axes, heights: Mapping[str, float]) -> None:
    """Write each name at the right end of its line, above it, or below it if the next line is close above."""
    bottom, top = ax.get_ylim()
    if heights and max(heights.values()) > top - 0.07 * (top - bottom):  # room for the name above the highest line
        top = max(heights.values()) + 0.08 * (top - bottom)
        ax.set_ylim(top=top)
    for name, height in heights.items():
        crowded = any(0 < other - height < 0.08 * (top - bottom) for other in heights.values())
        ax.annotate(
            f"{name}: {height:.2f}",
            (1, height),
            (-4, -3 if crowded else 3),
            xycoords=("axes fraction", "data"),
            textcoords="offset points",
            ha="right",
            va="top" if crowded else "bottom",
            color=GRAY,
            bbox={"facecolor": "white", "alpha": 0.8, "linewidth": 0, "pad": 0.5},
        )
