"""Operators and methods of Tensor are the ops of `mr.ops`.

Tests `minirnn/ops/primitives/declare.py` and the stubs of `scripts/method_stubs.py`.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import ops
from tests.compare import assert_same

METHODS: dict[str, tuple[Any, ...]] = {
    "exp": (),
    "log": (),
    "sqrt": (),
    "tanh": (),
    "sigmoid": (),
    "relu": (),
    "clip": (0.3, 0.6),
    "astype": ("float32",),
    "to": ("cpu",),
    "sum": (1,),
    "mean": (1,),
    "max": ((1,),),
    "argmax": (1,),
    "reshape": ((3, 2),),
    "transpose": ((1, 0),),
    "broadcast_to": ((4, 2, 3),),
    "softmax": (0,),
    "log_softmax": (0,),
}


@pytest.mark.parametrize("name", METHODS)
def test_a_method_is_the_op_of_its_name(rng: np.random.Generator, name: str) -> None:
    t = mr.tensor(rng.uniform(0.1, 1.0, (2, 3)))
    assert_same(getattr(t, name)(*METHODS[name]), getattr(ops, name)(t, *METHODS[name]).numpy())


OPERATORS = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "power": operator.pow,
    "matmul": operator.matmul,
}


@pytest.mark.parametrize("name", OPERATORS)
def test_an_operator_is_the_op_of_its_name_in_the_order_written(rng: np.random.Generator, name: str) -> None:
    a, b = rng.uniform(0.5, 2.0, (3, 3)), rng.uniform(0.5, 2.0, (3, 3))
    expected = getattr(ops, name)(a, b).numpy()
    for left, right in ((mr.tensor(a), mr.tensor(b)), (mr.tensor(a), b), (a, mr.tensor(b))):
        assert_same(OPERATORS[name](left, right), expected)


def test_every_op_of_the_primitives_is_public() -> None:
    from minirnn.ops import primitives

    assert set(primitives.__all__) <= set(ops.__all__)
    assert all(callable(getattr(ops, name)) for name in primitives.__all__)


def test_a_tensor_is_iterated_along_its_first_axis() -> None:
    t = mr.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    first, second = t
    assert (first.tolist(), second.tolist()) == ([1, 2], [3, 4])
    assert mr.grad(second.sum(), t).tolist() == [[0, 0], [1, 1]]
    with pytest.raises(TypeError, match=r"iteration over a Tensor of shape \(\)"):
        list(mr.tensor(1.0))


def test_tensors_are_keys_by_identity() -> None:
    a, b = mr.tensor([1.0, 2.0]), mr.tensor([1.0, 2.0])
    assert {a: 1, b: 2}[b] == 2
    assert len({a, b, a}) == 2


@pytest.mark.parametrize("other", ["text", None, object()])
def test_operators_refuse_what_is_no_number(other: Any) -> None:
    for f in OPERATORS.values():
        with pytest.raises(TypeError):
            f(mr.tensor([1.0]), other)


def test_the_stubs_of_the_methods_are_those_that_the_script_writes() -> None:
    from scripts import method_stubs

    assert method_stubs.PATH.read_text(encoding="utf-8") == method_stubs.text()
