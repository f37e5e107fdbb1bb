"""``minirnn hint``: says what is wrong in the present answer, then gives a hint, a more explicit one each time."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from minirnn.arguments.user_error import UserError, user_mistakes


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("exercise", metavar="EX", nargs="?", help="such as ex05 (default: the first not passed yet)")


def run(args: argparse.Namespace) -> int:
    """Print all hints given so far and one more."""
    from minirnn.learn import text
    from minirnn.learn.check import check
    from minirnn.learn.course import find_tree

    with user_mistakes():
        tree = find_tree(Path.cwd())
        entry = tree.course.entry(args.exercise) if args.exercise else tree.current()
    if entry is None:
        raise UserError("all exercises are passed: name the one whose hints you want")
    if not entry.hints:
        raise UserError(f"{entry.id} has no hints in this course")
    words = entry if entry.detail == "yes-no" else replace(entry, detail="place")  # no line of the formula
    found = text.own_hint(check(tree.course, words, tree.file(entry)))
    print(text.hint(entry, tree.note_hint(entry), found=found))
    return 0
