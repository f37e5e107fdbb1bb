"""The meaning of colors, and the style of the documentation's figures.

Colors are those of Okabe and Ito (2008), and color maps are viridis (sizes) and RdBu_r (signs). They can be
distinguished with any kind of color vision. No function changes Matplotlib's settings. Use the style explicitly:

    with matplotlib.rc_context(minirnn.viz.style):
        minirnn.viz.loss_curve(steps, losses)
"""

from __future__ import annotations

from typing import Any

BLUE, ORANGE, GREEN, RED, PURPLE, GRAY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#6B6B6B"

SIZES = "viridis"  # color map for quantities without a sign: norms, counts
SIGNS = "RdBu_r"  # color map for quantities with a sign: blue, white at zero, red

style: dict[str, Any] = {
    "axes.grid": True,
    "axes.prop_cycle": f"cycler('color', ['{BLUE}', '{ORANGE}', '{GREEN}', '{RED}', '{PURPLE}', '#56B4E9'])",
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "figure.constrained_layout.use": True,
    "font.size": 10,
    "grid.alpha": 0.25,
    "legend.frameon": False,
    "savefig.dpi": 150,
}
