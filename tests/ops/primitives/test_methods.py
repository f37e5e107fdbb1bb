"""Methods of Tensor with torch's names that are not separate ops."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import minirnn as mr
from minirnn import ops
from tests.compare import assert_same


def test_what_a_tensor_is(device: str) -> None:
    t = mr.zeros(2, 3, device=device)
    assert (t.numel(), t.nelement(), t.size, t.dim(), t.ndimension(), len(t)) == (6, 6, 6, 2, 2, 2)
    assert t.is_floating_point() and not t.long().is_floating_point() and t.is_contiguous()
    assert t.contiguous() is t and +t is t


def test_membership(device: str) -> None:
    t = mr.tensor([1.0, 2.5], device=device)
    assert 2.5 in t and 1 in t and 3 not in t and np.float64(2.5) in t
    assert mr.tensor(2.5, device=device) in t
    assert 1 not in mr.zeros(0, device=device)


def test_a_clone_is_a_node_of_its_own(device: str) -> None:
    x = mr.tensor([1.0, 2.0], requires_grad=True, device=device)
    y = x.clone()
    assert y is not x and not y.is_leaf and y.requires_grad
    assert_same(mr.grad((y * y).sum(), x).numpy(), np.float32([2, 4]))
    x.assign([5.0, 6.0])
    assert y.tolist() == [1, 2]


def test_operators_under_torchs_names(device: str) -> None:
    a, b = np.array([1.0, 2.0, 3.0]), np.array([3.0, 2.0, 1.0])
    t, u = mr.tensor(a, device=device), mr.tensor(b, device=device)
    for got, expected in (
        (t.add(u), a + b), (t.sub(u), a - b), (t.mul(u), a * b), (t.div(u), a / b), (t.pow(2), a**2), (t.neg(), -a),
        (t.eq(u), a == b), (t.ne(u), a != b), (t.lt(u), a < b), (t.le(u), a <= b), (t.gt(u), a > b), (t.ge(u), a >= b),
        (t.maximum(u), np.maximum(a, b)), (t.minimum(u), np.minimum(a, b)), (t.matmul(u), a @ b), (t.sign(), a / a),
        (t.where(t > u, 0.0), np.where(a > b, a, 0)), (ops.eq(t, u), a == b), (ops.sub(t, u), a - b),
    ):  # fmt: skip
        assert got.device == device
        assert_same(got.numpy(), expected)


def test_aliases_are_the_same_functions() -> None:
    for alias, name in {"cat": "concat", "abs": "absolute", "mul": "multiply", "ge": "greater_equal"}.items():
        first, second = inspect.unwrap(getattr(ops, alias)), inspect.unwrap(getattr(ops, name))
        assert first.__code__ is second.__code__ and (first.__name__, second.__name__) == (alias, name)
    for name in ("stack", "concat", "cat", "where", "maximum", "exp", "softmax", "split", "unsqueeze", "masked_fill"):
        assert getattr(mr, name) is getattr(ops, name)


def test_bools_have_no_plus() -> None:
    with pytest.raises(TypeError, match="positive: got dtype bool\n  expected numbers"):
        +mr.tensor([True])
