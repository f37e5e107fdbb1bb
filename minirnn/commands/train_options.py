"""The options of ``minirnn train``: a model and its training."""

from __future__ import annotations

import argparse
import os

from minirnn.arguments.messages import meant
from minirnn.commands.arguments import real, whole
from minirnn.nn.own.file import FORM, absolute, names_a_file
from minirnn.train.options import CELLS, LARGEST_LAYER, Options
from minirnn.train.schedule import OPTIMIZERS, SCHEDULES


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options. Those that are not given are None, because a resumed run has them."""
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
    shared = "cut batches into N equal shards, for the ranks of `mpiexec -n P minirnn train`; same bits for every P"
    add("--shards", type=whole(1), metavar="N", help=shared)


def cell(text: str) -> str:
    """A reader of ``--cell``: a cell of minirnn, or the absolute place of a custom one."""
    if text not in CELLS and not names_a_file(text):
        known = f"invalid choice: {text!r} (choose from {', '.join(CELLS)}, or {FORM} of a custom cell)"
        raise argparse.ArgumentTypeError(known + meant(text, CELLS))
    return absolute(text)
