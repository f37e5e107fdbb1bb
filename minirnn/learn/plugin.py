"""The pytest plugin: plain `pytest` in a course folder, and what teachers need for their own exercises.

It is loaded with ``-p minirnn.learn.plugin``, which is in the pytest.ini of a course folder (`minirnn learn init`).
There every output of every exercise is a test. The plugin also provides

- the mark ``exercise(id, points=..., title=..., hidden=...)`` on tests, and ``--report=FORMAT:FILE`` that turns them
  into grades: an exercise has its points if all its tests pass;
- a test that ends in ``NotImplementedError`` and has the mark is skipped as "not started";
- the fixtures ``device``, ``rng`` and ``assert_grads``, unless a conftest.py defines its own.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

DEVICES = "cpu"
REPORTS = pytest.StashKey[Any]()
BOOK = pytest.StashKey["GradeBook"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("minirnn")
    group.addoption("--devices", default=None, help="run tests with the fixture `device` on these (default: cpu)")
    group.addoption("--report", action="append", default=[], metavar="FORMAT:FILE",
                    help="write grades of the tests marked `exercise`, such as gradescope:results.json")  # fmt: skip


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "exercise(id, points=1, title=None, hidden=False): the test belongs to an exercise; see --report"
    )
    if wanted := config.getoption("--report"):
        from minirnn.learn.reports import Reports

        try:
            config.stash[REPORTS] = Reports(wanted)
        except ValueError as error:
            raise pytest.UsageError(str(error)) from None
        config.stash[BOOK] = GradeBook()


# ---- plain pytest in a course folder


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """The exercises of a course folder are test files."""
    if file_path.suffix in (".py", ".cu") and len(file_path.parents) > 2 and file_path.parents[1].name == "exercises":
        from minirnn.learn.course import STATE

        if (file_path.parents[2] / STATE).is_file():
            return ExerciseFile.from_parent(parent, path=file_path)
    return None


class ExerciseFile(pytest.File):
    """An exercise of a course folder; it is run once for all its outputs."""

    result: Any = None
    entry: Any = None
    tree: Any = None
    told = False

    def collect(self) -> Iterator[pytest.Item]:
        from minirnn.learn.course import CourseError, find_tree

        try:
            self.tree = find_tree(self.path.parent)
        except CourseError as error:
            raise self.CollectError(str(error)) from None
        for entry in self.tree.course.entries.values():
            if self.tree.file(entry) == self.path:
                self.entry = entry
                for k, name in enumerate(part_names(entry)):
                    yield ExerciseItem.from_parent(self, name=f"{entry.id}[{name}]", number=k)

    def checked(self) -> Any:
        """The result of the exercise, which is checked at the first call."""
        if self.result is None:
            from minirnn.learn.check import check

            self.result = check(self.tree.course, self.entry, self.path)
            self.tree.note_passed(self.entry, self.result.passed)
        return self.result


def part_names(entry: Any) -> list[str]:
    """The names of everything that has points in an exercise."""
    return list(entry.exercise.judged)


class Wrong(Exception):
    """Raised if an output is wrong. The text is that of `minirnn check`."""


class Reason:
    """The text of a failure. A plain string would be repeated, whole, in the summary pytest prints where CI is set."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __str__(self) -> str:
        return self.text


class ExerciseItem(pytest.Item):
    """One output of an exercise."""

    parent: ExerciseFile

    def __init__(self, *, number: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.number = number

    def runtest(self) -> None:
        result = self.parent.checked()
        if result.status == "not started":
            pytest.skip("not started")
        part = result.parts[self.number] if result.parts else None
        if not result.passed and (part is None or not part.ok):
            from minirnn.learn.text import report

            told, self.parent.told = self.parent.told, True
            error = "" if part is None else f" (relative error {part.error:.2g})"
            raise Wrong(f"wrong{error}; the reason is above" if told else report(result))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        return Reason(str(excinfo.value)) if excinfo.errisinstance(Wrong) else super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, self.name


# ---- teachers' own exercises


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Stop the run before any test if a mark cannot be graded."""
    for item in items:
        for mark in item.iter_markers("exercise"):
            if not mark.args or not isinstance(mark.args[0], str):
                raise pytest.UsageError(f"{item.nodeid}: the mark exercise needs an id: exercise('ex01', points=2)")
            points = mark.kwargs.get("points", 1)
            if not isinstance(points, int) or isinstance(points, bool) or points < 0:
                raise pytest.UsageError(f"{item.nodeid}: points is {points!r}, expected a whole number from 0")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    """Report an exercise that was not begun as skipped, and record the outcome for the grades."""
    report = yield
    mark = item.get_closest_marker("exercise")
    if mark is not None:
        if call.excinfo is not None and call.excinfo.errisinstance(NotImplementedError):
            report.outcome, report.longrepr = "skipped", (str(item.path), 0, "Skipped: not started")
        if BOOK in item.config.stash:
            item.config.stash[BOOK].note(item, mark, report)
    return report


def pytest_sessionfinish(session: pytest.Session) -> None:
    if REPORTS in session.config.stash:
        session.config.stash[REPORTS].write([session.config.stash[BOOK].sheet(session.config.rootpath.name)])


class GradeBook:
    """The outcomes of the tests of each marked exercise."""

    def __init__(self) -> None:
        self.exercises: dict[str, dict[str, Any]] = {}

    def note(self, item: pytest.Item, mark: pytest.Mark, report: pytest.TestReport) -> None:
        """Record the report of one phase of a test."""
        kept = self.exercises.setdefault(
            mark.args[0],
            dict(points=0, title=None, hidden=False, file=item.path.name, outcomes={}, text=[], seconds=0.0),
        )
        kept["points"] = max(kept["points"], mark.kwargs.get("points", 1))
        kept["title"] = mark.kwargs.get("title") or kept["title"]
        kept["hidden"] |= bool(mark.kwargs.get("hidden", False))
        kept["seconds"] += report.duration
        outcomes = kept["outcomes"]
        if report.when == "call" or report.outcome != "passed":
            outcomes[item.nodeid] = "failed" if outcomes.get(item.nodeid) == "failed" else report.outcome
        if report.failed:
            kept["text"].append(f"{item.name}\n{report.longreprtext}")

    def sheet(self, student: str) -> Any:
        from minirnn.learn.reports.sheet import NOT_STARTED, Row, Sheet

        rows = []
        for number, (id, kept) in enumerate(self.exercises.items(), 1):
            outcomes = set(kept["outcomes"].values())
            passed = outcomes == {"passed"}
            message = NOT_STARTED if outcomes <= {"skipped"} else "" if passed else "a test fails"
            name = f"{id} {kept['title'] or ''}".strip()
            output = "\n\n".join(kept["text"]) or (message or "all tests pass")
            rows.append(
                Row(id, name, str(number), kept["points"] if passed else 0, kept["points"], passed, output, message,
                    kept["seconds"], kept["file"], kept["hidden"])
            )  # fmt: skip
        return Sheet(student, "pytest", rows, sum(row.seconds for row in rows))


# ---- fixtures


@pytest.fixture
def device(request: pytest.FixtureRequest) -> str:
    """The name of a minirnn device that works here; the test runs once for each of ``--devices``."""
    from minirnn import devices

    name: str = request.param
    known = devices.available()
    if name not in known:
        raise pytest.UsageError(f"--devices names {name!r}\n  there are: {', '.join(known)}")
    if known[name] is not None:
        pytest.skip(f"{name}: {known[name]}")
    return name


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    definitions = getattr(metafunc, "_arg2fixturedefs", {}).get("device")
    if definitions and definitions[-1].func.__module__ == __name__:  # not a fixture `device` of someone else's
        names = (metafunc.config.getoption("--devices") or DEVICES).split(",")
        metafunc.parametrize("device", names, indirect=True)


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """A generator of random numbers for this test alone; it gives the same ones in every run and order."""
    return np.random.default_rng(zlib.crc32(request.node.nodeid.encode()))


@pytest.fixture
def assert_grads() -> Callable[..., None]:
    """``assert_grads(got, expected, tolerance=1e-9)``: see `compare_gradients`."""
    return compare_gradients


def compare_gradients(got: Any, expected: Mapping[str, Any], tolerance: float = 1e-9) -> None:
    """Assert that gradients are right; the message has each one's error, and why it may be wrong.

    Parameters
    ----------
    got : mapping, sequence or array
        The gradients by name, or in the order of `expected`.
    expected : mapping
        Arrays or Tensors by name.
    tolerance : float
        The largest error, relative to the largest expected value of each gradient.

    Raises
    ------
    AssertionError
        If one is missing, has another shape, is not finite, or is off by more.
    """
    from minirnn.learn.judge import equal, part, rows
    from minirnn.learn.rearranged import REVERSED, SIMPLE_MISTAKES

    __tracebackhide__ = True
    if not isinstance(got, Mapping):
        values = [got] if len(expected) == 1 and not isinstance(got, list | tuple) else list(got)
        if len(values) != len(expected):
            raise AssertionError(f"got {len(values)} gradients, expected {len(expected)}: {', '.join(expected)}")
        got = dict(zip(expected, values, strict=True))
    if missing := [name for name in expected if got.get(name) is None]:
        raise AssertionError(f"no gradient for {', '.join(missing)}")
    mine = {name: np.asarray(got[name]) for name in expected}
    want = {name: np.asarray(value) for name, value in expected.items()}
    parts = [part(name, want[name], mine[name], "", tolerance) for name in want]
    if all(p.ok for p in parts):
        return
    lines = ["gradients are wrong (worst error relative to the largest expected value)", "", *rows(parts), ""]
    for p in parts:
        if p.complaint:
            lines.append(f"  {p.complaint}")
        elif not p.ok:
            for text, change in (SIMPLE_MISTAKES | REVERSED).items():
                if equal(change(want[p.name]), mine[p.name], tolerance):
                    lines.append(f"  {p.name} {text}")
                    break
    raise AssertionError("\n".join(lines).rstrip())
