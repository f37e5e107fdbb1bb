"""``minirnn grade``: grades what students handed in, and writes the grades in the formats of teaching platforms."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
from contextlib import ExitStack

from minirnn.arguments.user_error import UserError, user_mistakes
from minirnn.commands.arguments import EXECUTOR, chosen_executor, path

MOST_AHEAD = 64
FORMATS = """Formats: gradescope, classroom50, csv, junit; feedback:DIR/{id}.md or html:DIR/{id}.html,
a page for each student; statistics:FILE (.csv, .md, .png or .svg) and similarity:FILE (.csv) about the class;
diff:FILE (.csv) with --regrade. CUDA exercises run in the simulator. Exit status: 0 when all was graded, however many
points there were; 1 when something could not be graded."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = FORMATS
    add = parser.add_argument
    add("submissions", metavar="SUBMISSION", nargs="+", type=path, help="folder or zip file of a student or a class")
    add("--course", type=path, metavar="DIR", help="your own course (default: minirnn's)")
    add("--out", action="append", default=[], metavar="FORMAT:FILE", help="write the grades to FILE; may be repeated")
    add("--jobs", type=int, default=1, metavar="N", help="submissions graded at the same time (default 1)")
    add("--executor", metavar="WHERE", default="", help=f"{EXECUTOR}; instead of --jobs")
    who = parser.add_argument_group("who")
    add = who.add_argument
    add("--id", metavar="PATH", default="", help="where the student's name is in a path, such as 'hw1/{id}_*.zip'")
    add("--roster", type=path, metavar="CSV", help="the students: id, and name, email, submission, submitted, due")
    add("--one", action="store_true", help="SUBMISSION is one student's, even if it looks like a class")
    add("--student", action="append", default=[], metavar="ID", help="grade this student only; may be repeated")
    what = parser.add_argument_group("what")
    add = what.add_argument
    add("--only", action="append", default=[], metavar="EX", help="grade this exercise only; may be repeated")
    add("--notebooks", action="store_true", help="also look for answers in the cells of notebooks")
    add("--trusted", action="store_true",
        help="grade although this system lacks locks that matter: you trust the answers, or nothing else is"
        " on this machine")  # fmt: skip
    add("--jail", metavar="COMMAND", default="",
        help="run all answers below this command, such as 'bwrap --unshare-all ...'")  # fmt: skip
    add(
        "--late",
        metavar="OFF",
        default="",
        help="points or percent deducted per day late, such as 2 or 10%%; see --due",
    )
    add("--due", metavar="TIME", default="", help="deadline, such as 2027-02-01T23:59+01:00, or 2027-02-01 for its end")
    add("--grace", metavar="SPAN", default="", help="grace period, such as 15m")
    add("--cut-off", metavar="SPAN", default="", help="no points after this delay, such as 7d")
    add(
        "--overrides",
        type=path,
        metavar="CSV",
        help="grades that replace the computed ones: id, exercise, points, comment, private",
    )
    again = parser.add_argument_group("again")
    add = again.add_argument
    add("--journal", type=path, metavar="FILE", help="save all grades here (default: next to the first csv or junit)")
    add("--resume", action="store_true", help="continue the stopped run of this journal")
    add("--regrade", type=path, metavar="OLD", help="the journal of an earlier run: list whose points change")


def run(args: argparse.Namespace) -> int:
    from minirnn.learn.course import CourseError
    from minirnn.learn.grading.session import Session
    from minirnn.learn.sandbox.system_locks import FORKS, decisive, in_force
    from minirnn.learn.sandbox.templates import JAIL

    if not FORKS:
        raise UserError(
            "minirnn grade needs Linux or macOS: this system has no sandbox for answers"
            "\n  on Windows install the Linux subsystem: wsl --install"
        )
    check_options(args)
    if args.jail:
        os.environ[JAIL] = args.jail  # the processes of --jobs inherit it
    if not args.trusted and (missing := decisive()):
        raise UserError(
            f"this system lacks {' and '.join(missing)}: answers could read and change your files (locks: {in_force()})"
            "\n  expected a system with them, or a machine that holds nothing else"
            "\n  to grade there anyway, or for answers that you trust: --trusted"
        )
    where = args.executor or (f"processes:{args.jobs}" if args.jobs > 1 else "")
    with ExitStack() as stack:
        # This comes first: with mpi, all ranks but one stop here.
        executor = stack.enter_context(chosen_executor(where)) if where else None
        with user_mistakes():
            session = stack.enter_context(Session(args, executor, ahead_of(where)))
        try:
            return session.run()
        except CourseError as error:
            raise UserError(str(error)) from error


def ahead_of(where: str) -> int:
    """The number of submissions read before a worker is free: two for each known worker."""
    number = where.partition(":")[2]
    return min(MOST_AHEAD, 2 * int(number)) if where.startswith(("threads", "processes")) and number else MOST_AHEAD


def check_options(args: argparse.Namespace) -> None:
    """Raises UserError if the options contradict each other."""
    try:
        jail = shlex.split(args.jail)
    except ValueError as error:
        raise UserError(f"--jail is {args.jail!r}: {error}") from None
    if jail and not shutil.which(jail[0]):
        raise UserError(f"--jail: there is no command {jail[0]!r}\n  expected, for example, 'bwrap --unshare-all ...'")
    if args.jobs < 1:
        raise UserError(f"--jobs is {args.jobs}\n  expected at least 1")
    if args.jobs > 1 and args.executor:
        raise UserError(f"--jobs {args.jobs} and --executor {args.executor} both say where to grade\n  expected one")
    for name in ("due", "grace", "cut_off"):
        if getattr(args, name) and not args.late:
            raise UserError(
                f"--{name.replace('_', '-')} without --late\n"
                "  expected --late as well, with the points deducted per day"
            )
