"""Operators and methods of Tensor are the ops of `mr.ops`.

Tests `minirnn/ops/primitives/declare.py` and the stubs of `scripts/method_stubs.py`.
"""

from __future__ import annotations

import inspect
import operator
from typing import Any, ClassVar

import numpy as np
import pytest

import minirnn as mr
from minirnn import ops
from minirnn.devices.base import OPTIONAL, PRIMITIVES
from minirnn.devices.cpu.device import CPU
from minirnn.engine.tensor import leaf
from minirnn.ops.primitives.declare import DECLARED, Primitive, unary
from tests.compare import assert_same
from tests.each import each

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


@each("name", METHODS)
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


class Watched(CPU):
    """A device that records which of its primitives are used."""

    name = "watched"
    asked: ClassVar[set[str]] = set()

    def __getattribute__(self, name: str) -> Any:
        if name in PRIMITIVES or name in OPTIONAL:
            Watched.asked.add(name)
        return super().__getattribute__(name)


OF_ONE = """exp log sqrt tanh sigmoid relu absolute sin cos tan erf log1p expm1 reciprocal rsqrt floor ceil trunc round
negative identity logsumexp sum amax amin sign isnan isinf isfinite argmax argmin transpose unbind"""
OF_TWO = "add subtract multiply divide power maximum minimum equal less"
ALONG = "cumsum cumprod argsort softmax log_softmax prod flip split"
DECLARATIONS: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(OF_ONE.split(), ()),
    **dict.fromkeys(OF_TWO.split(), (0.5,)),
    **dict.fromkeys(ALONG.split(), (1,)),
    **{"clip": (0.3, 0.6), "astype": ("float64",), "reshape": ((3, 2),), "broadcast_to": ((4, 2, 3),)},
}


@each("name", DECLARATIONS)
def test_a_declaration_is_true(rng: np.random.Generator, name: str) -> None:
    nodes, uses, _ = DECLARED[getattr(ops, name)]
    device = Watched()
    t = leaf(device, rng.uniform(0.1, 1.0, (2, 3)).astype(np.float32), requires_grad=True)
    arguments = DECLARATIONS[name]
    Watched.asked.clear()
    y = getattr(ops, name)(t, *arguments)
    asked = Watched.asked - {"full"}  # which makes the Tensor of a number
    assert asked <= {*uses, "cast", "reshape", "transpose"}
    assert asked & set(uses) or not uses
    made_by = (y[0] if isinstance(y, tuple) else y).op
    if made_by is not None and made_by.name not in ("Output", "Reshape"):  # then the node is behind it
        assert type(made_by) in nodes
    assert bool(nodes) == (made_by is not None)


class Softsign(Primitive, uses="absolute add divide", reads="x"):
    """y = x / (1 + |x|)       dx = dy / (1 + |x|) ** 2"""

    def forward(self, device: Any, x: Any) -> Any:
        return device.divide(x, device.add(1, device.absolute(x)))

    def backward(self, dy: Any, y: Any, x: Any) -> Any:
        return (dy / (1 + abs(x)) ** 2,)


def test_an_op_of_ones_own_is_declared_as_those_of_minirnn_are(device: str) -> None:
    softsign = unary(Softsign, "``x / (1 + |x|)``: between -1 and 1.", method="")
    assert str(inspect.signature(softsign)) == "(x: 'Any') -> 'Tensor'"
    assert (softsign.__name__, softsign.__doc__) == ("softsign", "``x / (1 + |x|)``: between -1 and 1.")
    x = mr.tensor(np.array([-2.0, 0.5, 3.0]), requires_grad=True, device=device)
    assert softsign(x).op.name == "Softsign"
    assert mr.gradcheck(softsign, x) and mr.gradcheck(lambda t: mr.grad(softsign(t).sum(), t, create_graph=True), x)
    with pytest.raises(TypeError, match="softsign: got dtype int64\n  expected float16"):
        softsign([1, 2])


def test_a_traceback_names_the_op() -> None:
    with pytest.raises(ValueError, match="multiply: operands have shapes") as found:
        mr.zeros(2, 3) * mr.zeros(4)
    assert found.traceback[-1].name == "multiply"
