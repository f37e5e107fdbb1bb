"""Copies of the repository, in which tests run: once to record the lines that each of them enters, and for each mutant.

`coverage` records, in the process of the tests and in all that they start. This file is also the plugin of pytest that
tells it which test runs.
"""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Generator, Iterable
from contextlib import suppress
from itertools import count
from pathlib import Path
from queue import Queue

import coverage
import pytest

from mutation.mutants import Mutant

NOT_COPIED = (".git", ".venv*", "__pycache__", ".*_cache", ".hypothesis", "_build", "build", "dist", "minirnn-out")
QUIET = ("-q", "-p", "mutation.laboratory", "--assert=plain", "--no-header", "--continue-on-collection-errors")
PATIENCE = ("-x", "-n", "0", "--timeout", "120", "--timeout-method", "thread")
"""A mutant may run forever, also in compiled code, which only the end of the process ends."""
MEMORY = 8 << 30
MOST = 60
"""The most tests that a mutant meets."""


def pytest_configure() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    if running := coverage.Coverage.current():
        running.switch_context(item.nodeid)
    return (yield)


class Laboratory:
    """Copies of a tree: the checkout is never changed."""

    def __init__(self, root: Path, workers: int, folder: Path) -> None:
        from minirnn.devices.host_cpp.cache import cache_folder  # here, because a mutant's process must import its own

        self.folder, self.workers, self.stamps = folder, workers, count(1)
        self.trees: Queue[Path] = Queue()
        for k in range(workers):
            copied = shutil.copytree(root, folder / f"tree{k}", True, shutil.ignore_patterns(*NOT_COPIED))
            self.trees.put(copied)
        # A mutant may compile what it must not, for example a kernel that the rules forbid, so nothing of it may stay.
        with suppress(shutil.Error, FileNotFoundError):  # another process has pruned a file
            shutil.copytree(cache_folder(""), folder / "cache")

    def environment(self, tree: Path) -> dict[str, str]:
        """The environment of a process in which minirnn, also in all programs that it starts, is that of the tree."""
        threads = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}
        path = os.pathsep.join([str(tree), str(Path(__file__).parents[1])])
        outside = {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}
        return {**outside, **threads, "PYTHONPATH": path, "MINIRNN_CACHE": str(self.folder / "cache")}

    def pytest(self, tree: Path, *arguments: str, **variables: str) -> tuple[int, set[str]]:
        """Run tests in a tree. Returns the exit status and the ids of those that failed."""
        shutil.rmtree(tree / ".pytest_cache", ignore_errors=True)
        environment = self.environment(tree) | variables
        command = [sys.executable, "-m", "pytest", *QUIET, *arguments]
        with (tree / ".said").open("wb") as said:
            done = subprocess.run(
                command, cwd=tree, env=environment, stdin=subprocess.DEVNULL, stdout=said, stderr=said
            )
        failed = tree / ".pytest_cache" / "v" / "cache" / "lastfailed"
        return done.returncode, set(json.loads(failed.read_text(encoding="utf-8"))) if failed.exists() else set()

    def record(self, tests: Iterable[str], paths: set[str]) -> dict[tuple[str, int], set[str]]:
        """The tests of these files that pass and enter each line of the paths."""
        tree, settings, data = self.trees.get(), self.folder / "coverage.ini", self.folder / "entered"
        shutil.rmtree(data, ignore_errors=True)
        data.mkdir()
        measured = "".join(f"\n    {tree / path}" for path in paths)
        settings.write_text(
            # the core of Python 3.14 notes each line once, not once in each test
            f"[run]\ncore = ctrace\nparallel = true\ndata_file = {data / 'lines'}\ninclude = {measured}\n"
            "context = ${PYTEST_CURRENT_TEST-}\n",  # of a program that a test starts
            encoding="utf-8",
        )
        status, failed = self.pytest(tree, "-n", str(self.workers), *tests, COVERAGE_PROCESS_START=str(settings))
        if status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED):
            print((tree / ".said").read_text(encoding="utf-8", errors="replace")[-3000:], file=sys.stderr)
        found: dict[tuple[str, int], set[str]] = {}
        recorded = coverage.Coverage(config_file=str(settings))
        with suppress(coverage.exceptions.NoDataError):
            recorded.combine()
        for path in paths:
            for line, contexts in recorded.get_data().contexts_by_lineno(str(tree / path)).items():
                entered = {re.sub(r" \((setup|call|teardown)\)$", "", context) for context in contexts}
                found[path, line] = entered - failed - {""}
        self.trees.put(tree)
        return found

    def is_killed(self, mutant: Mutant, tests: Iterable[str]) -> bool:
        """Whether one of the tests fails with the mutant, or cannot begin."""
        tree = self.trees.get()
        file = tree / mutant.path
        original, before = file.read_bytes(), file.stat()
        try:
            file.write_text(mutant.make() or "", encoding="utf-8")
            stamp = next(self.stamps)  # Python recognizes by it what it has compiled
            os.utime(file, (stamp, stamp))
            status, _ = self.pytest(tree, *PATIENCE, *tests)
        finally:
            file.write_bytes(original)
            os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
            self.trees.put(tree)
        return status not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)


def nearest(tests: Iterable[str], lines: Counter[str]) -> list[str]:
    """Tests that enter few lines first, one case of each function before the second."""
    cases: Counter[str] = Counter()
    ranked = []
    for name in sorted(tests, key=lambda name: (lines[name], name)):
        function = name.partition("[")[0]
        ranked.append((cases[function], lines[name], name))
        cases[function] += 1
    return [name for _, _, name in sorted(ranked)[:MOST]]
