"""Measures what docs/performance.md shows, a table at a time, into docs/data/cpu/TABLE.json.

    python -m benchmarks.cpu.measure passes      # forward, forward+backward, step: cpu, native and torch at seven sizes
    python -m benchmarks.cpu.measure libraries   # forward beside JAX (jit, scan) and onnxruntime, three sizes
    python -m benchmarks.cpu.measure float64     # the middle four sizes in double precision
    python -m benchmarks.cpu.measure steps       # T from 100 to 10,000
    python -m benchmarks.cpu.measure threads     # 1, 2 and, where there are 4 cores, 4
    python -m benchmarks.cpu.measure train       # a step of minirnn train in every cell

Each library runs in a process of its own; they take turns, and nobody starts before the threads of all others sleep.
Every row is written as soon as it is measured. After ``--minutes`` the run ends, and the same command goes on where it
stopped; ``--again`` begins anew. ``--size``, ``--mode``, ``--samples`` and ``--libraries`` measure less; ``--out`` says
where to.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import lru_cache
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

from minirnn import machine
from minirnn.bench.calls import Size
from minirnn.bench.peers import SIZES, environment, wait_until_idle
from minirnn.bench.worker import milliseconds
from minirnn.machine import installed_version

ROOT = Path(__file__).parents[2]
DATA = ROOT / "docs" / "data" / "cpu"
OURS = ("cpu", "native")
MODES = ("lstm", "gru")
THREADS = min(2, os.cpu_count() or 1)
CELLS = ("lstm", "gru", "rnn")
STEPS = 10
"""Steps of minirnn train in a sample."""

Row = dict[str, Any]


def row(libraries: tuple[str, ...], mode: str, size: Size, what: str, dtype: str = "float32", n: int = THREADS) -> Row:
    """What is to be measured: all but the times."""
    return {"libraries": libraries, "mode": mode, "size": list(size), "pass": what, "dtype": dtype, "threads": n}


def plan(table: str) -> Iterator[Row]:
    """The rows of a table."""
    beside_torch = (*OURS, "torch")
    both = ("forward", "forward+backward")
    if table == "passes":
        for size, mode, what in product(SIZES, MODES, (*both, "step")):
            yield row(beside_torch, mode, size, what)
    elif table == "libraries":
        for size, mode in product(SIZES[1:4], MODES):
            yield row((*beside_torch, "jax", "onnxruntime"), mode, size, "forward")
            yield row((*beside_torch, "jax"), mode, size, "forward+backward")
    elif table == "float64":
        for size, mode, what in product(SIZES[1:5], MODES, both):
            yield row(beside_torch, mode, size, what, "float64")
    elif table == "steps":
        for T, mode, what in product((100, 300, 1000, 3000, 10_000), MODES, both):
            yield row(OURS, mode, (T, 8, 64, 128), what)
    elif table == "threads":
        counts = [n for n in (1, 2, 4) if n <= (os.cpu_count() or 1)]
        for n, size, mode, what in product(counts, (SIZES[2], SIZES[5]), MODES, both):
            yield row(beside_torch, mode, size, what, n=n)
    else:
        for cell in CELLS:
            yield row(beside_torch, cell, (64, 32, 64, 256), "train")


def matches(wanted: Row, found: Row) -> bool:
    return all(list(found[k]) == list(v) if k == "libraries" else found[k] == v for k, v in wanted.items())


class Processes:
    """A process for each library and number of threads, started when it is first asked."""

    def __init__(self) -> None:
        self.running: dict[tuple[str, int], subprocess.Popen[str]] = {}

    def ask(self, name: str, wanted: Row) -> float:
        """Milliseconds of one call, when the threads of all processes sleep."""
        key = name, wanted["threads"]
        if key not in self.running:
            self.running[key] = subprocess.Popen(
                [sys.executable, "-m", "benchmarks.cpu.measure", "--serve", name, str(wanted["threads"])],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                cwd=ROOT,
                env=environment(wanted["threads"], name if name in OURS else "cpu"),
            )
        wait_until_idle(self.running.values())
        process = self.running[key]
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(json.dumps([wanted["mode"], wanted["size"], wanted["pass"], wanted["dtype"]]) + "\n")
        process.stdin.flush()
        answer = process.stdout.readline()
        if not answer:
            raise SystemExit(f"the process of {name} ended with status {process.wait()}")
        return float(answer)

    def end(self) -> None:
        for process in self.running.values():
            process.communicate()


@lru_cache(maxsize=1)
def calls(name: str, mode: str, size: Size, dtype: str, threads: int) -> dict[str, Any]:
    """The passes of a library; made anew for another size."""
    from benchmarks.cpu import libraries

    return libraries.of(name, mode, size, dtype, threads)


@lru_cache(maxsize=1)
def training(name: str, cell: str) -> Any:
    """A step of minirnn train on a device, or in torch."""
    from benchmarks import train

    options: dict[str, object] = {"cell": cell, "hidden": 256, "batch": 32, "length": 64}
    step = train.torchs(options) if name == "torch" else train.ours(options, name)
    for _ in range(STEPS):
        step()
    return step


def serve(name: str, threads: int) -> None:
    """Answer lines ``[mode, size, pass, dtype]`` with milliseconds."""
    if hasattr(os, "sched_setaffinity"):  # for libraries that take all cores they may use
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    for line in sys.stdin:
        mode, size, what, dtype = json.loads(line)
        if what == "train":
            step = training(name, mode)
            start = time.perf_counter()
            for _ in range(STEPS):
                step()
            print((time.perf_counter() - start) / STEPS * 1e3, flush=True)
        else:
            print(milliseconds(calls(name, mode, tuple(size), dtype, threads)[what]), flush=True)


def write(path: Path, about: dict[str, Any], rows: list[Row]) -> None:
    """All rows; the file is whole at every moment."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(".new")
    new.write_text(json.dumps({**about, "rows": rows}, indent=1) + "\n", encoding="utf-8")
    new.replace(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", choices=["passes", "libraries", "float64", "steps", "threads", "train"])
    parser.add_argument("--size", action="append", metavar="T,B,I,H", help="only this size (may be repeated)")
    parser.add_argument("--mode", action="append", choices=CELLS, help="only this one (may be repeated)")
    parser.add_argument("--libraries", nargs="+", help="only these")
    parser.add_argument("--samples", type=int, default=5, help="turns of every row (default 5)")
    parser.add_argument("--minutes", type=float, default=5.0, help="no row begins later (default 5)")
    parser.add_argument("--again", action="store_true", help="forget the rows that are there")
    parser.add_argument("--out", type=Path, help="default: docs/data/cpu/TABLE.json")
    given = parser.parse_args()
    path = given.out or DATA / f"{given.table}.json"
    rows = [] if given.again or not path.exists() else json.loads(path.read_text(encoding="utf-8"))["rows"]
    about = {"machine": machine.describe(THREADS), "table": given.table}
    about["machine"]["versions"] |= {name: installed_version(name) for name in ("jax", "onnxruntime")}
    until, processes = time.monotonic() + 60 * given.minutes, Processes()
    for wanted in plan(given.table):
        names = [n for n in wanted["libraries"] if n in OURS or find_spec(n)]
        names = [n for n in names if not given.libraries or n in given.libraries]
        wanted["libraries"] = names
        if given.size and ",".join(map(str, wanted["size"])) not in given.size:
            continue
        if (given.mode and wanted["mode"] not in given.mode) or any(matches(wanted, r) for r in rows):
            continue
        if time.monotonic() > until:
            print("time is up; the same command goes on from here")
            break
        times: dict[str, list[float]] = {name: [] for name in names}
        for turn in range(given.samples + 1):  # the first one builds and warms up
            for name in names:
                found = processes.ask(name, wanted)
                if turn:
                    times[name].append(found)
        rows.append({**wanted, "milliseconds": times})
        write(path, about, rows)
        middle = {name: sorted(found)[len(found) // 2] for name, found in times.items()}
        label = f"{wanted['mode']} {','.join(map(str, wanted['size']))} {wanted['pass']} ({wanted['threads']} threads)"
        print(f"{label:50}" + "".join(f"{name} {ms:.3f}   " for name, ms in middle.items()), flush=True)
    processes.end()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(sys.argv[2], int(sys.argv[3]))
    else:
        main()
