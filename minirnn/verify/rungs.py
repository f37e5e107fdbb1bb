"""The rungs of the CudnnRNN ladder: kernels for the same layers that a device chooses between by their sizes.

Each rung is asked for by name; a check fails if another one computed the layers. On `cuda-sim` the lowest rung is what
all other cells run on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import product
from typing import Any

import minirnn as mr
from minirnn.devices.cuda.launch.cudnn_rnn.choice import RUNGS
from minirnn.ops.cudnn_rnn.params import Network
from minirnn.verify import ways as verify_ways
from minirnn.verify.case import DTYPES, Case
from minirnn.verify.cudnn import ELEMENTWISE, H, I, forward
from minirnn.verify.table import Cell, Check, Finding

OP = "cudnn_rnn_v3"


def cases() -> Iterator[Case]:
    """Every mode in both directions, with lengths and dropout; and one size with many blocks of threads."""
    for mode, direction in product(ELEMENTWISE, ("unidirectional", "bidirectional")):
        yield forward(OP, Network(mode, 2, H, I, direction), True, True, quick=mode == "gru")
    for mode in ("gru", "lstm"):
        yield forward(OP, Network(mode, 1, 67, 19), True, False, sizes=(3, 5))


def checks(devices: dict[str, str | None]) -> Iterator[Check]:
    """Every rung against the definition, and in check mode."""
    for case, rung in product(cases(), RUNGS):
        for dtype in DTYPES:
            for device, absent in devices.items():
                if device == "cuda" or (device == "cuda-sim" and rung != RUNGS[0]):
                    run = partial(on_rung, rung, partial(mr.devices.get, device), case, dtype)
                    yield Check(cell(case, rung, dtype, device, "definition"), case.size, None if absent else run,
                                absent or "", case.quick)  # fmt: skip
            if "cuda-sim" in devices and rung != RUNGS[0]:
                absent = devices["cuda-sim"]
                checked = partial(in_check_mode, rung, case, dtype)
                yield Check(cell(case, rung, dtype, "cuda-sim", "check mode"), case.size, None if absent else checked,
                            absent or "", case.quick and dtype == "float32")  # fmt: skip


def cell(case: Case, rung: str, dtype: str, device: str, way: str) -> Cell:
    return Cell(OP, f"rung {rung}: {case.variant}", dtype, device, way)


def in_check_mode(rung: str, case: Case, dtype: str) -> Finding:
    """In several orders of the threads, as `verify_ways.in_check_mode`."""
    orders = verify_ways.orders_of(dtype)
    found = [on_rung(rung, partial(verify_ways.checking, order), case, dtype) for order in orders]
    return max(found, key=lambda finding: finding.ratio)


def on_rung(rung: str, get: Callable[[], Any], case: Case, dtype: str) -> Finding:
    """Against the definition, and by no other rung."""
    device = get()
    with asked_for(device, rung):
        before = device.rungs.copy()
        found = verify_ways.by_definition(case, dtype, device)
        used = device.rungs - before
    if any({name for name in used if name.endswith(way)} != {f"{rung} {way}"} for way in ("forward", "backward")):
        raise ValueError(f"the layers were computed by {', '.join(sorted(used))}\n  expected the rung {rung}")
    return found


@contextmanager
def asked_for(device: Any, rung: str) -> Iterator[None]:
    """The device takes this rung inside the block."""
    before, device.cudnn_rnn_rung = device.cudnn_rnn_rung, rung
    try:
        yield
    finally:
        device.cudnn_rnn_rung = before
