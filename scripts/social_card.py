"""Draws the picture that other sites show next to a link to the documentation: docs/_static/social_card.png.

    python scripts/social_card.py

It is a figure of chapters 4 and 5, computed when it is drawn: how much of the gradient at the last of 60 steps reaches
each earlier state of an untrained plain network and of an LSTM with the forget bias 3.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import minirnn as mr
from minirnn.viz import save
from minirnn.viz.colors import BLUE, GRAY, RED

CARD = Path(__file__).parents[1] / "docs" / "_static" / "social_card.png"
SIZE = (1200, 630)
"""The size in pixels that Open Graph pages show without cropping."""
T, B, I, H = 60, 8, 4, 32


def reach(layer: mr.nn.Module) -> np.ndarray:
    """(T,): the norm of the gradient at each input, divided by that at the last one."""
    x = mr.tensor(np.random.default_rng(0).normal(size=(T, B, I)), requires_grad=True)
    (layer(x)[0][-1] ** 2).sum().backward()
    norms = np.linalg.norm(x.grad.numpy(), axis=(1, 2))
    return norms / norms[-1]


def card() -> Figure:
    mr.manual_seed(0)
    lines = {
        "LSTM, forget bias 3": (mr.nn.LSTM(I, H, forget_bias=3.0, dtype=np.float64), BLUE),
        "plain RNN": (mr.nn.RNN(I, H, dtype=np.float64), RED),
    }
    figure = Figure(figsize=(SIZE[0] / 100, SIZE[1] / 100), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.45, h_pad=0.35)  # type: ignore[union-attr, call-arg]
    figure.suptitle("minirnn", x=0.04, ha="left", fontsize=46, fontweight="bold")
    ax = figure.add_subplot()
    for name, (layer, color) in lines.items():
        norms = reach(layer)
        ax.semilogy(norms, color=color, linewidth=5)
        ax.text(10, norms[10] * 100, name, color=color, fontsize=24, fontweight="bold", ha="center", va="bottom")
    ax.set_title("How gradients flow through recurrent networks", loc="left", fontsize=28, color=GRAY, pad=22)
    ax.set_xlabel("time step (the loss is at the last one)", fontsize=20)
    ax.set_ylabel("gradient that arrives", fontsize=20)
    ax.set_ylim(top=1e4)
    ax.tick_params(labelsize=16)
    ax.minorticks_off()
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    return figure


if __name__ == "__main__":
    save(card(), CARD, dpi=100)
