"""``minirnn check``: checks one exercise of the course, or all of them."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from minirnn.arguments.user_error import UserError, user_mistakes

DEVICES = ("cuda-sim", "cuda")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("exercise", metavar="EX", nargs="?", help="such as ex05 (default: the first not passed yet)")
    add("--all", action="store_true", help="every exercise, one line each")
    where = "where kernels run: cuda-sim (default), cuda, or cuda-sim,cuda; points come from the simulator"
    add("--device", default="cuda-sim", metavar="NAMES", help=where)


def run(args: argparse.Namespace) -> int:
    """Exit status 0 if every checked exercise is right or not started, 1 if one is wrong."""
    from minirnn.learn import text
    from minirnn.learn.check import check
    from minirnn.learn.course import find_tree
    from minirnn.learn.sandbox.system_locks import FORKS, NOTE

    if args.all and args.exercise:
        raise UserError(f"both --all and {args.exercise} are given\n  expected one of them")
    devices = devices_of(args.device)
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
        if args.device != "cuda-sim" and entry.exercise.kind != "cuda":
            raise UserError(
                f"{entry.id} is a NumPy exercise, so --device {args.device} has no effect\n  expected a kernel exercise"
            )
    failed = False
    for one in entries:
        for device in devices if one.exercise.kind == "cuda" else DEVICES[:1]:
            result = check(tree.course, one, tree.file(one), device=device)
            if device == "cuda-sim":
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
    if not FORKS:
        print(f"\n{NOTE}", file=sys.stderr)
    return 1 if failed else 0


def devices_of(names: str) -> list[str]:
    """The devices that are named, if they are known and work here."""
    from minirnn import devices

    wanted = list(dict.fromkeys(names.split(",")))
    for name in wanted:
        if name not in DEVICES:
            raise UserError(f"--device is {name!r}\n  expected {' or '.join(DEVICES)}, or both with a comma")
        if name == "cuda" and (reason := devices.available()["cuda"]) is not None:
            raise UserError(reason)
    return wanted
