"""The memory of a CudnnRNN network, part by part, and the rung of the ladder that computes its layers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from minirnn.devices.base import Device, Weights
from minirnn.devices.cuda.driver import Limits
from minirnn.devices.cuda.launch.sequence.choice import AUTO, H200, RUNGS, VARIABLE, choose
from minirnn.devices.cuda.launch.sequence.layout import layout_of
from minirnn.devices.cuda.launch.sequence.sizes import Sizes
from minirnn.devices.cuda.recordings import VARIABLE as GRAPHS
from minirnn.devices.precision import chosen
from minirnn.engine.tensor import Tensor, tensor
from minirnn.ops.cudnn_rnn.cells import layer_of
from minirnn.ops.cudnn_rnn.params import Network
from minirnn.ops.cudnn_rnn.reserve import ZONED, Part, layout
from minirnn.ops.sequence.layer import RecurrentLayer, flat

Parts = Sequence[Any]
"""Regions of a buffer, with name, offset and shape."""


class Call(NamedTuple):
    """A training call of a CudnnRNN op whose memory is listed."""

    net: Network
    T: int
    B: int
    dropout: bool
    zoneout: bool


PASSES = (("forward", False), ("backward", True))


def memory_tables(device: Device, call: Call, dtype: str) -> dict[str, Parts]:
    """The regions of the parameter buffer and the parts of the reserve space."""
    regions = sorted(call.net.regions, key=lambda region: region.offset)
    return {"params": regions, "reserve_space": reserve_parts(device, call, dtype)}


def reserve_parts(device: Device, call: Call, dtype: str) -> list[Part]:
    """The parts of the reserve space of a training call. What a kernel saves grows linearly with T and B."""
    net, saved = call.net, 0
    plan, *_ = cell_of(call)
    if "cell_sequence" in device.kernels and device.runs_plan(plan):
        one, two = (saved_of(device, call._replace(T=T), dtype) for T in (1, 2))
        saved = (one + (two - one) * (call.T - 1)) * call.B
    kind = (call.dropout and net.L > 1) + ZONED * call.zoneout
    return layout(net, call.T, call.B, kind, saved)


def cell_of(call: Call) -> tuple[Any, ...]:
    """The plan of the layers, their masks, and the zoneout of a projected h."""
    return layer_of(call.net.rnn_mode, bool(call.net.num_proj), (0.5, 0.5) if call.zoneout else None)


def saved_of(device: Device, call: Call, dtype: str) -> int:
    """The number of elements that a layer saves for a batch of 1."""
    net, (plan, *zoned) = call.net, cell_of(call)

    def zeros(*shape: int) -> Tensor:
        return tensor(np.zeros(shape, dtype), device=device)

    G, Wp, b = net.G * net.H, zeros(net.P, net.H) if net.num_proj else None, zeros(net.G * net.H)
    weights = [Weights(zeros(G, net.P), zeros(G, net.P), Wp, b, b)] * net.D
    layer = RecurrentLayer(plan, weights, None, *zoned)
    states = [zeros(net.D, 1, net.P), *[zeros(net.D, 1, net.H)] * (plan.states - 1)]
    layer(zeros(call.T, 1, net.P), *states, *flat(weights))
    return 0 if layer.saved is None else math.prod(layer.saved.shape)


def memory_lines(parts: Parts, dtype: str) -> Iterator[str]:
    """The lines of one of the memory tables."""
    width, itemsize = max((len(part.name) for part in parts), default=0), np.dtype(dtype).itemsize
    yield f"{'part':{width}}  {'offset':>10}  {'elements':>10}  {'bytes':>12}  shape"
    total = 0
    for part in parts:
        n, shape = math.prod(part.shape), ", ".join(map(str, part.shape))
        total += n
        yield f"{part.name:{width}}  {part.offset:>10,}  {n:>10,}  {n * itemsize:>12,}  ({shape})"
    yield f"{'total':{width}}  {'':>10}  {total:>10,}  {total * itemsize:>12,}"


def rung_lines(device: Any, call: Call, dtype: str) -> Iterator[str]:
    """The rungs that a CUDA device and a large GPU would choose for the layers of this network."""
    itemsize = max(4, np.dtype(dtype).itemsize)  # float16 is computed in float32
    precision = "tf32" if np.dtype(dtype).itemsize == 2 else chosen.precision  # as which float16 is multiplied
    net, (plan, *_) = call.net, cell_of(call)
    sizes = Sizes(plan, call.T, call.B, net.H, net.P, net.D, itemsize)
    driver = getattr(device, "driver", None)
    if driver is None:
        yield f"{device} has no rungs: one driver for all cells"
    else:
        wanted = device.cudnn_rnn_rung
        yield f"{device}{f', asked for {wanted}' if wanted else ''}"
        yield from _choices(sizes, driver.limits, wanted, precision)
    if driver is None or driver.limits.simulated:
        yield f"with {VARIABLE}={AUTO}, on a GPU such as {H200.name} ({H200.multiprocessors} multiprocessors)"
        yield from _choices(sizes, H200, None, precision)
    yield f"{RUNGS[-1]}, taken where the rule chooses it (no GPU has timed it yet), or if asked for"
    yield from _persistent(sizes, H200 if driver is None or driver.limits.simulated else driver.limits)
    yield f"to choose: {VARIABLE}={'|'.join((AUTO, *RUNGS))}, or device.cudnn_rnn_rung = ..."
    yield f"recorded layers and loops: {GRAPHS}=1|0, or device.recordings.enabled = ..."


def _choices(sizes: Sizes, limits: Limits, wanted: str | None, precision: str) -> Iterator[str]:
    """The rung that is chosen for each pass, and why."""
    for name, backward in PASSES:
        choice = choose(sizes, limits, backward, wanted, precision)
        yield f"  {name:9} {choice.rung:11} {choice.reason}"


def _persistent(sizes: Sizes, limits: Limits) -> Iterator[str]:
    """The layout of each pass, or the reason why there is none."""
    for name, backward in PASSES:
        found = layout_of(sizes, limits, backward)
        yield f"  {name:9} {f'no: {found}' if isinstance(found, str) else found.describe(sizes.D)}"
