"""``minirnn reset``: restores an exercise to its first version and keeps the answer next to it."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from minirnn.arguments.user_error import user_mistakes


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("exercise", metavar="EX", help="such as ex05")


def run(args: argparse.Namespace) -> int:
    """Move the file to the first free ``NAME.bak``, ``NAME.bak2``, ... and write the stub again."""
    from minirnn.io.atomic import atomic_write
    from minirnn.learn.course import find_tree

    with user_mistakes():
        tree = find_tree(Path.cwd())
        entry = tree.course.entry(args.exercise)
    path = tree.file(entry)
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and path.read_bytes() != tree.course.stub(entry).encode():
        number = 1
        while (backup := path.with_name(f"{path.name}.bak{number if number > 1 else ''}")).exists():
            number += 1
        os.link(path, backup)  # the file keeps its name until the new one replaces it
        print(f"your previous version is now in {backup}")
    with atomic_write(path) as file:
        file.write(tree.course.stub(entry))
    tree.note_passed(entry, False)
    print(f"{path} is back to its first version")
    return 0
