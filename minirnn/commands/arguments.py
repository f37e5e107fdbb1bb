"""Readers of numbers for `argparse` with clear errors, a check that files can be written, and ``--executor``."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import ExitStack, contextmanager
from pathlib import Path

from minirnn.arguments.user_error import UserError, user_mistakes
from minirnn.parallel.executors import open_executor

EXECUTOR = "where to compute: threads:N, processes:N, dask:ADDRESS or mpi (docs/executors.md)"
"""Help for ``--executor``."""


def whole(low: int, high: int | None = None) -> Callable[[str], int]:
    """A reader of integers from `low` to `high`."""

    def read(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = low - 1
        if value < low or (high is not None and value > high):
            limits = f"{low} or more" if high is None else f"{low} .. {high}"
            raise argparse.ArgumentTypeError(f"got {text!r}, expected a whole number, {limits}")
        return value

    return read


def real(fits: Callable[[float], bool], expected: str) -> Callable[[str], float]:
    """A reader of numbers for which `fits` is true."""

    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = float("nan")  # NaN, which is never in range
        if not fits(value):
            raise argparse.ArgumentTypeError(f"got {text!r}, expected {expected}")
        return value

    return read


def path(text: str) -> Path:
    """A reader of names of files and folders. An empty name is an error and does not mean the current folder."""
    if not text:
        raise argparse.ArgumentTypeError("got '', expected a name; the current folder is .")
    return Path(text)


def try_file(option: str, name: str) -> None:
    """Raise UserError if no file of this name can be written, before the work for it is done."""
    target = Path(name).absolute()
    if not target.parent.is_dir():
        raise UserError(f"{option} {name}: no such folder")
    if target.is_dir():
        raise UserError(f"{option} {name}: this is a folder\n  expected a file")
    try:
        with tempfile.TemporaryFile(dir=target.parent, prefix=".minirnn-"):
            pass
    except OSError as error:
        raise UserError(f"{option} {name}: {error.strerror}") from None


@contextmanager
def chosen_executor(text: str) -> Iterator[Executor]:
    """The executor that ``--executor`` names. Raises UserError if it is wrong."""
    with ExitStack() as stack:
        try:
            with user_mistakes():
                executor = stack.enter_context(open_executor(text))
        except (ImportError, UserError) as error:
            raise UserError(str(error).replace("open_executor:", "--executor:", 1)) from error
        yield executor
