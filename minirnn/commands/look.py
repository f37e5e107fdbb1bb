"""``minirnn look``: how far gradients reach in the layers of a trained model, and which gates block them."""

from __future__ import annotations

import argparse
from pathlib import Path

from minirnn.arguments.user_error import UserError, user_mistakes
from minirnn.commands.arguments import path
from minirnn.commands.sample import beginning, encoded
from minirnn.nn.cell_file import FORM, absolute
from minirnn.train.folder import CHECKPOINT
from minirnn.train.from_checkpoint import read_model, read_text
from minirnn.train.messages import DEFAULT_OUT

LENGTH = 64


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    where = "checkpoint that minirnn train wrote, or its folder (default: %(default)s)"
    add("--checkpoint", type=path, default=Path(DEFAULT_OUT, CHECKPOINT), metavar="FILE", help=where)
    add(
        "--prompt",
        default="",
        metavar="TEXT",
        help=f"text to read (default: the first {LENGTH} characters of its text)",
    )
    add("--cell", type=absolute, metavar=FORM, help="the custom cell of a model that has one; this file is run")
    add("--out", type=path, default=Path("look.png"), metavar="FILE", help="the picture (default: %(default)s)")


def run(args: argparse.Namespace) -> int:
    """Print a table of the gates, and draw it."""
    from minirnn.viz import look_inside, save

    file = args.checkpoint / CHECKPOINT if args.checkpoint.is_dir() else args.checkpoint
    if not file.exists():
        raise UserError(f"no checkpoint at {file}: run minirnn train first, or pass --checkpoint FILE")
    trained = read_model(file, "cpu", args.cell)
    ids = encoded(args.prompt or read_text(trained.options)[:LENGTH], trained)
    ids = ids if len(ids) else beginning(trained.vocabulary)
    picture = look_inside(trained.model, (ids[:, None], trained.model.zero_state(1)))
    print("gate                      mean  closed  blocks")
    for name, row in picture.data.items():
        if ": " in name:
            print(f"{name:24} {row[0]:5.2f}   {row[1]:5.0%}   {row[2]:5.0%}")
        else:
            print(f"{name}: a gradient of {row[0]:.1e} becomes {row[-1]:.1e} after {len(row) - 1} steps")
    with user_mistakes():
        save(picture, args.out)
    print(args.out)
    return 0
