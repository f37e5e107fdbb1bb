"""Comparisons whose errors name the first wrong element."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import minirnn as mr

# Relative to max(1, |expected|): inputs are of order 1, and intermediate results do not cancel to less.
TOLERANCES = {
    np.dtype(np.float64): (1e-12, "float64: 5000 times the spacing of numbers, for sums of up to 100 products"),
    np.dtype(np.float32): (4e-6, "float32: 32 times the spacing of numbers, for sums of up to 100 products"),
    np.dtype(np.float16): (4e-3, "float16: 4 times the spacing of numbers, for a few roundings"),
}


def assert_close(
    got: Any, expected: Any, tolerance: float | None = None, why: str = "", *, what: str = "result"
) -> None:
    """Fail unless shapes agree and ``|got - expected| <= tolerance * max(1, |expected|)``; NaN equals NaN.

    Without a tolerance the one that `TOLERANCES` has for the dtype of `got`; 0 for integers and bool. The message names
    the first wrong index, both values and where the tolerance comes from. The seed is printed by the fixture `rng`.
    """
    with mr.no_grad():  # the values of Tensors that require gradients
        got, expected = np.asarray(got), np.asarray(expected)
    if tolerance is None:
        tolerance, why = TOLERANCES.get(got.dtype, (0.0, f"{got.dtype}: exact"))
    assert got.shape == expected.shape, f"{what}: shape {got.shape}, expected {expected.shape}"
    wide = np.promote_types(got.dtype, expected.dtype)
    g, e = got.astype(wide), expected.astype(wide)
    if wide.kind == "f":
        with np.errstate(invalid="ignore", over="ignore"):
            off = ~((g == e) | (np.isnan(g) & np.isnan(e)) | (np.abs(g - e) <= tolerance * np.maximum(1, np.abs(e))))
    else:
        off = g != e
    if off.any():
        first = tuple(int(k) for k in np.argwhere(off)[0])
        pytest.fail(
            f"{what}{list(first)} = {got[first]!r}, expected {expected[first]!r}\n"
            f"  {int(off.sum())} of {off.size} are off; tolerance {tolerance:.1e} ({why or 'given by the test'})",
            pytrace=True,
        )


def assert_same(got: Any, expected: Any, what: str = "result") -> None:
    """Fail unless values, shape and dtype are the same."""
    assert got.dtype == np.asarray(expected).dtype, f"{what}: dtype {got.dtype}, expected {np.asarray(expected).dtype}"
    assert_close(got, expected, 0.0, "exact", what=what)


DIRECTIONS = {"max_entries": 6, "directions": 2}
"""Options of `gradcheck` for slow cases: random directions through all entries of an input at once.

With a tolerance of 1e-8 an error of one part in 10^5 of the gradient hides in one direction of about a thousand.
"""


def thoroughness(device: str) -> dict[str, int]:
    """Options of `gradcheck`: on the CPU, each entry of all but large inputs; elsewhere, where it is slow,
    directions.
    """
    return {"max_entries": 60, "directions": 8} if device == "cpu" else DIRECTIONS


def listed(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (list, tuple)) else [result]


def assert_agrees_with_torch(
    ours: Callable[..., Any],
    theirs: Callable[..., Any],
    inputs: Sequence[np.ndarray],
    rng: np.random.Generator,
    device: str = "cpu",
) -> None:
    """Values of all outputs, gradients of all float inputs, random cotangents on all outputs, against float64 torch."""
    torch = pytest.importorskip("torch")
    xs = [mr.tensor(x, requires_grad=x.dtype.kind == "f", device=device) for x in inputs]
    ts = [torch.tensor(x.astype(np.float64) if x.dtype.kind == "f" else x) for x in inputs]
    for t in ts:
        t.requires_grad_(t.is_floating_point())
    ys, us = listed(ours(*xs)), listed(theirs(*ts))
    assert len(ys) == len(us)
    for k, (y, u) in enumerate(zip(ys, us, strict=True)):
        assert_close(y, u.detach().numpy(), what=f"output {k}")
    pairs = [(y, u) for y, u in zip(ys, us, strict=True) if y.dtype.kind == "f"]
    vs = [rng.standard_normal(y.shape).astype(y.dtype) for y, _ in pairs]
    leaves = [x for x in xs if x.requires_grad]
    gs = mr.grad([y for y, _ in pairs], leaves, vs)
    expected = torch.autograd.grad(
        [u for _, u in pairs],
        [t for t in ts if t.requires_grad],
        [torch.tensor(np.asarray(v, np.float64)) for v in vs],
        allow_unused=True,
    )
    for k, (x, g, e) in enumerate(zip(leaves, gs, expected, strict=True)):
        assert g.dtype == x.dtype, f"gradient {k}: dtype {g.dtype}, expected that of the input, {x.dtype}"
        assert_close(g, np.zeros(x.shape) if e is None else e.numpy(), what=f"gradient {k}")
