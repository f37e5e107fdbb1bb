"""``minirnn look``: how far gradients reach in the layers of a trained model, and which gates block them."""

from __future__ import annotations

import argparse
from pathlib import Path

from minirnn.arguments.user_error import user_mistakes
from minirnn.commands.arguments import path
from minirnn.commands.sample import add_model, beginning, encoded
from minirnn.train.checkpoint import read_model, read_text

LENGTH = 64


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    add, what = parser.add_argument, f"text to read (default: the first {LENGTH} characters of its text)"
    add("--prompt", default="", metavar="TEXT", help=what)
    add("--out", type=path, default=Path("look.png"), metavar="FILE", help="the picture (default: %(default)s)")


def run(args: argparse.Namespace) -> int:
    """Print a table of the gates, and draw it."""
    from minirnn.viz import look_inside, save

    trained = read_model(args.checkpoint, "cpu", args.cell)
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
