"""Records which tests enter which segment, and their times: ``python -m mutation.record CACHE FILE...`` in a tree."""

from __future__ import annotations

import builtins
import json
import os
import resource
import sys
import time
from collections.abc import Generator, Iterable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from _pytest.runner import runtestprotocol

from mutation import probes, trees


def stored(cache: Path, root: Path, file: str) -> Path:
    """The path of the record of a test file, which changes if the file or the shared files of its folder change."""
    path = root / file
    texts = sha256(path.read_bytes())
    for other in sorted(path.parent.glob("*.py")):
        if not other.name.startswith("test_"):
            texts.update(other.read_bytes())
    name = file.removesuffix(".py").replace("/", ".")
    return cache / f"{name}.{texts.hexdigest()[:12]}.npz"


class Recorder:
    """A pytest plugin that writes the record of each file as soon as its tests have run."""

    def __init__(self, cache: Path, files: Sequence[str]) -> None:
        self.cache, self.files = cache, files
        self.read = 0  # the number of bytes that other processes have written
        self.hits: set[str] = getattr(builtins, probes.HITS)
        self.shared: dict[int, set[str]] = {}  # segments that the set-up of a shared fixture enters
        self.tests: dict[str, tuple[float, str, set[str]]] = {}
        self.outcome = "passed"
        self.saved: set[str] = set()
        self.root = Path.cwd()

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        if exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED):
            for file in set(self.files) - self.saved:  # all its tests are slow, so its record is empty
                self.save(file, {})

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        modules = [m for name, m in sys.modules.items() if name.startswith("tests.") and m is not None]
        found = {id(one): one for m in modules for one in vars(m).values() if hasattr(one, "cache_clear")}
        self.caches = [one for one in found.values() if getattr(one, "__module__", "").startswith("tests.")]

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Generator[None, Any, Any]:
        before = set(self.hits)
        self.hits.clear()
        try:
            return (yield)
        finally:
            self.read_written()
            if fixturedef.scope != "function":
                self.shared[id(fixturedef)] = set(self.hits)
            self.hits |= before

    def pytest_runtest_protocol(self, item: Any, nextitem: Any) -> bool:
        for one in self.caches:
            one.cache_clear()
        self.read_written()
        self.hits.clear()
        self.outcome, start = "passed", seconds()
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        runtestprotocol(item, nextitem=nextitem)
        self.read_written()
        entered = set(self.hits)
        for definitions in item._fixtureinfo.name2fixturedefs.values():
            entered.update(*(self.shared.get(id(definition), ()) for definition in definitions))
        self.tests[item.nodeid] = (seconds() - start, self.outcome, entered)
        file = item.nodeid.partition("::")[0]
        if nextitem is None or nextitem.nodeid.partition("::")[0] != file:
            self.save(file, self.tests)
            self.tests = {}
        return True

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.outcome = "failed"
        elif report.skipped and self.outcome == "passed":
            self.outcome = "skipped"

    def read_written(self) -> None:
        if os.stat(".hits").st_size > self.read:
            with Path(".hits").open("rb") as stream:
                stream.seek(self.read)
                self.hits.update(line.decode() for line in stream.read().splitlines())
                self.read = stream.tell()

    def save(self, file: str, tests: dict[str, tuple[float, str, set[str]]]) -> None:
        tests = {name: test for name, test in tests.items() if test[1] != "skipped"}
        keys = sorted(set().union(*(test[2] for test in tests.values())))
        column = {key: k for k, key in enumerate(keys)}
        bits = np.zeros((len(tests), len(keys)), bool)
        for row, (_, _, entered) in zip(bits, tests.values(), strict=True):
            row[[column[key] for key in entered]] = True
        path = stored(self.cache, self.root, file)
        temporary = path.with_suffix(f".{os.getpid()}")
        with temporary.open("wb") as stream:
            np.savez_compressed(
                stream, keys="\n".join(keys), tests=json.dumps([[n, t[0], t[1]] for n, t in tests.items()]),
                bits=np.packbits(bits, axis=1),
            )  # fmt: skip
        temporary.replace(path)
        self.saved.add(file)


def seconds() -> float:
    """The time of this process and of the programs that it has waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def record(root: Path, cache: Path, files: Iterable[str], workers: list[Path]) -> None:
    """Let the workers, each in a tree with probes, record the files that have no record yet."""
    missing = [file for file in files if not stored(cache, root, file).exists()]
    if missing:
        print(f"recording {len(missing)} test files", file=sys.stderr, flush=True)
        cache.mkdir(parents=True, exist_ok=True)
        shares = [missing[k :: len(workers)] for k in range(len(workers))]
        started = {
            tree: trees.start("record", tree, str(cache), *share)
            for tree, share in zip(workers, shares, strict=True)
            if share
        }
        trees.wait(started)


def main(cache: str, *files: str) -> int:
    os.environ[probes.RECORDER] = str(os.getpid())
    Path(".hits").touch()
    __import__("minirnn")
    return trees.collect_and(Recorder(Path(cache), files), files)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
