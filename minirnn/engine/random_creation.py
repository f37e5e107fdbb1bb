"""Tensors of random numbers: rand, randn, randint, randperm.

The numbers come from the stream that `mr.manual_seed` starts and are drawn on the host, so one seed gives the same
numbers on every device. They are not those that torch draws from the same seed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minirnn import devices
from minirnn.arguments import check
from minirnn.arguments.host_array import default, dtype_of
from minirnn.arguments.messages import shown
from minirnn.arguments.names import accepts
from minirnn.engine import random
from minirnn.engine.creation import Place, like_it, made, or_default, shape_given, shape_of
from minirnn.engine.tensor import Tensor, check_can_require_grad

__all__ = ["rand", "rand_like", "randint", "randn", "randn_like", "randperm"]

Generator = np.random.Generator | None


def _floating(op: str, dtype: Any) -> np.dtype[Any]:
    found = dtype_of(op, dtype)
    if found.kind != "f":
        raise TypeError(f"{op}: dtype is {found}\n  expected float16, float32 or float64")
    return found


@accepts()
def rand(
    *args: Any,
    size: Any = None,
    generator: Generator = None,
    dtype: Any = None,
    device: Place = None,
    requires_grad: bool = False,
) -> Tensor:
    """Random numbers from the uniform distribution on ``0 <= x < 1``, from the stream of `manual_seed`.

    `generator` may be another stream of NumPy. The other arguments and errors are those of `zeros`.
    """
    shape, found = shape_given("rand", args, size), _floating("rand", or_default(dtype, default.dtype))
    stream, place = random.generator("rand", generator), devices.get(device)
    if found == np.float16:  # rounding from float32 would turn some numbers into 1
        values: Any = stream.integers(0, 2**11, shape) / 2**11
    else:
        values = stream.random(shape, found.type)
    return made("rand", values, found, place, requires_grad)


@accepts()
def randn(
    *args: Any,
    size: Any = None,
    generator: Generator = None,
    dtype: Any = None,
    device: Place = None,
    requires_grad: bool = False,
) -> Tensor:
    """Random numbers from the normal distribution with mean 0 and variance 1. The arguments are those of `rand`."""
    shape, found = shape_given("randn", args, size), _floating("randn", or_default(dtype, default.dtype))
    stream, place = random.generator("randn", generator), devices.get(device)
    values = stream.standard_normal(shape, np.float32 if found == np.float16 else found.type)
    return made("randn", values, found, place, requires_grad)


@accepts()
def randint(
    low: int | None = None,
    high: Any = None,
    size: Any = None,
    *,
    generator: Generator = None,
    dtype: Any = None,
    device: Place = None,
    requires_grad: bool = False,
) -> Tensor:
    """Random integers with ``low <= x < high``: ``randint(high, size)`` or ``randint(low, high, size)``; int64."""
    if isinstance(high, (tuple, list)) and size is None:
        low, high, size = 0, low, high
    elif high is None:
        low, high = 0, low
    low = 0 if low is None else low  # randint(high=5, size=(2,))
    if size is None or high is None:
        raise TypeError("randint: got no size or no limit\n  expected randint(high, size) or randint(low, high, size)")
    first, end = check.integer("randint", "low", low), check.integer("randint", "high", high)
    found = dtype_of("randint", or_default(dtype, np.int64))
    if first >= end:
        raise ValueError(f"randint: low is {first}, high is {end}\n  expected low < high")
    limits = np.iinfo(found if found.kind in "iu" else np.int64)
    if first < limits.min or end - 1 > limits.max or found.kind == "b":
        raise ValueError(f"randint: {shown(first)} .. {shown(end - 1)} in {found}\n  expected bounds that fit into it")
    shape, stream = shape_of("randint", (size,)), random.generator("randint", generator)
    place = devices.get(device)
    check_can_require_grad(found, requires_grad)
    values = stream.integers(first, end, shape, np.uint64 if found == np.uint64 else np.int64)
    return made("randint", values, found, place, requires_grad)


@accepts()
def randperm(
    n: int, *, generator: Generator = None, dtype: Any = None, device: Place = None, requires_grad: bool = False
) -> Tensor:
    """The integers from 0 to n-1 in random order, int64."""
    count, stream = check.integer("randperm", "n", n, 0), random.generator("randperm", generator)
    found, place = dtype_of("randperm", or_default(dtype, np.int64)), devices.get(device)
    check_can_require_grad(found, requires_grad)
    return made("randperm", stream.permutation(count), found, place, requires_grad)


# ---- like another Tensor


@accepts()
def rand_like(input: Any, *, dtype: Any = None, device: Place = None, requires_grad: bool = False) -> Tensor:
    """`rand` with the shape of `input`, and by default with its dtype and device."""
    return like_it(rand, input, dtype=dtype, device=device, requires_grad=requires_grad)


@accepts()
def randn_like(input: Any, *, dtype: Any = None, device: Place = None, requires_grad: bool = False) -> Tensor:
    """`randn` with the shape of `input`, and by default with its dtype and device."""
    return like_it(randn, input, dtype=dtype, device=device, requires_grad=requires_grad)
