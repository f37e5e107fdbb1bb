"""``minirnn sweep``: train many models with different settings, and compare them."""

from __future__ import annotations

import argparse
from pathlib import Path

from minirnn.commands.arguments import EXECUTOR, chosen_executor, path
from minirnn.commands.train_options import add_options
from minirnn.train.options import NAMES
from minirnn.train.sweep import DEFAULT_OUT, begin, resume


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``minirnn train``, where numbers may have several values, and those of the sweep."""
    add_options(parser, many=True)
    add = parser.add_argument
    add("--executor", default="threads", metavar="WHERE", help=f"{EXECUTOR}; default: one run per processor")
    add("--out", type=path, default=Path(DEFAULT_OUT), metavar="FOLDER", help="default: %(default)s/")
    add("--resume", action="store_true", help="finish the sweep in the folder, and run new values")
    add("--quiet", action="store_true", help="print only the table, no progress")


def run(args: argparse.Namespace) -> int:
    """Do all runs. The exit status is 0 when all are done, 1 if one failed, 130 after Ctrl-C."""
    given = {name: getattr(args, name) for name in NAMES if getattr(args, name) is not None}
    with chosen_executor(args.executor) as executor:
        return (resume if args.resume else begin)(args.out, given, executor, args.quiet)
