"""A whole layer of any cell and its gradient: all steps, all directions, in NumPy.

A pass over a direction (`forward`, `backward`) is prepared for a plan and for sizes. Passes of small layers are kept
after the call, because there their preparation would take as long as ten steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minirnn.cells.plan import Plan
from minirnn.devices.base import Weights, check_saved
from minirnn.devices.cpu import workspace
from minirnn.devices.cpu.primitives import without_false_alarms
from minirnn.devices.cpu.sequence.backward import Backward, Gradients, Inputs
from minirnn.devices.cpu.sequence.forward import Forward, Saved, Sizes, layout, states_of
from minirnn.devices.cpu.sequence.named import by_name, finite, from_names
from minirnn.devices.cpu.sequence.visit import Array, Visit, padding

MIN_BLOCK = workspace.MIN_BLOCK
MOST_KEPT, MOST_OF_A_KIND = 64, 8
"""Sizes of layers whose passes are kept, and passes of one size."""


class Idle:
    """Passes that are not in use, by what they were made for; those of the latest `MOST_KEPT` keys."""

    def __init__(self) -> None:
        self.of: dict[Any, list[Any]] = {}

    def take(self, key: Any) -> Any:
        """One for `key`, which nobody else has from now on, or None."""
        try:
            return self.of[key].pop()
        except (KeyError, IndexError):
            return None

    def give(self, key: Any, one: Any) -> None:
        if key not in self.of:
            while len(self.of) >= MOST_KEPT:
                self.of.pop(next(iter(self.of)), None)
        waiting = self.of.setdefault(key, [])
        if len(waiting) < MOST_OF_A_KIND:
            waiting.append(one)


IDLE = Idle()
NONE = Saved(None, [], None)


class Lease:
    """The ``base`` of an array of saved values; after its end, the passes that filled it are idle again."""

    __slots__ = ("__array_interface__", "key", "passes")

    def __init__(self, key: Any, passes: Any, memory: Array) -> None:
        self.key, self.passes = key, passes
        self.__array_interface__ = memory.__array_interface__

    def __del__(self) -> None:
        IDLE.give(self.key, self.passes)


def width_of(plan: Plan, weights: Weights) -> int:
    """H"""
    W, R, *_ = weights
    return len(W) // (plan.of_both + plan.of_x) if R is None else len(R) // (plan.of_both + plan.of_h)


@without_false_alarms
def cell_sequence(
    x: Array,
    h0: Array,
    c0: Array | None,
    weights: Sequence[Weights],
    *,
    plan: Plan,
    lengths: Array | None,
    training: bool,
    masks: Sequence[Array] = (),
    zoneout: Array | None = None,
    constants: Sequence[float] | None = None,
    named: bool = False,
) -> tuple[Array, Array, Array | None, Any]:
    """Run one layer of a cell over a whole sequence: y, h_n, c_n, saved. Arguments: `minirnn.devices.base.KERNELS`."""
    (T, B, width), (D, _, P) = x.shape, h0.shape
    valid, lengths, last = (None, None, T) if lengths is None else padding(lengths, T)
    if lengths is not None:
        np.seterr(over="ignore")  # columns without a sample may grow without bound; they are discarded
    y = workspace.empty((T, B, D * P), x.dtype)
    if valid is not None:
        x = np.where(valid, x[:last], x.dtype.type(0))  # NaN in the padding must not spread
        y[last:] = 0
    h_n, c_n = np.empty_like(h0), None if c0 is None else np.empty_like(c0)
    H, zoned = width_of(plan, weights[0]), zoneout is not None
    sizes = Sizes(last, B, width, H, P, x.dtype, weights[0].W is None, zoned)
    key, passes, saved = forward_passes(plan, sizes, D, T, lengths, training)
    given = plan.constants if constants is None else constants
    for k, one in enumerate(passes):
        part = y[:last, :, k * P : (k + 1) * P]
        c, c_end = (None, None) if c0 is None or c_n is None else (states_of(c0, k), states_of(c_n, k))
        w, own = finite(weights[k]) if named else weights[k], of_direction(masks, zoneout, k)
        one.run(x, h0[k], c, w, own, part, h_n[k], c_end, given)
        if valid is not None:
            np.copyto(part, 0, where=~valid)
    if key is not None and saved is None:
        IDLE.give(key, (passes, None))
    if named:
        return y, h_n, c_n, by_name(plan, saved, D, T, H, B)
    return y, h_n, c_n, saved


def of_direction(masks: Sequence[Array], zoneout: Array | None, k: int) -> Sequence[Array]:
    """The masks of direction k, and at the end the zoneout of a projected h."""
    return [m[k] for m in (*masks, *(() if zoneout is None else (zoneout,)))]


def forward_passes(
    plan: Plan, sizes: Sizes, D: int, T: int, lengths: Array | None, training: bool
) -> tuple[Any, list[Forward], Array | None]:
    """A pass for each direction, and the memory of what they save; the key under which they will be idle, or None."""
    H, B, last = sizes.H, sizes.B, sizes.T
    each = layout(plan, T, H, B)[0]
    small = lengths is None and last == T and D * each * sizes.dtype.itemsize < MIN_BLOCK
    key = (plan, sizes, D, training) if small else None
    found = IDLE.take(key) if small else None
    if found is None:
        memory = workspace.empty((D * each,), sizes.dtype) if training and each else None
        rooms = [None] * D if memory is None else [Saved.within(plan, m, T, H, B) for m in memory.reshape(D, each)]
        found = [Forward(plan, sizes, Visit(last, lengths, k == 1), rooms[k]) for k in range(D)], memory
    passes, memory = found
    return key, passes, memory if key is None or memory is None else np.asarray(Lease(key, found, memory))


@without_false_alarms
def cell_sequence_grad(
    x: Array,
    h0: Array,
    c0: Array | None,
    weights: Sequence[Weights],
    saved: Any,
    y: Array,
    dy: Array,
    dh_n: Array,
    dc_n: Array | None,
    *,
    plan: Plan,
    lengths: Array | None,
    need_dx: bool = True,
    masks: Sequence[Array] = (),
    zoneout: Array | None = None,
    constants: Sequence[float] | None = None,
    dc_each: Array | None = None,
) -> tuple[Array | None, Array, Array | None, list[Weights]]:
    """The gradients of `cell_sequence`, by backpropagation through time: dx, dh0, dc0, dweights."""
    (T, B, width), (D, _, P) = x.shape, h0.shape
    H, skip, zoned = width_of(plan, weights[0]), weights[0].W is None, zoneout is not None
    each, named = layout(plan, T, H, B)[0], isinstance(saved, dict)
    if not named:
        check_saved(saved, (D, each))
    valid, lengths, last = (None, None, T) if lengths is None else padding(lengths, T)
    dx = workspace.empty(x.shape, x.dtype) if need_dx else None
    wanted = dx
    if valid is not None:
        zero = x.dtype.type(0)
        x, dy, y = np.where(valid, x[:last], zero), np.where(valid, dy[:last], zero), y[:last]
        if dx is not None:
            dx[last:], wanted = 0, dx[:last]
    dh0, dc0 = np.empty_like(h0), None if c0 is None else np.empty_like(c0)
    sizes = Sizes(last, B, width, H, P, x.dtype, skip, zoned)
    small = lengths is None and last == T and each * x.itemsize < MIN_BLOCK
    dweights = []
    given = plan.constants if constants is None else constants
    for k in range(D):
        w = weights[k]
        dw = Weights(*[a if a is None else np.empty_like(a) if a.nbytes < MIN_BLOCK else like(a) for a in w[:5]])
        if w.U or w.vectors:
            dw = dw._replace(U=[np.empty_like(a) for a in w.U], vectors=[np.empty_like(a) for a in w.vectors])
        dweights.append(dw)
        key = "backward", plan, sizes, k, dc_each is not None
        one = (IDLE.take(key) if small else None) or Backward(plan, sizes, Visit(last, lengths, k == 1), key[-1])
        if named:
            room = from_names(plan, saved, h0[k], c0, y[..., k * P : (k + 1) * P], k, lengths)
        else:
            room = NONE if saved is None else Saved.within(plan, saved[k * each : (k + 1) * each], T, H, B)
        part = ..., slice(k * P, (k + 1) * P)
        dc, dc_0 = (None, None) if c0 is None or dc_n is None else (states_of(dc_n, k), states_of(dc0, k))
        g = Gradients(dy[part], dh_n[k], dc, dh0[k], dc_0, dw, wanted, k > 0, None if dc_each is None else dc_each[k])
        one.run(Inputs(x, h0[k], w, of_direction(masks, zoneout, k), y[part], room, given), g)
        if small:
            IDLE.give(key, one)
    return dx, dh0, dc0, dweights


def like(a: Array) -> Array:
    """An empty array with the shape and the order in memory of a weight."""
    if a.ndim == 2 and a.strides[0] < a.strides[1]:
        return workspace.empty(a.shape[::-1], a.dtype).T
    return workspace.empty(a.shape, a.dtype)
