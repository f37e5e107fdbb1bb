"""Runs a chapter once, and looks at the figures that it shows as a phone and a screen reader get them."""

import contextlib
import functools
import io
import pickle
import runpy
from types import SimpleNamespace
from typing import Any

import threadpoolctl

import minirnn as mr
from docs.drawings.alt import described
from docs.drawings.phone_layout import SHOWN, is_drawing, narrow, shown_points, texts
from tests.book.test_equations import TUTORIALS


@functools.cache
def run(number: str) -> SimpleNamespace:
    """The names that a chapter leaves, and what it showed. Raises AssertionError for a figure that some cannot read."""
    path = next(path for name, path in TUTORIALS.items() if name.startswith(number))
    shown: list[Any] = []
    show = mr.viz.show
    mr.viz.show = shown.append
    try:
        # The products are small: on a busy machine the threads of BLAS would only wait for each other.
        with contextlib.redirect_stdout(io.StringIO()), threadpoolctl.threadpool_limits(1):
            found = SimpleNamespace(**runpy.run_path(str(path)), shown=shown)
    finally:
        mr.viz.show = show
    assert len(shown) == path.read_text(encoding="utf-8").count("mr.viz.show(")
    words = [described(picture) for picture in shown]
    assert len(set(words)) == len(words) and all(len(text) > 60 for text in words), words
    assert not (wrong := [f"figure {k}: {said}" for k, p in enumerate(shown, 1) for said in unreadable(p)]), wrong
    return found


@functools.cache
def changed(number: str, *changes: tuple[str, str], upto: str = "# Summary\n") -> SimpleNamespace:
    """The names that a chapter leaves after changes of its text, up to some words of it."""
    source = next(path for name, path in TUTORIALS.items() if name.startswith(number)).read_text(encoding="utf-8")
    for old, new in changes:
        assert old in source, old
        source = source.replace(old, new)
    names: dict[str, Any] = {"__name__": number}
    show, mr.viz.show = mr.viz.show, lambda *_: None
    try:
        with contextlib.redirect_stdout(io.StringIO()), threadpoolctl.threadpool_limits(1):
            exec(source.partition(upto)[0], names)  # noqa: S102
    finally:
        mr.viz.show = show
    return SimpleNamespace(**names)


def unreadable(picture: Any) -> list[str]:
    """What is wrong with a figure as the site shows it on a phone of 390 pixels."""
    if isinstance(picture, mr.viz.CellDrawing):
        return []  # it has no text, only outlines of fixed size, and its box scrolls
    figure = pickle.loads(pickle.dumps(picture.figure if isinstance(picture, mr.viz.Picture) else picture))
    narrow(figure)
    found = []
    if not is_drawing(figure) and (size := shown_points(figure)) < SHOWN:  # drawings scroll
        found.append(f"text of {size:.1f} points on a phone")
    figure.draw_without_rendering()
    width, height = figure.get_size_inches() * figure.dpi
    for text in texts(figure):
        box = text.get_window_extent()
        if box.x0 < -3 or box.x1 > width + 3 or box.y0 < -3 or box.y1 > height + 3:
            found.append(f"{text.get_text()!r} leaves the figure")
    for ax in figure.axes:
        legend, inside = ax.get_legend(), ax.get_window_extent()
        if legend is not None and legend.get_window_extent().overlaps(inside.shrunk(0.98, 0.98)):
            found.append("the legend is on the data")
    return found
