"""The times of CudnnRNN's rungs on a GPU compared with torch (cuDNN), a table of ``minirnn bench --check``.

All ways of one layer are sampled in turns, so that a change of clocks or load affects all of them. A number is the
median, followed by the 10th and 90th percentile. Both get the same setting of precision: "float32" means neither may
round to TF32 (torch's own default for recurrent layers does), "tf32" that both may, "float16" that values are stored in
float16.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from typing import Any

import numpy as np

from minirnn.bench.calls import Call, Size, our_calls, torch_calls, torch_rounding
from minirnn.bench.times import QUICK_SIZES, SIZES, Clock, Row
from minirnn.devices.cuda.launch.sequence.choice import RUNGS
from minirnn.devices.precision import use_precision

MORE_SIZES: tuple[Size, ...] = ((1024, 8, 2048, 2048), (512, 16, 128, 128), (256, 64, 192, 192), (128, 20, 512, 512))
"""Sizes whose weights fit on no chip; with few units, for which cuDNN has special CUDA kernels; with a batch that is
not a multiple of 8."""
PRECISIONS = {"float32": ("float32", False), "tf32": ("float32", True), "float16": ("float16", False)}
"""Maps a name to the dtype of the arrays, and whether products may round to TF32."""
TORCH = -1
"""The number of torch; ours are 0, 1, ..."""
ROUNDS, SECONDS = 15, 0.01
"""The number of samples of each measurement, and the shortest time of each."""


def ladder(device: Any, quick: bool) -> Iterator[Row]:
    """cudnn_rnn on each rung, and on the lowest as a CUDA graph, next to torch; nothing on a device without rungs.

    A row's ``used`` says which rungs computed it: a lower one if the requested one is not available. ``device_seconds``
    is the time between two events on the GPU's stream around one call.
    """
    if not hasattr(device, "cudnn_rnn_rung"):
        return
    sizes = QUICK_SIZES if quick else SIZES + MORE_SIZES
    for size, op, (precision, (dtype, tf32)) in product(sizes, ("lstm", "gru"), PRECISIONS.items()):
        with torch_rounding(tf32):
            theirs = torch_calls(device.name, op, size, dtype)
            for what, call in our_calls(device, op, size, dtype).items():
                about = {"op": op, "pass": what, "size": list(size), "precision": precision}
                torch = (theirs[what], theirs["wait"]) if theirs else None
                for row in in_turns(device, call, torch, tf32, quick):
                    yield about | row


def in_turns(device: Any, call: Call, torch: tuple[Call, Call] | None, tf32: bool, quick: bool) -> list[Row]:
    """A row for each way to compute `call`, with torch's time if there is one."""
    ways: list[Row] = [{"rung": "steps", "graphs": True}, *({"rung": rung, "graphs": False} for rung in RUNGS)]
    rounds, at_least = (1, 0.0) if quick else (ROUNDS, SECONDS)

    def sample(k: int, n: int) -> float:
        if k == TORCH and torch is not None:
            return Clock.sample(*torch, n)
        with taken(device, ways[k], tf32):
            return Clock.sample(call, device.synchronize, n)

    turns = range(TORCH if torch else 0, len(ways))
    repeats = dict.fromkeys(turns, 1)
    samples: dict[int, list[float]] = {k: [] for k in turns}
    for number in range(-2, rounds):
        # The first two rounds compile, record, fill caches, and determine the number of calls per sample.
        for k in turns:
            seconds = sample(k, repeats[k])
            if number >= 0:
                samples[k].append(seconds)
            repeats[k] = max(1, round(at_least / max(seconds, 1e-7)))
    for k, way in enumerate(ways):
        with taken(device, way, tf32):
            device.rungs.clear()
            way["device_seconds"] = device_seconds(device, call)
            way["used"] = sorted(device.rungs)
        way |= {"seconds": float(np.median(samples[k])), "spread": spread(samples[k])}
        if torch:
            way |= {"torch_seconds": float(np.median(samples[TORCH])), "torch_spread": spread(samples[TORCH])}
            way["times_faster_than_torch"] = way["torch_seconds"] / way["seconds"]
    return ways


def spread(samples: list[float]) -> list[float]:
    """The 10th and the 90th percentile."""
    return [float(value) for value in np.percentile(samples, (10, 90))]


def device_seconds(device: Any, call: Call) -> float:
    """Seconds of one call, on a GPU by its own clock."""
    timed = getattr(device.driver, "seconds", None)
    if timed is not None:
        return float(timed(call))
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


@contextmanager
def taken(device: Any, way: Row, tf32: bool) -> Iterator[None]:
    """Inside the block the device computes in this way."""
    recordings = device.recordings
    before = device.cudnn_rnn_rung, recordings.enabled
    device.cudnn_rnn_rung, recordings.enabled = way["rung"], way["graphs"]
    try:
        with use_precision("tf32" if tf32 else "ieee"):
            yield
    finally:
        device.cudnn_rnn_rung, recordings.enabled = before
