"""Displays a picture in a notebook, in a window, or as a file whose name is printed.

`show` handles all three cases, so the same script runs in a notebook, on a desktop, and without a screen.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minirnn.viz.picture import Picture, render, save

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FOLDER = "minirnn-pictures"
_written: Counter[str] = Counter()  # number of pictures that this process has written, by the name of its script
_collected: list[Any] | None = None


def show(picture: Picture | Figure) -> None:
    """Show a picture in the notebook, in a window, or as a file.

    In a notebook, the picture appears below the cell. In a script or at Python's prompt, a window opens if there is a
    display, and the script continues when you close it (as with ``matplotlib.pyplot.show``). If there is no display, or
    ``MPLBACKEND=agg`` disables it, the picture is written to ``minirnn-pictures/NAME-1.png`` in the current folder, and
    the next one to ``NAME-2.png``. NAME is the name of the script. A printed line names the file. Files of an earlier
    run are replaced.

    Parameters
    ----------
    picture : Picture or matplotlib Figure

    Examples
    --------
    >>> mr.viz.show(mr.viz.loss_curve([1, 2, 3], [3.0, 2.0, 1.5]))  # doctest: +SKIP
    saved minirnn-pictures/train-1.png
    """
    figure = picture.figure if isinstance(picture, Picture) else picture
    if not hasattr(figure, "savefig"):
        raise TypeError(
            f"show: picture is {type(picture).__name__}\n  expected a Picture or a Matplotlib Figure\n"
            "  pass one picture per call; the figure of an Axes is ax.figure"
        )
    if _collected is not None:
        _collected.append(picture)
    elif _in_notebook():
        _show_in_notebook(picture, figure)
    elif not _show_in_window(figure):
        print(f"saved {_write(picture)}")


@contextlib.contextmanager
def collecting() -> Iterator[list[Any]]:
    """A list to which pictures are appended, until the end of the ``with``, instead of being shown."""
    global _collected
    before, _collected = _collected, []
    try:
        yield _collected
    finally:
        _collected = before


def _in_notebook() -> bool:
    """Whether this code runs in a Jupyter kernel. IPython in a terminal cannot show pictures."""
    if "IPython" not in sys.modules:
        return False
    shell = sys.modules["IPython"].get_ipython()
    return getattr(shell, "kernel", None) is not None


def _show_in_notebook(picture: Any, figure: Any) -> None:
    from IPython.display import Image, display

    if isinstance(picture, Picture) and figure.canvas.manager is None:
        display(picture)
    else:
        display(Image(data=render(figure, "png", dpi=100)))


def _show_in_window(figure: Any) -> bool:
    """Show the figure in a window until it is closed. Returns False if Matplotlib finds no display."""
    if _draws_files_only():
        return False
    from matplotlib import pyplot

    ours = figure.canvas.manager is None
    if ours:
        try:
            pyplot.figure(FigureClass=lambda **_: figure)  # type: ignore[arg-type]  # a window for a figure that exists
        except ImportError:  # the backend that the user chose is not installed, or has no display
            return False
        if _draws_files_only():  # Matplotlib detects this when it tries a backend
            pyplot.close(figure)
            return False
    pyplot.show()
    return True


def _draws_files_only() -> bool:
    """Whether Matplotlib's backend has no windows. The call makes Matplotlib choose one: agg if there is no display."""
    import matplotlib
    from matplotlib.backends.registry import BackendFilter, backend_registry

    return matplotlib.get_backend().lower() in map(
        str.lower, backend_registry.list_builtin(BackendFilter.NON_INTERACTIVE)
    )


def _write(picture: Picture | Figure) -> Path:
    """Write a picture to the next file of this script."""
    name = _script()
    path = Path(FOLDER) / f"{name}-{_written[name] + 1}.png"
    try:
        path.parent.mkdir(exist_ok=True)
    except OSError as error:
        raise ValueError(
            f"show: cannot create the folder {FOLDER!r} in {os.getcwd()!r} ({error.strerror})\n"
            "  expected a writable folder, because there is no display"
        ) from None
    save(picture, path)
    _written[name] += 1
    return path


def _script() -> str:
    """The name of the running script without its ending, or "python" if there is no script."""
    path = getattr(sys.modules.get("__main__"), "__file__", None)
    if not path:
        return "python"
    place = Path(path)
    return (place.parent if place.stem == "__main__" else place).stem
