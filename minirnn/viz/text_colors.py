"""Text in which the background of each character shows the state of a unit after reading it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from minirnn.arguments import check
from minirnn.viz.colors import SIGNS
from minirnn.viz.picture import Picture, as_numbers, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LONGEST = 10_000
"""The largest number of characters. A longer text would be several screens high and slow to draw."""
UNREADABLE = "#8c8c8c"  # color of a state that is NaN or infinite
CELL = 0.097, 0.19  # inches of a character: width, height
MISSING = "\ufffd"  # drawn for a letter that no installed font has
SYMBOLS = ("cm", "STIX", "Last Resort")  # Matplotlib's fonts for formulas, whose letters are others, and one of frames
STYLE = "font-family:ui-monospace,Menlo,Consolas,monospace;white-space:pre-wrap;overflow-wrap:anywhere;line-height:1.5"


@dataclass(frozen=True, repr=False)
class ColoredText(Picture):
    """A `Picture` that is also text: notebooks show it as HTML, and `minirnn.viz.save` writes it to ``.html``.

    Attributes
    ----------
    html : str
        The text as HTML, without scripts or images. Every character has its own background, and is black or white,
        whichever is easier to read on it. It therefore works on light and dark pages.
    """

    html: str

    def _repr_html_(self) -> str:
        return self.html

    def page(self) -> str:
        """A complete HTML page with the text."""
        head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        look = "<style>:root{color-scheme:light dark}body{margin:1.5rem auto;max-width:90ch;padding:0 1rem}</style>"
        title = "<title>Text colored by the state of a network</title>"
        return f'<!doctype html>\n<html lang="en"><head>{head}{title}{look}</head><body>\n{self.html}\n</body></html>\n'


def colored_text(
    states: Any,
    text: str | Sequence[str],
    *,
    labels: str | Sequence[str] | None = None,
    width: int = 80,
) -> ColoredText:
    """Color each character of a text by the state of a unit: blue below zero, white at zero, red above.

    You can see at a glance whether a unit has learned to count, or to remember that a quotation mark is open (Karpathy,
    Johnson, Fei-Fei 2015, "Visualizing and Understanding Recurrent Networks"). The strongest color is the unit's
    largest absolute value in this text.

    Parameters
    ----------
    states : array_like
        (T,): the state of one unit after each character, for an LSTM preferably its c_t. (T, U): the states of U units.
        The text is then shown once for each.
    text : str, or sequence of str
        The T characters, or T pieces of text such as words.
    labels : str or sequence of str, optional
        The label above each text; "unit 0", "unit 1", ... by default, and nothing above a single one.
    width : int
        Characters per line of the figure. Longer lines are wrapped. HTML lines are as wide as the page.

    Returns
    -------
    ColoredText
        ``html``: the same as HTML. ``ax``: (U,). ``data``: states (T, U); row and column (T,), the place of each
        character in the figure. ``artists``: "unit 0", ...: the meshes of colors.
    """
    pieces = _pieces(text)
    try:
        single = np.ndim(states) == 1
    except ValueError:
        single = False  # ragged: the check below raises
    values = as_numbers(
        "colored_text", "states", [states] if single else states, 2, "(T,), or (T, U) for U units, T and U at least 1"
    )
    values = values.T if single else values  # (T, U)
    if len(values) != len(pieces):
        raise ValueError(
            f"colored_text: states has {len(values)} time steps, text has {len(pieces)} characters\n"
            "  expected T of each: one state per character, after reading it"
        )
    names = _names(labels, values.shape[1])
    check.integer("colored_text", "width", width, 1)
    row, column, lengths = _places(pieces, width)
    rows, columns, U = int(row[-1]) + 1, int((column + lengths).max()), len(names)
    size = max(columns, 40) * CELL[0] + 0.7, U * (rows * CELL[1] + 0.3 * any(names)) + 0.1
    grid = new_figure(*size).subplots(U, 1, squeeze=False)[:, 0]
    artists, html = {}, []
    for u, (ax, name) in enumerate(zip(grid, names, strict=True)):
        colors, norm = _colors(values[:, u])
        artists[f"unit {u}"] = _draw(ax, pieces, colors, (row, column, lengths), name)
        _color_bar(ax, norm)
        html.append(_html(pieces, values[:, u], colors, name, norm.vmax))
    data = {"states": values, "row": row, "column": column}
    return ColoredText(grid, artists, data, "\n".join(html))


def _pieces(text: Any) -> list[str]:
    if not isinstance(text, str) and not (isinstance(text, Sequence) and all(isinstance(piece, str) for piece in text)):
        raise TypeError(f"colored_text: text is a {type(text).__name__}\n  expected a str, or a list of characters")
    if not 1 <= len(text) <= LONGEST:
        raise ValueError(
            f"colored_text: text has {len(text)} characters\n  expected 1 .. {LONGEST}, so that the picture can be read"
        )
    return list(text)


def _names(labels: Any, U: int) -> list[str]:
    if labels is None:
        return [f"unit {u}" for u in range(U)] if U > 1 else [""]
    names = [labels] if isinstance(labels, str) else list(labels)
    if len(names) != U:
        raise ValueError(f"colored_text: {len(names)} labels\n  expected {U}, one for each unit of states (T, U)")
    return names


@lru_cache
def letters_of(path: str) -> frozenset[int]:
    """The letters of a font file, as numbers; none if it cannot be read."""
    from matplotlib.font_manager import get_font

    try:
        return frozenset(get_font(path).get_charmap())
    except (OSError, RuntimeError):
        return frozenset()


def fonts_for(text: str, first: str = "DejaVu Sans Mono") -> tuple[list[str], str]:
    """The families that draw `text`, beginning with `first`, and the text with `MISSING` for what none of them has.

    Matplotlib draws each letter with the first family that has it. Without a font it would print a warning for each.
    """
    from matplotlib.font_manager import FontProperties, findfont, fontManager

    families = [first]
    left = {ord(c) for c in text} - letters_of(findfont(FontProperties(family=first)))
    for font in fontManager.ttflist if left else ():
        if font.name.startswith(SYMBOLS):
            continue
        found = left & letters_of(font.fname)
        if found:
            families.append(font.name)
            left -= found
    return families, "".join(MISSING if ord(c) in left else c for c in text)


def visible(character: str) -> str:
    """A visible sign for an invisible character. A space stays a space, because its background is visible."""
    return {"\n": "\u21b5", "\t": "\u21e5"}.get(character, character if character.isprintable() else "\ufffd")


def _places(pieces: list[str], width: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Row, first column and length of each piece. A line ends after a newline, or when it is full."""
    places, row, column = [], 0, 0
    for piece in pieces:
        length = max(1, len(piece))
        if column and column + length > width:
            row, column = row + 1, 0
        places.append((row, column, length))
        column += length
        if piece.endswith("\n"):
            row, column = row + 1, 0
    found = np.array(places)
    return found[:, 0], found[:, 1], found[:, 2]


def _colors(values: np.ndarray) -> tuple[np.ndarray, Any]:
    """The colors (T, 3), and their scale."""
    import matplotlib

    finite = np.isfinite(values)
    largest = float(np.abs(values[finite]).max(initial=0)) or 1.0
    norm = matplotlib.colors.TwoSlopeNorm(0.0, -largest, largest)  # symmetric: white is zero
    colors = matplotlib.colormaps[SIGNS](norm(np.where(finite, values, 0.0)))[:, :3]
    colors[~finite] = matplotlib.colors.to_rgb(UNREADABLE)
    return colors, norm


def _ink(color: np.ndarray) -> str:
    """Black or white: whichever has the higher contrast on a color, by the luminance of WCAG 2."""
    linear = np.where(color <= 0.04045, color / 12.92, ((color + 0.055) / 1.055) ** 2.4)
    luminance = float(linear @ [0.2126, 0.7152, 0.0722])
    return "#000000" if (luminance + 0.05) / 0.05 > 1.05 / (luminance + 0.05) else "#ffffff"


def _draw(ax: Axes, pieces: list[str], colors: np.ndarray, places: tuple[np.ndarray, ...], name: str) -> Any:
    """Color the cells of the text, and write it over them."""
    from matplotlib.collections import PolyCollection
    from matplotlib.font_manager import FontProperties

    text = "".join(visible(character) for piece in pieces for character in piece)
    families, drawn = fonts_for(text)
    signs, font = iter(drawn), FontProperties(family=families, size=8.5)
    row, column, length = places
    right, below = column + length, row + 1
    corners = np.stack([[column, row], [right, row], [right, below], [column, below]])  # (4, 2, T)
    cells = ax.add_collection(PolyCollection(list(corners.transpose(2, 0, 1)), facecolors=colors, edgecolors="none"))
    for piece, color, r, c in zip(pieces, colors, row, column, strict=True):
        ink = _ink(color)
        for k in range(len(piece)):
            sign = next(signs)
            if sign != " ":
                where = ax.text(c + k + 0.5, r + 0.5, sign, color=ink, font=font, ha="center", va="center")
                where.set_in_layout(False)  # the text is inside the cells, and measuring each piece would take seconds
                where.set_parse_math(False)  # a dollar sign does not start a formula
    ax.set_xlim(0, max(int(right.max()), 40))
    ax.set_ylim(int(below.max()), 0)
    ax.set_axis_off()
    ax.set_title(name)
    return cells


def _color_bar(ax: Axes, norm: Any) -> None:
    from matplotlib.cm import ScalarMappable

    bar = ax.figure.colorbar(ScalarMappable(norm, SIGNS), ax=ax, pad=0.01, aspect=30, fraction=0.03)
    bar.set_ticks([norm.vmin, 0, norm.vmax], labels=[f"{norm.vmin:.2g}", "0", f"{norm.vmax:.2g}"])
    bar.outline.set_visible(False)


def _html(pieces: list[str], values: np.ndarray, colors: np.ndarray, name: str, largest: float) -> str:
    scale = f"blue: {-largest:.2g}, white: 0, red: {largest:.2g}"
    heading = f'<div style="margin:.8em 0 .2em"><b>{escape(name)}</b> <small>{scale}</small></div>'
    cells = []
    for piece, value, color in zip(pieces, values, colors, strict=True):
        background = "#" + "".join(f"{round(255 * part):02x}" for part in color)
        look = f"background:{background};color:{_ink(color)}"
        sign = escape("".join(map(visible, piece)))
        cells.append(f'<span style="{look}" title="{value:.3g}">{sign}</span>' + "\n" * piece.endswith("\n"))
    about = escape(f"{name or 'text'}; the background of each character is its value, {scale}")
    return f'{heading}<div role="img" aria-label="{about}" style="{STYLE}">{"".join(cells)}</div>'
