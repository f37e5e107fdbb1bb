"""What a checkpoint of ``minirnn train`` holds for others than the run: the model, and which text it learned from."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from minirnn import data, devices
from minirnn.io import checkpoint
from minirnn.nn.cell_file import absolute, cell_in, changed, definition, names_a_file
from minirnn.train.model import CharModel
from minirnn.train.options import Options
from minirnn.user_error import UserError, user_mistakes

KIND = "minirnn train"


class Trained(NamedTuple):
    """A model as a checkpoint holds it."""

    model: CharModel
    vocabulary: data.CharVocabulary
    options: Options
    """The options of the run that trained it; the model itself may be on another device."""
    step: int
    """The training steps that it has done."""


def read_model(path: Path, device: str | None = None, cell: str | None = None) -> Trained:
    """Read the model of a run from its checkpoint, without the rest of the run.

    Parameters
    ----------
    path : path
        A ``checkpoint.safetensors`` that ``minirnn train`` wrote.
    device : str, optional
        Where the model shall compute: any device, whichever it was trained on (default: the default device).
    cell : str, optional
        Where the own cell of the model is now, ``FILE.py:name``, if its file moved.

    Raises
    ------
    UserError
        The file is missing, damaged or of another kind, or the device does not work here.
    """
    with user_mistakes():
        name = devices.get(device).name
    arrays, metadata = read_checkpoint(path)
    weights = {key.removeprefix("model."): value for key, value in arrays.items() if key.startswith("model.")}
    with damages(path):
        options = Options(**metadata["options"] | ({} if cell is None else {"cell": cell}))
        check_cell(path, options, metadata)
        vocabulary = data.CharVocabulary.from_json(metadata["vocabulary"])
        model = CharModel.of(options, len(vocabulary), device=name)
        model.load_state_dict(weights)
        if not all(np.isfinite(value).all() for value in weights.values()):
            raise ValueError("a parameter is not finite")
        model.eval()
        return Trained(model, vocabulary, options, int(metadata["step"]))


def check_cell(path: Path, options: Options, metadata: dict[str, Any]) -> None:
    """Raise UserError if an own cell is no longer where it was, or computes something else than the run's."""
    trained = metadata.get("cell")
    if trained is None:
        if names_a_file(options.cell):
            raise UserError(f"checkpoint {str(path)!r} has no own cell: leave --cell {options.cell} out")
        return
    if options.cell != absolute(options.cell):  # a file is run, so it must not be whichever lies in this folder
        raise UserError(
            f"checkpoint {str(path)!r}: {options.cell} is no full path; --cell FILE.py:name says where it is"
        )
    try:
        difference = changed(trained, definition(cell_in(options.cell)))
    except UserError as error:
        raise UserError(
            f"the cell of checkpoint {str(path)!r}: {error}\n--cell FILE.py:name says where it is now"
        ) from None
    if difference:
        raise UserError(f"{options.cell} is not the cell of checkpoint {str(path)!r}: {difference}")


def read_text(options: Options) -> str:
    """The text that a run learns from."""
    with user_mistakes():
        return data.python_source_text() if options.text is None else data.read_text(options.text)


def read_checkpoint(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The content of a checkpoint of this command. Raises UserError for any other file."""
    with user_mistakes():
        arrays, metadata = checkpoint.load(path)
    if metadata.get("kind") != KIND:
        raise UserError(f"checkpoint {str(path)!r}: not written by minirnn train")
    return arrays, metadata


@contextlib.contextmanager
def damages(path: Path) -> Iterator[None]:
    """Inside this block, an entry of a checkpoint that is missing or does not fit becomes a UserError."""
    try:
        yield
    except UserError:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise UserError(
            f"checkpoint {str(path)!r}: {type(error).__name__}: {error}\n"
            "damaged, or written by another version of minirnn"
        ) from error
