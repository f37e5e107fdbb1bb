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

import numpy as np

from minirnn.bench.calls import Call, Size, our_calls, torch_calls
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
Calls = dict[str, Call]


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


def minirnn(mode: str, size: Size, dtype: str) -> Calls:
    """On the default device, which ``MINIRNN_DEVICE`` names."""
    import minirnn as mr

    T, B, I, H = size
    x = mr.tensor(np.random.default_rng(0).standard_normal((T, B, I)).astype(dtype))
    layer = {"lstm": mr.nn.LSTM, "gru": mr.nn.GRU}[mode](I, H, dtype=dtype)
    optimizer = mr.optim.Adam(layer.parameters(), lr=1e-5)

    def step() -> None:
        optimizer.zero_grad()
        y = layer(x)[0]
        (y * y).mean().backward()
        optimizer.step()

    return {**our_calls(mr.devices.get(), mode, size, dtype), "step": step}


def torch(mode: str, size: Size, dtype: str) -> Calls:
    import torch as library

    T, B, I, H = size
    kind = getattr(library, dtype)
    x = library.randn(T, B, I, dtype=kind)
    layer = {"lstm": library.nn.LSTM, "gru": library.nn.GRU}[mode](I, H, dtype=kind)
    optimizer = library.optim.Adam(layer.parameters(), lr=1e-5)

    def step() -> None:
        optimizer.zero_grad()
        y = layer(x)[0]
        (y * y).mean().backward()
        optimizer.step()

    return {**torch_calls("cpu", mode, size, dtype), "step": step}


def training(cell: str, size: Size) -> Call:
    """Steps of ``minirnn train`` on the default device."""
    from minirnn.train.run import begun

    T, B, _, H = size
    work = begun({"cell": cell, "hidden": H, "batch": B, "length": T, "steps": 10**6})
    return work.advance


def training_in_torch(cell: str, size: Size) -> Call:
    """The same step in typical torch code."""
    import torch as library
    from torch import nn

    import minirnn as mr
    from minirnn.train.model import EMBEDDING
    from minirnn.train.training import CLIP

    library.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    T, B, _, H = size
    text = mr.data.python_source_text()
    vocabulary = mr.data.CharVocabulary.from_text(text)
    ids, _ = mr.data.train_validation_split(vocabulary.encode(text))
    V, batches = len(vocabulary), mr.data.CharBatches(ids, T, B)
    kind = {"lstm": nn.LSTM, "gru": nn.GRU, "rnn": nn.RNN}[cell]
    embedding, recurrent, output = nn.Embedding(V, EMBEDDING), kind(EMBEDDING, H), nn.Linear(H, V)
    parameters = [p for module in (embedding, recurrent, output) for p in module.parameters()]
    optimizer = library.optim.Adam(parameters, lr=0.004)
    state: Any = None

    def step() -> float:
        nonlocal state
        if batches.at_start:
            state = None
        x, y = (library.from_numpy(a.astype("int64")) for a in next(batches))
        h, state = recurrent(embedding(x), state)
        state = tuple(s.detach() for s in state) if isinstance(state, tuple) else state.detach()
        loss = nn.functional.cross_entropy(output(h).reshape(-1, V), y.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(parameters, CLIP)
        value = loss.item()
        optimizer.step()
        return float(value)

    return step


@lru_cache(maxsize=1)
def calls(name: str, mode: str, size: Size, dtype: str, trains: bool) -> Calls:
    """The timed passes of a library, without arguments; "cpu" and "native" are minirnn's devices.

    forward            no gradient is kept
    forward+backward   gradients of x, the states and all weights, for a given gradient of y
    step               of training: gradients of the squares of y, and Adam
    train              a step of ``minirnn train``, and the same model, text and optimizer in torch
    """
    if trains:
        return {"train": (training_in_torch if name == "torch" else training)(mode, size)}
    return (torch if name == "torch" else minirnn)(mode, size, dtype)


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
