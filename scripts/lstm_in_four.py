"""Writes docs/images/lstm_in_four.png: one step of an LSTM, built up in four drawings.

python scripts/lstm_in_four.py
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from minirnn.viz.colors import BLUE, GRAY, GREEN, ORANGE, RED

TITLES = (
    "1. A memory that is added to",
    "2. i decides what enters",
    "3. f decides what stays",
    "4. o decides what is shown",
)


def arrow(ax: Any, x0: float, y0: float, x1: float, y1: float, color: str) -> None:
    ax.annotate("", (x1, y1), (x0, y0), arrowprops={"arrowstyle": "-|>", "color": color, "linewidth": 1.8})


def sign(ax: Any, x: float, y: float, label: str, color: str) -> None:
    ax.text(
        x, y, label, ha="center", va="center", size=13, color=color, bbox={"boxstyle": "circle", "fc": "w", "ec": color}
    )


def box(ax: Any, x: float, y: float, label: str, color: str) -> None:
    ax.text(
        x, y, label, ha="center", va="center", size=10, color=color, bbox={"boxstyle": "round", "fc": "w", "ec": color}
    )


def step(ax: Any, k: int) -> None:
    """The parts of drawing k, from 1 to 4."""
    ax.set(xlim=(0, 10), ylim=(-0.6, 4.6), title=TITLES[k - 1])
    ax.axis("off")
    ax.text(0.1, 4, "c before", color=BLUE, size=10, va="center")
    ax.text(9.2, 4, "c", color=BLUE, size=12, va="center")
    arrow(ax, 1.9, 4, 3.9 if k < 3 else 2.3, 4, BLUE)
    arrow(ax, 4.6, 4, 9, 4, BLUE)
    if k == 1:
        arrow(ax, 4.3, 0.8, 4.3, 3.5, GRAY)
    else:
        arrow(ax, 4.3, 0.8, 4.3, 1.9, GRAY)
        arrow(ax, 4.3, 2.7, 4.3, 3.5, GRAY)
        sign(ax, 4.3, 2.3, "×", ORANGE)
        arrow(ax, 6, 0.8, 4.8, 2.1, ORANGE)
        box(ax, 6.1, 0.4, "i", ORANGE)
    if k > 2:
        arrow(ax, 3.0, 4, 3.9, 4, BLUE)
        arrow(ax, 2.6, 0.8, 2.6, 3.5, GREEN)
        sign(ax, 2.6, 4, "×", GREEN)
        box(ax, 2.6, 0.4, "f", GREEN)
    if k > 3:
        arrow(ax, 7.4, 3.9, 7.4, 2.8, BLUE)
        box(ax, 7.4, 2.4, "tanh", GRAY)
        arrow(ax, 7.9, 2.4, 8.3, 2.4, GRAY)
        arrow(ax, 7.9, 0.8, 8.5, 1.9, RED)
        arrow(ax, 9, 2.4, 9.6, 2.4, RED)
        sign(ax, 8.6, 2.4, "×", RED)
        box(ax, 7.8, 0.4, "o", RED)
        ax.text(9.7, 2.4, "h", color=RED, size=12, va="center")
    sign(ax, 4.3, 4, "+", BLUE)
    box(ax, 4.3, 0.4, "candidate", GRAY)
    ax.text(5, -0.5, "every box in this row reads x and the h before", color=GRAY, size=9, ha="center")


if __name__ == "__main__":
    figure = Figure(figsize=(9, 6), layout="constrained")
    for number, axes in enumerate(figure.subplots(2, 2).flat, 1):
        step(axes, number)
    figure.savefig(Path(__file__).parents[1] / "docs" / "images" / "lstm_in_four.png", dpi=110, facecolor="white")
