"""What `minirnn grade` does, from its options to its exit status."""

from __future__ import annotations

import argparse
import contextlib
import sys
import tempfile
from collections.abc import Collection, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from pathlib import Path

from tqdm import tqdm

from minirnn.learn.cleaned import several
from minirnn.learn.course import HERE, CourseError, load
from minirnn.learn.grading.courses import pack_course
from minirnn.learn.grading.journal import Journal, Records
from minirnn.learn.grading.late import Late, check_times, read_policy
from minirnn.learn.grading.overrides import Decisions, read_overrides
from minirnn.learn.grading.publish import Publisher
from minirnn.learn.grading.reading import parts_of_a_class
from minirnn.learn.grading.regrade import Difference, differences, in_words
from minirnn.learn.grading.run import Assignment, grade_all, header_of, take_over
from minirnn.learn.grading.stamp import stamp_of
from minirnn.learn.grading.students import Student, known, students_of, where
from minirnn.learn.grading.whole_class import ClassReports
from minirnn.learn.reports import FORMATS, OTHERS, Reports
from minirnn.learn.reports.sheet import Sheet

MOST_SAID = 20
CHANGE_REPORTS = ("roster", "overrides", "late", "due", "grace", "cut_off")
"""Options that change the reports and not the journal."""


class Session:
    """One run of the command. It is a context manager; leaving it closes the journal.

    Parameters
    ----------
    args : Namespace
        The options of `minirnn grade`.
    executor : Executor or None
        Where to grade; None for this process alone.
    ahead : int
        How many submissions are read before a worker is free.

    Raises
    ------
    CourseError
        If anything is wrong with the options or the files they name, before anything is graded.
    """

    def __init__(self, args: argparse.Namespace, executor: Executor | None = None, ahead: int = 64) -> None:
        self.args, self.executor, self.ahead = args, executor, ahead
        self.course = load(args.course or HERE)
        self.only = [self.course.entry(id).id for id in dict.fromkeys(args.only)]
        parts = lambda path: [] if args.one else parts_of_a_class(path, self.course)  # noqa: E731
        everybody = students_of(args.submissions, args.id, args.roster, parts)
        self.path = args.journal or journal_beside(args.out)
        if args.resume and self.path is None:
            raise CourseError("--resume: there is no journal to continue\n  expected --journal FILE, or --out csv:FILE")
        there = self.path is not None and self.path.is_file()
        # One more student is graded into the existing journal. Without it the reports would lose all others.
        self.resume = args.resume or bool(args.student and args.regrade is None and there)
        self.old, self.replaced = earlier(args.regrade, self.path, self.resume)
        before = [Records(self.path)] if self.path is not None and there and self.resume else []
        before += [self.old] if self.old is not None else []
        self.reported = before[0].reported if before else {}
        everybody = with_kept(everybody, [id for records in before for id in records.students], args.roster is None)
        asked = chosen(everybody, args.student)
        self.students = everybody if before else asked
        self.again = [student.id for student in asked] if args.student else []
        self.decisions = Decisions(
            read_overrides(args.overrides, self.course, everybody) if args.overrides else {},
            late_of(args, self.students),
        )
        self.stamp = stamp_of(self.course)
        others = [text for text in args.out if text.partition(":")[0] in OTHERS]
        mine = [text for text in args.out if text not in others]
        self.reports = Reports(mine, len(self.students), self.stamp)
        self.class_reports = ClassReports(others, args.regrade is not None)
        self.to_grade = asked
        self.closing = contextlib.ExitStack()

    def __enter__(self) -> Session:
        path = self.path
        if path is None:
            folder = self.closing.enter_context(tempfile.TemporaryDirectory(prefix="minirnn-journal-"))
            path = Path(folder) / "journal"
        header = header_of(pack_course(self.course), self.args.notebooks)
        self.journal = self.closing.enter_context(Journal(path, header, self.resume))
        if self.old is not None and self.replaced:
            self.old.path = older(path)
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        self.closing.close()
        if kind is KeyboardInterrupt and self.path is not None:
            print(f"stopped: the grades so far are in {self.path}, and --resume continues", file=sys.stderr)

    def run(self) -> int:
        """Grade, report, and return the exit status: 1 if anything could not be graded."""
        for lack in self.stamp.lacks:
            print(f"not locked as it should be: {lack}", file=sys.stderr)
        for student in self.students:
            if not student.listed and student.submission is not None:
                print(f"{student.id} is not on the roster ({where(student)})", file=sys.stderr)
        args = self.args
        number = sum(student.submission is not None for student in self.students)
        if len(args.submissions) == 1 < number:
            print(f"{args.submissions[0]} is a class: it has the submissions of {number} students", file=sys.stderr)
        plan = Assignment(self.course, self.to_grade, self.only, self.again, args.notebooks, self.executor, self.ahead)
        options = {name: str(getattr(args, name)) for name in CHANGE_REPORTS if getattr(args, name)}
        missing = [f"--{name.replace('_', '-')} {self.reported[name]}" for name in self.reported if name not in options]
        if missing and args.out:
            print(f"the last reports used {', '.join(missing)}; this run does not", file=sys.stderr)
        if args.out:
            self.journal.report(options)
        graded = {student.id for student in self.to_grade if student.submission is not None}
        if self.old is not None:
            take_over(self.old, self.journal)
        publisher = Publisher(self.course, self.students, self.journal, self.reports, self.decisions, self.only)
        by_id = {student.id: student for student in self.students}
        most = sum(student.submission is not None for student in self.to_grade)
        with tqdm(total=most, unit=" submissions", disable=None, leave=False) as bar:

            def after(sheet: Sheet) -> None:
                with tqdm.external_write_mode():
                    print(told(self.decisions.applied(sheet, by_id[sheet.student])), flush=True)
                bar.update()

            try:
                grade_all(plan, self.journal, publisher, after)
            except KeyboardInterrupt:
                publisher.now()
                raise
        self._absent(graded)
        found = self._differences(publisher)
        reports = publisher, found, self.course, self.students, args.notebooks, self.only
        failed = self.class_reports.write(*reports)
        for said in failed:
            print(said, file=sys.stderr)
        return 1 if failed or any(sheet.problem or sheet.busy for sheet in publisher) else 0

    def _absent(self, graded: Collection[str]) -> None:
        kept = sum(student.kept and student.id not in graded for student in self.students)
        if kept:
            print(f"kept the grades of {several(kept, 'student')} not graded this time")
        for student in self.students:
            if not student.handed_in:
                print(f"{student.id}: handed in nothing")

    def _differences(self, publisher: Publisher) -> list[Difference]:
        """What changed since the earlier run."""
        if self.old is None:
            return []
        decided = self.decisions
        pairs = []
        for student in self.students:
            before = self.old.read(student.id)
            if before is not None or student.handed_in:
                pairs.append((before and decided.applied(before, student), publisher.sheet(student)))
        found = [one for pair in pairs for one in differences([pair])]
        lines = in_words(found)
        changed = f"{len(lines)} of {len(self.students)} students have different points than before"
        print(changed + (":" if lines else ""))
        for line in lines[:MOST_SAID]:
            print(f"  {line}")
        if len(lines) > MOST_SAID:
            print(f"  and {len(lines) - MOST_SAID} more")
        return found


def told(sheet: Sheet) -> str:
    """What the command prints when a submission is graded."""
    line = f"{sheet.student}: {sheet.score} of {sheet.most} points, {sheet.seconds:.0f} s"
    if sheet.problem:
        line += f"; not graded: {sheet.problem}"
    if sheet.busy:
        line += f"; not judged, grade again: {', '.join(sheet.busy)}"
    return "".join([line, *(f"\n  {note}" for note in sheet.notes)])


def chosen(students: Sequence[Student], names: Sequence[str]) -> list[Student]:
    """The students with these names; all if there is none."""
    by_name = {known(student.id): student for student in students}
    for name in names:
        if known(name) not in by_name:
            raise CourseError(
                f"--student: there is no student {name!r}\n  there are: {', '.join(s.id for s in students)}"
            )
    return [by_name[name] for name in dict.fromkeys(map(known, names))] or list(students)


def with_kept(students: Sequence[Student], ids: Sequence[str], listed: bool) -> list[Student]:
    """The students, and those of earlier runs who are not among them; all with the ids of the earlier runs."""
    kept = {known(id): id for id in ids}
    found = [replace(s, id=kept.get(known(s.id), s.id), kept=known(s.id) in kept) for s in students]
    there = {known(student.id) for student in students}
    return found + [Student(id, listed=listed, kept=True) for key, id in kept.items() if key not in there]


def late_of(args: argparse.Namespace, students: Sequence[Student]) -> Late | None:
    if not args.late:
        return None
    late = read_policy(args.late, args.due, args.grace, args.cut_off)
    check_times(late, students)
    return late


def journal_beside(wanted: Sequence[str]) -> Path | None:
    """The default path of the journal: next to the first report that holds many submissions."""
    for text in wanted:
        name, _, path = text.partition(":")
        if name in FORMATS and FORMATS[name].MANY and path:
            return Path(f"{path}.journal")
    return None


def older(path: Path) -> Path:
    """The name of a journal after another one took its place."""
    return path.with_name(path.name + "~")


def earlier(path: Path | None, journal: Path | None, resume: bool) -> tuple[Records | None, bool]:
    """The journal to compare with, and whether the new one is about to take its place."""
    if path is None:
        return None, False
    same = journal is not None and path.exists() and journal.exists() and path.samefile(journal)
    if same and resume:  # it has taken it already
        path, same = older(path), False
    if not path.is_file():
        raise CourseError(f"{path}: no such file\n  expected the journal of an earlier run")
    found = Records(path)
    if not found.end:
        raise CourseError(f"{path} is empty\n  expected the journal of an earlier run")
    return found, same
