"""What the rule of the rungs needs to know of a GPU: a message, a barrier, a launch, a node of a graph, products.

``python -m scripts.gpu.latencies`` notes seconds of each, by the device's own clock except where it says "host".
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from minirnn.devices.precision import use_precision
from scripts.gpu.evidence import QUICK, device, note

ROUNDS, CALLS, SAMPLES = (4, 2, 1) if QUICK else (1000, 200, 5)
SHAPES = ((2, 4),) if QUICK else ((1, 64), (32, 256), (64, 512), (64, 1024), (16, 768))
"""B, H of a step's product (B, H) (H, 4H) of an LSTM."""
PRECISIONS = {"ieee": ("f4", "ieee"), "tf32": ("f4", "tf32"), "fp16": ("f2", "ieee")}
COPIED = 1 << (10 if QUICK else 28)


def seconds(gpu: Any, work: Callable[[], Any], calls: int = 1, host: bool = False) -> float:
    """The median of some samples, per call; the first one is left out, because it compiles."""

    def by_host(many: Callable[[], None]) -> float:
        gpu.synchronize()
        start = time.perf_counter()
        many()
        if not host:
            gpu.synchronize()
        return time.perf_counter() - start

    def many() -> None:
        for _ in range(calls):
            work()

    clock = by_host if host else getattr(gpu.driver, "seconds", None) or by_host
    return statistics.median([clock(many) / calls for _ in range(1 + SAMPLES)][1:])


def main() -> int:
    gpu = device()
    driver, blocks = gpu.driver, 4 if QUICK else gpu.driver.limits.multiprocessors
    text = Path(__file__).with_suffix(".cu").read_text(encoding="utf-8")
    module = driver.module(text, "latencies.cu", ("-DREAL=float", "-DACC=float"))
    words, polls = gpu.empty((4, 32), np.uint32), np.uint32(5000 if QUICK else 1 << 21)

    def waiting(kernel: str, grid: int, messages: int) -> float:
        launch = module.function(kernel)

        def once() -> None:
            driver.memset(words.ptr, 0, words.nbytes)
            sizes: dict[str, Any] = {"grid": (grid,), "block": (1 if kernel == "hops" else 64,), "cooperative": True}
            launch(np.int32(ROUNDS), words, polls, words[3], **sizes)

        found = seconds(gpu, once) / (ROUNDS * messages)
        assert not gpu.to_numpy(words)[3].any(), f"{kernel}: a block gave up waiting"
        return found

    nothing = module.function("nothing")

    def empty() -> None:
        nothing(grid=(1,), block=(32,))

    recording = driver.record(lambda: [empty() for _ in range(CALLS)] and None)
    note("latencies", what="message", seconds=waiting("hops", 2, 2))
    note("latencies", what="barrier", blocks=blocks, seconds=waiting("barriers", blocks, 1))
    note("latencies", what="launch", seconds=seconds(gpu, empty, CALLS))
    note("latencies", what="launch, host", seconds=seconds(gpu, empty, CALLS, host=True))
    note("latencies", what="node of a graph", seconds=seconds(gpu, recording) / CALLS)
    recording.close()
    a, b = driver.alloc(COPIED), driver.alloc(COPIED)
    rate = 2e-9 * COPIED / seconds(gpu, lambda: driver.d2d(a.ptr, b.ptr, COPIED))
    note("latencies", what="copy", bytes=COPIED, gb_per_second=rate)
    for (B, H), (name, (dtype, precision)) in [(s, p) for s in SHAPES for p in PRECISIONS.items()]:
        x, y = (gpu.asarray(np.ones(shape, dtype)) for shape in ((B, H), (H, 4 * H)))
        with use_precision(precision):
            found = seconds(gpu, partial(gpu.matmul, x, y), 20)
        note("latencies", what="product", B=B, H=H, precision=name, seconds=found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
