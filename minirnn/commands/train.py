"""``minirnn train``: train a small character model and draw how its gradients flow."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from minirnn.commands.arguments import real, whole
from minirnn.train.messages import DEFAULT_OUT
from minirnn.train.model import CELLS
from minirnn.train.options import LARGEST_LAYER, NAMES, Options
from minirnn.train.ranks import is_first
from minirnn.train.schedule import OPTIMIZERS, SCHEDULES
from minirnn.train.work import begin, resume
from minirnn.user_error import UserError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options. What is not given is None: a resumed run takes it from its checkpoint."""
    d = Options()
    add = parser.add_argument
    add("--cell", choices=CELLS, help=f"recurrent cell (default {d.cell})")
    add("--device", metavar="NAME", help="where to compute (default: MINIRNN_DEVICE, else cpu)")
    text = "UTF-8 text to learn from (default: the source of Python's standard library)"
    add("--text", type=os.path.abspath, metavar="FILE", help=text)  # leads there from another folder, too
    add("--steps", type=whole(1), metavar="N", help=f"training steps in all (default {d.steps})")
    add("--seed", type=whole(0), metavar="N", help=f"seed of all random numbers (default {d.seed})")
    units = f"units of the recurrent layer (default {d.hidden})"
    add("--hidden", type=whole(1, LARGEST_LAYER), metavar="H", help=units)
    add("--layers", type=whole(1, 16), metavar="L", help=f"recurrent layers (default {d.layers})")
    share = real(lambda p: 0 <= p < 1, "a probability of 0 or more and below 1")
    add("--projection", type=whole(1), metavar="P", help="width of h after a projection, below H (default: none)")
    add("--dropout", type=share, metavar="P", help="dropout between layers (default: none)")
    add("--input-dropout", type=share, metavar="P", help="dropout of what enters the first layer")
    once = "--dropout and --input-dropout draw one mask for all time steps"
    add("--variational", action="store_true", default=None, help=once)
    add("--weight-dropout", type=share, metavar="P", help="dropout of recurrent weights")
    add("--zoneout", type=share, metavar="P", help="probability that a unit keeps its state in a step of training")
    both = "read in both directions, and learn to fill in blanks instead of to predict the next character"
    add("--bidirectional", action="store_true", default=None, help=both)
    add("--batch", type=whole(1), metavar="B", help=f"streams of text read side by side (default {d.batch})")
    add("--length", type=whole(1), metavar="T", help=f"time steps that gradients flow back (default {d.length})")
    rate = real(lambda lr: 0 < lr <= 1, "a number above 0 and at most 1")
    add("--lr", type=rate, metavar="RATE", help=f"step size, with a schedule its largest (default {d.lr})")
    rule = f"how gradients become steps; sgd has momentum 0.9 and wants a larger --lr (default {d.optimizer})"
    add("--optimizer", choices=OPTIMIZERS, help=rule)
    add("--schedule", choices=SCHEDULES, help=f"how the step size changes (default {d.schedule})")
    add("--warmup", type=whole(0), metavar="N", help=f"steps in which the step size rises (default {d.warmup})")
    end = "where the schedule ends (default: the --steps of a new run)"
    add("--schedule-steps", type=whole(1), metavar="N", help=end)
    shared = "cut batches into N equal shards, for the ranks of `mpiexec -n P minirnn train`; same bits for all P"
    add("--shards", type=whole(1), metavar="N", help=shared)
    add("--out", type=Path, default=Path(DEFAULT_OUT), metavar="FOLDER", help="default: %(default)s/")
    add("--resume", action="store_true", help="continue the run in the folder, exactly")
    add("--quiet", action="store_true", help="no progress, only the result")


def run(args: argparse.Namespace) -> int:
    """Train, then draw. The exit status is 0 when all steps are done, 130 after Ctrl-C."""
    given = {name: getattr(args, name) for name in NAMES if getattr(args, name) is not None}
    try:
        return (resume if args.resume else begin)(args.out, given, args.quiet)
    except UserError:
        if is_first():
            raise
        return 2  # all ranks have it, and one says it
