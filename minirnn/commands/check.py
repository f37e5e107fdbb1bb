"""``minirnn check``: checks one exercise of the course, or all of them."""

from __future__ import annotations

import argparse
from pathlib import Path

from minirnn.commands.errors import UserError, user_mistakes


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("exercise", metavar="EX", nargs="?", help="such as ex05 (default: the first not passed yet)")
    parser.add_argument("--all", action="store_true", help="every exercise, one line each")


def run(args: argparse.Namespace) -> int:
    """Exit status 0 if what was checked is right or not started, 1 if something is wrong."""
    from minirnn.learn import text
    from minirnn.learn.check import check
    from minirnn.learn.course import find_tree

    if args.all and args.exercise:
        raise UserError(f"both --all and {args.exercise} are given\n  expected one of them")
    with user_mistakes():
        tree = find_tree(Path.cwd())
        entry = tree.course.entry(args.exercise) if args.exercise else tree.current()
    if args.all:
        entries = list(tree.course.entries.values())
    elif entry is None:
        print("All exercises are passed.")
        return 0
    else:
        entries = [entry]
    failed = False
    for one in entries:
        result = check(tree.course, one, tree.file(one))
        tree.note_passed(one, result.passed)
        failed |= result.status == "failed"
        if args.all:
            print(text.header(result), flush=True)
        else:
            print(text.report(result))
            if step := text.next_step(result, tree.state["hints"].get(one.id, 0)):
                print(f"\n{step}")
    if args.all:
        passed = sum(tree.passed(e) for e in entries)
        print(f"\n{passed} of {len(entries)} passed")
    return 1 if failed else 0
