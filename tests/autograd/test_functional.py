"""vjp, jvp, hvp, jacobian and hessian: what `test_golden.py`, which has torch's values, does not say.

Tests `minirnn/autograd/products.py`, `minirnn/autograd/jacobians.py` and `minirnn/autograd/separate_tape.py`. Wrong
calls are in `tests/hostile/calls_functions.py`.
"""

from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn.engine.tape import Op, record
from tests.each import each

PRODUCTS = {"vjp": mr.vjp, "jvp": mr.jvp, "hvp": mr.hvp}
ALL: dict[str, Any] = {**PRODUCTS, "jacobian": mr.jacobian, "hessian": mr.hessian}
STRATEGIES = ("reverse-mode", "forward-mode")


def vector(*values: float, requires_grad: bool = False) -> mr.Tensor:
    return mr.tensor(np.array(values, np.float64), requires_grad=requires_grad)


def derivative(name: str, *args: Any, **options: Any) -> Any:
    """The derivative alone, without the value that products return in front of it."""
    found = ALL[name](*args, **options)
    return found[1] if name in PRODUCTS else found


def same(found: Any, *values: Any) -> None:
    np.testing.assert_allclose(found.numpy(), np.array(values), rtol=1e-14)


class Lopsided(Op):
    """y = a b, with a gradient that forgets the one for a: (0, a). Its Hessian is [[0, 0], [1, 0]]."""

    def backward(self, dy: Any, y: Any, a: Any, b: Any) -> Any:
        return None, dy * a


def test_the_side_of_the_vector() -> None:
    def f(a: mr.Tensor, b: mr.Tensor) -> mr.Tensor:
        return record(Lopsided(), a.device, a.array * b.array, (a, b)).sum()

    inputs, v = (vector(2), vector(3)), (vector(7), vector(11))
    assert [t.item() for t in mr.hvp(f, inputs, v)[1]] == [0, 7]
    assert [[t.item() for t in row] for row in mr.hessian(f, inputs)] == [[0, 0], [1, 0]]


@each("name", PRODUCTS)
def test_the_vector_may_be_left_out_for_one_number(name: str) -> None:
    for x, third in ((vector(2.0), 12.0), (mr.tensor(np.array(3.0)), 18.0 if name == "hvp" else 27.0)):
        y, g = PRODUCTS[name](lambda x: x**3, x)
        assert y.shape == g.shape == x.shape and (y.item(), g.item()) == (x.item() ** 3, third)


# ---- histories and side effects


@each("name", ALL)
@each("create_graph", [False, True])
@each("requires_grad", [False, True])
def test_results_have_a_history_only_if_it_was_asked_for(name: str, create_graph: bool, requires_grad: bool) -> None:
    w = mr.nn.Parameter(np.array([1.0, 2.0]))
    x = vector(2, 3, requires_grad=requires_grad)
    given = (x, vector(1, 1)) if name in ("jvp", "hvp") else (x,)
    found = ALL[name](lambda x: (w * x**3).sum(), *given, create_graph=create_graph)
    for t in found if name in PRODUCTS else (found,):
        assert t.requires_grad is create_graph
    expected = {"vjp": (12, 54), "jvp": (66,), "hvp": (12, 36), "jacobian": (12, 54), "hessian": ((12, 0), (0, 36))}
    same(found[1] if name in PRODUCTS else found, *expected[name])
    assert w.grad is None and x.grad is None and x.requires_grad is requires_grad


@each("name", ALL)
def test_they_record_inside_no_grad_and_leave_the_mode(name: str) -> None:
    with mr.no_grad():
        assert derivative(name, lambda x: (x**3).sum(), vector(2.0)).item() == 12
        assert (vector(1.0, requires_grad=True) * 2).op is None


@each("name", ALL)
def test_a_tape_that_the_function_holds_on_to_stays_as_it_is(name: str) -> None:
    """It is not freed, and it may have been freed before."""
    w = vector(3.0, requires_grad=True)
    held = w * 2
    for freed in (False, False, True):
        if freed:
            held.sum().backward()
        assert derivative(name, lambda x: (held * x**3).sum(), vector(2.0)).item() == 72
    assert w.grad.item() == 2  # type: ignore[union-attr]


def test_the_same_tensor_as_argument_and_in_the_closure_is_two_things() -> None:
    x = vector(2, 3, requires_grad=True)
    same(mr.vjp(lambda z: (z * x).sum(), x)[1], 2, 3)
    same(mr.vjp(lambda a, b: (a * a * b).sum(), (x, x))[1][0], 8, 18)
    same(mr.vjp(lambda x: x, x, vector(5, 7))[1], 5, 7)
    same(mr.jvp(lambda x: (x, x), x, vector(5, 7))[1][1], 5, 7)


@each("name", ["vjp", "jvp"])
def test_a_function_with_dropout_is_called_once(name: str) -> None:
    ones = mr.tensor(np.ones(100))
    y, g = PRODUCTS[name](lambda x: mr.nn.functional.dropout(x, 0.5, True), ones, ones)
    np.testing.assert_array_equal(y.numpy(), g.numpy())
    assert 20 < (y.numpy() == 0).sum() < 80


# ---- dtypes, shapes, outputs without a gradient


@each("dtype", [np.float16, np.float32, np.float64])
@each("name", PRODUCTS)
def test_results_have_the_dtype_of_the_inputs(name: str, dtype: Any, device: str) -> None:
    x = mr.tensor(np.array([2.0, 3.0], dtype), device=device)
    v = mr.tensor(np.ones(2), device=device)  # in float64: it is cast
    y, g = PRODUCTS[name](lambda x: (x**3).sum() if name == "hvp" else x**3, x, v)
    assert y.dtype == g.dtype == dtype
    np.testing.assert_allclose(g.numpy(), [12, 18] if name == "hvp" else [12, 27])


def test_outputs_of_integers_carry_no_gradient() -> None:
    x = vector(2, 3)
    (y, _), g = mr.vjp(lambda x: (x**2, x.argmax()), x, (vector(1, 1), mr.tensor(0)))
    same(y, 4, 9)
    same(g, 4, 6)
    (y, n), (t, z) = mr.jvp(lambda x: (x**2, x.argmax()), x, vector(1, 1))
    same(t, 4, 6)
    assert n.item() == 1 and z.item() == 0 and z.dtype == n.dtype == np.int64


@each("strategy", STRATEGIES)
def test_blocks_have_the_shapes_of_output_and_input_and_the_dtype_of_the_input(strategy: str, device: str) -> None:
    x, y = mr.tensor(np.ones((2, 3), np.float32), device=device), mr.tensor(np.ones(4), device=device)

    def f(x: mr.Tensor, y: mr.Tensor) -> Any:
        return x.sum() * y, x.astype(np.float64).exp(), x.argmax()

    found = mr.jacobian(f, (x, y), strategy=strategy)
    assert type(found) is tuple and all(type(row) is tuple for row in found)
    for row, shape in zip(found, [(4,), (2, 3), ()], strict=True):
        assert [(t.shape, t.dtype) for t in row] == [((*shape, 2, 3), np.float32), ((*shape, 4), np.float64)]
    np.testing.assert_allclose(found[1][0].numpy().reshape(6, 6), np.e * np.eye(6), rtol=1e-6)
    assert not found[2][0].numpy().any() and not found[2][1].numpy().any()
    for function, inputs in ((lambda x: x * 2, (x,)), (lambda x: (x * 2,), x)):
        (only,) = mr.jacobian(function, inputs, strategy=strategy)
        assert only.shape == (2, 3, 2, 3)


@each("strategy", STRATEGIES)
def test_sizes_of_zero(strategy: str, device: str) -> None:
    empty, number = mr.tensor(np.ones((0, 3)), device=device), mr.tensor(np.array(2.0), device=device)
    first = mr.jacobian(lambda e, n: (e * n, n**3), (empty, number), strategy=strategy)
    second = mr.hessian(lambda e, n: e.sum() + n**3, (empty, number), outer_jacobian_strategy=strategy)
    for found in (first, second):
        assert [[t.shape for t in row] for row in found] == [[(0, 3, 0, 3), (0, 3)], [(0, 3), ()]]
        assert found[1][1].item() == 12
    for product in (mr.vjp, mr.jvp):
        y, g = product(lambda x: x.exp(), empty, empty)
        assert y.shape == g.shape == (0, 3)


# ---- strict


@each("name", ["vjp", "hvp"])
def test_an_input_without_influence_has_zeros_unless_strict(name: str) -> None:
    inputs = vector(2.0), vector(3.0)
    v = None if name == "vjp" else (vector(1.0), vector(1.0))
    found = PRODUCTS[name](lambda x, y: (x**3).sum(), inputs, v)[1]
    same(found[0], 12)
    same(found[1], 0)
    PRODUCTS[name](lambda x, y: (x**3 * y**3).sum(), inputs, v, strict=True)


@each("strategy", STRATEGIES)
def test_strict_names_output_and_input_that_are_independent(strategy: str) -> None:
    inputs = vector(2.0), vector(3.0)
    f = lambda x, y: (x * y, x**2)  # noqa: E731
    assert [[t.item() for t in row] for row in mr.jacobian(f, inputs, strategy=strategy)] == [[3, 2], [4, 0]]
    with pytest.raises(RuntimeError, match="output 1 does not depend on input 1"):
        mr.jacobian(f, inputs, strict=True, strategy=strategy)
    mr.jacobian(lambda x, y: x * y, inputs, strict=True, strategy=strategy)


@each("name", ALL)
def test_strict_refuses_what_was_not_recorded_and_constants_that_are_to_be_differentiated(name: str) -> None:
    """The derivative of 5 x is a constant, and so is the second one of x^2."""
    second = name in ("hvp", "hessian")
    x = vector(2.0, requires_grad=True)
    assert not np.any(derivative(name, lambda x: mr.tensor(x.numpy().sum()), x).numpy())
    f = (lambda x: (x * x * 2.5).sum()) if second else (lambda x: x * 5)
    for options in ({"create_graph": True}, {"strict": True}):
        assert derivative(name, f, x, **options).item() == 5
    with pytest.raises(RuntimeError, match="does not depend on|is a constant"):
        derivative(name, f, x, create_graph=True, strict=True)
    if second:
        assert derivative(name, lambda x: (x * 5).sum(), x).item() == 0
        with pytest.raises(RuntimeError, match="the gradient with respect to input 0 does not depend on the inputs"):
            derivative(name, lambda x: (x * 5).sum(), x, strict=True)
