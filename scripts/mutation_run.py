"""Runs tests against mutants: each lives in a forked process, and no file is changed. Used by the scripts `mutate_*`.

The tests are collected once. Every mutant replaces the code of one function (or the text of one CUDA file) in the
memory of a process of its own, where its tests run until the first one fails: then the mutant is "killed". One that
"survived" shows something that no test looks at. Linux and macOS. Needs the [test] extra.
"""

from __future__ import annotations

import gc
import importlib
import inspect
import json
import os
import resource
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

for _library in ("OMP", "OPENBLAS", "MKL"):  # a forked process has no use for the threads of its parent
    os.environ[f"{_library}_NUM_THREADS"] = "1"

import pytest  # noqa: E402

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]
from mutants import Mutant  # noqa: E402

SLOW = 1.5  # seconds; slower tests are not for this
CPU_SECONDS = 120  # of all tests of a mutant together


@dataclass(frozen=True)
class Target:
    """Which functions of a file are changed, and which tests shall notice."""

    path: str
    functions: str
    tests: tuple[str, ...]


def install(mutant: Mutant) -> None:
    """Make this process compute with the mutant."""
    if mutant.code is None:
        device: Any = importlib.import_module("minirnn.devices.cuda.device")
        original, name = device.text, mutant.path.partition("/kernels/")[2]  # as the device and #include name it
        if name.endswith(".cuh"):  # its text in place of the line that includes it
            once = mutant.text.replace("#pragma once", "")
            device.text = lambda wanted: original(wanted).replace(f'#include "{name}"', once)
        else:
            device.text = lambda wanted: mutant.text if wanted == name else original(wanted)
        return
    module: Any = importlib.import_module(mutant.path.removesuffix(".py").replace("/", "."))
    owner, _, name = mutant.function.rpartition(".")
    function_of(getattr(module, owner) if owner else module, name).__code__ = mutant.code


def function_of(owner: Any, name: str) -> Any:
    """The function behind a name of a module or class, also of a property, a class method or a decorated one."""
    found = inspect.getattr_static(owner, name)
    found = getattr(found, "fget", None) or getattr(found, "__func__", found)
    return inspect.unwrap(found)


def limit_this_process() -> None:
    """A mutant may compute for ever, or take all the memory."""
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 5))
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))


def tell(mutant: Mutant, killer: str, verbose: bool) -> None:
    """Print what became of a mutant; if not `verbose`, only of one that survived."""
    if verbose or not killer:
        print(f"{'killed by ' + killer if killer else 'SURVIVED'}: {mutant}", flush=True)


class Runner:
    """A pytest plugin that, instead of running the collected tests once, runs some of them for every mutant."""

    def __init__(self, chosen: Sequence[tuple[Target, Mutant]], verbose: bool, torch: bool = True) -> None:
        self.chosen, self.verbose, self.torch = chosen, verbose, torch
        self.failed: list[str] = []
        self.seconds: dict[str, float] = {}
        self.killers: Counter[tuple[str, str]] = Counter()
        self.found: list[tuple[Mutant, str]] = []  # each mutant and its killer, "" if it survived

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if self.torch:
            with suppress(ImportError):  # some tests compare with it; importing it takes longer than a mutant lives
                importlib.import_module("torch")
        gc.freeze()  # pages that the garbage collector does not touch are not copied
        failed, seconds = self.fork(None, session.items)
        for test in failed:
            print(f"left out, since it fails without any mutant: {test}")
        useful = [i for i in session.items if i.nodeid not in failed and seconds[i.nodeid] < SLOW]
        for target, mutant in self.chosen:
            # A test that killed one mutant often kills the next one too; then those that name the op; then quick ones.
            items = [item for item in useful if item.nodeid.startswith(target.tests)]
            op, kills = mutant.function.partition(".")[0].lower(), self.killers
            items.sort(key=lambda i: (-kills[target.path, i.nodeid], op not in i.nodeid, seconds[i.nodeid]))  # noqa: B023
            killer = next(iter(self.fork(mutant, items)[0]), "")
            self.killers[target.path, killer] += 1
            self.found.append((mutant, killer))
            if self.killers.total() % 100 == 0:
                print(f"{self.killers.total()} of {len(self.chosen)}, at {mutant.path}", file=sys.stderr, flush=True)
            tell(mutant, killer, self.verbose)
        return True

    @property
    def survivors(self) -> list[Mutant]:
        return [mutant for mutant, killer in self.found if not killer]

    def fork(self, mutant: Mutant | None, items: list[pytest.Item]) -> tuple[list[str], dict[str, float]]:
        """Run the tests in a process of its own, with a mutant until one fails: failed ones, and seconds for each."""
        plugins = items[0].config.pluginmanager
        read, write = os.pipe()
        if child := os.fork():
            os.close(write)
            with os.fdopen(read) as pipe:
                said = pipe.read()
            os.waitpid(child, 0)
            return tuple(json.loads(said)) if said else (["the process died"], {})
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            os.dup2(1, 2)
            plugins.unregister(name="terminalreporter")
            if mutant is not None:
                limit_this_process()
                install(mutant)
            for item, following in zip(items, [*items[1:], None], strict=True):
                start = time.process_time()
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                self.seconds[item.nodeid] = time.process_time() - start
                if self.failed and mutant is not None:
                    break
        except BaseException as error:  # a mutant may break anything
            self.failed.append(repr(error))
        with os.fdopen(write, "w") as pipe:
            json.dump([self.failed, self.seconds], pipe)
        os._exit(0)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.append(report.nodeid)


def run(
    chosen: Sequence[tuple[Target, Mutant]], *, device: str = "cpu", verbose: bool = False, torch: bool = True
) -> Runner:
    """Collect the tests of all targets and run them against each mutant. Raises SystemExit if none can be collected."""
    runner = Runner(chosen, verbose, torch)
    if not torch:
        sys.modules["torch"] = None  # type: ignore[assignment]  # an import of it fails
    os.chdir(ROOT)
    options = ["-q", "-p", "no:cacheprovider", "--no-header", "--no-summary", "--devices", device, "--timeout", "120"]
    options += ["-n", "0"]  # the plugin forks this very process
    paths = sorted({path for target, _ in chosen for path in target.tests})
    status = pytest.main([*options, *paths], plugins=[runner])
    if status not in (0, 5):
        raise SystemExit(int(status))
    return runner
