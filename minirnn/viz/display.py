"""How a picture gets before somebody's eyes: in a notebook, in a window, or as a file that is named.

There is one call for all three, `show`, so that one script runs in a notebook, at a desk, and without a screen.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minirnn.io.atomic import atomic_write
from minirnn.viz.picture import Picture, render, save
from minirnn.viz.tape.svg import TapeDrawing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FOLDER = "minirnn-pictures"
_written: Counter[str] = Counter()  # how many pictures this process has written, by the name of its script
_collected: list[Any] | None = None


def show(picture: Picture | Figure | TapeDrawing) -> None:
    """Show a picture where it can be seen: in the notebook, in a window, or as a file.

    In a notebook the picture appears below the cell. In a script, or at Python's prompt, a window opens where there is
    a display, and the script goes on when the window is closed (as with ``matplotlib.pyplot.show``). Where there is no
    display, or Matplotlib was told to use none (``MPLBACKEND=agg``), the picture is written to
    ``minirnn-pictures/NAME-1.png``, the next one to ``NAME-2.png``, in the current folder; NAME is that of the script,
    and one line says so. Files of an earlier run are replaced.

    Parameters
    ----------
    picture : Picture, matplotlib Figure or TapeDrawing
        A `TapeDrawing` is SVG, which no window shows: a script writes it to ``NAME-1.svg``.

    Raises
    ------
    TypeError
        If `picture` is something else.
    ValueError
        If there is no display, and the file can't be written.

    Examples
    --------
    >>> mr.viz.show(mr.viz.loss_curve([1, 2, 3], [3.0, 2.0, 1.5]))  # doctest: +SKIP
    minirnn-pictures/train-1.png is written
    """
    figure = picture.figure if isinstance(picture, Picture) else picture
    if not isinstance(picture, TapeDrawing) and not hasattr(figure, "savefig"):
        raise TypeError(
            f"show: picture is {type(picture).__name__}\n  expected a Picture, a Matplotlib Figure or a TapeDrawing\n"
            "  one picture in a call; Axes have theirs as ax.figure"
        )
    if _collected is not None:
        _collected.append(picture)
    elif _in_notebook():
        _show_in_notebook(picture, figure)
    elif isinstance(picture, TapeDrawing) or not _show_in_window(figure):
        print(f"{_write(picture)} is written")


def collect() -> list[Any]:
    """Return a list that from now on gets what is shown: for what builds a site, and shows pictures its own way."""
    global _collected
    _collected = []
    return _collected


@contextlib.contextmanager
def collecting() -> Iterator[list[Any]]:
    """A list that gets what is shown until the end of the ``with``."""
    global _collected
    before = _collected
    try:
        yield collect()
    finally:
        _collected = before


def _in_notebook() -> bool:
    """Whether this code runs in a Jupyter kernel; IPython in a terminal can show no pictures."""
    if "IPython" not in sys.modules:
        return False
    shell = sys.modules["IPython"].get_ipython()
    return getattr(shell, "kernel", None) is not None


def _show_in_notebook(picture: Any, figure: Any) -> None:
    from IPython.display import Image, display

    if isinstance(picture, TapeDrawing) or (isinstance(picture, Picture) and figure.canvas.manager is None):
        display(picture)
    else:
        display(Image(data=render(figure, "png", dpi=100)))


def _show_in_window(figure: Any) -> bool:
    """Show the figure in a window until it is closed; False if Matplotlib finds no display for one."""
    if _draws_files_only():
        return False
    from matplotlib import pyplot

    ours = figure.canvas.manager is None
    if ours:
        try:
            pyplot.figure(FigureClass=lambda **_: figure)  # type: ignore[arg-type]  # a window for a figure that exists
        except ImportError:  # what Matplotlib was told to use by name is not installed, or has no display
            return False
        if _draws_files_only():  # Matplotlib found this out by trying
            pyplot.close(figure)
            return False
    pyplot.show()
    return True


def _draws_files_only() -> bool:
    """Whether Matplotlib's backend has no windows. Asking lets Matplotlib choose it: agg where there is no display."""
    import matplotlib
    from matplotlib.backends.registry import BackendFilter, backend_registry

    return matplotlib.get_backend().lower() in map(
        str.lower, backend_registry.list_builtin(BackendFilter.NON_INTERACTIVE)
    )


def _write(picture: Picture | Figure | TapeDrawing) -> Path:
    """Write a picture to the next file of this script."""
    name = _script()
    ending = "svg" if isinstance(picture, TapeDrawing) else "png"
    path = Path(FOLDER) / f"{name}-{_written[name] + 1}.{ending}"
    try:
        path.parent.mkdir(exist_ok=True)
    except OSError as error:
        raise ValueError(
            f"show: the folder {FOLDER!r} cannot be made in {os.getcwd()!r} ({error.strerror})\n"
            "  expected a folder where pictures can be written, since there is no display"
        ) from None
    if isinstance(picture, TapeDrawing):
        with atomic_write(path) as file:
            file.write(picture.svg)
    else:
        save(picture, path)
    _written[name] += 1
    return path


def _script() -> str:
    """The name of the running script without its ending, "python" where there is none."""
    path = getattr(sys.modules.get("__main__"), "__file__", None)
    if not path:
        return "python"
    place = Path(path)
    return (place.parent if place.stem == "__main__" else place).stem
