"""``minirnn train``: train a small character model and draw how its gradients flow."""

from __future__ import annotations

import argparse
from pathlib import Path

from minirnn.arguments.user_error import UserError
from minirnn.commands.arguments import path
from minirnn.commands.train_options import add_options
from minirnn.train.messages import DEFAULT_OUT
from minirnn.train.options import NAMES
from minirnn.train.ranks import is_first
from minirnn.train.run import run as train


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_options(parser)
    add = parser.add_argument
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
