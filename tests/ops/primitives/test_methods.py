"""Methods of Tensor with torch's names that are not separate ops."""

from __future__ import annotations

import numpy as np

import minirnn as mr
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
