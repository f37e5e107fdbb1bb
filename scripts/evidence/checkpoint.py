"""The savings and costs of checkpoints: an LSTM over many steps, in segments that the backward pass recomputes.

    python scripts/evidence/checkpoint.py [--steps 10000] [--chunks 40] [--batch 8] [--units 64] [--turns 5]

Two runs compute the same loss, the squares of all outputs, and the same gradients. "whole" is one call of the LSTM over
all steps. "checkpoint" goes over stretches of time, each in a checkpoint that hands on its state and the loss of its
outputs. Memory is the peak that NumPy's arrays take above what there was before the run (tracemalloc), each run in its
own process. Time is CPU time with one BLAS thread, the minimum over turns that the two take one after the other
in one process. Only the ratios mean something.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

for _library in ("OMP", "OPENBLAS", "MKL"):  # threads that wait for each other also count as time
    os.environ[f"{_library}_NUM_THREADS"] = "1"

import numpy as np  # noqa: E402

import minirnn as mr  # noqa: E402

sys.path.insert(0, str(Path(__file__).parent))
import rows  # noqa: E402

OUT = Path(__file__).parents[2] / "docs" / "data" / "cpu" / "checkpoint.json"
WAYS = ("whole", "checkpoint")


def run_of(way: str, steps: int, chunks: int, batch: int, inputs: int, units: int) -> Callable[[], list[np.ndarray]]:
    """The forward and backward pass; it returns the gradients."""
    mr.manual_seed(0)
    model = mr.nn.LSTM(inputs, units)
    x = mr.tensor(np.random.default_rng(0).standard_normal((steps, batch, inputs)).astype(np.float32))
    sizes = [len(part) for part in np.array_split(np.arange(steps), chunks)]

    def stretch(part: mr.Tensor, state: Any) -> tuple[mr.Tensor, Any]:
        y, state = model(part, state)
        return (y * y).sum(), state

    def run() -> list[np.ndarray]:
        model.zero_grad()
        if way == "whole":
            loss, _ = stretch(x, None)
        else:
            loss, state = mr.tensor(0.0), None
            for part in mr.ops.split(x, sizes):
                more, state = mr.checkpoint(stretch, part, state)
                loss = loss + more
        loss.backward()
        return [p.grad.numpy() for p in model.parameters() if p.grad is not None]

    return run


def peak_of(run: Callable[[], Any]) -> int:
    """Bytes of the peak above the start."""
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    run()
    peak = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    return peak


def order(row: rows.Row) -> tuple[list[int], int]:
    return row["size"], row["segments"]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    for name, value in {"steps": 10_000, "chunks": 40, "batch": 8, "inputs": 16, "units": 64, "turns": 5}.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--out", type=Path, default=OUT, metavar="FILE")
    parser.add_argument("--peak", choices=WAYS, help=argparse.SUPPRESS)
    args = parser.parse_args()
    sizes = [getattr(args, name) for name in ("steps", "chunks", "batch", "inputs", "units")]
    if args.peak:
        print(json.dumps(peak_of(run_of(args.peak, *sizes))))
        return
    peaks = {}
    for way in WAYS:
        done = subprocess.run([sys.executable, *sys.argv, "--peak", way], capture_output=True, text=True, check=True)
        peaks[way] = json.loads(done.stdout)
    runs = {way: run_of(way, *sizes) for way in WAYS}
    for a, b in zip(runs["whole"](), runs["checkpoint"](), strict=True):  # the first turn warms up, and is compared
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-3 * np.abs(a).max())
    best = dict.fromkeys(runs, float("inf"))
    for _ in range(args.turns):
        for way, run in runs.items():
            start = time.process_time()
            run()
            best[way] = min(best[way], time.process_time() - start)
    for way in runs:
        print(f"{way:10}  peak {peaks[way] / 2**20:8.1f} MiB  {best[way]:7.3f} s of CPU time")
    row = {"size": [args.steps, args.batch, args.inputs, args.units], "segments": args.chunks}
    row |= {name: round(of["checkpoint"] / of["whole"], 3) for name, of in (("memory", peaks), ("time", best))}
    print(f"ratio       memory {row['memory']}  time {row['time']}")
    kept = [r for r in rows.stored(args.out) if (r["size"], r["segments"]) != (row["size"], row["segments"])]
    rows.store(args.out, [*kept, {**row, **rows.origin()}], order, "scripts/evidence/checkpoint.py")


if __name__ == "__main__":
    main()
