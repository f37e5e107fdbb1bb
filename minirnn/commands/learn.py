"""``minirnn learn``: makes a folder with the course's exercises, and checks them while you write."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from minirnn.arguments.user_error import UserError, user_mistakes
from minirnn.commands.arguments import path
from minirnn.machine.computer import this_program

if TYPE_CHECKING:
    from minirnn.learn.course import Tree


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "minirnn learn init DIR makes a course folder; minirnn learn, in it, checks what you save; minirnn learn "
        "milestone YEAR runs one of four experiments with your own parts and saves the picture."
    )
    what, actions = "make a course folder, or run a milestone: 1990, 1997, 2013, 2016", ("init", "milestone")
    parser.add_argument("action", metavar="init DIR | milestone YEAR", nargs="?", choices=actions, help=what)
    parser.add_argument("folder", metavar="", nargs="?", type=path, help=argparse.SUPPRESS)
    parser.add_argument("--missing", action="store_true", help="with init: add what is missing to an existing folder")
    parser.add_argument("--course", type=path, metavar="DIR", help="with init: a course other than minirnn's own")


def run(args: argparse.Namespace) -> int:
    """Make a folder, or watch."""
    from minirnn.learn.course import COURSE, HERE, find_tree, load, new_tree

    if args.action == "init":
        if args.folder is None:
            raise UserError("the name of the new folder is missing\n  expected: minirnn learn init DIR")
        with user_mistakes():
            own = args.folder / COURSE if args.missing and (args.folder / COURSE).is_dir() else HERE
            new_tree(args.folder, load(args.course or own), args.missing)
        print(f"{args.folder} is ready. Go on with: cd {args.folder} && {this_program(args.folder)} learn")
        return 0
    from minirnn.learn.watch import watch

    with user_mistakes():
        tree = find_tree(Path.cwd())
    if args.action == "milestone":
        return milestone(tree, str(args.folder or "no year"))
    try:
        watch(tree)
    except ValueError as error:
        raise UserError(str(error)) from error
    return 0


def milestone(tree: Tree, year: str) -> int:
    """Do the run of a milestone with the learner's parts."""
    from minirnn.learn.milestones import MILESTONES
    from minirnn.learn.mine.runs import reach

    names = {str(one.year): one for one in MILESTONES}
    if year not in names:
        raise UserError(f"milestone: got {year}\n  expected a year: {', '.join(names)}")
    one = names[year]
    with user_mistakes():
        found, path = reach(tree, one)
    print(f"{one.year}, {one.title} by your {', '.join(one.needs)}: {found.words}")
    print(f"the picture: {path}")
    return 0
