"""Calls of the mathematical functions: ours, torch's, and the inputs; compared with torch and its stored results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, nan
from typing import Any

import numpy as np

from minirnn import ops


@dataclass(frozen=True)
class Case:
    """``theirs`` is called with torch first, so that this file needs no torch."""

    ours: Callable[..., Any]
    theirs: Callable[..., Any]
    inputs: tuple[np.ndarray, ...]
    order: int = 2  # the highest derivative that is compared


def waves(*shape: int, scale: float = 1.0, shift: float = 0.0) -> np.ndarray:
    """Numbers of order 1, all different, the same for the same shape."""
    count = int(np.prod(shape, dtype=int))
    return scale * np.sin(3.7 * np.arange(1, count + 1) + 0.01 * count).reshape(shape) + shift


def positive(*shape: int) -> np.ndarray:
    return 0.2 + np.abs(waves(*shape))


def changed(a: np.ndarray, **places: Any) -> np.ndarray:
    """`a` with a value at each of some places: ``zero=[(0, 1)]``."""
    a = a.copy()
    for name, at in places.items():
        for place in at:
            a[place] = {"zero": 0.0, "nan": nan, "inf": inf, "minus_inf": -inf}[name]
    return a


X = waves(2, 3, 4)
TIES = np.array([[1.0, 3, 3, 2], [2, 2, 2, 2], [-1, 0, -1, 0]])
NANS = changed(TIES, nan=[(0, 1), (2, 0), (2, 2)])
ZEROS = changed(X, zero=[(0, 1, 2), (1, 0, 0), (1, 0, 3), (1, 2, 1), (0, 2, 1)])
HOLES = changed(X, minus_inf=[(0, 1, 0), (0, 1, 2), (1, 0, 2), (1, 1, 2)])
INTS = np.array([[3, -1, 2], [0, 2, 2]])
BOOLS = np.array([[True, False, True], [False, False, False]])
INDEX = np.array([[[0, 2, 1], [1, 1, 0], [2, 0, 2]], [[2, 2, 2], [0, 1, 0], [1, 1, 1]]])  # for axis 1 of X


def same(name: str, *arguments: Any, **named: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Our function and torch's function of the same name, called in the same way."""
    return (
        lambda *xs: getattr(ops, name)(*xs, *arguments, **named),
        lambda torch, *xs: getattr(torch, name)(*xs, *arguments, **named),
    )


def method(name: str, *arguments: Any, **named: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The method of the same name, called in the same way."""
    return (
        lambda x, *xs: getattr(x, name)(*arguments, *xs, **named),
        lambda torch, x, *xs: getattr(x, name)(*arguments, *xs, **named),
    )


CASES: dict[str, Case] = {}


def add(name: str, pair: tuple[Callable[..., Any], Callable[..., Any]], *inputs: np.ndarray, order: int = 2) -> None:
    assert name not in CASES, name
    CASES[name] = Case(*pair, inputs, order)


# ---- functions of every element

for _name in ("sin", "cos", "tan", "erf", "log1p", "expm1", "square", "reciprocal", "rsqrt"):
    add(_name, same(_name), positive(2, 3), order=3)
    add(f"{_name} of ()", method(_name), np.array(0.7))
for _name in ("sin", "erf", "square"):
    add(f"{_name} of integers", same(_name), INTS)
STEPS = np.array([-2.5, -1.5, -0.5, -0.2, 0.0, 0.5, 1.5, 2.7, inf, -inf, nan])
for _name in ("floor", "ceil", "round", "trunc"):
    add(_name, method(_name), STEPS)
    add(f"{_name} of integers", method(_name), INTS)
add("round to hundredths", method("round", decimals=2), 10 * X)
add("round to tens", method("round", decimals=-1), 100 * X)
for _bounds in ((-0.5, 0.4), (None, 0.3), (0.1, None), (0.4, -0.5)):
    add(f"clamp {_bounds}", method("clamp", *_bounds), X)
    add(f"clamp {_bounds} by name", method("clamp", min=_bounds[0], max=_bounds[1]), NANS, order=1)
add("clamp integers", method("clamp", 0, 2), INTS)
add("clamp integers with floats", method("clamp", 0.5, 2), INTS)
add("clamp between Tensors", same("clamp"), X, waves(3, 4, scale=0.3), waves(4, scale=0.5, shift=0.2))
add("clamp above a Tensor", (lambda x, a: x.clamp(min=a), lambda torch, x, a: x.clamp(min=a)), X, waves(3, 4))
add("clamp_min", method("clamp_min", 0.1), X)
add("clamp_max", method("clamp_max", 0.1), X)

# ---- extremes, order

for _name in ("max", "min"):
    for _what, _x in (("", X), (" of ties", TIES), (" of NaN", NANS)):
        _order = 1 if _x is NANS else 2
        add(f"{_name}{_what}", method(_name), _x, order=_order)
        add(f"{_name}{_what}, dim 0", method(_name, dim=0), _x, order=_order)
        add(f"{_name}{_what}, dim -1 kept", method(_name, dim=-1, keepdim=True), _x, order=_order)
        add(f"{_name}{_what}, by position", method(_name, 1), _x, order=_order)
        add(f"{_name} of two{_what}", same(_name), _x, TIES[0], order=_order)
        add(f"arg{_name}{_what}", method(f"arg{_name}"), _x)
        add(f"arg{_name}{_what}, dim 1", method(f"arg{_name}", dim=1, keepdim=True), _x)
    add(f"a{_name}, dims", same(f"a{_name}", dim=(0, 2)), X)
    add(f"a{_name} of ties, kept", same(f"a{_name}", dim=1, keepdim=True), TIES)
    add(f"{_name} of integers, dim 1", method(_name, dim=1), INTS)
    add(f"{_name} of (), dim 0", method(_name, dim=0), np.array(1.5))
for _down in (False, True):
    for _what, _x in (("", X), (" ties", TIES), (" NaN", NANS)):
        _order = 1 if _x is NANS else 2
        add(f"sort{_what}, down {_down}", (
            lambda x, d=_down: x.sort(dim=1, descending=d),
            lambda torch, x, d=_down: x.sort(dim=1, descending=d, stable=True),
        ), _x, order=_order)  # fmt: skip
        add(f"argsort{_what}, down {_down}", (
            lambda x, d=_down: x.argsort(0, d),
            lambda torch, x, d=_down: torch.argsort(x, dim=0, descending=d, stable=True),
        ), _x)  # fmt: skip
    add(f"sort integers, down {_down}", (
        lambda x, d=_down: x.sort(descending=d), lambda torch, x, d=_down: x.sort(descending=d, stable=True)
    ), INTS)  # fmt: skip
    add(f"topk, largest {_down}", method("topk", 2, largest=_down), X)
    add(f"topk along axis 1, largest {_down}", method("topk", 3, 1, _down), X)
add("sort of nothing", method("sort"), np.zeros((3, 0)))
add("topk of nothing", method("topk", 0), X)

# ---- scans

for _what, _x in (("", X), (" with zeros", ZEROS), (" of nothing", np.zeros((2, 0, 3)))):
    for _dim in (0, 1, -1):
        add(f"cumsum{_what}, dim {_dim}", method("cumsum", dim=_dim), _x)
        add(f"cumprod{_what}, dim {_dim}", method("cumprod", _dim), _x)
        add(f"prod{_what}, dim {_dim}", method("prod", _dim, keepdim=True), _x)
    add(f"prod{_what}", method("prod"), _x)
add("prod, one zero, fourth order", method("prod"), np.array([1.5, 0.0, -2.0, 0.7]), order=4)
add("prod, two zeros, fourth order", method("prod"), np.array([1.5, 0.0, -2.0, 0.0, 0.7]), order=4)
add("cumprod, two zeros, fourth order", method("cumprod", 0), np.array([1.5, 0.0, -2.0, 0.0, 0.7]), order=4)
for _name in ("cumsum", "cumprod", "prod"):
    add(f"{_name} of integers", method(_name, 1), INTS)
    add(f"{_name} of bools", method(_name, 1), BOOLS)
add("diff", same("diff"), X)
add("diff twice", same("diff", 2, 1), X)
add("diff of bools", same("diff"), BOOLS)
add("diff with ends", (
    lambda x, a, b: ops.diff(x, prepend=a, append=b), lambda torch, x, a, b: torch.diff(x, prepend=a, append=b)
), waves(3, 4), waves(3, 2), waves(3, 1))  # fmt: skip

# ---- statistics

for _name in ("var", "std"):
    add(_name, method(_name), X)
    add(f"{_name}, dim", method(_name, dim=1, keepdim=True), X)
    add(f"{_name}, dims", method(_name, dim=(0, 2), correction=2), X)
    add(f"{_name}, biased", method(_name, 1, False), X)
    add(f"{_name}, biased of all", method(_name, unbiased=False), X)
add("var of equal ones", method("var", 0), np.ones((3, 2)))
add("std of equal ones", method("std", 0), np.ones((3, 2)), order=1)
add("var_mean", same("var_mean", dim=1), X)
for _what, _x in (("", X), (" of large ones", 900 * X), (" with -inf", HOLES)):
    add(f"logsumexp{_what}", method("logsumexp", -1), _x, order=1 if _x is HOLES else 2)
    add(f"logsumexp{_what}, dims", method("logsumexp", (0, 1), keepdim=True), _x, order=1 if _x is HOLES else 2)
add("logsumexp of integers", method("logsumexp", 1), INTS)
add("logsumexp of nothing", method("logsumexp", 1), np.zeros((2, 0)))
for _p in (2, 1, 0, 3, 4, 1.5, 0.5, -1, inf, -inf, "fro"):
    add(f"norm {_p}", method("norm", _p), X)
    add(f"norm {_p}, dim", method("norm", _p, dim=1), X)
    add(f"norm {_p} with zeros", method("norm", _p, dim=-1, keepdim=True), ZEROS, order=1)
    if _p not in (-1, -inf):
        add(f"norm {_p} of zeros", method("norm", _p), np.zeros(3), order=1)
add("norm, dims", method("norm", 2, dim=(0, 2)), X)
add("norm", method("norm"), X)

# ---- gathering

add("gather", method("gather", 1), X, INDEX)
add("gather, last", method("gather", -1), X, np.array([[[3], [0], [3]]]))
add("gather of nothing", method("gather", 1), X, np.zeros((2, 0, 4), int))
add("scatter_add", (
    lambda x, i, s: x.scatter_add(1, i, s), lambda torch, x, i, s: x.scatter_add(1, i, s)
), X, INDEX, waves(2, 3, 3))  # fmt: skip
add("scatter", (
    lambda x, i, s: x.scatter(1, i, s), lambda torch, x, i, s: x.scatter(1, i, s)
), X, np.array([[[1, 0, 2, 2], [0, 2, 1, 0]]]), waves(1, 2, 4))  # fmt: skip
add("scatter a number", (
    lambda x, i: x.scatter(1, i, 1.5), lambda torch, x, i: x.scatter(1, i, 1.5)
), X, INDEX)  # fmt: skip
add("index_select", method("index_select", 1), X, np.array([2, 0, 2, 1]))
add("index_select, last", method("index_select", -1), X, np.array([3]))
add("take_along_dim", (
    lambda x, i: x.take_along_dim(i, 1), lambda torch, x, i: torch.take_along_dim(x[..., :3], i, 1)
), X[..., :3], INDEX)  # fmt: skip

# ---- products

for _equation, _shapes in {
    "ij,jk->ik": [(2, 3), (3, 4)],
    "bij,bkj->bik": [(2, 3, 4), (2, 5, 4)],
    "ij,kj": [(2, 3), (4, 3)],
    "ii": [(3, 3)],
    "ii->i": [(3, 3)],
    "iji->j": [(3, 2, 3)],
    "...ij,...jk->...ik": [(2, 1, 3, 4), (5, 4, 2)],
    "i...->...i": [(2, 3, 4)],
    "b...,b->...": [(3, 2, 4), (3,)],
    "i,j->ji": [(2,), (3,)],
    "i,i": [(3,), (3,)],
    "bA": [(2, 3)],
    "ij->": [(2, 3)],
    "ij,ij->ij": [(2, 3), (2, 3)],
    "ij,j": [(2, 1), (3,)],
    "ij,jk,kl->il": [(2, 3), (3, 4), (4, 5)],
    "ijk,jl,kl->il": [(2, 3, 4), (3, 5), (4, 5)],
    "i,ij,j,j->": [(2,), (2, 3), (3,), (3,)],
    "ab,cd,ef->ace": [(2, 3), (4, 2), (3, 2)],
    "bqhd,bkhd->bhqk": [(2, 3, 2, 4), (2, 5, 2, 4)],
    "ij, jk -> ki": [(2, 0), (0, 3)],
}.items():
    add(f"einsum {_equation}", (
        lambda *xs, e=_equation: ops.einsum(e, *xs), lambda torch, *xs, e=_equation: torch.einsum(e, *xs)
    ), *[waves(*shape, shift=0.1 * k) for k, shape in enumerate(_shapes)])  # fmt: skip
add("dot", same("dot"), waves(4), waves(4, shift=0.3))
add("mv", same("mv"), waves(2, 3), waves(3))
add("mm", same("mm"), waves(2, 3), waves(3, 4))
add("bmm", same("bmm"), waves(2, 3, 4), waves(2, 4, 5))
add("outer", same("outer"), waves(2), waves(3))

# ---- truths

SPECIAL = np.array([[1.0, nan, inf], [-inf, 0.0, -0.0]])
for _name in ("isnan", "isinf", "isfinite"):
    add(_name, same(_name), SPECIAL)
    add(f"{_name} of integers", same(_name), INTS)
for _name in ("any", "all"):
    add(_name, method(_name), SPECIAL)
    add(f"{_name}, dim", method(_name, dim=1, keepdim=True), BOOLS)
    add(f"{_name} of integers", method(_name, 0), INTS)
    add(f"{_name} of nothing", method(_name, dim=1), np.zeros((2, 0)))
add("count_nonzero", same("count_nonzero", dim=1), SPECIAL)
