"""The result of every drawing function, its axes, the checks of its arguments, and saving to a file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np

from minirnn.arguments.host_array import values_of
from minirnn.engine.tensor import Tensor
from minirnn.io.atomic import atomic_write

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, repr=False)
class Picture:
    """A finished drawing; a notebook shows it when it is the last value of a cell.

    Attributes
    ----------
    ax : Axes, or array of Axes
        The axes of the drawing. Change titles and limits there.
    artists : dict
        The lines, meshes and bands by name, for restyling.
    data : dict of str to ndarray
        The numbers that are shown, after averaging and thinning, for tests and tables.
    """

    ax: Any
    artists: dict[str, Any]
    data: dict[str, np.ndarray]

    @property
    def figure(self) -> Figure:
        """The figure that the axes belong to."""
        first = np.asarray(self.ax, dtype=object).flat[0]
        return first.figure.figure  # the second .figure leads from a subfigure to its figure

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            more = "; write minirnn.viz.save(picture, path)" if name in ("save", "savefig") else ""
            raise AttributeError(f"a {type(self).__name__} has no {name}{more}")

    def __repr__(self) -> str:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in self.data.items())
        return f"Picture({shapes})"

    def _repr_png_(self) -> bytes | None:
        # A figure made by pyplot has a manager, and the notebook shows it anyway.
        return render(self.figure, "png", dpi=100) if self.figure.canvas.manager is None else None


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure, with sizes in inches. pyplot does not know it, so figures do not pile up."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def new_axes(width: float, height: float) -> Axes:
    """Return the only axes of a new figure."""
    return new_figure(width, height).add_subplot()


def axes_or_new(function: str, ax: Any, width: float, height: float) -> Axes:
    """Return `ax`, or the only axes of a new figure when it is None; raise TypeError for anything else."""
    from matplotlib.axes import Axes

    if ax is not None and not isinstance(ax, Axes):
        raise TypeError(
            f"{function}: ax is {type(ax).__name__}\n  expected one Matplotlib Axes, or None for a new figure\n"
            "  figure.add_subplot() gives you one"
        )
    return new_axes(width, height) if ax is None else ax


def whole_steps(ax: Axes) -> None:
    """Put the ticks of the horizontal axis at whole numbers."""
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator(nbins="auto", steps=[1, 2, 5, 10], integer=True))


def check_tensor(function: str, name: str, value: Any) -> None:
    """Raise TypeError when `value` is not a Tensor."""
    if not isinstance(value, Tensor):
        raise TypeError(f"{function}: {name} is a {type(value).__name__}\n  expected a Tensor")


def as_numbers(function: str, name: str, values: Any, ndim: int | None, expected: str) -> np.ndarray:
    """Return `values` as float64 with `ndim` axes (None: at least one), none empty, or raise ValueError."""
    try:
        array = values_of(values)
    except ValueError as error:  # lists of different lengths
        raise ValueError(f"{function}: {name} is not an array ({error})\n  expected {expected}") from error
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{function}: {name} has dtype {array.dtype}\n  expected real numbers, {expected}")
    if array.ndim != (ndim or max(1, array.ndim)) or not array.size:
        raise ValueError(f"{function}: {name} has shape {array.shape}\n  expected {expected}")
    return array.astype(np.float64)


def save(picture: Picture | Figure, path: str | os.PathLike[str], *, dpi: float = 150) -> None:
    """Write a picture to a PNG, SVG or PDF file, completely or not at all. A `ColoredText` can also be an HTML page.

    Parameters
    ----------
    picture : Picture or matplotlib Figure
    path : path
        Ends in ``.png``, ``.svg`` or ``.pdf``, or for a `ColoredText` in ``.html``.
    dpi : float
        Pixels per inch of a PNG.
    """
    figure = picture.figure if isinstance(picture, Picture) else picture
    if not hasattr(figure, "savefig"):
        raise TypeError(f"save: picture is {type(picture).__name__}\n  expected a Picture or a Matplotlib Figure")
    ending = os.path.splitext(os.fspath(path))[1].lower()
    page = getattr(picture, "page", None)
    if ending == ".html" and page is not None:
        data = page().encode()
    elif ending in (".png", ".svg", ".pdf"):
        data = render(figure, ending[1:], dpi)
    else:
        more = "" if page is None else ", or .html"
        raise ValueError(f"save: the path {os.fspath(path)!r} ends in {ending!r}\n  expected .png, .svg or .pdf{more}")
    with atomic_write(path, "wb") as file:
        file.write(data)


def render(figure: Figure, kind: str, dpi: float) -> bytes:
    """Return the bytes of a PNG, SVG or PDF file; the same figure gives the same bytes."""
    import matplotlib

    # By default SVG and PDF contain the date, and SVG random names, so every rebuild would change each file.
    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
    buffer = BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "minirnn"}):
        figure.savefig(buffer, format=kind, dpi=dpi, metadata=metadata)
    return buffer.getvalue()
