"""A layer of a cell with keys on a device that runs the text of `keyed`: its arrays, and the struct of `keyed.h`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from minirnn.cells.expr import Expr
from minirnn.cells.keyed import KeyedPlan
from minirnn.devices.base import check_saved
from minirnn.devices.cells.keyed import keyed_header

Array = Any


class Memory(Protocol):
    """The memory of a device, and its launch of a pass. All arrays are contiguous."""

    def new(self, shape: tuple[int, ...], dtype: np.dtype) -> Array: ...

    def zeros(self, shape: tuple[int, ...], dtype: np.dtype) -> Array: ...

    def contiguous(self, a: Array, swapped: bool) -> Array:
        """A contiguous array, whose last two axes are swapped if asked."""

    def address(self, a: Array) -> int: ...

    def lengths(self, lengths: np.ndarray) -> Array:
        """int64 numbers on the device."""

    def total(self, a: Array) -> Array:
        """The sum over the first axis."""

    def run(self, name: str, plan: KeyedPlan, dtype: np.dtype, struct: np.ndarray) -> None:
        """Run ``forward`` or ``backward``."""


class KeyedLayerOf:
    """The arrays of one layer. Matrices have the shape (N, H) in memory."""

    def __init__(
        self, memory: Memory, plan: KeyedPlan, H: int, gates: Array, states: Sequence[Array], learned: Sequence[Array],
        lengths: np.ndarray | None,
    ) -> None:  # fmt: skip
        self.memory, self.plan, self.H, self.dtype = memory, plan, H, gates.dtype
        self.T, self.B, _ = gates.shape
        self.gates = memory.contiguous(gates, False)
        self.first = [self.inside(e, a) for e, a in zip(plan.states, states, strict=True)]
        self.learned = [self.inside(e, a) for e, a in zip([*plan.learned, *plan.static], learned, strict=True)]
        self.ragged = lengths is not None and bool((np.asarray(lengths) < self.T).any())
        self.lengths = memory.lengths(np.asarray(lengths, np.int64)) if self.ragged else None

    def inside(self, e: Expr, a: Array) -> Array:
        """An array as the text reads it."""
        return self.memory.contiguous(a, e.axes == {"u", "k"})

    def new(self, e: Expr, *leading: int) -> Array:
        shape = self.plan.shape(e, self.H)
        return self.memory.new((*leading, *reversed(shape)), self.dtype)

    def size_of_kept(self, slots: int) -> int:
        """The elements of all that the steps save: values and states after them."""
        return slots * self.B * self.plan.starts([*self.plan.saved, *self.plan.states], self.H)[-1]

    def parts_of_kept(self, kept: Array, slots: int) -> dict[str, list[int]]:
        """The addresses of each saved value and state, (slots, B, ..) one after the other."""
        found = [
            self.memory.address(kept) + slots * self.B * start * self.dtype.itemsize
            for start in self.plan.starts([*self.plan.saved, *self.plan.states], self.H)[:-1]
        ]
        n = len(self.plan.saved)
        return {"saved": found[:n], "states": found[n:]}

    def run(self, name: str, slots: int, **arrays: Any) -> None:
        """Run a pass. Arrays that are not named are null."""
        memory, plan = self.memory, self.plan
        keys = memory.new((self.B, keyed_header(plan).vectors, plan.keys), self.dtype)
        given = {"lengths": self.lengths, "gates": self.gates, "first": self.first, "learned": self.learned}
        given |= {"keys": keys, **arrays}
        struct = np.zeros((), layout(plan))
        struct["T"], struct["B"], struct["H"], struct["slots"] = self.T, self.B, self.H, slots
        for field, a in given.items():
            if isinstance(a, list):
                struct[field][: len(a)] = [one if isinstance(one, int) else memory.address(one) for one in a]
            elif a is not None:
                struct[field] = memory.address(a)
        struct["constants"][: len(plan.constants)] = plan.constants
        memory.run(name, plan, self.dtype, struct)


def layout(plan: KeyedPlan) -> np.dtype:
    """The struct `KeyedLayer` of `keyed.h`."""
    if "layout" not in plan.made:
        states, learned = len(plan.states), len(plan.learned)
        every = learned + len(plan.static)
        counts = {
            "lengths": None, "gates": None, "first": states, "learned": every + 1, "saved": len(plan.saved) + 1,
            "states": states, "y": None, "last": states, "keys": None, "dy": None, "d_last": states, "carry": states,
            "d_gates": None, "d_first": states, "d_learned": learned + 1,
        }  # fmt: skip
        numbers: list[Any] = [(name, "i8") for name in ("T", "B", "H", "slots")]
        pointers = [(name, "u8") if n is None else (name, "u8", (n,)) for name, n in counts.items()]
        plan.made["layout"] = np.dtype(
            [*numbers, *pointers, ("constants", "f8", (len(plan.constants) + 1,))], align=True
        )
    found: np.dtype = plan.made["layout"]
    return found


def forward(layer: KeyedLayerOf, training: bool) -> tuple[Array, list[Array], Any]:
    """y, the states after the last step, and what the backward pass reads."""
    plan, memory, T, B, H = layer.plan, layer.memory, layer.T, layer.B, layer.H
    slots = T if training else 2
    kept = memory.new((layer.size_of_kept(slots),), layer.dtype)
    last = [layer.new(e, B) for e in plan.states]
    y = (memory.zeros if layer.ragged else memory.new)((T, B, H), layer.dtype)
    layer.run("forward", slots, **layer.parts_of_kept(kept, slots), last=last, y=y)
    after = [layer.inside(e, a) for e, a in zip(plan.states, last, strict=True)]
    return y, after, kept if training else None


def backward(
    layer: KeyedLayerOf, kept: Any, dy: Array, d_after: Sequence[Array]
) -> tuple[Array, list[Array], list[Array]]:
    """The gradients of gates, states and learned parameters."""
    plan, memory, T, B = layer.plan, layer.memory, layer.T, layer.B
    check_saved(kept, (layer.size_of_kept(T),))
    d_gates = (memory.zeros if layer.ragged else memory.new)(layer.gates.shape, layer.dtype)
    d_learned = [memory.zeros((B, *reversed(plan.shape(e, layer.H))), layer.dtype) for e in plan.learned]
    d_first = [layer.new(e, B) for e in plan.states]
    d_last = [layer.inside(e, a) for e, a in zip(plan.states, d_after, strict=True)]
    carry = [layer.new(e, 2, B) for e in plan.states]
    layer.run(
        "backward", T, **layer.parts_of_kept(kept, T), dy=memory.contiguous(dy, False), d_last=d_last, carry=carry,
        d_gates=d_gates, d_first=d_first, d_learned=d_learned,
    )  # fmt: skip
    return (
        d_gates,
        [layer.inside(e, a) for e, a in zip(plan.states, d_first, strict=True)],
        [layer.inside(e, memory.total(a)) for e, a in zip(plan.learned, d_learned, strict=True)],
    )
