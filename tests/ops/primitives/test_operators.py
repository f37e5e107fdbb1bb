"""Operators and methods of Tensor are the ops of `mr.ops`.

Tests `minirnn/ops/primitives/declare.py` and the stubs of `scripts/method_stubs.py`.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import ops
from minirnn.cells.expr import CellError, Graph
from minirnn.ops.primitives.declare import ACTIVATIONS, Primitive, binary, unary
from minirnn.proof.cases.functional import VALUES as FUNCTIONAL
from minirnn.proof.cases.primitives import UNARY, VALUES


def test_every_op_of_the_primitives_is_public() -> None:
    from minirnn.ops import primitives

    assert set(primitives.__all__) <= set(ops.__all__)
    assert all(callable(getattr(ops, name)) for name in primitives.__all__)


def test_tensors_are_keys_by_identity() -> None:
    a, b = mr.tensor([1.0, 2.0]), mr.tensor([1.0, 2.0])
    assert {a: 1, b: 2}[b] == 2
    assert len({a, b, a}) == 2


def test_the_stubs_of_the_methods_are_those_that_the_script_writes() -> None:
    from scripts import method_stubs

    assert method_stubs.PATH.read_text(encoding="utf-8") == method_stubs.text()


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
    with pytest.raises(CellError, match="given to softsign"):  # the language of cells is asked, and lacks it
        softsign(Graph().node("input", (), "z"))


def test_an_op_of_two_operands_and_several_primitives_is_not_made_by_binary() -> None:
    class Hypot(Primitive, uses="multiply add sqrt"):
        def forward(self, device: Any, a: Any, b: Any) -> Any:
            return device.sqrt(device.add(device.multiply(a, a), device.multiply(b, b)))

    with pytest.raises(TypeError, match="binary: Hypot has a forward\n  expected one primitive, or @op and a function"):
        binary(Hypot, "")


def test_an_activation_is_a_function_of_nn_and_is_proven_by_its_declaration_alone() -> None:
    assert {"sigmoid", "tanh"} <= ACTIVATIONS.keys()
    for name, function in ACTIVATIONS.items():
        assert getattr(mr, name) is getattr(mr.nn.functional, name) is function and name in mr.nn.functional.__all__
        assert name in VALUES and name in UNARY.values() and name in FUNCTIONAL


def test_a_traceback_names_the_op() -> None:
    with pytest.raises(ValueError, match="multiply: operands have shapes") as found:
        mr.zeros(2, 3) * mr.zeros(4)
    assert found.traceback[-1].name == "multiply"
