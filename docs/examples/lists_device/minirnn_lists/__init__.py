"""A minirnn device from scratch: its memory is a Python list, its arithmetic is Python's.

NumPy says which dtype a result has, rounds numbers to it, and brings arrays in and out; it computes nothing. Slow, and
short enough to read in one sitting.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np

from minirnn.cells.rules import RULES
from minirnn.devices import Device
from minirnn.devices.operators import Operators  # + - * / ** by the device's primitives

Shape = tuple[int, ...]


class Array(Operators):
    """Numbers in a flat list, in C order."""

    def __init__(self, device: Lists, numbers: list[Any], shape: Sequence[int], dtype: Any) -> None:
        self.device, self.numbers, self.shape, self.dtype = device, numbers, tuple(shape), np.dtype(dtype)

    @property
    def ndim(self) -> int:
        return len(self.shape)


def places(shape: Shape) -> Iterator[Shape]:
    """All indices of an array of `shape`, in C order."""
    return product(*[range(n) for n in shape])


def flat(index: Sequence[int], shape: Shape) -> int:
    """Where the element at `index` is in the list."""
    at = 0
    for k, n in zip(index, shape, strict=True):
        at = at * n + k
    return at


def clipped(index: Shape, shape: Shape) -> Shape:
    """The place of a broadcast operand that belongs to a place of the result: axes of length 1 repeat."""
    return tuple(k if n > 1 else 0 for k, n in zip(index[len(index) - len(shape) :], shape, strict=True))


def sigmoid(a: float) -> float:
    e = math.exp(-abs(a))  # never overflows, and keeps small results exact
    return e / (1 + e) if a < 0 else 1 / (1 + e)


def larger(a: Any, b: Any) -> Any:
    return a if a != a or a > b else b  # NaN wins


def smaller(a: Any, b: Any) -> Any:
    return a if a != a or a < b else b


def divided(a: float, b: float) -> float:
    if b:
        return a / b
    return math.nan if a == 0 or a != a else math.copysign(math.inf, a) * math.copysign(1, b)


def raised(a: Any, b: Any) -> Any:
    if isinstance(a, int) and isinstance(b, int):
        if b < 0:
            raise ValueError("power: integers to negative integer powers\n  expected a float base or exponent")
        return pow(a, b, 2**64)  # all that an integer dtype can hold
    try:
        return math.pow(a, b)
    except (OverflowError, ValueError):  # Python raises where IEEE arithmetic has an answer
        if a < 0 and b % 1:
            return math.nan
        return math.copysign(math.inf, a) if b % 2 == 1 else math.inf


def total(numbers: list[float]) -> float:
    try:
        return math.fsum(numbers)
    except (OverflowError, ValueError):  # sums that overflow, and inf - inf
        return sum(numbers)


def exponential(a: float) -> float:
    try:
        return math.exp(a)
    except OverflowError:
        return math.inf


def logarithm(a: float) -> float:
    return math.log(a) if a > 0 else -math.inf if a == 0 else math.nan


def dtype_of(*operands: Any) -> np.dtype:
    """NumPy's dtype for a result of arrays and Python numbers."""
    return np.result_type(*[a.dtype if isinstance(a, Array) else a for a in operands])


class Lists(Device):
    """The device."""

    name = "lists"
    kernels = frozenset({"cell_step"})

    # ---- memory

    def make(self, numbers: Sequence[Any], shape: Sequence[int], dtype: Any) -> Array:
        """An array of numbers rounded to `dtype`, the only place where rounding happens; integers wrap around."""
        dtype = np.dtype(dtype)
        if dtype.kind in "iu":
            # NumPy leaves open what NaN and infinity become: 0 here.
            bits = [int(n) % 256**dtype.itemsize if n - n == 0 else 0 for n in numbers]
            return Array(self, np.array(bits, f"u{dtype.itemsize}").view(dtype).tolist(), shape, dtype)
        with np.errstate(over="ignore"):
            return Array(self, np.array(numbers, np.float64).astype(dtype).tolist(), shape, dtype)

    def asarray(self, host: Any) -> Array:
        host = np.asarray(host)
        return Array(self, host.ravel().tolist(), host.shape, host.dtype)

    def to_numpy(self, a: Array) -> np.ndarray:
        return np.array(a.numbers, a.dtype).reshape(a.shape)

    def cast(self, a: Array, dtype: Any) -> Array:
        return self.make(a.numbers, a.shape, dtype)

    def full(self, shape: Sequence[int], value: Any, dtype: Any) -> Array:
        return self.make([value] * prod(shape), shape, dtype)

    # ---- elementwise

    def each(self, f: Callable[..., Any], operands: Sequence[Any], result: Any = None) -> Array:
        """``f(a, b, ..)`` at each place of the operands' common shape; numbers are arrays of shape ()."""
        dtype = dtype_of(*operands)
        arrays = [a if isinstance(a, Array) else self.full((), a, dtype) for a in operands]
        shape = np.broadcast_shapes(*[a.shape for a in arrays])
        columns = [self.broadcast_to(a, shape).numbers for a in arrays]
        return self.make([f(*row) for row in zip(*columns, strict=True)], shape, dtype if result is None else result)

    def function(self, f: Callable[..., float], *operands: Any) -> Array:
        dtype = dtype_of(*operands)
        return self.each(f, operands, dtype if dtype.kind == "f" else np.float64)

    def negative(self, a: Array) -> Array:
        return self.each(lambda a: -a, [a])

    def absolute(self, a: Array) -> Array:
        return self.each(abs, [a])

    def sign(self, a: Array) -> Array:
        return self.each(lambda a: a if a != a else (a > 0) - (a < 0), [a])

    def exp(self, a: Array) -> Array:
        return self.function(exponential, a)

    def log(self, a: Array) -> Array:
        return self.function(logarithm, a)

    def sqrt(self, a: Array) -> Array:
        return self.function(lambda a: math.sqrt(a) if a >= 0 else math.nan, a)

    def tanh(self, a: Array) -> Array:
        return self.function(math.tanh, a)

    def sigmoid(self, a: Array) -> Array:
        return self.function(sigmoid, a)

    def relu(self, a: Array) -> Array:
        return self.each(lambda a: a if a != a or a > 0 else 0, [a])

    def add(self, a: Any, b: Any) -> Array:
        return self.each(lambda a, b: a + b, [a, b])

    def subtract(self, a: Any, b: Any) -> Array:
        if dtype_of(a, b).kind == "b":
            raise TypeError("subtract: got booleans\n  expected numbers")
        return self.each(lambda a, b: a - b, [a, b])

    def multiply(self, a: Any, b: Any) -> Array:
        return self.each(lambda a, b: a * b, [a, b])

    def divide(self, a: Any, b: Any) -> Array:
        return self.function(divided, a, b)

    def power(self, a: Any, b: Any) -> Array:
        return self.each(raised, [a, b])

    def maximum(self, a: Any, b: Any) -> Array:
        return self.each(larger, [a, b])

    def minimum(self, a: Any, b: Any) -> Array:
        return self.each(smaller, [a, b])

    def equal(self, a: Any, b: Any) -> Array:
        return self.each(lambda a, b: a == b, [a, b], bool)

    def not_equal(self, a: Any, b: Any) -> Array:
        return self.each(lambda a, b: a != b, [a, b], bool)

    def less(self, a: Any, b: Any) -> Array:
        return self.each(lambda a, b: a < b, [a, b], bool)

    def less_equal(self, a: Any, b: Any) -> Array:
        return self.each(lambda a, b: a <= b, [a, b], bool)

    def greater(self, a: Any, b: Any) -> Array:
        return self.each(lambda a, b: a > b, [a, b], bool)

    def greater_equal(self, a: Any, b: Any) -> Array:
        return self.each(lambda a, b: a >= b, [a, b], bool)

    def where(self, condition: Array, a: Any, b: Any) -> Array:
        return self.each(lambda c, a, b: a if c else b, [condition, a, b], dtype_of(a, b))

    def clip(self, a: Array, low: float | None, high: float | None) -> Array:
        a = a if low is None else self.maximum(a, low)
        return a if high is None else self.minimum(a, high)

    # ---- reductions, products, softmax

    def fold(self, f: Callable[..., Any], a: Array, axis: Sequence[int] | None, keepdims: bool, dtype: Any) -> Array:
        """``f`` of the list of numbers along `axis` (None: all axes), for each place of the other axes."""
        axes = range(a.ndim) if axis is None else axis
        kept = [d for d in range(a.ndim) if d not in axes]
        groups: dict[Shape, list[Any]] = {index: [] for index in places(tuple(a.shape[d] for d in kept))}
        for index, number in zip(places(a.shape), a.numbers, strict=True):
            groups[tuple(index[d] for d in kept)].append(number)
        shape = [1 if d in axes else n for d, n in enumerate(a.shape) if keepdims or d not in axes]
        return self.make([f(group) for group in groups.values()], shape, dtype)

    def sum(self, a: Array, axis: Sequence[int] | None, keepdims: bool) -> Array:
        wide = {"b": np.int64, "i": np.int64, "u": np.uint64}.get(a.dtype.kind, a.dtype)
        return self.fold(total if a.dtype.kind == "f" else sum, a, axis, keepdims, wide)

    def max(self, a: Array, axis: Sequence[int] | None, keepdims: bool) -> Array:
        return self.fold(lambda g: next((x for x in g if x != x), max(g)), a, axis, keepdims, a.dtype)

    def argmax(self, a: Array, axis: int) -> Array:
        def first(group: list[Any]) -> int:
            return next((k for k, x in enumerate(group) if x != x), group.index(max(group)))

        return self.fold(first, a, [axis], False, np.int64)

    def matmul(self, a: Array, b: Array) -> Array:
        left = self.reshape(a, (1, *a.shape)) if a.ndim == 1 else a
        right = self.reshape(b, (*b.shape, 1)) if b.ndim == 1 else b
        if left.shape[-1] != right.shape[-2]:
            raise ValueError(f"matmul: shapes {a.shape} and {b.shape}")
        stack = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
        left = self.broadcast_to(left, (*stack, *left.shape[-2:]))
        right = self.broadcast_to(right, (*stack, *right.shape[-2:]))
        n, k, m = left.shape[-2], left.shape[-1], right.shape[-1]
        numbers = [
            sum(left.numbers[(s * n + i) * k + j] * right.numbers[(s * k + j) * m + l] for j in range(k))
            for s in range(prod(stack)) for i in range(n) for l in range(m)
        ]  # fmt: skip
        shape = (*stack, *([n] if a.ndim > 1 else []), *([m] if b.ndim > 1 else []))
        return self.make(numbers, shape, np.result_type(a.dtype, b.dtype))

    def softmax(self, a: Array, axis: int) -> Array:
        e = self.exp(self.subtract(a, self.max(a, (axis,), True)))
        return self.divide(e, self.sum(e, (axis,), True))

    def log_softmax(self, a: Array, axis: int) -> Array:
        shifted = self.subtract(a, self.max(a, (axis,), True))
        return self.subtract(shifted, self.log(self.sum(self.exp(shifted), (axis,), True)))

    # ---- shapes and indices

    def picked(self, a: Array, where: Iterable[int], shape: Sequence[int]) -> Array:
        """The numbers at these places of the list of `a`, as an array of `shape`."""
        numbers = a.numbers
        return Array(self, [numbers[k] for k in where], shape, a.dtype)

    def reshape(self, a: Array, shape: Sequence[int]) -> Array:
        if prod(shape) != len(a.numbers):
            raise ValueError(f"cannot reshape {a.shape} into {tuple(shape)}")
        return Array(self, a.numbers, shape, a.dtype)

    def transpose(self, a: Array, order: Sequence[int]) -> Array:
        shape = tuple(a.shape[d] for d in order)
        back = [list(order).index(d) for d in range(a.ndim)]
        return self.picked(a, [flat([index[d] for d in back], a.shape) for index in places(shape)], shape)

    def broadcast_to(self, a: Array, shape: Sequence[int]) -> Array:
        shape = tuple(shape)
        if np.broadcast_shapes(a.shape, shape) != shape:
            raise ValueError(f"cannot broadcast {a.shape} to {shape}")
        return self.picked(a, [flat(clipped(index, a.shape), a.shape) for index in places(shape)], shape)

    def concatenate(self, arrays: Sequence[Array], axis: int) -> Array:
        pieces = np.concatenate([np.full(a.shape, k) for k, a in enumerate(arrays)], axis)  # whose turn it is
        turns = [iter(a.numbers) for a in arrays]
        dtype = np.result_type(*[a.dtype for a in arrays])
        return self.make([next(turns[k]) for k in pieces.ravel()], pieces.shape, dtype)

    def getitem(self, a: Array, index: tuple[Any, ...]) -> Array:
        chosen = np.arange(prod(a.shape)).reshape(a.shape)[index]  # NumPy's rules, applied to places
        return self.picked(a, chosen.ravel(), chosen.shape)

    def scatter_add(self, shape: Sequence[int], index: tuple[Any, ...], values: Array) -> Array:
        numbers = [0] * prod(shape)
        for k, value in zip(np.arange(prod(shape)).reshape(shape)[index].ravel(), values.numbers, strict=True):
            numbers[k] += value
        return self.make(numbers, shape, values.dtype)

    # ---- then it grows: a fused kernel, listed in `kernels`

    def cell_step(
        self, gates: Array, states: Any, weights: Any, *, plan: Any, constants: Any = None, masks: Any = ()
    ) -> Any:
        """One step of any cell: the states after it, and the values that it saves, by name; each (B, H)."""
        step, (B, H) = plan.derivation.step, states[-1].shape
        parts = [self.getitem(gates, (slice(None), slice(k * H, k * H + H))) for k in range(len(step.gates))]
        inputs = [*step.gates.values(), *step.states.values(), *step.masks.values(), *step.vectors.values()]
        found = dict(zip(inputs, [*parts, *states, *masks, *weights.vectors], strict=True))
        numbers = dict(zip(plan.constant_names, plan.constants if constants is None else constants, strict=True))
        matrices = iter(weights.U)
        for e in step.nodes:  # in the order of the cell's lines
            args = [found[a] for a in e.args]
            if e.op == "number" or e.op == "constant":
                found[e] = e.value if e.op == "number" else numbers[e.value[0]]
            elif e.op == "product":
                found[e] = self.matmul(args[0], self.transpose(next(matrices), (1, 0)))
            elif e.op == "unit_mean":
                found[e] = self.sum(args[0], (1,), True) * (1 / H)
            elif e not in found:  # RULES has each function of the language for Python's numbers
                value = RULES[e.op].value
                found[e] = self.each(value, args) if any(isinstance(a, Array) for a in args) else value(*args)
        after, saved = ([self.broadcast_to(found[e], (B, H)) for e in es] for es in (step.after, plan.saved_values))
        return tuple(after), dict(zip(plan.value_names, saved, strict=True))
