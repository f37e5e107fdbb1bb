"""``minirnn course``, for teachers: copy the course to change it, verify it, pack it for a grading platform."""

from __future__ import annotations

import argparse
from pathlib import Path

from minirnn.user_error import UserError, user_mistakes


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    action = (
        "init: copy minirnn's course to DIR; verify: check that solutions pass and mistakes are told apart; "
        "export: write a grader for a platform to --out"
    )
    add("action", choices=("init", "verify", "export"), help=action)
    folder = "folder of the course (default for verify and export: minirnn's own)"
    add("folder", metavar="DIR", nargs="?", type=Path, help=folder)
    add("--to", choices=("gradescope", "classroom50"), default="gradescope", help="platform (default gradescope)")
    add("--out", type=Path, metavar="FILE", help="zip file to write")


def run(args: argparse.Namespace) -> int:
    """Exit status 1 if a course does not hold what it promises."""
    from minirnn.learn.course import HERE, load

    if args.action == "init":
        from minirnn.learn.export import copy_course

        if args.folder is None:
            raise UserError("minirnn course init: the name of the new folder is missing")
        with user_mistakes():
            copy_course(args.folder)
        says = f"{args.folder}/course.toml says what each exercise is worth"
        print(f"{says}; minirnn course verify {args.folder} checks it")
        return 0
    with user_mistakes():
        course = load(args.folder or HERE)
    if args.action == "verify":
        from minirnn.learn.verify import verify

        complaints = 0
        for id, found in verify(course):
            print(f"{id}  {'ok' if not found else found[0]}", flush=True)
            for further in found[1:]:
                print(f"      {further}")
            complaints += len(found)
        found_all = f"{complaints} complaints" if complaints else "all good"
        print(f"{len(course.entries)} exercises, {course.points} points: {found_all}")
        return 1 if complaints else 0
    from minirnn.learn.export import export

    out = args.out or Path(f"{course.name}-{args.to}.zip")
    with user_mistakes():
        export(course, args.to, out)
    print(f"wrote {out}")
    return 0
