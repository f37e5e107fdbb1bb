"""``minirnn learn``: makes a folder with the course's exercises, and checks them while you write."""

from __future__ import annotations

import argparse
from pathlib import Path

from minirnn.commands.arguments import path
from minirnn.user_error import UserError, user_mistakes


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "minirnn learn init DIR makes a course folder; minirnn learn, in it, checks what you save."
    parser.add_argument("action", metavar="init DIR", nargs="?", choices=("init",), help="make a course folder")
    parser.add_argument("folder", metavar="", nargs="?", type=path, help=argparse.SUPPRESS)
    parser.add_argument("--missing", action="store_true", help="with init: add to a folder what is not there yet")
    parser.add_argument("--course", type=path, metavar="DIR", help="with init: another course than minirnn's own")


def run(args: argparse.Namespace) -> int:
    """Make a folder, or watch."""
    from minirnn.learn.course import HERE, find_tree, load, new_tree

    if args.action == "init":
        if args.folder is None:
            missing = "minirnn learn init: the name of the new folder is missing"
            raise UserError(f"{missing}\n  expected: minirnn learn init DIR")
        with user_mistakes():
            tree = new_tree(args.folder, load(args.course or HERE), args.missing)
        print(f"{args.folder} is ready. Go on with: cd {args.folder} && minirnn learn")
        if note := tree.pytest_note():
            print(note)
        return 0
    from minirnn.learn.watch import watch

    with user_mistakes():
        tree = find_tree(Path.cwd())
    try:
        watch(tree)
    except ValueError as error:
        raise UserError(str(error)) from error
    return 0
