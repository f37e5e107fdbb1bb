"""The times of an LSTM layer by the default, by each fast rung, and by torch's cuDNN, sampled in turns.

``python -m scripts.gpu.ratios`` notes a row for each size, precision and pass, learners' sizes first, and skips the
rows that the evidence has already. All ways of a row are sampled in turns, so that a change of clocks affects all of
them. "ieee" means that neither minirnn nor torch may round float32 to TF32 (torch's own default for recurrent layers
does), "tf32" that both may, "fp16" that values are stored in float16.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from itertools import product
from typing import Any

import numpy as np

from minirnn.bench.calls import Call, Size, our_calls, torch_calls
from minirnn.devices.precision import use_precision
from scripts.gpu.evidence import QUICK, device, note, noted

LEARNERS: tuple[Size, ...] = ((50, 1, 64, 64), (50, 32, 64, 128), (100, 32, 128, 256))
LARGER: tuple[Size, ...] = (
    *((100, 64, 512, 512), (100, 64, 1024, 1024), (256, 1, 256, 256)),
    *((128, 16, 512, 512), (1024, 16, 768, 768), (512, 32, 1024, 1024)),
)
"""T, B, I, H."""
SIZES = ((4, 2, 8, 8),) if QUICK else LEARNERS + LARGER
PRECISIONS = {"ieee": ("float32", False), "tf32": ("float32", True), "fp16": ("float16", False)}
"""Maps a name to the dtype of the arrays, and whether products may round to TF32."""
WAYS: dict[str, tuple[str | None, bool]] = {
    "default": (None, True),
    "graph": ("steps", True),
    "persistent": ("persistent", True),
}
"""The rung, None for the rule's choice, and whether layers and loops are recorded."""
ROUNDS, SAMPLE, LONGEST = (1, 0.0, 1e9) if QUICK else (7, 0.01, 3.5)
"""The samples of each way, the shortest time of each, and the time for a row, after which no further round begins."""


def main() -> int:
    gpu, done = device(), {tuple(map(str, (row["size"], row["precision"], row["pass"]))) for row in noted("ratios")}
    for size, precision in product(SIZES, PRECISIONS):
        passes = [p for p in ("forward", "forward+backward") if (str(list(size)), precision, p) not in done]
        if passes:
            for row in measured(gpu, size, precision, passes):
                note("ratios", size=size, precision=precision, **row)
    return 0


def measured(gpu: Any, size: Size, precision: str, passes: list[str]) -> Iterator[dict[str, Any]]:
    """The rows of one layer."""
    dtype, tf32 = PRECISIONS[precision]
    with torch_rounding(tf32), use_precision("tf32" if tf32 else "ieee"):
        ours, theirs = our_calls(gpu, "lstm", size, dtype), torch_calls(gpu.name, "lstm", size, dtype)
        for what in passes:
            calls = {name: (by(gpu, *way), ours[what], gpu.synchronize) for name, way in WAYS.items()}
            if theirs:
                calls["torch"] = nullcontext, theirs[what], theirs["wait"]
            row: dict[str, Any] = {"pass": what, "ways": in_turns(calls)}
            for name, way in WAYS.items():
                with by(gpu, *way)():
                    gpu.rungs.clear()
                    if clock := getattr(gpu.driver, "seconds", None):
                        row["ways"][name]["device_seconds"] = clock(ours[what])
                    else:
                        ours[what]()
                    row["ways"][name]["used"] = sorted(gpu.rungs)
            if theirs:
                row["torch_kernels"] = kernels_of(theirs[what])
            yield row


def by(gpu: Any, rung: str | None, graphs: bool) -> Callable[[], Any]:
    """A context in which the device computes in this way."""

    @contextmanager
    def taken() -> Iterator[None]:
        before = gpu.cudnn_rnn_rung, gpu.recordings.enabled
        gpu.cudnn_rnn_rung, gpu.recordings.enabled = rung, graphs
        try:
            yield
        finally:
            gpu.cudnn_rnn_rung, gpu.recordings.enabled = before

    return taken


def in_turns(calls: dict[str, tuple[Callable[[], Any], Call, Call]]) -> dict[str, dict[str, Any]]:
    """The median seconds of each call, with the 10th and 90th percentile. The first two rounds only warm up."""
    samples, repeats, until = (
        {name: list[float]() for name in calls},
        dict.fromkeys(calls, 1),
        time.monotonic() + LONGEST,
    )
    for number in range(-2, ROUNDS):
        if number > 1 and time.monotonic() > until:
            break
        for name, (way, call, wait) in calls.items():
            with way():
                wait()
                start = time.perf_counter()
                for _ in range(repeats[name]):
                    call()
                wait()
                seconds = (time.perf_counter() - start) / repeats[name]
            repeats[name] = max(1, round(SAMPLE / max(seconds, 1e-7)))
            if number >= 0:
                samples[name].append(seconds)
    return {
        name: {"seconds": float(np.median(s)), "spread": np.percentile(s, (10, 90)).tolist(), "rounds": len(s)}
        for name, s in samples.items()
    }


def kernels_of(call: Call) -> list[str]:
    """The kernels that torch launches, the most time-consuming first."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as found:
        call()
    events: Any = found.key_averages()
    return [event.key[:120] for event in sorted(events, key=lambda e: -e.self_device_time_total)[:5]]


@contextmanager
def torch_rounding(tf32: bool) -> Iterator[None]:
    """Allow or forbid torch to round float32 operands to TF32 inside the block."""
    try:
        import torch
    except ImportError:
        yield
        return
    owners: list[Any] = [torch.backends.cuda.matmul, torch.backends.cudnn.rnn]
    before = [owner.fp32_precision for owner in owners]
    try:
        for owner in owners:
            owner.fp32_precision = "tf32" if tf32 else "ieee"
        yield
    finally:
        for owner, value in zip(owners, before, strict=True):
            owner.fp32_precision = value


if __name__ == "__main__":
    sys.exit(main())
