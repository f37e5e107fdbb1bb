"""``minirnn course``: its map; for teachers: copy it, add exercises, verify it, export it."""

from __future__ import annotations

import argparse
import contextlib
from pathlib import Path

from minirnn.arguments.user_error import UserError, user_mistakes
from minirnn.commands.arguments import path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    action = (
        "map: print the exercises and what each depends on; init: copy minirnn's course to DIR; new-exercise: add your "
        "own exercise NAME to the course in DIR; verify: check that solutions pass and mistakes are told apart; "
        "export: write a grader for a platform to --out"
    )
    actions = ("map", "init", "new-exercise", "verify", "export")
    add("action", metavar=" | ".join(actions), choices=actions, help=action)
    add("name", metavar="NAME", nargs="?", help="with new-exercise: the id of the exercise, such as softsign")
    folder = "folder of the course (default: minirnn's own; for map the course folder you are in, if you are in one)"
    add("folder", metavar="DIR", nargs="?", type=path, help=folder)
    add(
        "--only",
        action="append",
        default=[],
        metavar="EX",
        help="with verify or init: only this exercise; may be repeated",
    )
    add("--cuda", action="store_true", help="with new-exercise: a CUDA kernel instead of a Python function")
    add("--to", choices=("gradescope", "classroom50"), default="gradescope", help="platform (default gradescope)")
    add("--out", type=path, metavar="FILE", help="zip file to write")


def run(args: argparse.Namespace) -> int:
    """Exit status 1 if a check of the course fails."""
    from minirnn.learn.course import HERE, load

    if args.action == "new-exercise":
        return begin(args)
    if args.folder is not None:
        raise UserError(f"minirnn course {args.action}: {args.name} and {args.folder}; expected one folder")
    args.folder = None if args.name is None else Path(args.name)
    if args.only and args.action in ("map", "export"):
        raise UserError(f"minirnn course {args.action}: --only is for init and verify")
    if args.action == "map":
        return show_map(args)
    if args.action == "init":
        from minirnn.learn.export import copy_course

        if args.folder is None:
            raise UserError("the name of the new folder is missing\n  expected: minirnn course init DIR")
        with user_mistakes():
            copy_course(args.folder, args.only)
        says = f"{args.folder}/course.toml says what each exercise is worth"
        print(f"{says}; minirnn course verify {args.folder} checks it")
        return 0
    with user_mistakes():
        course = load(args.folder or HERE)
        only = list(dict.fromkeys(course.entry(id).id for id in args.only))
    if args.action == "verify":
        from minirnn.learn.cleaned import several
        from minirnn.learn.verify import verify

        complaints, seconds = 0, dict[str, float]()
        width = max(len(id) for id in course.entries)
        for id, found in verify(course, seconds, only):
            print(f"{id:{width}}  {seconds.setdefault(id, 0.0):5.2f} s  {'ok' if not found else found[0]}", flush=True)
            for further in found[1:]:
                print(f"{'':{width}}           {further}")
            complaints += len(found)
        found_all = several(complaints, "complaint") if complaints else "all good"
        points = sum(e.points + e.hidden for e in course.entries.values() if e.id in seconds)
        print(f"{several(len(seconds), 'exercise')}, {several(points, 'point')}: {found_all}")
        return 1 if complaints else 0
    from minirnn.learn.export import export

    out = args.out or Path(f"{course.name}-{args.to}.zip")
    with user_mistakes():
        export(course, args.to, out)
    print(f"wrote {out}")
    return 0


def begin(args: argparse.Namespace) -> int:
    """Add an exercise to a course."""
    from minirnn.learn.new_exercise import new_exercise

    if args.name is None:
        raise UserError("minirnn course new-exercise: the name of the exercise is missing")
    folder = args.folder or Path()
    with user_mistakes():
        stub, reference, solution, toml = new_exercise(folder, args.name, args.cuda)
    print(f"{stub}  what students get")
    print(f"{reference}  the inputs, and what is expected")
    print(f"{solution}  the right answer, only for you")
    print(f"{toml}  its title, points and hints")
    print(f"The exercise works as it is. Change it, then run: minirnn course verify {folder}")
    return 0


def show_map(args: argparse.Namespace) -> int:
    """Print the map of a course."""
    from minirnn.learn.course import HERE, CourseError, Tree, find_tree, load
    from minirnn.learn.course_map import map_text

    tree: Tree | None = None
    with user_mistakes():
        if args.folder is None:
            with contextlib.suppress(CourseError):
                tree = find_tree(Path.cwd())
        course = tree.course if tree is not None else load(args.folder or HERE)
    print(map_text(course, tree))
    return 0
