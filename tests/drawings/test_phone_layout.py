"""Figures for a narrow page, and for a dark one.

Tests `docs/drawings/phone_layout.py` and `docs/drawings/dark.py`.
"""

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from docs.drawings.dark import darken
from docs.drawings.phone_layout import PAGE, SHOWN, WIDTH, is_drawing, narrow, shown_points, texts
from minirnn.viz.cell.drawing import DARK


def wide(panels: int = 1) -> Figure:
    figure = Figure(figsize=(8, 3), layout="constrained")
    for ax in np.atleast_1d(figure.subplots(1, panels)):
        ax.plot([0, 1], [0, 1], color="k", label="a curve that has a name of some length")
        ax.plot([0, 1], [1, 0], color="#0072B2", label="another one")
        ax.set(title="A title that is much too long for a page of less than four inches", xlabel="x  (and more)")
        ax.legend(fontsize="small")
    return figure


@pytest.mark.parametrize("panels", [1, 2])
def test_a_wide_chart_becomes_legible_and_nothing_leaves_it(panels: int) -> None:
    figure = wide(panels)
    assert shown_points(figure) < 4
    narrow(figure)
    assert figure.get_size_inches()[0] == WIDTH and shown_points(figure) >= SHOWN
    figure.draw_without_rendering()
    width, height = figure.get_size_inches() * figure.dpi
    for text in texts(figure):
        box = text.get_window_extent()
        assert box.x0 >= -1 and box.x1 <= width + 1 and box.y0 >= -1 and box.y1 <= height + 1, text.get_text()
    for ax in figure.axes:
        assert ax.get_legend().get_window_extent().y1 < ax.get_window_extent().y0  # below the data
    rows = {round(ax.get_position().y0, 2) for ax in figure.axes}
    assert len(rows) == panels


def test_a_drawing_keeps_its_width() -> None:
    figure = Figure(figsize=(8, 3), layout="constrained")
    ax = figure.subplots()
    ax.set_axis_off()
    ax.text(0.5, 0.5, "a box", fontsize=9)
    narrow(figure)
    assert is_drawing(figure) and figure.get_size_inches()[0] == 8
    assert shown_points(figure) == 9 * PAGE / 8


def test_on_a_dark_page_black_becomes_light_and_colors_stay() -> None:
    figure = wide()
    darken(figure)
    (ax,) = figure.axes
    black, blue = ax.lines
    assert to_rgb(black.get_color()) == to_rgb(DARK.ink) and blue.get_color() == "#0072B2"
    assert {to_rgb(text.get_color()) for text in texts(figure)} == {to_rgb(DARK.ink)}
    assert to_rgb(ax.get_facecolor()) == to_rgb(figure.get_facecolor()) == to_rgb(DARK.paper)


def test_a_heat_map_keeps_its_white_and_a_box_the_color_of_its_text() -> None:
    figure = Figure()
    left, right = figure.subplots(1, 2)
    left.imshow([[np.nan, 1.0]])
    right.set_axis_off()
    right.barh([0], [2], color="#E69F00")
    right.text(1, 0, "black on orange", ha="center", color="black")
    right.text(0.5, 0.5, "in a white box", bbox={"facecolor": "white"})
    right.text(1, 0.8, "gray on nothing", color="0.4")
    darken(figure)
    assert to_rgb(left.get_facecolor()) == (1, 1, 1)
    filled, boxed, gray = right.texts
    assert to_rgb(gray.get_color()) == to_rgb(DARK.ink)
    assert filled.get_color() == "black" and to_rgb(boxed.get_color()) == to_rgb(DARK.ink)
    assert to_rgb(boxed.get_bbox_patch().get_facecolor()) == to_rgb(DARK.paper)
