"""Shows mutants to tests: ``python -m mutation.trial TASKS`` in a tree. Linux and macOS.

The tests are collected once. For each mutant, the file of the tree is changed for programs that tests start, and a
forked process replaces the code in its memory and runs the chosen tests until the first one fails.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import select
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest

from mutation import trees

PATIENCE = 10
"""The limit for a test with a mutant, as a multiple of its usual time plus some seconds, because it may run forever."""
MEMORY = 8 << 30
Timed = tuple[pytest.Item, float]
"""A test and its time in seconds."""


class Trial:
    """A pytest plugin that runs some of the collected tests for each mutant."""

    def __init__(self, tasks: list[dict[str, Any]], out: Path) -> None:
        self.tasks, self.out = tasks, out
        self.failed = ""
        self.killers: Counter[str] = Counter()
        self.unsound: dict[str, bool] = {}  # whether a test that killed a mutant also fails without it

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = {item.nodeid: item for item in session.items}
        self.functions = functions_by_place()
        gc.freeze()  # pages that the garbage collector does not touch are not copied
        with self.out.open("a", encoding="utf-8") as stream:
            for number, task in enumerate(self.tasks, 1):
                tests = [(items[name], seconds) for name, seconds in task["tests"] if name in items]
                start = time.monotonic()
                killer = self.killer(number, task, tests)
                result = {"key": task["key"], "killer": killer, "tests": len(tests)}
                stream.write(json.dumps({**result, "seconds": round(time.monotonic() - start, 2)}) + "\n")
                stream.flush()
        return True

    def killer(self, number: int, task: dict[str, Any], tests: list[Timed]) -> str:
        """The first test that fails because of a mutant, or an empty string."""
        task["original"] = Path(task["path"]).read_text(encoding="utf-8")
        # a test that killed often is likely to kill the next mutant
        tests = sorted(tests, key=lambda test: -self.killers[test[0].nodeid])
        while tests := [test for test in tests if not self.unsound.get(test[0].nodeid)]:
            with changed(Path(task["path"]), task["text"], number):
                name = self.fork(task, tests)
            by = next((test for test in tests if name.startswith(test[0].nodeid)), None)
            if by is None:
                return name
            if by[0].nodeid not in self.unsound:
                self.unsound[by[0].nodeid] = bool(self.fork(None, [by]))
            if not self.unsound[by[0].nodeid]:
                self.killers[by[0].nodeid] += 1
                return name
            print(f"left out, since it fails without any mutant: {by[0].nodeid}", file=sys.stderr, flush=True)
        return ""

    def fork(self, task: dict[str, Any] | None, tests: list[Timed]) -> str:
        """Run the tests in a forked process with the mutant of a task. Returns the test that failed, or an empty
        string.
        """
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            self.run_in_child(task, tests, write)
        os.close(write)
        said, limit, name = b"", 120.0, "the start"
        while ready := select.select([read], [], [], limit)[0]:
            more = os.read(read, 1 << 16)
            if not more:
                break
            said += more
            lines = said.split(b"\n")
            begun = [json.loads(line) for line in lines[:-1] if line.startswith(b"[")]
            if begun:
                name, seconds = begun[-1]
                limit = 60 + 3 * PATIENCE * seconds
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(child, signal.SIGKILL)
        os.close(read)
        os.waitpid(child, 0)
        last = said.split(b"\n")[-1].decode()
        if not ready:
            return f"{name} (no end)"
        return json.loads(last) if last else f"{name} (died)"

    def run_in_child(self, task: dict[str, Any] | None, tests: list[Timed], write: int) -> None:
        try:
            os.setsid()
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            os.dup2(1, 2)
            tests[0][0].config.pluginmanager.unregister(name="terminalreporter")
            if task is not None:
                self.install(task["path"], task["original"], task["text"])
            for (item, seconds), following in zip(tests, [*tests[1:], (None, 0)], strict=True):
                os.write(write, json.dumps([item.nodeid, seconds]).encode() + b"\n")
                resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
                limit = int(time.process_time() + PATIENCE * (1 + seconds)) + 1
                resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following[0])
                if self.failed:
                    break
        except BaseException as error:  # a mutant may break anything
            self.failed = repr(error)[:300]
        os.write(write, json.dumps(self.failed).encode())
        os._exit(0)

    def install(self, path: str, original: str, text: str) -> None:
        """Replace the code of the functions that this process has loaded from the file by that of the changed text."""
        full = str(Path(path).resolve())
        if not path.endswith(".py"):
            return
        known = {(c.co_firstlineno, c.co_qualname): c for c in codes(compile(original, full, "exec"))}
        for code in codes(compile(text, full, "exec", dont_inherit=True)):
            before = known.get((code.co_firstlineno, code.co_qualname))
            for function in self.functions.get((full, code.co_firstlineno), ()):
                new = code
                if function.__code__.co_qualname != code.co_qualname:
                    if before is None or not is_renamed(before, function.__code__):
                        continue
                    new = renamed_like(before, function.__code__, code)
                if function.__code__.co_freevars == new.co_freevars and function.__code__ != new:
                    function.__code__ = new

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed = self.failed or report.nodeid


@contextmanager
def changed(path: Path, text: str, number: int) -> Iterator[None]:
    """Write another text to a file. Each text gets its own time stamp, by which Python recognizes what it has
    compiled.
    """
    original, when = path.read_bytes(), path.stat().st_mtime_ns
    path.write_text(text, encoding="utf-8")
    os.utime(path, ns=(when, when + number * 10**9))
    try:
        yield
    finally:
        path.write_bytes(original)
        os.utime(path, ns=(when, when))


def codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from codes(constant)


def is_renamed(before: CodeType, now: CodeType) -> bool:
    """Whether a function has its original code, with other names written into it (`declare.named`)."""
    return (before.co_code, before.co_varnames, len(before.co_names)) == (
        now.co_code,
        now.co_varnames,
        len(now.co_names),
    )


def renamed_like(before: CodeType, now: CodeType, code: CodeType) -> CodeType:
    """Other code for the function `before`, with the names that were written into `now`."""
    names = dict(zip(before.co_names, now.co_names, strict=True))
    called = tuple(names.get(name, name) for name in code.co_names)
    return code.replace(co_names=called, co_name=now.co_name, co_qualname=now.co_qualname)


def functions_by_place() -> dict[tuple[str, int], list[FunctionType]]:
    """All functions of the package in this process, by file and line."""
    import minirnn

    package = str(Path(str(minirnn.__file__)).parent)
    found: dict[tuple[str, int], list[FunctionType]] = {}
    gc.unfreeze()  # frozen objects are not found
    for one in gc.get_objects():
        if isinstance(one, FunctionType) and one.__code__.co_filename.startswith(package):
            code = one.__code__
            found.setdefault((code.co_filename, code.co_firstlineno), []).append(one)
    return found


def main(file: str) -> int:
    tasks = [json.loads(line) for line in Path(file).read_text(encoding="utf-8").splitlines()]
    files = sorted({name.partition("::")[0] for task in tasks for name, _ in task["tests"]})
    return trees.collect_and(Trial(tasks, Path(file).with_suffix(".out")), files)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
