"""Characters: the code of the Python standard library or a file of the user, and streams of it in batches."""

from __future__ import annotations

import operator
import os
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from minirnn.arguments import check
from minirnn.arguments.messages import shown
from minirnn.data.vocabulary import check_ids
from minirnn.io.checkpoint import read_bytes

# Long, plain, pure Python, and in the library for decades. The order is part of the text: do not sort, do not insert.
PYTHON_MODULES = (
    "bisect",
    "calendar",
    "collections",
    "configparser",
    "contextlib",
    "copy",
    "csv",
    "dataclasses",
    "difflib",
    "functools",
    "heapq",
    "json.decoder",
    "json.encoder",
    "queue",
    "statistics",
    "textwrap",
    "weakref",
)


def python_source_text() -> str:
    """Return about half a million characters of Python: the source of the modules in ``PYTHON_MODULES``, in order.

    Every machine that runs minirnn already has this text, without a download or a license, and readers see at a glance
    how good a sample is. It is the same for the same Python version (line ends become ``\\n``). Raises ValueError if
    this Python keeps no .py files of its standard library on disk.

    Returns
    -------
    str
    """
    library = Path(sysconfig.get_path("stdlib"))
    parts, missing = [], []
    for module in PYTHON_MODULES:
        stem = library.joinpath(*module.split("."))
        for file in (stem.with_suffix(".py"), stem / "__init__.py"):  # modules become packages from time to time
            if file.is_file():
                parts.append(read_text(file, minimum=1))
                break
        else:
            missing.append(module)
    if missing:
        raise ValueError(
            f"default text: no source of {', '.join(missing)} in {library}\n"
            "  expected the standard library as .py files on disk\n"
            "  this Python may keep it in a zip file or as compiled files only; give your own text (--text FILE)"
        )
    return "\n".join(parts)


def read_text(path: str | os.PathLike[str], *, minimum: int = 1000) -> str:
    """Read a UTF-8 text file to learn from; line ends become ``\\n``, a byte order mark is dropped.

    Raises ValueError if the file is missing, a folder, unreadable, not text (NUL bytes), not UTF-8 or too short.

    Parameters
    ----------
    path : path
        A regular file.
    minimum : int
        The fewest characters worth training on.

    Returns
    -------
    str

    Notes
    -----
    With fewer than about 1000 characters, the tenth kept for validation is a line or two. Its loss means nothing, and
    the network memorizes the other nine tenths.
    """
    name = os.fspath(path)
    text = _decode(name, read_bytes("text file", path, "UTF-8 text file"))
    if len(text) < minimum:
        raise ValueError(
            f"text file {name!r}: {len(text)} characters\n"
            f"  expected at least {minimum}\n"
            "  a model memorizes a shorter text, and its validation loss then means nothing"
        )
    return text


def _decode(name: str, data: bytes) -> str:
    # UTF-16 is checked before NUL bytes: half of its bytes are NUL, and the advice is different.
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ValueError(
            f"text file {name!r}: byte 0 starts a UTF-16 byte order mark\n"
            "  expected UTF-8\n"
            '  save it again as "UTF-8" (Windows editors call UTF-16 "Unicode")'
        )
    if (position := data.find(b"\0")) >= 0:
        raise ValueError(
            f"text file {name!r}: byte {position} is NUL\n"
            "  expected UTF-8 text, which has no NUL bytes\n"
            "  probably a binary file: an archive, an image, a document or a compiled file"
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # The decoder counts positions after the byte order mark, in `error.object`.
        position = error.start + len(data) - len(error.object)
        raise ValueError(
            f"text file {name!r}: byte {position} (0x{data[position]:02x}) is not UTF-8 ({error.reason})\n"
            "  expected UTF-8 text\n"
            "  an older encoding such as Latin-1 or Windows-1252? convert it: iconv -f WINDOWS-1252 -t UTF-8"
        ) from error
    return text.replace("\r\n", "\n").replace("\r", "\n")


def train_validation_split(ids: Any, fraction: float = 0.1) -> tuple[np.ndarray, np.ndarray]:
    """Cut the end off a text for validation: the last `fraction` of the ids.

    The parts are contiguous, because a random choice of characters would put the neighbors of each validation character
    into the training text. Raises ValueError if `fraction` is outside (0, 1), or there are too few ids for both parts.

    Parameters
    ----------
    ids : array_like of int
        (N,)
    fraction : float
        The share for validation, above 0 and below 1.

    Returns
    -------
    train, validation : ndarray
        Views of `ids`, int64, at least two ids each.
    """
    numbers = check_ids("train_validation_split", ids)
    fraction = check.number("train_validation_split", "fraction", fraction)
    if not 0 < fraction < 1:
        raise ValueError(f"train_validation_split: fraction is {fraction}\n  expected above 0 and below 1")
    cut = numbers.size - round(numbers.size * fraction)
    if cut < 2 or numbers.size - cut < 2:
        raise ValueError(
            f"train_validation_split: {numbers.size} ids give parts of {cut} and {numbers.size - cut}\n"
            "  expected at least 2 in each: one to read and one to predict"
        )
    return numbers[:cut], numbers[cut:]


class CharBatches:
    """Batches in which every row continues where the same row of the previous batch stopped.

    The text is cut into B streams of equal length, and batch k takes steps k T .. k T + T - 1 of each. So the hidden
    state after one batch is the right initial state for the next: gradients are cut every T steps, but the memory is
    not.

        text      a b c d e f g h i j k l m        B = 2, T = 3: streams of 6, two batches a pass
        row 0     a b c | d e f                    the target of each character is the one after it:
        row 1     g h i | j k l                    b c d | e f g   and   h i j | k l m

    Iteration never ends: after the last batch of a pass (``len(batches)`` of them), the first one comes again.
    `at_start` is then True, because the hidden state must be set to zero. Up to B T characters at the ends of the
    streams don't fill a batch and are left out. Nothing is random.

    Parameters
    ----------
    ids : array_like of int
        (N,), N at least B T + 1.
    T, B : int
        Time steps and rows of a batch.

    Examples
    --------
    >>> batches = CharBatches(np.arange(13), T=3, B=2)
    >>> x, y = next(batches)
    >>> x.T
    array([[0, 1, 2],
           [6, 7, 8]])
    >>> y.T
    array([[1, 2, 3],
           [7, 8, 9]])
    """

    def __init__(self, ids: Any, T: int, B: int) -> None:
        self._ids = check_ids("CharBatches", ids)
        self.T = check.integer("CharBatches", "T", T, 1)
        self.B = check.integer("CharBatches", "B", B, 1)
        if self._ids.size < self.T * self.B + 1:
            raise ValueError(
                f"CharBatches: {self._ids.size} characters\n"
                f"  expected at least B T + 1 = {shown(T * B + 1)}, for one batch of T={shown(T)}, B={shown(B)}\n"
                "  use a longer text, shorter sequences or fewer rows"
            )
        stream = (self._ids.size - 1) // self.B  # characters per row; the last one of the text is only a target
        self._starts = stream * np.arange(self.B)  # (B,)
        self._batches = stream // self.T
        self._batch = 0
        self._pass = 0

    def __len__(self) -> int:
        """The number of batches in one pass over the text."""
        return self._batches

    @property
    def at_start(self) -> bool:
        """Whether the next batch begins a pass, so that the hidden state starts from zero."""
        return self._batch == 0

    def __iter__(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        return self

    def __next__(self) -> tuple[np.ndarray, np.ndarray]:
        """Return x and y, (T, B) int64 each: characters, and the characters that follow them."""
        x, y = self.batch(self._batch)
        self._batch += 1
        if self._batch == self._batches:
            self._batch = 0
            self._pass += 1
        return x, y

    def batch(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return batch k of a pass, 0 <= k < len(self); the position does not change."""
        k = check.integer("CharBatches.batch", "k", k, -sys.maxsize)
        if not 0 <= k < self._batches:
            raise IndexError(f"CharBatches.batch: k is {k}\n  expected 0 .. {self._batches - 1}")
        steps = k * self.T + np.arange(self.T)[:, None]  # (T, 1)
        where = self._starts + steps  # (T, B)
        return self._ids[where], self._ids[where + 1]

    def __getitem__(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Batch k of a pass, so that ``DataLoader(batches, batch_size=None)`` gives the batches of one as Tensors."""
        return self.batch(k)

    def one_pass(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the batches of one pass from its start, for validation; the position does not change."""
        for k in range(self._batches):
            yield self.batch(k)

    def state(self) -> dict[str, int]:
        """Return the position as plain ints: the number of the next batch, and the sizes."""
        return {"pass": self._pass, "batch": self._batch, "T": self.T, "B": self.B, "N": int(self._ids.size)}

    def restore(self, state: Mapping[str, int]) -> None:
        """Go to a position that `state` returned: the next batch is the one that would have followed it.

        Raises ValueError if the state is incomplete, or belongs to another T, another B or a text of another length.
        """
        here = self.state()
        try:
            saved = {name: operator.index(state[name]) for name in here}
        except (KeyError, TypeError):
            raise ValueError(
                f"CharBatches.restore: got {str(state)[:80]}\n  expected ints named {', '.join(here)}, from state()"
            ) from None
        for name, meaning in (("T", "time steps"), ("B", "rows"), ("N", "characters")):
            if saved[name] != here[name]:
                raise ValueError(
                    f"CharBatches.restore: saved with {name} = {saved[name]} {meaning}\n"
                    f"  expected {name} = {here[name]}, as here\n"
                    "  to continue exactly, use the text and the sizes of the first run"
                )
        if not 0 <= saved["batch"] < self._batches or saved["pass"] < 0:
            raise ValueError(
                f"CharBatches.restore: pass {saved['pass']}, batch {saved['batch']}\n"
                f"  expected pass >= 0 and batch 0 .. {self._batches - 1}"
            )
        self._pass, self._batch = saved["pass"], saved["batch"]
