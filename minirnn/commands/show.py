"""``minirnn show``: an exercise's text, a picture of what is wrong with the answer, or, after passing, the solution."""

from __future__ import annotations

import argparse
from pathlib import Path

from minirnn.arguments.user_error import UserError, user_mistakes


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("exercise", metavar="EX", nargs="?", help="such as ex05 (default: the first not passed yet)")
    drawn = "draw |yours - expected| into a PNG file next to the exercise"
    parser.add_argument("--diff", action="store_true", help=drawn)
    parser.add_argument("--solution", action="store_true", help="print the solution, once the exercise is passed")


def run(args: argparse.Namespace) -> int:
    """Print the exercise or its solution, or draw what is wrong."""
    from minirnn.learn.course import find_tree

    with user_mistakes():
        tree = find_tree(Path.cwd())
        entry = tree.course.entry(args.exercise) if args.exercise else tree.current()
    if entry is None:
        raise UserError("all exercises are passed: name the one you want to see")
    if args.solution:
        if not tree.passed(entry):
            raise UserError(
                f"{entry.id}: the present answer has not passed yet\n  check it first: minirnn check {entry.id}"
            )
        with user_mistakes():
            solution = tree.course.solution(entry)
        print(solution, end="")
    if args.diff:
        from minirnn.learn.check import check
        from minirnn.learn.picture import picture_of
        from minirnn.viz import save

        result = check(tree.course, entry, tree.file(entry))
        target = tree.file(entry).with_suffix(".png")
        with user_mistakes():
            save(picture_of(result), target)
        print(target)
    if not (args.diff or args.solution):
        print(tree.course.stub(entry), end="")
    return 0
