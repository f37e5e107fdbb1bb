"""The cost of the tape: a chain of 999 tiny ops, forward and backward, in microseconds per op.

The chain is y = tanh(y * w + b), 333 times. With such small arrays, the time is overhead and not arithmetic. Compared
with NumPy without a tape (the same forward, and its backward written by hand) and, if installed, with torch in eager
mode. The peers take turns in one process; every number is a median over all turns, and only ratios mean something.

    python scripts/evidence/tape.py [--turns 60]     # into docs/data/cpu/tape.json
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import minirnn as mr

sys.path.insert(0, str(Path(__file__).parent))
import rows  # noqa: E402

OUT = Path(__file__).parents[2] / "docs" / "data" / "cpu" / "tape.json"

STEPS = 333
OPS = 3 * STEPS
VALUES = (0.3, 0.9, 0.1)  # y, w, b

Run = Callable[[], tuple[float, float, Any]]
"""Seconds for the forward pass, for forward and backward, and the gradient of w."""


def numpy_run(shape: tuple[int, ...]) -> Run:
    """No tape: intermediate results in lists, backward by hand."""
    first, w, b = (np.full(shape, v, np.float32)[()] for v in VALUES)
    one = np.ones(shape, np.float32)[()]

    def run() -> tuple[float, float, Any]:
        start = time.perf_counter()
        y = first
        saved = []
        for _ in range(STEPS):
            before, y = y, np.tanh(y * w + b)
            saved.append((before, y))
        middle = time.perf_counter()
        dy, dw, db = one, 0 * one, 0 * one
        for before, y in reversed(saved):
            dz = dy * (1 - y * y)
            db = db + dz
            dw = dw + dz * before
            dy = dz * w
        return middle - start, time.perf_counter() - start, dw

    return run


def minirnn_run(shape: tuple[int, ...]) -> Run:
    first, w, b = (mr.tensor(np.full(shape, v, np.float32), requires_grad=True) for v in VALUES)
    one = mr.tensor(np.ones(shape, np.float32))

    def run() -> tuple[float, float, Any]:
        w.grad = b.grad = first.grad = None
        start = time.perf_counter()
        y = first
        for _ in range(STEPS):
            y = (y * w + b).tanh()
        middle = time.perf_counter()
        y.backward(one)
        return middle - start, time.perf_counter() - start, w.grad.numpy()

    return run


def torch_run(shape: tuple[int, ...]) -> Run | None:
    try:
        import torch
    except ImportError:
        return None
    torch.set_num_threads(1)
    first, w, b = (torch.full(shape, v, requires_grad=True) for v in VALUES)
    one = torch.ones(shape)

    def run() -> tuple[float, float, Any]:
        w.grad = b.grad = first.grad = None
        start = time.perf_counter()
        y = first
        for _ in range(STEPS):
            y = (y * w + b).tanh()
        middle = time.perf_counter()
        y.backward(one)
        return middle - start, time.perf_counter() - start, w.grad.numpy()

    return run


def compare(shape: tuple[int, ...], turns: int) -> rows.Row:
    """The microseconds per op of every peer, printed and as a row."""
    peers = {"minirnn": minirnn_run(shape), "numpy, no tape": numpy_run(shape), "torch": torch_run(shape)}
    runs = {name: run for name, run in peers.items() if run is not None}
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in runs}
    gradients = {}
    for turn in range(turns + 5):
        for name, run in runs.items():
            forward, both, gradients[name] = run()
            if turn >= 5:  # the first ones warm up
                times[name].append((forward, both))
    for name, g in gradients.items():
        np.testing.assert_allclose(g, gradients["minirnn"], rtol=1e-4, err_msg=name)
    ours = statistics.median(both for _, both in times["minirnn"])
    print(f"\nshape {shape}: us per op, median of {turns} turns (fastest)")
    print(f"{'':16}{'forward':>16}{'forward+backward':>20}{'minirnn / this':>16}")
    medians = {}
    for name, pairs in times.items():
        cells = []
        medians[name] = [round(statistics.median(column) / OPS * 1e6, 3) for column in zip(*pairs, strict=True)]
        for column in zip(*pairs, strict=True):
            cells.append(f"{statistics.median(column) / OPS * 1e6:.2f} ({min(column) / OPS * 1e6:.2f})")
        ratio = ours / statistics.median(both for _, both in pairs)
        print(f"{name:16}{cells[0]:>16}{cells[1]:>20}{ratio:>16.2f}")
    return {"shape": list(shape), "microseconds": medians, **rows.origin()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--turns", type=int, default=60)
    parser.add_argument("--out", type=Path, default=OUT, metavar="FILE")
    args = parser.parse_args()
    found = [compare(shape, args.turns) for shape in ((), (16,))]
    rows.store(args.out, found, lambda row: row["shape"], "scripts/evidence/tape.py")


if __name__ == "__main__":
    main()
