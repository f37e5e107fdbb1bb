"""The statistics of a class as a picture."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from minirnn.learn.cleaned import several
from minirnn.learn.grading.statistics import Item
from minirnn.viz.colors import BLUE, GRAY, ORANGE, RED
from minirnn.viz.picture import new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WEAK = 0.2
"""A discrimination below this is worth a look at the exercise."""


def draw(students: int, items: Sequence[Item]) -> Figure:
    """Draw how much of each exercise was done, how well it tells students apart, and its most frequent mistake."""
    figure = new_figure(12, 1.6 + 0.3 * max(3, len(items)))
    left, middle, right = figure.subplots(1, 3, sharey=True, width_ratios=[3, 2, 5])
    places = range(len(items))
    full = [item.full / students if students else 0 for item in items]
    began = [item.began / students if students else 0 for item in items]
    left.barh(places, began, color="#d9d9d9", label="began")
    left.barh(places, full, color=BLUE, height=0.5, label="all points")
    means = [(k, i.mean) for k, i in enumerate(items) if not math.isnan(i.mean)]
    left.plot(
        [m for _, m in means], [k for k, _ in means], "|", color=ORANGE, markersize=11, mew=2.5, label="mean of those"
    )
    left.set(xlim=(0, 1), xlabel="part of the class, of the points", title=several(students, "student"))
    left.set_yticks(places, [textwrap.shorten(item.name, 38, placeholder="...") for item in items])
    left.xaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
    left.set_ylim(max(3, len(items)) - 0.4, -0.6)
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower left", ncols=3, frameon=False, fontsize=8)
    known = [(k, i.discrimination) for k, i in enumerate(items) if not math.isnan(i.discrimination)]
    middle.axvspan(-1, WEAK, color=RED, alpha=0.07, lw=0)
    middle.axvline(0, color=GRAY, lw=0.8)
    middle.scatter(
        [d for _, d in known], [k for k, _ in known], color=[RED if d < WEAK else BLUE for _, d in known], s=26
    )
    middle.set(xlim=(-1, 1), xlabel="correlation with the rest", title="discrimination")
    middle.grid(axis="y", alpha=0.3)
    right.set(title="most frequent diagnosis", xlim=(0, 1))
    for place, item in enumerate(items):
        if item.diagnoses:
            cause, count = item.diagnoses[0]
            said = f"{count} x  {textwrap.shorten(cause, 74, placeholder='...')}".replace("$", r"\$")
            right.text(0, place, said, va="center", fontsize=8)
    right.set_xticks([])
    for axes in (left, middle, right):
        axes.set_title(axes.get_title(), fontsize=10, fontweight="bold", loc="left")
        axes.title.set_text("")
        axes.spines[["top", "right"]].set_visible(False)
    right.spines[["left", "bottom"]].set_visible(False)
    for axes in (middle, right):
        axes.tick_params(axis="y", length=0)
    return figure
