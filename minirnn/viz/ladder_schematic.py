"""Sketches of the transition between two steps on each rung of the CudnnRNN ladder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minirnn.viz.colors import BLUE, GRAY, GREEN, ORANGE, RED
from minirnn.viz.picture import Picture, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MEMORY = "#E8E8E8"
WIDTH, HEIGHT = 12.0, 10.0
"""The size of a sketch, in its own units."""
LEFTS = (0.5, 3.4, 6.3, 9.2)
"""The left edges of the four blocks of threads."""


def between_steps() -> Picture:
    """Sketch how the state gets from step t to step t+1 on each rung: ``steps``, ``barrier``, ``persistent``.

    Device memory is gray, and boxes in color compute. R, the recurrent weights, is drawn at its place when a step
    begins.

    Returns
    -------
    Picture
        ``ax``: (3,), from the lowest rung to the highest. ``artists``: by rung, the boxes. There is no ``data``.
    """
    rungs = {
        "steps": (_steps, "two launches per step; all of R is read again"),
        "barrier": (_barrier, "R stays in shared memory; all wait until all have written"),
        "persistent": (_persistent, "R stays in registers; each number has its own place per step"),
    }
    axes = new_figure(6.4, 7.6).subplots(3)
    artists = {}
    for ax, (rung, (draw, said)) in zip(axes, rungs.items(), strict=True):
        ax.set(xlim=(0, WIDTH), ylim=(0, HEIGHT), xticks=[], yticks=[])
        ax.spines[:].set_visible(False)
        ax.set_title(f"{rung}: {said}", loc="left", fontsize="medium")
        artists[rung] = draw(ax)
    return Picture(axes, artists, {})


def _steps(ax: Axes) -> list[Any]:
    for x, down, text in ((1.6, True, "R, h(t)"), (4.2, False, "a(t)"), (7.8, True, "a(t)"), (10.4, False, "h(t+1)")):
        _arrow(ax, (x, 7.4 if down else 4.0), (x, 4.0 if down else 7.4))
        _say(ax, x + 0.15, 5.7, text, ha="left")
    _arrow(ax, (5.0, 2.6), (7.0, 2.6), GRAY)
    _say(ax, 6.0, 3.0, "then", color=GRAY)
    return [
        _box(ax, 0.2, 7.4, 11.6, 2.2, MEMORY, "device memory\nR       h(t)       a(t)       h(t+1)", "small"),
        _box(ax, 0.8, 1.4, 4.2, 2.6, ORANGE, "launch 1\na(t) += h(t) R'", "small"),
        _box(ax, 7.0, 1.4, 4.2, 2.6, ORANGE, "launch 2\nthe gates", "small"),
    ]


def _barrier(ax: Axes) -> list[Any]:
    boxes = [_box(ax, 0.2, 7.4, 11.6, 2.2, MEMORY, "device memory\n", "small")]
    boxes += [_box(ax, left, 7.7, 5.2, 0.8, "white", text) for left, text in ((0.5, "h(t)"), (6.3, "h(t+1)"))]
    for k, left in enumerate(LEFTS):
        boxes.append(_box(ax, left, 2.4, 2.3, 2.6, GREEN, f"block {k}\nkeeps R{k}"))
        _arrow(ax, (2.6 + 0.3 * k, 7.6), (left + 0.6, 5.0), GRAY, 0.6)
        _arrow(ax, (left + 1.7, 5.0), (8.4 + 0.3 * k, 7.6), GREEN)
        _arrow(ax, (left + 1.15, 2.4), (left + 1.15, 1.5), RED)
    return [*boxes, _box(ax, 0.2, 0.7, 11.6, 0.8, RED, "barrier of the grid: count, wait for the flag")]


def _persistent(ax: Axes) -> list[Any]:
    boxes = [_box(ax, 0.2, 7.4, 11.6, 2.2, MEMORY, "memory of all blocks, empty at first\n", "small")]
    for k, left in enumerate(LEFTS):
        boxes.append(_box(ax, left, 7.7, 2.3, 0.8, "white", f"h{k}(t+1)"))
        boxes.append(_box(ax, left, 1.4, 2.3, 2.6, BLUE, f"block {k}\nkeeps R{k}"))
        _arrow(ax, (left + 0.6, 4.0), (left + 0.6, 7.6), BLUE)
        for other in LEFTS:
            _arrow(ax, (other + 1.6, 7.6), (left + 1.6, 4.0), GRAY, 0.6)
    _say(ax, 0.2, 0.6, "up: the numbers of one block     down: all numbers", ha="left", color=GRAY)
    return boxes


def _box(
    ax: Axes, left: float, bottom: float, width: float, height: float, color: str, text: str, size: str = "x-small"
) -> Any:
    from matplotlib.patches import FancyBboxPatch

    style = "round,pad=0,rounding_size=0.25"
    box = ax.add_patch(FancyBboxPatch((left, bottom), width, height, style, facecolor=color, edgecolor="none"))
    ink = "black" if color in (MEMORY, "white", ORANGE) else "white"
    ax.text(left + width / 2, bottom + height / 2, text, ha="center", va="center", fontsize=size, color=ink)
    return box


def _arrow(
    ax: Axes, start: tuple[float, float], end: tuple[float, float], color: str = "black", width: float = 1.2
) -> None:
    ax.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": color, "linewidth": width})


def _say(ax: Axes, x: float, y: float, text: str, ha: str = "center", color: str = "black") -> None:
    ax.text(x, y, text, ha=ha, va="center", fontsize="x-small", color=color)
