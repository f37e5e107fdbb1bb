"""The options of ``minirnn train``: their defaults, their limits, and which may differ when a run is resumed."""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from typing import Any

from minirnn.train.model import CELLS
from minirnn.user_error import UserError

LARGEST_LAYER = 4096  # units: the weights of an LSTM and what Adam remembers of them take a gigabyte


@dataclass(frozen=True)
class Options:
    """What decides the numbers that a run computes. It is saved in the checkpoint."""

    cell: str = "lstm"
    device: str = "cpu"
    text: str | None = None
    """Path of the text; None is `minirnn.data.python_source_text`."""
    steps: int = 1200
    seed: int = 0
    hidden: int = 256
    layers: int = 1
    dropout: float = 0.0
    bidirectional: bool = False
    batch: int = 32
    length: int = 64
    lr: float = 0.004

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


NAMES = tuple(field.name for field in fields(Options))
MAY_CHANGE = ("steps", "text")  # the text may have moved: what it says is compared by its hash


def add_option_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options. What is not given is None: a resumed run takes it from its checkpoint."""
    d = Options()
    add = parser.add_argument
    add("--cell", choices=CELLS, help=f"recurrent cell (default {d.cell})")
    add("--device", metavar="NAME", help="where to compute (default: MINIRNN_DEVICE, else cpu)")
    add(
        "--text",
        type=absolute,
        metavar="FILE",
        help="UTF-8 text to learn from (default: the source of Python's standard library)",
    )
    add("--steps", type=whole(1), metavar="N", help=f"training steps in all (default {d.steps})")
    add("--seed", type=whole(0), metavar="N", help=f"seed of all random numbers (default {d.seed})")
    add(
        "--hidden", type=whole(1, LARGEST_LAYER), metavar="H", help=f"units of the recurrent layer (default {d.hidden})"
    )
    add("--layers", type=whole(1, 16), metavar="L", help=f"recurrent layers (default {d.layers})")
    add("--dropout", type=share, metavar="P", help=f"dropout between layers (default {d.dropout})")
    add(
        "--bidirectional",
        action="store_true",
        default=None,
        help="read in both directions, and learn to fill in blanks instead of to predict the next character",
    )
    add("--batch", type=whole(1), metavar="B", help=f"streams of text read side by side (default {d.batch})")
    add("--length", type=whole(1), metavar="T", help=f"time steps that gradients flow back (default {d.length})")
    add("--lr", type=learning_rate, metavar="RATE", help=f"step size of Adam (default {d.lr})")


def whole(low: int, high: int | None = None) -> Callable[[str], int]:
    """A reader of whole numbers from `low` to `high`."""

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


def absolute(path: str) -> str:
    """A path that still leads there when the run is resumed from another folder."""
    return os.path.abspath(path)


def learning_rate(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value <= 1:
        raise argparse.ArgumentTypeError(f"got {text!r}, expected a number above 0 and at most 1")
    return value


def share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < 1:
        raise argparse.ArgumentTypeError(f"got {text!r}, expected a probability of 0 or more and below 1")
    return value


def given(args: argparse.Namespace) -> dict[str, Any]:
    """The options that the user gave."""
    return {name: getattr(args, name) for name in NAMES if getattr(args, name) is not None}


def resumed(saved: dict[str, Any], chosen: dict[str, Any], step: int) -> Options:
    """The options of a run that goes on: those saved, with what may change.

    Raises
    ------
    UserError
        If an option contradicts the saved run, or asks for fewer steps than it has done.
    """
    for name, value in chosen.items():
        if name not in MAY_CHANGE and value != saved[name]:
            raise UserError(
                f"--{name} {value} contradicts the run to resume, which has {saved[name]}\n"
                f"leave --{name} out to continue it, or start anew in another --out"
            )
    options = Options(**(saved | chosen))
    if options.steps < step:
        raise UserError(f"--steps {options.steps} is less than the {step} steps that the run to resume has done")
    return options
