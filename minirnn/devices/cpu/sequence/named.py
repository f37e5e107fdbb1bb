"""The values of a layer by name: views of what a pass saved, and what a backward pass reads from a caller's values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from minirnn.cells.plan import Plan
from minirnn.devices.base import Weights
from minirnn.devices.cpu import workspace
from minirnn.devices.cpu.sequence.forward import Saved, layout, states_of
from minirnn.devices.cpu.sequence.visit import Array
from minirnn.devices.cpu.sequence.write_backward import back_of
from minirnn.devices.cpu.sequence.write_forward import loop_of


def finite(w: Weights) -> Weights:
    """The weights with finite biases: a bias is part of a product, in which an infinite one would meet zeros."""
    limits = np.finfo(w.bW.dtype)
    return w._replace(bW=np.clip(w.bW, limits.min, limits.max))


def by_name(plan: Plan, saved: Array | None, D: int, T: int, H: int, B: int) -> dict[str, Array]:
    """What a pass saved, and the states but h after each step, (D, T, B, H) each; views if there is one direction."""
    if saved is None:
        return {}
    each = layout(plan, T, H, B)[0]
    rooms = [Saved.within(plan, saved[k * each : (k + 1) * each], T, H, B) for k in range(D)]
    slots, names = loop_of(plan).slots, plan.derivation.names
    found = {names[e]: [room.saved[:, slots.of[e]] for room in rooms] for e in slots.stored}
    for k, name in enumerate(plan.state_names[:-1]):
        found[name] = [room.inner[k][1:] if d == 0 else room.inner[k][:-1] for d, room in enumerate(rooms)]
    return {n: (a[0][None] if len(a) == 1 else np.stack(a)).transpose(0, 1, 3, 2) for n, a in found.items()}


def from_names(
    plan: Plan, saved: Mapping[str, Array], h0: Array, c0: Array | None, y: Array, k: int, lengths: Array | None
) -> Saved:
    """What the backward pass of direction k reads, from values by name."""
    slots, names = loop_of(plan).slots, plan.derivation.names
    values: list[Any] = [None] * slots.count
    for e in slots.stored:
        values[slots.of[e]] = in_columns(saved[names[e]][k])

    def with_first(first: Array, after: Array) -> Array:  # (B, n) and (T, B, n) -> (T+1, n, B)
        T, B, n = after.shape
        found = workspace.empty((T + 1, n, B), after.dtype)
        here, there = (slice(0, T), T) if k else (slice(1, None), 0)
        found[here], found[there] = after.transpose(0, 2, 1), first.T
        return found

    inner = (
        []
        if c0 is None
        else [with_first(c, saved[n][k]) for c, n in zip(states_of(c0, k), plan.state_names, strict=False)]
    )
    h_before = None
    if plan.states - 1 in back_of(plan).before:
        h_before = with_first(h0, y)[slice(1, None) if k else slice(0, -1)]
        if k and lengths is not None:  # the first step of a sample is its last one, and y is 0 after it
            h_before[lengths - 1, :, np.arange(len(lengths))] = h0
    return Saved(values, inner, h_before)


def in_columns(a: Array) -> Array:
    """(T, B, H) as (T, H, B) with each step contiguous; a view of what `by_name` returned."""
    a = a.transpose(0, 2, 1)
    return a if a[0].flags.c_contiguous else np.ascontiguousarray(a)
