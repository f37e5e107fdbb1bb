"""Redraws a finished figure for a dark page. Colors that have a meaning stay, and only black and white are swapped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minirnn.viz.cell.drawing import DARK

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def darken(figure: Figure) -> None:
    """Change a figure in place. Heat maps keep their white background, because white may represent a value."""
    from matplotlib.axis import Axis
    from matplotlib.legend import Legend

    figure.draw_without_rendering()  # makes the labels of the ticks
    figure.set_facecolor(DARK.paper)
    for text in (figure._suptitle, figure._supxlabel, figure._supylabel):  # type: ignore[attr-defined]
        if text is not None:
            text.set_color(DARK.ink)
    for legend in figure.findobj(Legend):
        for text in (*legend.get_texts(), legend.get_title()):
            text.set_color(DARK.ink)
        for handle in legend.legend_handles:
            _swap(handle)
        legend.get_frame().set_facecolor(DARK.paper)
    for axis in figure.findobj(Axis):
        axis.set_tick_params(which="both", color=DARK.ink, labelcolor=DARK.ink)
        for text in (axis.label, axis.get_offset_text()):
            text.set_color(DARK.ink)
    for ax in figure.axes:
        _axes(ax)


def _axes(ax: Axes) -> None:
    filled = _has_ground(ax)
    if not filled:
        ax.set_facecolor(DARK.paper)
    for title in (ax.title, ax._left_title, ax._right_title):  # type: ignore[attr-defined]
        title.set_color(DARK.ink)
    for spine in ax.spines.values():
        if _is_dark(spine.get_edgecolor()):
            spine.set_edgecolor(DARK.ink)
    for artist in (*ax.lines, *ax.collections, *ax.patches):
        if not filled:
            _swap(artist, paper=artist not in ax.patches)  # a white box has its text on it
    for text in ax.texts:
        box: Any = text.get_bbox_patch()
        arrow: Any = getattr(text, "arrow_patch", None)
        if arrow is not None:
            _swap(arrow)
        if box is not None and _is_white(box.get_facecolor()):
            box.set_facecolor(DARK.paper)
        elif box is not None or filled or _on_a_patch(text, ax):
            continue
        if _is_dark(text.get_color(), most=0.55):  # gray letters need more contrast than gray curves
            text.set_color(DARK.ink)


def _has_ground(ax: Axes) -> bool:
    return bool(ax.images) or any(type(c).__name__ == "QuadMesh" for c in ax.collections)


def _on_a_patch(text: Any, ax: Axes) -> bool:
    """Whether a text is written on a filled box or circle, whose color was chosen for it."""
    at = text.get_transform().transform(text.get_position())
    return any(p.get_fill() and p.contains_point(at) for p in ax.patches)


def _swap(artist: Any, paper: bool = True) -> None:
    """Give black and dark gray parts the color of the ink, and with `paper`, white parts that of the paper."""
    for name in ("color", "edgecolor", "facecolor", "markeredgecolor", "markerfacecolor"):
        get, put = getattr(artist, f"get_{name}", None), getattr(artist, f"set_{name}", None)
        if get is None or put is None or name == "color" and hasattr(artist, "get_edgecolor"):
            continue
        if _is_dark(get()):
            put(DARK.ink)
        elif paper and _is_white(get()):
            put(DARK.paper)


def _parts(color: Any) -> tuple[float, float, float] | None:
    """Red, green and blue of a single visible color, or None."""
    import numpy as np
    from matplotlib.colors import to_rgba_array

    try:
        rows = np.unique(to_rgba_array(color), axis=0)
    except ValueError:  # "none", or a color that the artist takes from somewhere else
        return None
    return None if len(rows) != 1 or rows[0][3] == 0 else (rows[0][0], rows[0][1], rows[0][2])


def _is_dark(color: Any, most: float = 0.36) -> bool:
    """Black or a dark gray. The default keeps the gray of curves."""
    parts = _parts(color)
    return parts is not None and max(parts) < most and max(parts) - min(parts) < 0.05


def _is_white(color: Any) -> bool:
    parts = _parts(color)
    return parts is not None and min(parts) > 0.97
