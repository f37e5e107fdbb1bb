"""``minirnn grade``: grades what students handed in, and writes the grades in the formats of teaching platforms."""

from __future__ import annotations

import argparse
from pathlib import Path

from minirnn.user_error import UserError, user_mistakes


def add_arguments(parser: argparse.ArgumentParser) -> None:
    formats = "Formats: gradescope, classroom50, csv, junit, github-classroom."
    parser.epilog = f"{formats} CUDA exercises run in the simulator."
    add = parser.add_argument
    add("submissions", metavar="SUBMISSION", nargs="+", type=Path, help="folder or zip file of a student")
    add("--course", type=Path, metavar="DIR", help="a course of your own (default: minirnn's)")
    add("--out", action="append", default=[], metavar="FORMAT:FILE", help="write the grades to FILE; may be repeated")
    add("--jobs", type=int, default=1, metavar="N", help="submissions graded at the same time (default 1)")


def run(args: argparse.Namespace) -> int:
    """Exit status 0 when all was graded, however many points there were."""
    from minirnn.learn.course import HERE, load
    from minirnn.learn.grade import grade_all
    from minirnn.learn.reports import Reports

    if args.jobs < 1:
        raise UserError(f"--jobs is {args.jobs}\n  expected at least 1")
    with user_mistakes():
        course = load(args.course or HERE)
        for submission in args.submissions:
            if not submission.exists():
                raise UserError(f"{submission}: no such folder or zip file")
        reports = Reports(args.out, len(args.submissions))
        for grades in grade_all(course, args.submissions, args.jobs, lambda g: reports.write(g.sheet())):
            print(f"{grades.student}: {grades.score} of {course.points} points, {grades.seconds:.0f} s")
    return 0
