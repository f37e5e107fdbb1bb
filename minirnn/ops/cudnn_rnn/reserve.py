"""The reserve space of the CudnnRNN ops: a 1-D array with all values that a forward pass saves for its Backprop op.

====================  =================================  ==========================================================
part                  elements                           what
====================  =================================  ==========================================================
``saved by l``        the same for each layer            what the device's kernel saves of layer l
``output of l``       T * B * D*P, for l < L-1           output of layer l before dropout
``mask after l``      T * B * D*P, for l < L-1           its dropout mask, if there is dropout (B * D*P if one mask
                                                         serves all steps)
``kind``              1                                  whether there are masks, for each step or one for all, and
                                                         zoneout
``sample``            15                                 elements of ``output``: tells a stale reserve space
====================  =================================  ==========================================================

A backward pass on the tape needs no reserve space, so the array is only assembled when its values are first read.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

import numpy as np

from minirnn.devices.base import Array, Device
from minirnn.engine.tensor import Tensor, next_seq
from minirnn.ops.cudnn_rnn.params import Network

SAMPLE = 15
TAIL = 1 + SAMPLE
ZONED = 3
"""Zoneout adds this to the kind, which is 0 without masks, 1 with a mask per step, 2 with one mask for all."""


class Part(NamedTuple):
    """A named range of the reserve space."""

    name: str
    offset: int
    size: int
    shape: tuple[int, ...]


class Contents(NamedTuple):
    """The contents of a reserve space, without its tail."""

    saved: list[Array | None]
    outputs: list[Array]
    masks: list[Array] | None


class Origin(NamedTuple):
    """The call that a reserve space belongs to."""

    net: Network
    zoned: bool
    output: Array
    contents: Callable[[], Contents]
    join: Callable[[], Array]


class ReserveSpace(Tensor):
    """A Tensor whose array is assembled when it is first read. Until then, a Backprop op uses its contents."""

    __slots__ = ("_made", "_origin")

    _made: Array
    _origin: Origin | None

    def __new__(cls, device: Device, origin: Origin) -> ReserveSpace:
        t = object.__new__(cls)
        t._origin, t._made = origin, None
        t.device, t.seq = device, next_seq()
        t._grad = t.hooks = t.op = None
        t.parents, t._requires_grad = (), False
        return t

    def __init__(self, device: Device, origin: Origin) -> None:
        pass

    @property
    def array(self) -> Array:
        origin = self._origin
        if origin is not None:
            self.array = origin.join()
        return self._made

    @array.setter
    def array(self, array: Array) -> None:
        self._made, self._origin = array, None

    def contents_for(self, net: Network, zoned: bool, output: Array) -> Contents | None:
        """Its contents if the array is not assembled yet and belongs to the call that returned `output`, else None."""
        origin, device = self._origin, self.device
        if origin is None or (origin.net, origin.zoned, origin.output.dtype) != (net, zoned, output.dtype):
            return None
        if origin.output is not output:
            if origin.output.shape != output.shape:
                return None
            own, given = (device.to_numpy(sample_of(device, a)) for a in (origin.output, output))
            if not np.array_equal(own, given, equal_nan=True):
                return None
        return origin.contents()


@lru_cache(maxsize=256)
def layout(net: Network, T: int, B: int, kind: int, saved: int) -> list[Part]:
    """The parts in their order. `saved` is the number of elements that a kernel saves for a layer."""
    width, steps = net.D * net.P, (0, T, 1)[kind % ZONED]
    shapes: list[tuple[str, tuple[int, ...]]] = []
    for layer in range(net.L):
        shapes.append((f"saved by {layer}", (saved,)))
        if layer < net.L - 1:
            shapes.append((f"output of {layer}", (T, B, width)))
            if steps:
                shapes.append((f"mask after {layer}", (steps, B, width)))
    parts, offset = [], 0
    for name, shape in [*shapes, ("kind", (1,)), ("sample", (SAMPLE,))]:
        parts.append(Part(name, offset, prod(shape), shape))
        offset += prod(shape)
    return parts


def joined(device: Device, net: Network, contents: Contents, zoned: bool, output: Array) -> tuple[Array, Contents]:
    """The reserve space of the call that returned `output` (T, B, D*P), and `contents` as slices of it."""
    T, B, _ = output.shape
    masks = contents.masks or [None] * len(contents.outputs)
    kind = ZONED * zoned
    if contents.masks:
        kind += 1 if contents.masks[0].shape[0] == T else 2
    pieces = list(contents.saved[:1])
    for saved, y, mask in zip(contents.saved[1:], contents.outputs, masks, strict=True):
        pieces += [y, mask, saved]
    flat = [device.reshape(a, (prod(a.shape),)) for a in pieces if a is not None]
    tail = device.full((1,), kind, output.dtype), sample_of(device, output)
    reserve = device.concatenate([*flat, *tail], 0)
    first = contents.saved[0]
    return reserve, _slices(device, layout(net, T, B, kind, 0 if first is None else first.shape[0]), reserve)


def cut(device: Device, net: Network, zoned: bool, reserve: Array, output: Array) -> Contents:
    """The contents of the array that `joined` made for this output, as slices. Raises ValueError for another array."""
    T, B, _ = output.shape
    size = reserve.shape[0]
    (kind,) = device.to_numpy(device.getitem(reserve, (slice(size - TAIL, size - SAMPLE),))).tolist() or [None]
    if kind not in range(ZONED * zoned, ZONED * zoned + (ZONED if net.L > 1 else 1)):
        raise ValueError(size)
    kind = int(kind)
    saved, rest = divmod(size - sum(part.size for part in layout(net, T, B, kind, 0)), net.L)
    if saved < 0 or rest:
        raise ValueError(size)
    return _slices(device, layout(net, T, B, kind, saved), reserve)


def _slices(device: Device, parts: list[Part], reserve: Array) -> Contents:
    """The parts of a reserve space, without its tail."""
    named: dict[str, list[Any]] = {"saved": [], "output": [], "mask": []}
    for part in parts[:-2]:
        what = part.name.partition(" ")[0]
        if what == "saved" and not part.size:
            named[what].append(None)
            continue
        a = device.getitem(reserve, (slice(part.offset, part.offset + part.size),))
        named[what].append(device.reshape(a, part.shape))
    return Contents(named["saved"], named["output"], named["mask"] or None)


def belongs_to(device: Device, reserve: Array, output: Array) -> bool:
    """Whether the reserve space was made by the call that returned `output` (to the last bit of 15 samples)."""
    sample = device.to_numpy(device.getitem(reserve, (slice(reserve.shape[0] - SAMPLE, None),)))
    return bool(np.array_equal(sample, device.to_numpy(sample_of(device, output)), equal_nan=True))


def sample_of(device: Device, output: Array) -> Array:
    """15 elements of an output, 7 of them of step 0, which exists in every sequence. Zeros for a batch of 0."""
    if 0 in output.shape:
        return device.full((SAMPLE,), 0, output.dtype)
    return device.getitem(output, _sample_index(*output.shape))


@lru_cache(maxsize=256)
def _sample_index(T: int, B: int, width: int) -> tuple[np.ndarray, ...]:
    first = np.linspace(0, B * width - 1, SAMPLE // 2).astype(np.int64)
    spread = np.linspace(0, T * B * width - 1, SAMPLE - SAMPLE // 2).astype(np.int64)
    k = np.concatenate([first, spread])
    return k // (B * width), k // width % B, k % width
