"""``minirnn train``: train a small character model and draw how its gradients flow."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from minirnn.arguments.messages import meant
from minirnn.arguments.user_error import UserError
from minirnn.commands.arguments import path, real, whole
from minirnn.nn.own.file import FORM, absolute, names_a_file
from minirnn.train.messages import DEFAULT_OUT
from minirnn.train.options import CELLS, LARGEST_LAYER, NAMES, Options
from minirnn.train.ranks import is_first
from minirnn.train.run import run as train
from minirnn.train.schedule import OPTIMIZERS, SCHEDULES


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the model and its training. Those that are not given are None: a resumed run has them."""
    d = Options()
    add = parser.add_argument
    cells = f"recurrent cell: {', '.join(CELLS)}, or your own, {FORM} (default {d.cell})"
    add("--cell", type=cell, metavar="CELL", help=cells)
    add("--device", metavar="NAME", help="where to compute (default: MINIRNN_DEVICE, else cpu)")
    text = "UTF-8 text to learn from (default: the source of Python's standard library)"
    add("--text", type=os.path.abspath, metavar="FILE", help=text)  # absolute, so that --resume works from any folder
    add("--steps", type=whole(1), metavar="N", help=f"total number of training steps (default {d.steps})")
    add("--seed", type=whole(0), metavar="N", help=f"seed of all random numbers (default {d.seed})")
    units = f"units of the recurrent layer (default {d.hidden})"
    add("--hidden", type=whole(1, LARGEST_LAYER), metavar="H", help=units)
    add("--layers", type=whole(1, 16), metavar="L", help=f"recurrent layers (default {d.layers})")
    share = real(lambda p: 0 <= p < 1, "a probability of 0 or more and below 1")
    add("--projection", type=whole(1), metavar="P", help="width of h after a projection, below H (default: none)")
    add("--dropout", type=share, metavar="P", help="dropout between layers (default: none)")
    add("--input-dropout", type=share, metavar="P", help="dropout of the input of the first layer")
    once = "--dropout and --input-dropout draw one mask for all time steps"
    add("--variational", action="store_true", default=None, help=once)
    add("--weight-dropout", type=share, metavar="P", help="dropout of recurrent weights")
    add("--zoneout", type=share, metavar="P", help="probability that a unit keeps its state in a step of training")
    both = "read in both directions, and learn to fill in blanks instead of predicting the next character"
    add("--bidirectional", action="store_true", default=None, help=both)
    add("--batch", type=whole(1), metavar="B", help=f"streams of text read side by side (default {d.batch})")
    add(
        "--length",
        type=whole(1),
        metavar="T",
        help=f"time steps through which gradients flow back (default {d.length})",
    )
    rate = real(lambda lr: 0 < lr <= 1, "a number above 0 and at most 1")
    add("--lr", type=rate, metavar="RATE", help=f"step size; with a schedule, the largest (default {d.lr})")
    rule = f"optimizer; sgd has momentum 0.9 and needs a larger --lr (default {d.optimizer})"
    add("--optimizer", choices=OPTIMIZERS, help=rule)
    add("--schedule", choices=SCHEDULES, help=f"how the step size changes (default {d.schedule})")
    add("--warmup", type=whole(0), metavar="N", help=f"steps in which the step size rises (default {d.warmup})")
    end = "where the schedule ends (default: the --steps of a new run)"
    add("--schedule-steps", type=whole(1), metavar="N", help=end)
    shared = "cut batches into N equal shards for `mpiexec -n P minirnn train`; the result is the same for every P"
    add("--shards", type=whole(1), metavar="N", help=shared)
    add("--out", type=path, default=Path(DEFAULT_OUT), metavar="FOLDER", help="default: %(default)s/")
    add("--resume", action="store_true", help="continue the run in the folder exactly where it stopped")
    add("--quiet", action="store_true", help="print only the result, no progress")


def run(args: argparse.Namespace) -> int:
    """Train, then draw. The exit status is 0 when all steps are done, 130 after Ctrl-C."""
    given = {name: getattr(args, name) for name in NAMES if getattr(args, name) is not None}
    try:
        return train(args.out, given, args.quiet, args.resume)
    except UserError:
        if is_first():
            raise
        return 2  # all ranks have the error, and one prints it


def cell(text: str) -> str:
    """A reader of ``--cell``: a cell of minirnn, or the absolute place of a custom one."""
    if text not in CELLS and not names_a_file(text):
        known = f"invalid choice: {text!r} (choose from {', '.join(CELLS)}, or {FORM} of a custom cell)"
        raise argparse.ArgumentTypeError(known + meant(text, CELLS))
    return absolute(text)
