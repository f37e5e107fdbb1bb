"""Measures the tables of docs/performance.md, one at a time, into docs/data/cpu/TABLE.json.

    python scripts/evidence/cpu_times.py passes      # forward, forward+backward, step of training; seven sizes
    python scripts/evidence/cpu_times.py float64     # the middle four sizes in double precision
    python scripts/evidence/cpu_times.py steps       # T from 100 to 10,000
    python scripts/evidence/cpu_times.py threads     # 1, 2 and, where there are 4 cores, 4
    python scripts/evidence/cpu_times.py train       # a step of minirnn train in every cell

Each library runs in its own process. They take turns, and none starts before the threads of all others sleep. Every row
is written as soon as it is measured. After ``--minutes`` the run ends, and the same command continues where it stopped.
``--again`` starts over. ``--size``, ``--mode``, ``--samples`` and ``--libraries`` select what is measured, and
``--out`` the output file.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Iterator
from functools import lru_cache
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

from minirnn.bench.calls import Size
from minirnn.bench.peers import SIZES, Workers, environment
from minirnn.bench.worker import SAMPLE, milliseconds
from minirnn.machine import computer

sys.path.insert(0, str(Path(__file__).parent))
from rows import origin  # noqa: E402

ROOT = Path(__file__).parents[2]
DATA = ROOT / "docs" / "data" / "cpu"
OURS = ("cpu", "native")
MODES = ("lstm", "gru")
THREADS = min(2, os.cpu_count() or 1)
CELLS = ("lstm", "gru", "rnn")

Row = dict[str, Any]


def row(libraries: tuple[str, ...], mode: str, size: Size, what: str, dtype: str = "float32", n: int = THREADS) -> Row:
    """The rows to measure, without the times."""
    return {"libraries": libraries, "mode": mode, "size": list(size), "pass": what, "dtype": dtype, "threads": n}


def plan(table: str) -> Iterator[Row]:
    """The rows of a table."""
    beside_torch = (*OURS, "torch")
    both = ("forward", "forward+backward")
    if table == "passes":
        for size, mode, what in product(SIZES, MODES, (*both, "step")):
            yield row(beside_torch, mode, size, what)
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


@lru_cache(maxsize=1)
def calls(*about: Any) -> dict[str, Any]:
    """A library's passes, cached per size."""
    import cpu_libraries

    return cpu_libraries.of(*about)


def serve(name: str, threads: int) -> None:
    """Answer lines ``[mode, size, pass, dtype]`` with milliseconds."""
    if hasattr(os, "sched_setaffinity"):  # for libraries that use all available cores
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    for line in sys.stdin:
        mode, size, what, dtype = json.loads(line)
        call = calls(name, mode, tuple(size), dtype, what == "train")[what]
        print(milliseconds(call, 0.5 if what == "train" else SAMPLE), flush=True)


def write(path: Path, about: dict[str, Any], rows: list[Row]) -> None:
    """All rows. The file is complete at every moment."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(".new")
    new.write_text(json.dumps({**about, "rows": rows}, indent=1) + "\n", encoding="utf-8")
    new.replace(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", choices=["passes", "float64", "steps", "threads", "train"])
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
    about = {"machine": computer.describe(THREADS), "table": given.table}
    about["machine"]["commit"] = origin()["commit"]
    until = time.monotonic() + 60 * given.minutes
    with Workers() as workers:
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
            running = {name: f"{name}, {wanted['threads']} threads" for name in names}
            for name, process in running.items():
                own = environment(wanted["threads"], name if name in OURS else "cpu")
                workers.start(process, [__file__, "--serve", name, str(wanted["threads"])], own)
            question = [wanted[key] for key in ("mode", "size", "pass", "dtype")]
            found = workers.in_turns([*running.values()], question, given.samples)
            times = {name: found[process] for name, process in running.items()}
            rows.append({**wanted, "milliseconds": times})
            write(path, about, rows)
            label = (
                f"{wanted['mode']} {','.join(map(str, wanted['size']))} {wanted['pass']} ({wanted['threads']} threads)"
            )
            print(
                f"{label:50}" + "".join(f"{name} {statistics.median(ms):.3f}   " for name, ms in times.items()),
                flush=True,
            )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(sys.argv[2], int(sys.argv[3]))
    else:
        main()
