"""Is a device's memory as strong as the kernels need it? ``python -m tests.devices.cuda.gpu.litmus [--json FILE]``.

`litmus.cu` asks four questions, each with and without fences. With fences, the weak outcome must never occur. A second
read of one place must never return an older number, with or without fences. The counts of the other weak outcomes show
how weak this device is. The exit status says whether a forbidden outcome was seen.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

import minirnn as mr

SHAPES = ("message passing", "store buffering", "load buffering", "coherence")
FENCES = {"fences": "__threadfence()", "none": ""}
THREADS = 64
"""Threads per block."""


def weak(shape: int, found: np.ndarray) -> int:
    """The number of instances with the weak outcome. found: (instances, 2, 2)"""
    (first, _), (third, fourth) = found.transpose(1, 2, 0)
    outcomes = (third > fourth, (first == 0) & (third == 0), (first == 1) & (third == 1), third > fourth)
    return int(outcomes[shape].sum())


def asked(device: Any, blocks: int, rounds: int) -> list[dict[str, Any]]:
    """A row for each question: the number of instances, and how many had the weak outcome."""
    source = (Path(__file__).parent / "litmus.cu").read_text(encoding="utf-8")
    instances = blocks // 2 * THREADS
    words, found = device.empty((instances, 64), np.uint32), device.empty((instances, 2, 2), np.uint32)
    rows = []
    for shape, name in enumerate(SHAPES):
        for fences, text in FENCES.items():
            kernel = device.driver.module(source, "litmus.cu", (f"-DFENCE={text}",)).function("litmus")
            seen = 0
            for _ in range(rounds):
                device.driver.memset(words.ptr, 0, words.nbytes)
                kernel(np.int32(shape), words, found, grid=(blocks,), block=(THREADS,))
                seen += weak(shape, device.to_numpy(found))
            forbidden = fences == "fences" or name == "coherence"
            rows.append({"question": name, "between": fences, "runs": rounds * instances, "weak": seen})
            rows[-1]["wrong"] = bool(forbidden and seen)
    return rows


def main(words: list[str] | None = None) -> int:
    """Ask all questions, print and write the results. Returns the number of questions with a forbidden outcome."""
    parser = argparse.ArgumentParser(prog="litmus", description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args(words)
    device: Any = mr.devices.get(args.device)
    blocks, rounds = (4, 2) if args.quick else (2 * device.driver.limits.multiprocessors, 200)
    rows = asked(device, blocks, rounds)
    for row in rows:
        verdict = "FORBIDDEN" if row["wrong"] else "fine"
        print(f"{row['question']:16} {row['between']:7} {row['weak']:9,} weak of {row['runs']:11,}  {verdict}")
    if args.json:
        report = {"device": args.device, "limits": device.driver.limits.name, "rows": rows}
        args.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return sum(row["wrong"] for row in rows)


if __name__ == "__main__":
    sys.exit(main())
