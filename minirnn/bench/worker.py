"""One peer of ``minirnn bench``: reads lines ``[mode, [T, B, I, H], pass]``, answers with milliseconds per call.

The mode of a custom cell is ``FILE.py:name``. A peer with the name of an op computes that op, regardless of the mode.
"""

from __future__ import annotations

import json
import sys
import time
from functools import lru_cache
from math import ceil

import minirnn as mr
from minirnn.bench.calls import Call, Size, our_calls, own_calls, product_calls, torch_calls
from minirnn.bench.peers import OPS
from minirnn.nn.own.decorator import Cell
from minirnn.nn.own.file import cell_in, names_a_file

SAMPLE = 0.12
"""The shortest time of a sample, in seconds."""


@lru_cache(maxsize=1)
def calls(peer: str, mode: str, size: Size, dtype: str) -> dict[str, Call]:
    """The passes that are timed; the random weights have a scale that keeps the state from vanishing."""
    if peer in OPS:
        return our_calls(mr.devices.get(), peer, size, dtype)
    op = cell_in(mode) if names_a_file(mode) else mode
    if peer == "gemm":
        return product_calls(op, size, dtype)
    if isinstance(op, Cell):
        return own_calls(mr.devices.get(), op, size, dtype, composed=peer == "composed")
    return our_calls(mr.devices.get(), op, size, dtype) if peer == "minirnn" else torch_calls("cpu", op, size, dtype)


def milliseconds(function: Call, sample: float = SAMPLE) -> float:
    """The time of one call, from as many calls as fill a sample of `sample` seconds."""
    start = time.perf_counter()
    function()
    once = time.perf_counter() - start
    n = max(1, ceil(sample / max(once, 1e-6)))
    start = time.perf_counter()
    for _ in range(n):
        function()
    return (time.perf_counter() - start) / n * 1e3


def main() -> None:
    peer, dtype = sys.argv[1:]
    for line in sys.stdin:
        mode, size, what = json.loads(line)
        print(milliseconds(calls(peer, mode, tuple(size), dtype)[what]), flush=True)


if __name__ == "__main__":
    main()
