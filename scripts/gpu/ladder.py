"""``python -m scripts.gpu.ladder [--json FILE]``: what each rung of the CudnnRNN ladder does, counted in the simulator.

Launches, products, barriers and bytes are the same in every run and on every machine; they show what a rung saves, not
how long it takes. Each layer is planned as for a large GPU, with its shared memory and one block per multiprocessor.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from minirnn.bench.calls import Call, Size
from minirnn.devices.base import Weights
from minirnn.devices.cuda.device import Cuda
from minirnn.devices.cuda.driver import Matrix
from minirnn.devices.cuda.launch.sequence.choice import H200, RUNGS
from minirnn.devices.cuda.launch.sequence.layout import layout_of
from minirnn.devices.cuda.launch.sequence.sizes import Sizes
from minirnn.devices.cuda.sim.driver import SimDriver
from minirnn.devices.cuda.sim.options import SimOptions
from minirnn.ops.cudnn_rnn.cells import plan_of

SIZES = (
    (16, 1, 64, 64),
    (4, 1, 64, 64),
    (64, 1, 64, 64),
    (16, 4, 64, 64),
    (16, 16, 64, 64),
    (16, 1, 128, 128),
    (16, 1, 256, 256),
)
"""T, B, I, H: one size, and two more along each of T, B and H (with I). The simulator is slow, so all are
small."""
COUNTS = {
    "launches": "by the host: kernels, products, recordings",
    "products": "matrix products, by the library on a GPU",
    "product bytes": "their operands and results, each once",
    "kernel bytes": "32-byte sectors of device memory that warps of kernels touch, before any cache; messages apart",
    "sent": "bytes of messages that blocks send each other",
    "gathered": "bytes of messages that blocks receive, each once: what the device's cache must deliver",
    "block barriers": "of all blocks",
}
RECORDED = "steps, recorded"
"""The name of the lowest rung when its loops run as CUDA graphs."""
TIMES = "not yet measured on a GPU"
MOST_ACCESSES = 12_000_000
"""The largest number of recorded accesses of one launch."""


def counted(size: Size, rung: str) -> Iterator[dict[str, Any]]:
    """The counts of one layer forward and backward; a pass that this rung does not implement has no row.

    The lowest rung has a second pair of rows: the same work, its loops run from recordings.
    """
    device = Cuda(SimDriver(SimOptions(check=True, shared_limit=H200.shared_bytes_per_block)))
    device.cudnn_rnn_rung = rung
    found = []
    for way, run in zip(("forward", "backward"), passes(device, size), strict=True):
        device.rungs.clear()
        with counting(device) as counts:
            run()
        if device.rungs[f"{rung} {way}"]:
            counts["gathered"] = gathered(rung, size, device, way == "backward")
            yield row_of(size, rung, way, counts)
        found.append(counts)
    if rung == RUNGS[0]:
        for way, counts, launches in zip(("forward", "backward"), found, recorded_launches(size), strict=True):
            yield row_of(size, RECORDED, way, Counter(counts | {"launches": launches}))


def gathered(rung: str, size: Size, device: Cuda, backward: bool) -> int:
    """The bytes of messages that the blocks of one pass receive."""
    T, B, _, H = size
    layout = layout_of(Sizes(plan_of("lstm"), T, B, H, H, 1, 4), device.driver.limits, backward)
    if rung != RUNGS[-1] or isinstance(layout, str):
        return 0  # other rungs read arrays instead of messages
    return (T if backward else T - 1) * layout.gathered  # the first state is not a message


def passes(device: Cuda, size: Size) -> tuple[Call, Call]:
    """The forward pass of one layer with random inputs, and the backward pass of the last forward one."""
    T, B, I, H = size
    rng = np.random.default_rng(0)

    def draw(*shape: int) -> Any:
        return device.asarray((0.1 * rng.standard_normal(shape)).astype(np.float32))

    x, state, upstream, last = draw(T, B, I), draw(1, B, H), draw(T, B, H), draw(1, B, H)
    weights = [Weights(draw(4 * H, I), draw(4 * H, H), None, draw(4 * H), draw(4 * H))]
    chosen: dict[str, Any] = dict(plan=plan_of("lstm"), lengths=None)
    found: list[Any] = [None, None]

    def forward() -> None:
        found[:] = None, None  # the values that the last pass saved are no longer needed
        found[0], _, _, found[1] = device.cell_sequence(x, state, state, weights, training=True, **chosen)

    def backward() -> None:
        y, saved = found
        device.cell_sequence_grad(x, state, state, weights, saved, y, upstream, last, last, **chosen)

    return forward, backward


def recorded_launches(size: Size) -> list[int]:
    """The launches by the host for each pass of the lowest rung once both passes are recorded."""
    device = Cuda(SimDriver(SimOptions()))  # check mode never reuses an address
    device.cudnn_rnn_rung, device.recordings.enabled = RUNGS[0], True
    both = passes(device, size)
    for _ in range(9):
        launches = []
        for one in both:
            before = device.driver.launches
            one()
            launches.append(device.driver.launches - before)
    assert device.recordings.counts["replayed"] >= 8
    return launches


def row_of(size: Size, rung: str, way: str, counts: Counter[str]) -> dict[str, Any]:
    """A row of the table."""
    return {"mode": "lstm", "size": list(size), "rung": rung, "pass": way, "counts": {n: counts[n] for n in COUNTS}}


@contextmanager
def counting(device: Any) -> Iterator[Counter[str]]:
    """Inside the block, count what the device's kernels and products do."""
    counts: Counter[str] = Counter()
    driver: Any = device.driver
    gemm, kernel_of, before = driver.gemm, device.kernel_of, driver.launches

    def traced(*which: Any, **chosen: Any) -> Any:
        kernel: Any = kernel_of(*which, **chosen)

        def launch(*args: Any, **sizes: Any) -> None:
            trace, stats = kernel.traced(*args, **sizes, capacity=MOST_ACCESSES), driver.stats
            assert stats.accesses <= MOST_ACCESSES
            counts["kernel bytes"] += 32 * trace.sectors_in_all()
            counts["sent"] += stats.bytes_sent
            counts["block barriers"] += stats.barriers

        launch.name, launch.max_resident_blocks = kernel.name, kernel.max_resident_blocks  # type: ignore[attr-defined]
        return launch

    def multiply(a: Matrix, b: Matrix, c: Matrix, beta: float = 0.0, batch: int = 1) -> None:
        gemm(a, b, c, beta, batch)
        counts["products"] += 1
        elements = sum(m.rows * m.cols for m in (a, b, c, *([c] if beta else [])))
        counts["product bytes"] += elements * batch * c.dtype.itemsize

    driver.gemm, device.kernel_of = multiply, traced
    try:
        yield counts
    finally:
        del driver.gemm, device.kernel_of
        counts["launches"] = driver.launches - before


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="ladder", description=__doc__)
    parser.add_argument("--json", type=Path, help="write all counts to this file")
    args = parser.parse_args(words)
    rows = []
    print(f"{'lstm T,B,I,H':16}{'':28}" + "".join(f"{name:>18}" for name in COUNTS))
    for size, rung in product(SIZES, RUNGS):
        for row in counted(size, rung):
            rows.append(row)
            counts = "".join(f"{row['counts'][name]:18,}" for name in COUNTS)
            print(f"{','.join(map(str, size)):16}{row['pass']:10}{row['rung']:18}{counts}", flush=True)
    print(f"times: {TIMES}")
    if args.json:
        about = {"device": f"cuda-sim with the layouts of an {H200.name}", "times": TIMES, "counts": COUNTS}
        args.json.write_text(json.dumps(about | {"rows": rows}, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
