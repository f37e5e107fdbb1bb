"""Runs the tests again and again: half of the runs in random order, half next to busy loops. A good suite never fails.

    python scripts/evidence/soak.py --runs 40                                  the whole suite
    python scripts/evidence/soak.py --runs 8 --minutes 30 tests/hostile        some tests, no new run after 30 minutes
    python scripts/evidence/soak.py --runs 4 -- -n 2 --restless tests/devices  what follows is handed to pytest

Every failure is named with its run, its order and the command that repeats it; FOLDER (--out) keeps what each run
printed. The exit status is 1 if any test failed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
from skipped_for import node_id  # noqa: E402

BUSY = 8  # loops that do nothing, during every second run


@dataclass
class Run:
    """One run of the tests, and its outcome."""

    number: int
    seed: int | None  # of the random order; None: in the order of the files
    busy: bool
    seconds: float = 0.0
    tests: int = 0
    skipped: int = 0
    failed: list[str] = field(default_factory=list)

    def order(self) -> str:
        return "as written" if self.seed is None else f"shuffled by {self.seed}"

    def row(self) -> str:
        beside = f"{BUSY} busy loops" if self.busy else "nothing"
        passed = self.tests - self.skipped - len(self.failed)
        counts = f"{passed:7d} {self.skipped:7d} {len(self.failed):7d}"
        return f"{self.number:4d}  {self.order():18}  {beside:12}  {self.seconds:7.0f} {counts}"


HEAD = f"{'run':>4}  {'order':18}  {'beside':12}  {'seconds':>7} {'passed':>7} {'not run':>7} {'failed':>7}"


def planned(runs: int, first_seed: int) -> list[Run]:
    """Every second run is shuffled with a new seed, and every second pair of runs has busy loops next to it."""
    return [Run(k + 1, first_seed + k if k % 2 else None, k // 2 % 2 == 1) for k in range(runs)]


@contextmanager
def company(busy: bool) -> Iterator[None]:
    """Processes that use all available processor time until this one ends."""
    code = f"import os\nwhile os.getppid() == {os.getpid()}: pass"
    loops = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(BUSY * busy)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def command_of(run: Run, results: Path, arguments: list[str]) -> list[str]:
    """The command of a run. Next to busy loops, it has as many workers as loops, each with a small part of a core."""
    order = [] if run.seed is None else [f"--shuffle={run.seed}"]
    workers = ["-n", str(BUSY)] if run.busy else []
    # Without pytest-randomly, if it is installed, because this script chooses the order.
    plain = [sys.executable, "-m", "pytest", "-q", "-p", "no:randomly", f"--junitxml={results}"]
    return [*plain, *order, *workers, *arguments]


def take(run: Run, arguments: list[str], folder: Path) -> None:
    """Run the tests once, and record the outcome."""
    results, said = folder / f"run_{run.number}.xml", folder / f"run_{run.number}.txt"
    results.unlink(missing_ok=True)
    start = time.monotonic()
    with company(run.busy), said.open("w") as out:
        status = subprocess.run(
            command_of(run, results, arguments), cwd=ROOT, stdout=out, stderr=subprocess.STDOUT
        ).returncode
    run.seconds = time.monotonic() - start
    if results.exists():
        run.tests, run.skipped, run.failed = read(results.read_text(encoding="utf-8"))
    if status and not run.failed:
        run.failed = [f"pytest ended with status {status}: {said}"]


def read(xml: str) -> tuple[int, int, list[str]]:
    """The numbers of tests and skipped tests, and the failed ones, from a JUnit report."""
    cases = list(ElementTree.fromstring(xml).iter("testcase"))
    skipped = sum(case.find("skipped") is not None for case in cases)
    failed = [case for case in cases if case.find("failure") is not None or case.find("error") is not None]
    return len(cases), skipped, [node_id(case) for case in failed]


def summary(runs: list[Run], arguments: list[str]) -> list[str]:
    """The table of all runs, and each failure with the command that repeats it."""
    lines = [HEAD, *(run.row() for run in runs)]
    restless = [argument for argument in arguments if argument == "--restless"]
    for run in runs:
        how = restless + ([] if run.seed is None else [f"--shuffle={run.seed}"])
        company = f" beside {BUSY} busy loops" if run.busy else ""
        for test in run.failed:
            lines += ["", f"run {run.number}, {run.order()}{company}: {test}"]
            if "::" in test:
                lines.append("  " + " ".join(["python -m pytest -p no:randomly", *how, test.partition("::")[0]]))
    return lines


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tests", nargs="*", help="tests and options for pytest (default: the whole suite)")
    parser.add_argument("--runs", type=int, default=8, help="how many (default 8)")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="start no run after this time")
    parser.add_argument("--seed", type=int, default=int(time.time()) % 100_000, help="the first random order")
    parser.add_argument("--out", type=Path, default=Path("soak"), help="a folder for what the runs print")
    options = parser.parse_args(arguments)
    folder = options.out.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + 60 * options.minutes
    done: list[Run] = []
    print(HEAD, flush=True)
    for run in planned(options.runs, options.seed):
        if time.monotonic() > end:
            break
        take(run, options.tests, folder)
        done.append(run)
        print(run.row(), *(f"      {test}" for test in run.failed), sep=os.linesep, flush=True)
    text = "\n".join(summary(done, options.tests))
    (folder / "summary.txt").write_text(text + "\n", encoding="utf-8")
    print(f"\n{text}")
    return int(any(run.failed for run in done))


if __name__ == "__main__":
    sys.exit(main())
