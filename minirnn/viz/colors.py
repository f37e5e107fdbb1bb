"""The meaning of colors, and the style of the documentation's figures.

Colors are those of Okabe and Ito (2008), and color maps are viridis (sizes) and RdBu_r (signs). They can be
distinguished with any kind of color vision. No function changes Matplotlib's settings. Use the style explicitly:

    with matplotlib.rc_context(minirnn.viz.style):
        minirnn.viz.loss_curve(steps, losses)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.colors import TwoSlopeNorm

BLUE, ORANGE, GREEN, RED, PURPLE, GRAY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#6B6B6B"

SIZES = "viridis"  # color map for quantities without a sign: norms, counts
SIGNS = "RdBu_r"  # color map for quantities with a sign, used with signed_norm: blue, white at zero, red

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


def signed_norm(values: Any) -> TwoSlopeNorm:
    """Return a symmetric scale that puts zero in the middle of a diverging color map.

        ax.imshow(gradient, cmap=SIGNS, norm=signed_norm(gradient))

    The ends are plus and minus the largest finite absolute value, or 1 if all values are zero.
    """
    from matplotlib.colors import TwoSlopeNorm

    try:
        sizes = np.abs(np.asarray(values, dtype=np.float64))
    except (TypeError, ValueError) as error:
        raise ValueError(f"signed_norm: values are not numbers ({error})\n  expected an array") from None
    sizes = sizes[np.isfinite(sizes) & (sizes > 0)]
    largest = float(sizes.max()) if sizes.size else 1.0
    return TwoSlopeNorm(vcenter=0.0, vmin=-largest, vmax=largest)
