"""Fits a finished figure to the narrowest page that shows it, so that its text can be read on a phone.

A figure of 8 inches that is shown 358 pixels wide has text of less than 5 points. `narrow` reduces the width of the
figure and keeps the size of its text. Panels side by side go below each other, legends go below the axes, and long
titles get more lines.
"""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

PAGE = 358 / 96
"""The width of a figure on a phone with 390 pixels, in inches of 96 pixels."""
SHOWN = 8.0
"""The smallest text on such a phone, in points."""
WIDTH = 4.6
"""The width that `narrow` gives to a figure, in inches."""
SMALLEST = 10.0
"""The smallest text of a figure of this width, in points: 10 * PAGE / WIDTH is more than SHOWN."""
LINE = 0.2
"""The height of a line of a legend, in inches."""
TITLE = 11.0
"""The largest text."""
PANEL = 2.0
"""The smallest width of a panel, in inches. Panels that would be narrower go below each other."""


def narrow(figure: Figure) -> None:
    """Change a chart to the width `WIDTH`. Drawings keep their size, because their texts must not move apart."""
    if is_drawing(figure):
        return
    for text in texts(figure):
        text.set_fontsize(min(max(SMALLEST, text.get_fontsize()), TITLE))
    width, height = figure.get_size_inches()
    if width > WIDTH:
        height *= _below_each_other(figure)
        figure.set_size_inches(WIDTH, height)
        _wrap(figure)
        figure.set_size_inches(WIDTH, height + _legends_below(figure))


def is_drawing(figure: Figure) -> bool:
    """Whether a figure is a drawing of boxes and arrows, without the axes of a chart."""
    return not any(ax.axison for ax in figure.axes)


def shown_points(figure: Figure, page: float = PAGE) -> float:
    """The size of the smallest text of a figure, in points, when the figure fills a page of this width in inches."""
    sizes = [text.get_fontsize() for text in texts(figure)]
    return min(sizes, default=np.inf) * min(1.0, page / figure.get_size_inches()[0])


def texts(figure: Figure) -> list[Text]:
    """The texts that can be seen."""
    from matplotlib.text import Text

    figure.draw_without_rendering()  # makes the labels of the ticks
    unseen = {text for ax in figure.axes for text in _unseen(ax)}
    return [t for t in figure.findobj(Text) if t.get_visible() and t.get_text().strip() and t not in unseen]


def _unseen(ax: Axes) -> list[Text]:
    """The labels of ticks outside the axes, and of axes that are not drawn."""
    found: list[Text] = []
    for axis in (ax.xaxis, ax.yaxis):
        low, high = sorted(axis.get_view_interval())
        for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
            if not ax.axison or not low - 1e-9 * abs(low) <= tick.get_loc() <= high + 1e-9 * abs(high):
                found += [tick.label1, tick.label2]
        found += [] if ax.axison else [axis.label, axis.get_offset_text()]
    return found


def _below_each_other(figure: Figure) -> float:
    """Put the panels of a row that would be too narrow below each other. Returns the factor of the height."""
    panels = [ax for ax in figure.axes if ax.get_subplotspec() is not None and ax.get_label() != "<colorbar>"]
    if len(panels) < 2:
        return 1.0
    grid = panels[0].get_subplotspec().get_gridspec()  # type: ignore[union-attr]
    if grid.nrows != 1 or grid.ncols != len(panels) or grid.ncols * PANEL < WIDTH - 1:
        return 1.0
    stacked = figure.add_gridspec(len(panels), 1)
    for k, ax in enumerate(panels):
        ax.set_subplotspec(stacked[k])
        ax.tick_params(labelleft=True)
        ax.yaxis.label.set_visible(True)
    return 0.8 * len(panels)


def _legends_below(figure: Figure) -> float:
    """Move the legends of the axes below them. Returns the height that this takes, in inches."""
    from matplotlib.transforms import ScaledTranslation

    more = 0.0
    for ax in [ax for ax in figure.axes if ax.get_legend() is not None]:
        old: Any = ax.get_legend()
        marks, labels = old.legend_handles, [text.get_text() for text in old.get_texts()]
        title = old.get_title().get_text() or None
        old.remove()
        figure.draw_without_rendering()
        labeled = ax.xaxis.get_tightbbox()
        down = 0.08 + (labeled.height / figure.dpi if labeled is not None else 0.0)
        under = ax.transAxes + ScaledTranslation(0, -down, figure.dpi_scale_trans)
        columns = _columns(labels)
        ax.legend(
            marks, labels, loc="upper center", bbox_to_anchor=(0.5, 0), bbox_transform=under, ncols=columns,
            frameon=False, title=title, borderaxespad=0, columnspacing=1.2, handlelength=1.6,
        )  # fmt: skip
        more += LINE * (-(-len(labels) // columns) + bool(title))
    for legend in list(figure.legends):
        handles: Any = legend.legend_handles
        labels = [text.get_text() for text in legend.get_texts()]
        columns = _columns(labels)
        legend.remove()
        side = "lower" if figure._supxlabel is None else "upper"  # type: ignore[attr-defined]  # it would cover this label
        place: Any = f"outside {side} center"
        figure.legend(handles, labels, loc=place, ncols=columns, frameon=False, columnspacing=1.2)
        more += LINE * -(-len(labels) // columns)
    return more


def _columns(labels: list[str]) -> int:
    """The number of legend columns that fit next to each other: 0.08 inches per letter, 0.45 per line sample."""
    widest = max(map(len, labels), default=1) * 0.08 + 0.45
    return max(1, min(len(labels), int((WIDTH - 0.4) / widest)))


def _wrap(figure: Figure) -> None:
    """Break titles and labels that are too long for their place."""
    figure.draw_without_rendering()
    width, height = figure.get_size_inches() * figure.dpi
    panels = [ax for ax in figure.axes if ax.get_label() != "<colorbar>"]
    for ax in figure.axes:
        box: Any = ax.get_window_extent()
        middle = (box.x0 + box.x1) / 2
        in_a_row = len(panels) > 1 and box.width < width / 2
        room = 1.2 * box.width if in_a_row else 2 * min(middle, width - middle)
        for text in (ax.title, ax.xaxis.label):
            _break(text, room)
        _break(ax._left_title, width - box.x0)  # type: ignore[attr-defined]
        _break(ax.yaxis.label, max(1.1 * box.height, height / 4))
    for whole in (figure._suptitle, figure._supxlabel):  # type: ignore[attr-defined]
        if whole is not None:
            _break(whole, width)


def _break(text: Text, room: float) -> None:
    """Wrap each line of a text to `room` pixels, in lines of about the same length."""
    box = text.get_window_extent()
    taken = box.height if text.get_rotation() == 90 else box.width
    lines = text.get_text().split("\n")
    if taken <= room:
        return
    most = max(map(len, lines)) * room / taken  # letters in a line
    text.set_text("\n".join(_balanced(line, most) for line in lines))


def _balanced(line: str, most: float) -> str:
    """The line in as few lines of about the same length as possible. Two spaces separate parts that stay whole."""
    if "  " in line:
        return "\n".join(_balanced(part, most) if len(part) > most else part for part in re.split(" {2,}", line))
    parts = -(-len(line) // int(most))
    for width in range(max(8, len(line) // parts), len(line) + 1):
        found = textwrap.wrap(line, width, break_long_words=False)
        if len(found) <= parts:
            return "\n".join(found)
    return line
