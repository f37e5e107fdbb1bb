"""What other commands read from a checkpoint of ``minirnn train``: the model, and the text that it learned from."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from minirnn import data, devices
from minirnn.arguments.user_error import UserError, user_mistakes
from minirnn.io import checkpoint
from minirnn.nn.own.file import cell_in, changed, checked_name, definition, names_a_file
from minirnn.train.model import CharModel
from minirnn.train.options import Options

KIND, CHECKPOINT = "minirnn train", "checkpoint.safetensors"


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

    Raises UserError if the file is missing, damaged or of another kind, or the device does not work here.

    Parameters
    ----------
    path : path
        A ``checkpoint.safetensors`` that ``minirnn train`` wrote, or its folder.
    device : str, optional
        The device that computes; it need not be the one of the training (default: the default device).
    cell : str, optional
        The place of the custom cell, if the model has one: ``FILE.py:name``. A file that only a checkpoint names is
        not run.
    """
    path = path / CHECKPOINT if path.is_dir() else path
    if not path.exists():
        raise UserError(f"no checkpoint at {path}: run minirnn train first, or pass --checkpoint FILE")
    with user_mistakes():
        name = devices.get(device).name
    arrays, metadata = read_checkpoint(path)
    weights = {key.removeprefix("model."): value for key, value in arrays.items() if key.startswith("model.")}
    with damages(path):
        check_cell(path, cell, metadata)
        options = Options(**metadata["options"] | ({} if cell is None else {"cell": cell}))
        vocabulary = data.CharVocabulary.from_json(metadata["vocabulary"])
        model = CharModel(options, len(vocabulary), name)
        model.load_state_dict(weights)
        if not all(np.isfinite(value).all() for value in weights.values()):
            raise ValueError("a parameter is not finite")
        model.eval()
        return Trained(model, vocabulary, options, int(metadata["step"]))


def check_cell(path: Path, cell: str | None, metadata: dict[str, Any]) -> None:
    """Raise UserError unless `cell`, as the user named it, is that of the run: a custom cell must compute the same."""
    name = checked_name(f"checkpoint {str(path)!r}", cell, metadata["options"]["cell"])
    if not names_a_file(name):
        return
    difference = changed(metadata["cell"], definition(cell_in(name)))
    if difference:
        raise UserError(f"{name} is not the cell of checkpoint {str(path)!r}: {difference}")


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
