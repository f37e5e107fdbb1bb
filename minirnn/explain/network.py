"""What a CudnnRNN network keeps in memory, part by part, and which rung of the ladder computes its layers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from minirnn.devices.base import Device
from minirnn.devices.cuda.driver import Limits
from minirnn.devices.cuda.launch.cudnn_rnn.choice import AUTO, H200, RUNGS, VARIABLE, choose
from minirnn.devices.cuda.launch.cudnn_rnn.plan import plan_of
from minirnn.devices.cuda.launch.cudnn_rnn.sizes import Sizes
from minirnn.devices.cuda.recordings import VARIABLE as GRAPHS
from minirnn.ops.cudnn_rnn.network import Call, kernel_layout, reserve_layout
from minirnn.ops.cudnn_rnn.params import Network

Row = dict[str, Any]
PASSES = (("forward", False), ("backward", True))


def memory_tables(device: Device, call: Call, dtype: str) -> dict[str, list[Row]]:
    """The regions of the parameter buffer and the parts of the reserve space, as rows of two tables."""
    itemsize, net = np.dtype(dtype).itemsize, call.net
    regions = sorted((r for layer in net.layers for r in layer if r is not None), key=lambda region: region.offset)
    reserve: list[Row] = []
    for part in reserve_layout(device, call).values():
        if not part.name.startswith("layer"):
            reserve.append(_row(part.name, part.offset, (part.size,), itemsize))
            continue
        offset = part.offset
        for name, shape in kernel_layout(device, call, int(part.name.split()[1])):
            reserve.append(_row(f"{part.name}: {name}", offset, shape, itemsize))
            offset += reserve[-1]["elements"]
    return {"params": [_row(r.name, r.offset, r.shape, itemsize) for r in regions], "reserve_space": reserve}


def _row(name: str, offset: int, shape: tuple[int, ...], itemsize: int) -> Row:
    elements = int(np.prod(shape))
    return {"name": name, "offset": offset, "shape": list(shape), "elements": elements, "bytes": elements * itemsize}


def memory_lines(rows: list[Row]) -> Iterator[str]:
    """The lines of one of the memory tables."""
    width = max((len(r["name"]) for r in rows), default=0)
    yield f"{'part':{width}}  {'offset':>10}  {'elements':>10}  {'bytes':>12}  shape"
    for r in rows:
        shape = ", ".join(map(str, r["shape"]))
        yield f"{r['name']:{width}}  {r['offset']:>10,}  {r['elements']:>10,}  {r['bytes']:>12,}  ({shape})"
    total = sum(r["elements"] for r in rows)
    yield f"{'in all':{width}}  {'':>10}  {total:>10,}  {sum(r['bytes'] for r in rows):>12,}"


def rung_lines(device: Any, net: Network, T: int, B: int, dtype: str, zoneout: bool = False) -> Iterator[str]:
    """What a CUDA device would choose for the layers of this network, and what a large GPU would."""
    itemsize = max(4, np.dtype(dtype).itemsize)  # float16 is computed in float32
    sizes = Sizes(net.rnn_mode, T, B, net.H, net.P, net.D, itemsize)
    driver = getattr(device, "driver", None)
    if driver is None:
        yield f"{device} has no rungs: one function for each mode"
    else:
        wanted = device.cudnn_rnn_rung
        yield f"{device}{f', asked for {wanted}' if wanted else ''}"
        yield from _choices(sizes, driver.limits, wanted, zoneout)
    if driver is None or driver.limits.simulated:
        yield f"with {VARIABLE}={AUTO}, on a GPU such as {H200.name} ({H200.multiprocessors} multiprocessors)"
        yield from _choices(sizes, H200, None, zoneout)
    if not zoneout:
        yield f"{RUNGS[-1]}, taken where the rule chooses it (no GPU has timed it yet), or if asked for"
        yield from _persistent(sizes, H200 if driver is None or driver.limits.simulated else driver.limits)
    yield f"to choose: {VARIABLE}={'|'.join((AUTO, *RUNGS))}, or device.cudnn_rnn_rung = ..."
    yield f"loops as one launch, where they come again: {GRAPHS}=1|0, or device.recordings.enabled = ..."


def _choices(sizes: Sizes, limits: Limits, wanted: str | None, zoneout: bool) -> Iterator[str]:
    """The rung that is chosen for each pass, and why."""
    for name, backward in PASSES:
        choice = choose(sizes, limits, backward, wanted, zoneout)
        yield f"  {name:9} {choice.rung:11} {choice.reason}"


def _persistent(sizes: Sizes, limits: Limits) -> Iterator[str]:
    """The plan for each pass, or why there is none."""
    for name, backward in PASSES:
        plan = plan_of(sizes, limits, backward)
        yield f"  {name:9} {f'no: {plan}' if isinstance(plan, str) else plan.describe(sizes.D)}"
