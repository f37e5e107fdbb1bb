"""The mathematical functions compared with torch to higher orders, and their ties, NaN, zeros, float16, messages.

Tests `minirnn/ops/primitives/elementwise.py`, `minirnn/ops/primitives/rounding.py`, `minirnn/ops/primitives/bounds.py`,
`minirnn/ops/primitives/extremes.py`, `minirnn/ops/primitives/sorting.py`, `minirnn/ops/primitives/scans.py`,
`minirnn/ops/primitives/statistics.py`, `minirnn/ops/primitives/norms.py`, `minirnn/ops/primitives/gathering.py`,
`minirnn/ops/primitives/einstein.py` and `minirnn/ops/primitives/truths.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import ops
from tests.compare import assert_close, assert_same, listed
from tests.each import each
from tests.ops.primitives.maths_cases import CASES, Case

SMOOTH = {
    name: case for name, case in CASES.items() if case.order > 1 and any(x.dtype.kind == "f" for x in case.inputs)
}


@pytest.mark.slow_elsewhere
@each(("name", "case"), SMOOTH.items(), ids=list(SMOOTH))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_derivatives_of_any_order_are_torchs(device: str, rng: np.random.Generator, name: str, case: Case) -> None:
    torch = pytest.importorskip("torch")
    xs = [mr.tensor(x, x.dtype.kind == "f", device) for x in case.inputs]
    us = [torch.tensor(x, requires_grad=x.dtype.kind == "f") for x in case.inputs]
    pairs = [
        (y, u)
        for y, u in zip(listed(case.ours(*xs)), listed(case.theirs(torch, *us)), strict=True)
        if u.requires_grad and u.numel()
    ]
    if not pairs:
        return
    weights = [rng.standard_normal(y.shape) for y, _ in pairs]
    # not linear in the outputs, so that second derivatives of the sum include those of the op
    ours: Any = sum((y * w + y * y * 0.3).sum() for (y, _), w in zip(pairs, weights, strict=True))
    theirs: Any = sum((u * torch.tensor(w) + u * u * 0.3).sum() for (_, u), w in zip(pairs, weights, strict=True))
    xs, us = [x for x in xs if x.requires_grad], [u for u in us if u.requires_grad]
    for order in range(1, case.order + 1):
        found = mr.grad(ours, xs, create_graph=True)
        expected = torch.autograd.grad(theirs, us, create_graph=True, materialize_grads=True)
        for k, (g, e) in enumerate(zip(found, expected, strict=True)):
            assert_close(g, e.detach().numpy(), 1e-9, "float64 through derivatives", what=f"order {order}, input {k}")
        along = [rng.standard_normal(x.shape) for x in xs]
        ours = sum((g * v).sum() for g, v in zip(found, along, strict=True))
        theirs = sum((e * torch.tensor(v)).sum() for e, v in zip(expected, along, strict=True))
        if not theirs.requires_grad or not ours.requires_grad:
            return


def test_the_gradient_of_products_with_zeros_is_that_of_differences() -> None:
    x = np.array([[1.5, 0.0, -2.0, 0.7], [0.0, 0.4, 0.0, 1.1]])
    for f in (lambda t: ops.prod(t, 1), lambda t: ops.cumprod(t, 1), ops.prod, lambda t: ops.cumprod(t, 0)):
        assert mr.gradcheck(f, [x], order=2)


def test_axis_is_numpys_word_and_dim_is_torchs() -> None:
    x = np.array([[1.0, 5, 5], [4, 2, 0]])
    t = mr.tensor(x, requires_grad=True)
    assert_same(t.max(axis=1), x.max(1))
    assert_same(t.min(axis=(0, 1), keepdims=True), x.min(keepdims=True))
    values, indices = t.max(dim=1)
    assert_same(values, x.max(1))
    assert_same(indices, np.array([1, 0]))
    assert t.min(1)._fields == ("values", "indices")
    assert_same(mr.grad(values.sum(), t), np.array([[0.0, 1, 0], [1, 0, 0]]))
    assert_same(mr.grad(t.max(axis=1).sum(), t), np.array([[0.0, 0.5, 0.5], [1, 0, 0]]))


@each("descending", [False, True])
@each("n", [1, 2, 3, 7, 64, 129])
@each("dtype", ["f2", "f4", "f8", "i8"])
def test_sorted_rows_of_any_length_are_stable(
    device: str, rng: np.random.Generator, dtype: str, n: int, descending: bool
) -> None:
    x = rng.integers(-3, 4, (3, n, 2)).astype(dtype)
    if dtype[0] == "f":
        x[rng.random(x.shape) < 0.2] = np.nan
    values, indices = mr.tensor(x, device=device).sort(1, descending)
    rank = np.where(np.isnan(x), 9, x) if dtype[0] == "f" else x
    order = np.argsort(-rank if descending else rank, axis=1, kind="stable")
    assert_same(indices, order)
    assert_same(values, np.take_along_axis(x, order, 1))


def test_gather_and_scatter_add_are_adjoint(device: str, rng: np.random.Generator) -> None:
    x, index, v = rng.standard_normal((4, 3)), rng.integers(0, 4, (6, 2)), rng.standard_normal((6, 2))
    zeros = mr.tensor(np.zeros((4, 3)), device=device)
    left = (mr.tensor(x, device=device).gather(0, index) * v).sum().item()
    right = (zeros.scatter_add(0, index, mr.tensor(v, device=device)) * x).sum().item()
    assert left == pytest.approx(right, rel=1e-12)


def test_of_several_elements_scattered_to_one_place_the_last_stays_and_gets_the_gradient(device: str) -> None:
    x = mr.tensor(np.arange(3.0), True, device)
    src = mr.tensor(np.array([10.0, 20, 30, 40]), True, device)
    y = x.scatter(0, [1, 2, 1, 1], src)
    assert_same(y.numpy(), np.array([0.0, 40, 20]))
    dx, dsrc = mr.grad((y * np.array([1.0, 2, 3])).sum(), [x, src])
    assert_same(dx.numpy(), np.array([1.0, 0, 0]))
    assert_same(dsrc.numpy(), np.array([0.0, 3, 0, 2]))


def test_the_source_of_scatter_add_may_be_longer_than_the_index(device: str) -> None:
    x, src = mr.tensor(np.zeros((3, 2)), True, device), mr.tensor(np.arange(8.0).reshape(4, 2), True, device)
    y = x.scatter_add(0, [[2, 0], [2, 1]], src)
    assert_same(y.numpy(), np.array([[0.0, 1], [0, 3], [2, 0]]))
    assert_same(mr.grad(y.sum(), src).numpy(), np.array([[1.0, 1], [1, 1], [0, 0], [0, 0]]))


def test_a_logsumexp_of_minus_infinity_alone_has_the_gradient_zero(device: str) -> None:
    x = mr.tensor(np.array([[-np.inf, -np.inf], [0.0, -np.inf]]), True, device)
    y = x.logsumexp(1)
    assert_same(y.numpy(), np.array([-np.inf, 0.0]))
    assert_same(mr.grad(y, x, np.ones(2)).numpy(), np.array([[0.0, 0], [1, 0]]))


@pytest.mark.parametrize(
    ("f", "expected"),
    [
        (lambda t: (t / 10).norm(), 30 * np.sqrt(50_000)),
        (lambda t: t.std(unbiased=False), 0.0),
        (lambda t: t.var(), 0.0),
        (lambda t: (t - t.detach() + 1e-3).cumsum(0)[-1], 50.0),
        (lambda t: (t / 300).prod(), 1.0),
    ],
    ids=["norm", "std", "var", "cumsum", "prod"],
)
def test_float16_is_computed_in_float32(device: str, f: Any, expected: float) -> None:
    y = f(mr.tensor(np.full(50_000, 300, np.float16), device=device))
    assert y.dtype == np.float16
    assert y.item() == pytest.approx(np.float16(expected), rel=2e-3)


@pytest.mark.parametrize("equation", ["ij,jk,kl->il", "abc,cd,ef,bde->af", "...i,i,...j->...j"])
def test_einsum_is_numpys(device: str, rng: np.random.Generator, equation: str) -> None:
    sizes = dict(zip("abcdefijkl", (2, 3, 4, 5, 2, 3, 4, 5, 2, 3), strict=True))
    shapes = [
        tuple(n for c in part.replace("...", ".") for n in ((2, 3) if c == "." else (sizes[c],)))
        for part in equation.split("->")[0].split(",")
    ]
    arrays = [rng.standard_normal(shape) for shape in shapes]
    y = ops.einsum(equation, *[mr.tensor(a, device=device) for a in arrays])
    assert_close(y, np.einsum(equation, *arrays))


@pytest.mark.parametrize("f", [ops.floor, ops.ceil, ops.round, ops.trunc, lambda t: ops.norm(t, 0)])
def test_steps_have_the_gradient_zero_of_every_order(device: str, f: Any) -> None:
    x = mr.tensor(np.array([0.3, 1.7, -2.4]), True, device)
    assert_same(mr.grad(f(x).sum(), x).numpy(), np.zeros(3))
    assert_same(mr.grad((f(x) * x).sum(), x).numpy(), np.broadcast_to(f(x).numpy(), 3).copy() + 0.0)
