"""The rungs of the CudnnRNN ladder: kernels for the same layers that a device chooses between by their sizes.

Each rung is requested by name; a check fails if another one computed the layers. On `cuda-sim` all other cells run on
the lowest rung.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import product
from typing import Any

from minirnn import devices as registry
from minirnn.devices.cuda.launch.sequence.choice import RUNGS
from minirnn.ops.cudnn_rnn.params import Network
from minirnn.proof import ways
from minirnn.proof.case import DTYPES, Case
from minirnn.proof.cases.cudnn import ELEMENTWISE, H, I, forward
from minirnn.proof.table import Cell, Comparison, Finding, worst

OP = "cudnn_rnn_v3"


def cases() -> Iterator[Case]:
    """Every mode in both directions, with lengths and dropout; one size with many blocks of threads."""
    for mode, direction in product(ELEMENTWISE, ("unidirectional", "bidirectional")):
        yield forward(OP, Network(mode, 2, H, I, direction), True, True, quick=mode == "gru")
    for mode in ("gru", "lstm"):
        yield forward(OP, Network(mode, 1, 67, 19), True, False, sizes=(3, 5))


def comparisons(devices: Mapping[str, str | None]) -> Iterator[Comparison]:
    """Every rung against the definition, and in check mode."""
    for case, rung, dtype in product(cases(), RUNGS, DTYPES):
        for device, absent in devices.items():
            for way, run in ways_of(rung, case, dtype, device):
                cell = Cell(OP, f"rung {rung}: {case.variant}", dtype, device, way)
                quick = case.quick and (way == "definition" or dtype == "float32")
                yield ways.comparison(case, cell, run, absent or "", quick)


def ways_of(rung: str, case: Case, dtype: str, device: str) -> Iterator[tuple[str, Callable[[], Finding]]]:
    """The ways, and the function that compares for each. The lowest rung of `cuda-sim` is verified by all other
    cells.
    """
    simulated = device == "cuda-sim" and rung != RUNGS[0]
    if device == "cuda" or simulated:
        yield "definition", partial(on_rung, rung, partial(registry.get, device), case, dtype)
    if simulated:
        yield "check mode", partial(in_check_mode, rung, case, dtype)


def in_check_mode(rung: str, case: Case, dtype: str) -> Finding:
    """The rung in several orders of the threads, as in `minirnn.proof.ways.in_check_mode`."""
    return worst(on_rung(rung, partial(ways.checking, order), case, dtype) for order in ways.orders_of(dtype))


def on_rung(rung: str, get: Callable[[], Any], case: Case, dtype: str) -> Finding:
    """Outputs and gradients computed by this rung only, compared with the definition."""
    device = get()
    with asked_for(device, rung):
        before = device.rungs.copy()
        found = ways.by_definition(case, dtype, device)
        used = device.rungs - before
    if any({name for name in used if name.endswith(way)} != {f"{rung} {way}"} for way in ("forward", "backward")):
        raise ValueError(f"the layers were computed by {', '.join(sorted(used))}\n  expected the rung {rung}")
    return found


@contextmanager
def asked_for(device: Any, rung: str) -> Iterator[None]:
    """Inside the block the device uses this rung."""
    before, device.cudnn_rnn_rung = device.cudnn_rnn_rung, rung
    try:
        yield
    finally:
        device.cudnn_rnn_rung = before
