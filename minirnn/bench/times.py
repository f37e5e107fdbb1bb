"""The times of ``minirnn bench --check``: kernels, launches, products and sequences on one device.

A number is the median of several samples. On a GPU, kernels are timed between two events on its stream, everything else
by the clock from the first call to the end of the last one's work.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np

import minirnn as mr
from minirnn import ops
from minirnn.bench.calls import Call, Size, our_calls, torch_calls, torch_rounding
from minirnn.bench.launches import Launch, recorded
from minirnn.devices.base import Device
from minirnn.devices.precision import chosen
from minirnn.ops.fused import FusedOp
from minirnn.ops.gru_block.cell import GRUBlockCell, GRUBlockCellGrad
from minirnn.ops.lstm_block.cell import LSTMBlockCell, LSTMBlockCellGrad

SIZES: tuple[Size, ...] = (
    (256, 1, 256, 256),
    (128, 16, 512, 512),
    (100, 64, 512, 512),
    (100, 64, 1024, 1024),
    (512, 32, 1024, 1024),
)
QUICK_SIZES: tuple[Size, ...] = ((4, 2, 8, 8),)
CELLS = ((64, 1024), (4096, 1024))  # B, H
QUICK_CELLS = ((4, 8),)
PRODUCTS = (1024, 4096, 8192)
QUICK_PRODUCTS = (32,)
SAMPLES, SECONDS = 7, 0.05
QUICK_SAMPLES, QUICK_SECONDS = 1, 0.0

Row = dict[str, Any]


class Clock:
    """Times of calls on a device.

    Parameters
    ----------
    device : Device
    samples : int
        The number of samples per measurement.
    seconds : float
        The shortest time of a sample.
    """

    def __init__(self, device: Device, samples: int, seconds: float) -> None:
        self.device, self.samples, self.at_least = device, samples, seconds

    def __call__(self, work: Call, wait: Call | None = None) -> float:
        """Seconds of one call. `wait` waits until its work is done, by default the work of the device."""
        wait = wait or self.device.synchronize
        self.sample(work, wait, 1)  # compiles, fills caches
        n = max(1, round(self.at_least / max(self.sample(work, wait, 1), 1e-7)))
        return statistics.median(self.sample(work, wait, n) for _ in range(self.samples))

    @staticmethod
    def sample(work: Call, wait: Call, n: int) -> float:
        """Seconds of one call, the mean of `n`."""
        wait()
        start = time.perf_counter()
        for _ in range(n):
            work()
        wait()
        return (time.perf_counter() - start) / n


def all_times(device: Device, quick: bool) -> dict[str, Any]:
    """Every table, by name: lists of rows ready for JSON."""
    clock = Clock(device, QUICK_SAMPLES if quick else SAMPLES, QUICK_SECONDS if quick else SECONDS)
    tables: dict[str, Any] = {"copy": list(copies(clock, quick)), "latency": list(latencies(clock))}
    tables["kernels"] = list(kernels(clock, quick))
    tables["products"] = list(products(clock, quick))
    tables["sequences"] = list(sequences(clock, quick))
    return tables


def copies(clock: Clock, quick: bool) -> Iterator[Row]:
    """The rate of copies inside the device, bytes read plus bytes written: the ceiling of elementwise kernels."""
    for megabytes in (1,) if quick else (16, 256, 1024):
        nbytes = megabytes << 20
        driver: Any = getattr(clock.device, "driver", None)
        if driver is not None and 4 * nbytes > driver.limits.memory_bytes:
            continue
        if driver is None:
            a, b = np.ones(nbytes // 4, np.float32), np.ones(nbytes // 4, np.float32)
            seconds = clock(partial(np.copyto, b, a))
        else:
            source, target = driver.alloc(nbytes), driver.alloc(nbytes)
            driver.memset(source.ptr, 1, nbytes)
            seconds = clock(partial(driver.d2d, target.ptr, source.ptr, nbytes))
        yield {"bytes": nbytes, "seconds": seconds, "gb_per_second": 2e-9 * nbytes / seconds}


def latencies(clock: Clock) -> Iterator[Row]:
    """The cost of a call that does almost nothing: the work of Python and of the driver."""
    device = clock.device
    one = device.asarray(np.ones(1, np.float32))
    yield {"what": "device.tanh of one number", "seconds": clock(partial(device.tanh, one))}
    yield {"what": "device.add of two numbers", "seconds": clock(partial(device.add, one, one))}
    with mr.no_grad():
        t = mr.tensor(np.ones(1, np.float32), device=device)
        yield {"what": "ops.tanh of one number, no tape", "seconds": clock(partial(ops.tanh, t))}
    if hasattr(device, "driver"):
        with recorded(device) as launches:
            device.tanh(one)
        yield {"what": "one launch", "seconds": clock(launches[-1].again)}
        yield {"what": "wait for nothing", "seconds": clock(device.synchronize)}


def kernels(clock: Clock, quick: bool) -> Iterator[Row]:
    """The elementwise kernels of the cells, one launch each; empty on a device without launches."""
    device = clock.device
    if not hasattr(device, "kernel_of"):
        return
    for dtype in ("float32", "float16", "float64"):
        for B, H in QUICK_CELLS if quick else CELLS:
            for name, step in cells(device, B, 8, H, dtype).items():
                with recorded(device) as launches:
                    step()
                # Only the largest launch of each kernel is measured.
                largest = {launch.name: launch for launch in sorted(launches, key=lambda one: one.nbytes)}
                for launch in largest.values():
                    seconds = kernel_seconds(clock, launch)
                    yield {
                        "op": name,
                        "kernel": launch.name,
                        "launches": sum(one.name == launch.name for one in launches),
                        "dtype": dtype,
                        "size": [B, H],
                        "bytes": launch.nbytes,
                        "seconds": seconds,
                        "gb_per_second": 1e-9 * launch.nbytes / seconds,
                    }


def kernel_seconds(clock: Clock, launch: Launch) -> float:
    """Seconds of one launch, by events on the stream where the driver has them."""
    between_events = getattr(clock.device.driver, "seconds", None)
    if between_events is None:
        return clock(launch.again)
    n = 1 if clock.at_least == 0 else 20

    def many() -> None:
        for _ in range(n):
            launch.again()

    many()
    return statistics.median(between_events(many) / n for _ in range(clock.samples))


def cells(device: Device, B: int, I: int, H: int, dtype: str) -> dict[str, Call]:
    """One step of each cell, forward and backward, as the ops compute it. Few inputs keep the products small."""
    rng = np.random.default_rng(0)

    def draw(*shape: int) -> Any:
        return device.asarray(np.asarray(0.3 * rng.standard_normal(shape)).astype(dtype))

    def run(op: FusedOp, *arrays: Any) -> Any:
        return op.run_half(device, *arrays) if dtype == "float16" else op.run(device, *arrays)

    x, cs_prev, h_prev = draw(B, I), draw(B, H), draw(B, H)
    w, b, peephole = draw(I + H, 4 * H), draw(4 * H), draw(H)
    lstm = (x, cs_prev, h_prev, w, peephole, peephole, peephole, b)
    gru = (x, h_prev, draw(I + H, 2 * H), draw(I + H, H), draw(2 * H), draw(H))
    grads = draw(B, H), draw(B, H)
    lstm_cell = LSTMBlockCell(forget_bias=1.0, cell_clip=3.0, use_peephole=True)
    lstm_grad = LSTMBlockCellGrad(use_peephole=True)
    of_lstm, of_gru = run(lstm_cell, *lstm)[:6], run(GRUBlockCell(), *gru)[:3]
    return {
        "lstm_block_cell": partial(run, lstm_cell, *lstm),
        "lstm_block_cell_grad": partial(run, lstm_grad, *lstm, *of_lstm, *grads),
        "gru_block_cell": partial(run, GRUBlockCell(), *gru),
        "gru_block_cell_grad": partial(run, GRUBlockCellGrad(), *gru, *of_gru, grads[0]),
    }


def products(clock: Clock, quick: bool) -> Iterator[Row]:
    """Square matrix products."""
    rng, device = np.random.default_rng(0), clock.device
    for dtype in ("float32", "float16", "float64"):
        for n in QUICK_PRODUCTS if quick else PRODUCTS:
            if device.name == "cpu" and n > 1024:
                continue
            a, b = (device.asarray(rng.standard_normal((n, n)).astype(dtype)) for _ in range(2))
            seconds = clock(partial(device.matmul, a, b))
            yield {"n": n, "dtype": dtype, "seconds": seconds, "tflop_per_second": 2e-12 * n**3 / seconds}


def sequences(clock: Clock, quick: bool) -> Iterator[Row]:
    """block_lstm, and cudnn_rnn compared with torch if torch has the same kind of device."""
    device, dtypes = clock.device, ("float32",) if quick else ("float32", "float16")
    tf32 = chosen.precision == "tf32"
    for size, dtype, op in product(QUICK_SIZES if quick else SIZES, dtypes, ("block_lstm", "lstm", "gru")):
        theirs = torch_calls(device.name, op, size, dtype)
        for what, call in our_calls(device, op, size, dtype).items():
            row: Row = {"op": op, "pass": what, "size": list(size), "dtype": dtype, "seconds": clock(call)}
            if theirs:
                with torch_rounding(tf32):
                    row["torch_seconds"] = clock(theirs[what], theirs["wait"])
                row["times_faster_than_torch"] = row["torch_seconds"] / row["seconds"]
            yield row
