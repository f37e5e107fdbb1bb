"""Operations that write into a Tensor: ``t += u`` and torch's methods whose names end in ``_``.

Each computes the value of the op without the ``_`` and gives it to the Tensor (see `minirnn.engine.writing`). Shape and
dtype stay the same. These operations are recorded like any op. You can write into a leaf that requires gradients only
where nothing is recorded, inside ``with mr.no_grad():``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minirnn.arguments.names import accepts, called
from minirnn.engine import random
from minirnn.engine.creation import number_of
from minirnn.engine.operands import constant
from minirnn.engine.tape import mode
from minirnn.engine.tensor import Tensor, as_tensor, leaf, next_seq
from minirnn.engine.writing import turn, version, write
from minirnn.ops.primitives import (  # noqa: F401
    bounds,
    combined,
    gathering,
    logic,
    methods,
    rounding,
    scans,
    views,
)
from minirnn.ops.primitives.declare import OPERATORS, method
from minirnn.ops.primitives.elementwise import identity
from minirnn.ops.primitives.indexing import put
from minirnn.ops.primitives.shapes import broadcast_to

KINDS = "biuf"
"""Kinds of dtypes. A value may be written into a Tensor of the same kind or of a later one."""


def written(name: str, t: Tensor, compute: Callable[[Tensor], Tensor]) -> Tensor:
    """Replace `t` with the result of `compute`; returns `t`.

    Raises ValueError if the result has another shape, TypeError if the dtype of the result cannot be written into that
    of `t`, and RuntimeError if `t` may not be written into here.
    """
    old, before = version(t), next_seq()
    new = compute(old)
    if new is old:
        return t
    if new.seq < before:  # an argument, which stays what it is
        new = identity(new)
    if new.shape != t.shape:
        raise ValueError(f"{name}: the result has shape {new.shape}, the Tensor {t.shape}\n  expected the same shape")
    if new.dtype != t.dtype:
        a, b = (KINDS.index(x.dtype.kind.replace("u", "i")) for x in (new, t))
        if a > b:
            raise TypeError(f"{name}: the result has dtype {new.dtype}, the Tensor {t.dtype}\n  expected one that fits")
        new = new.astype(t.dtype)
    if mode.enabled and old.requires_grad and not new.requires_grad:
        new = put(old, (Ellipsis,), new)  # independent of the old value, whose gradient is 0, as in torch
    return write(name, t, old, new)


NAMES = (
    "abs absolute add bitwise_and bitwise_not bitwise_or bitwise_xor ceil clamp clamp_max clamp_min clip cos cumprod"
)
NAMES += " cumsum div eq erf exp expm1 floor floor_divide ge gt le log log1p logical_and logical_not logical_or"
NAMES += " logical_xor lt masked_fill mul ne neg pow reciprocal relu remainder round rsqrt scatter scatter_add"
NAMES += " sigmoid sign sin sqrt square sub tan tanh tril triu trunc"


def _of_method(op: str, name: str, doc: str, label: str = "") -> None:
    function = called(getattr(Tensor, op), name)

    def in_place(t: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return written(label or f"{name}()", t, lambda old: function(old, *args, **kwargs))

    in_place.__name__ = in_place.__qualname__ = name
    in_place.__doc__ = doc
    method(in_place)


for _name in NAMES.split():
    if hasattr(Tensor, _name):
        _of_method(_name, f"{_name}_", f"`{_name}`, written into this Tensor, which is returned.")
for _sign, _name in OPERATORS.items():
    _of_method(f"__{_name}__", f"__i{_name}__", f"``t {_sign}= u``: written into the Tensor.", f"t {_sign}= u")


def _of_view(name: str) -> None:
    function = called(getattr(Tensor, name), f"{name}_")

    def in_place(t: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return turn(f"{name}_()", t, lambda old: function(old, *args, **kwargs))

    in_place.__name__ = in_place.__qualname__ = f"{name}_"
    in_place.__doc__ = f"Let this Tensor be its own `{name}`; returns it."
    method(in_place)


for _name in ("squeeze", "unsqueeze", "t", "transpose", "swapaxes", "swapdims"):
    _of_view(_name)


@method
def zero_(t: Tensor) -> Tensor:
    """Set all elements of this Tensor to 0; returns it."""
    return written("zero_()", t, lambda old: _filled(old, 0))


@method
def fill_(t: Tensor, value: Any) -> Tensor:
    """Set all elements of this Tensor to a number or to a Tensor of one element; returns it."""
    if isinstance(value, Tensor) and value.size == 1:
        return copy_(t, value.reshape(()))
    return written("fill_()", t, lambda old: _filled(old, number_of("fill_", "value", value)))


def _filled(t: Tensor, value: Any) -> Tensor:
    return leaf(t.device, t.device.full(t.shape, value, t.dtype))


@method
@accepts(other="src")
def copy_(t: Tensor, src: Any, non_blocking: bool = False) -> Tensor:
    """Write the values of `src`, which broadcasts, into this Tensor in its dtype. `non_blocking` is ignored."""
    source = src if isinstance(src, Tensor) else constant(src, t)
    source = source.to(t.device).astype(t.dtype)
    return written("copy_()", t, lambda old: put(old, (Ellipsis,), broadcast_to(source, old.shape)))


# ---- random numbers, from the stream of `manual_seed`


def _drawn(name: str, t: Tensor, generator: Any, draw: Callable[[np.random.Generator], Any]) -> Tensor:
    values = np.asarray(draw(random.generator(name, generator))).astype(t.dtype)
    return written(name, t, lambda old: as_tensor(values, device=old.device))


@method
@accepts(**{"from": "low", "to": "high"})
def uniform_(t: Tensor, low: float = 0.0, high: float = 1.0, *, generator: Any = None) -> Tensor:
    """Fill this Tensor with random numbers from the uniform distribution between `low` and `high`."""
    return _drawn("uniform_", t, generator, lambda stream: stream.uniform(low, high, t.shape))


@method
def normal_(t: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Any = None) -> Tensor:
    """Fill this Tensor with random numbers from the normal distribution."""
    return _drawn("normal_", t, generator, lambda stream: stream.normal(mean, std, t.shape))


@method
def bernoulli_(t: Tensor, p: float = 0.5, *, generator: Any = None) -> Tensor:
    """Fill this Tensor with 1 with probability `p`, else 0."""
    return _drawn("bernoulli_", t, generator, lambda stream: stream.random(t.shape) < p)


@method
@accepts(**{"from": "low", "to": "high"})
def random_(t: Tensor, low: int, high: int | None = None, *, generator: Any = None) -> Tensor:
    """Fill this Tensor with random integers below `low`, or from `low` to ``high - 1``."""
    first, end = (0, low) if high is None else (low, high)
    return _drawn("random_", t, generator, lambda stream: stream.integers(first, end, t.shape))


# ---- itself in another place of the tape


@method
def detach_(t: Tensor) -> Tensor:
    """Make this Tensor a leaf. The Tensors that it was computed from no longer get gradients through it."""
    t.op, t.parents, t._requires_grad = None, (), False
    return t
