"""What a CudnnRNN network keeps in memory, part by part, and which rung of the ladder computes its layers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from minirnn.devices.base import Device
from minirnn.devices.cuda.driver import Limits
from minirnn.devices.cuda.launch.cudnn_rnn.choice import AUTO, H200, RUNGS, VARIABLE, Choice, choose, upper_plans
from minirnn.devices.cuda.launch.cudnn_rnn.layer import operand_of
from minirnn.devices.cuda.launch.cudnn_rnn.plan import Sizes
from minirnn.devices.cuda.launch.cudnn_rnn.products import VARIABLE as PRODUCTS
from minirnn.devices.cuda.launch.cudnn_rnn.products import WAYS
from minirnn.devices.cuda.launch.cudnn_rnn.tensor_plan import TensorPlan
from minirnn.devices.cuda.launch.cudnn_rnn.tuner import VARIABLE as TUNE
from minirnn.devices.cuda.recordings import VARIABLE as GRAPHS
from minirnn.ops.cudnn_rnn.network import Call, kernel_layout, reserve_layout
from minirnn.ops.cudnn_rnn.params import Network

Row = dict[str, Any]
PASSES = (("forward", False), ("backward", True))
WARPS = 64
"""Warps that a multiprocessor of a data center's GPU holds."""


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
    sizes = Sizes(net.rnn_mode, T, B, net.H, net.P, net.D, itemsize, operand_of(np.dtype(dtype)))
    driver = getattr(device, "driver", None)
    if driver is None:
        yield f"{device} has no rungs: one function for each mode"
    else:
        wanted = device.cudnn_rnn_rung
        yield f"{device}{f', asked for {wanted}' if wanted else ''}"
        if zoneout:
            yield from _choices(sizes, driver.limits, wanted, zoneout)
        else:
            yield from _of_the_tuner(device, sizes)
    if driver is None or driver.limits.simulated:
        yield f"with {VARIABLE}={AUTO}, on a GPU such as {H200.name} ({H200.multiprocessors} multiprocessors)"
        yield from _choices(sizes, H200, None, zoneout)
    if not zoneout:
        yield "each of the upper rungs, taken where it is the fastest when the rungs are timed, or if asked for"
        yield from _upper_rungs(sizes, H200 if driver is None or driver.limits.simulated else driver.limits)
        if sizes.P != sizes.H:
            yield (
                f"  projected: their loops multiply o * tanh(c) by R Wp, {sizes.G * sizes.H} x {sizes.H}, and h is a"
                f" product after them; steps multiplies by R and Wp, {sizes.G + 1} x {sizes.H} x {sizes.P}"
            )
    yield f"to choose: {VARIABLE}={'|'.join((AUTO, *RUNGS))}, or device.cudnn_rnn_rung = ..."
    yield f"float32 products over all steps: {PRODUCTS}={'|'.join((AUTO, *WAYS))}, or device.products.wanted = ..."
    yield f"loops as one launch, where they come again: {GRAPHS}=1|0, or device.recordings.enabled = ..."


def _of_the_tuner(device: Any, sizes: Sizes) -> Iterator[str]:
    """What a device would take now, and what was timed on it."""
    tuner = device.tuner
    for name, backward in PASSES:
        choice, timing = tuner.choice(sizes, backward, may_time=False), tuner.timing(sizes, backward)
        yield from _line(name, choice, sizes)
        if timing is not None:
            shown = ", ".join(f"{rung} {1e6 * s:,.1f} us" for rung, s in sorted(timing.seconds.items(), key=_by_time))
            yield f"  {'':21} timed with {timing.steps} steps: {shown}"
            for rung, reason in timing.dropped.items():
                yield f"  {'':21} not used: {rung}: {reason}".replace("\n", " ")
        elif device.cudnn_rnn_rung is None and tuner.enabled and tuner.timings is not None:
            yield f"  {'':21} not timed yet: the first such layer times the rungs ({TUNE}=0 forbids it)"
    if tuner.timings is not None:
        yield f"timings are kept in {tuner.timings.path}"


def _by_time(item: tuple[str, float]) -> float:
    return item[1]


def _choices(sizes: Sizes, limits: Limits, wanted: str | None, zoneout: bool) -> Iterator[str]:
    for name, backward in PASSES:
        yield from _line(name, choose(sizes, limits, backward, wanted, zoneout), sizes)


def _upper_rungs(sizes: Sizes, limits: Limits) -> Iterator[str]:
    """The plan of every upper rung, or why it has none. Of that on tensor cores also what a step of all blocks takes,
    and how full they leave the device."""
    for (name, backward), rung in product(PASSES, RUNGS[1:]):
        plan = upper_plans(sizes, limits, backward)[rung]
        if isinstance(plan, str):
            yield f"  {name:9} {rung:11} no: {plan}"
            continue
        yield f"  {name:9} {rung:11} {plan.describe(sizes.D)}"
        if not isinstance(plan, TensorPlan):
            continue
        step = plan.per_step(sizes.B, sizes.D)
        busy = plan.blocks * sizes.D / limits.multiprocessors
        yield (
            f"  {'':21} a step: {step['mma']:,} products of tensor cores, {step['reads']:,} shared reads for them;"
            f" {step['sent']:,} bytes sent, {step['gathered']:,} gathered"
        )
        yield (
            f"  {'':21} one block a multiprocessor, on {busy:.0%} of them;"
            f" {plan.warps} of {WARPS} warps: occupancy {plan.warps / WARPS:.0%}"
        )


def _line(name: str, choice: Choice, sizes: Sizes) -> Iterator[str]:
    yield f"  {name:9} {choice.rung:11} {choice.reason}"
    if choice.plan is not None:
        yield f"  {'':21} {choice.plan.describe(sizes.D)}"
