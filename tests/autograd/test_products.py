"""vjp, jvp and hvp: values computed by hand, strictness, and the absence of side effects."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn.engine.tape import Op, record
from tests.each import each

PRODUCTS = {"vjp": mr.vjp, "jvp": mr.jvp, "hvp": mr.hvp}


def vector(*values: float, requires_grad: bool = False) -> mr.Tensor:
    return mr.tensor(np.array(values, np.float64), requires_grad=requires_grad)


def same(found: Any, *values: float) -> None:
    np.testing.assert_allclose(found.numpy(), np.array(values), rtol=1e-14)


# ---- by hand: y = (x0^2 x1, 5 x1), J = [[2 x0 x1, x0^2], [0, 5]]


def pair(x: mr.Tensor) -> mr.Tensor:
    return mr.ops.stack([x[0] * x[0] * x[1], 5 * x[1]])


def test_a_vector_times_the_jacobian() -> None:
    y, g = mr.vjp(pair, vector(2, 3), vector(7, 11))
    same(y, 12, 15)
    same(g, 7 * 12, 7 * 4 + 11 * 5)


def test_the_jacobian_times_a_vector() -> None:
    y, t = mr.jvp(pair, vector(2, 3), vector(7, 11))
    same(y, 12, 15)
    same(t, 7 * 12 + 11 * 4, 11 * 5)


def test_the_hessian_and_a_vector() -> None:
    """y = x0^2 x1, H = [[2 x1, 2 x0], [2 x0, 0]]."""
    y, g = mr.hvp(lambda x: x[0] * x[0] * x[1], vector(2, 3), vector(7, 11))
    assert y.shape == () and y.item() == 12
    same(g, 7 * 6 + 11 * 4, 7 * 4)


class Lopsided(Op):
    """y = a b, with a gradient that forgets the one for a: (0, a). Its Hessian is [[0, 0], [1, 0]]."""

    def backward(self, dy: Any, y: Any, a: Any, b: Any) -> Any:
        return None, dy * a


def test_the_side_of_the_vector() -> None:
    def f(a: mr.Tensor, b: mr.Tensor) -> mr.Tensor:
        return record(Lopsided(), a.device, a.array * b.array, (a, b)).sum()

    inputs, v = (vector(2), vector(3)), (vector(7), vector(11))
    assert [t.item() for t in mr.hvp(f, inputs, v)[1]] == [0, 7]
    found = mr.hessian(f, inputs)
    assert [[t.item() for t in row] for row in found] == [[0, 0], [1, 0]]


@pytest.mark.parametrize("name", PRODUCTS)
def test_the_vector_may_be_left_out_for_one_number(name: str) -> None:
    y, g = PRODUCTS[name](lambda x: x**3, vector(2.0))
    same(y, 8)
    same(g, {"vjp": 12, "jvp": 12, "hvp": 12}[name])
    y, g = PRODUCTS[name](lambda x: x**3, mr.tensor(np.array(3.0)))
    assert (y.item(), g.item()) == (27, 27 if name in ("vjp", "jvp") else 18)


# ---- side effects and results


@each("name", PRODUCTS)
@each("create_graph", [False, True])
@each("requires_grad", [False, True])
def test_results_have_a_history_only_if_it_was_asked_for(name: str, create_graph: bool, requires_grad: bool) -> None:
    w = mr.nn.Parameter(np.array([1.0, 2.0]))
    x = vector(2, 3, requires_grad=requires_grad)
    v = None if name == "vjp" else vector(1, 1)
    y, g = PRODUCTS[name](lambda x: (w * x**3).sum(), x, v, create_graph=create_graph)
    assert y.requires_grad is g.requires_grad is create_graph
    same(g, *{"vjp": (12, 54), "jvp": (66,), "hvp": (12, 36)}[name])
    assert w.grad is None and x.grad is None and x.requires_grad is requires_grad


@pytest.mark.parametrize("name", PRODUCTS)
def test_they_record_inside_no_grad(name: str) -> None:
    with mr.no_grad():
        _, g = PRODUCTS[name](lambda x: (x**3).sum(), vector(2.0))
    assert g.item() == 12


@pytest.mark.parametrize("name", PRODUCTS)
def test_a_tape_that_the_function_holds_on_to_stays_as_it_is(name: str) -> None:
    """It is not freed, and it may have been freed before."""
    w = vector(3.0, requires_grad=True)
    held = w * 2
    for _ in range(2):
        _, g = PRODUCTS[name](lambda x: (held * x**3).sum(), vector(2.0))
        assert g.item() == 72
    held.sum().backward()
    _, g = PRODUCTS[name](lambda x: (held * x**3).sum(), vector(2.0))
    assert g.item() == 72
    assert w.grad.item() == 2  # type: ignore[union-attr]


@each("dtype", [np.float16, np.float32, np.float64])
@each("name", PRODUCTS)
def test_results_have_the_dtype_of_the_inputs(name: str, dtype: Any, device: str) -> None:
    x = mr.tensor(np.array([2.0, 3.0], dtype), device=device)
    v = mr.tensor(np.ones(2), device=device)  # in float64: it is cast
    y, g = PRODUCTS[name](lambda x: x**3 if name in ("vjp", "jvp") else (x**3).sum(), x, v)
    assert y.dtype == g.dtype == dtype
    np.testing.assert_allclose(g.numpy(), [12, 27] if name in ("vjp", "jvp") else [12, 18])


@pytest.mark.parametrize("name", ["vjp", "jvp"])
def test_sizes_of_zero(name: str, device: str) -> None:
    x = mr.tensor(np.ones((0, 3)), device=device)
    y, g = PRODUCTS[name](lambda x: x.exp(), x, x)
    assert y.shape == g.shape == (0, 3)


def test_outputs_of_integers_carry_no_gradient() -> None:
    x = vector(2, 3)
    (y, n), g = mr.vjp(lambda x: (x**2, x.argmax()), x, (vector(1, 1), mr.tensor(0)))
    same(y, 4, 9)
    same(g, 4, 6)
    (y, n), (t, z) = mr.jvp(lambda x: (x**2, x.argmax()), x, vector(1, 1))
    same(t, 4, 6)
    assert n.item() == 1 and z.item() == 0 and z.dtype == n.dtype == np.int64


def test_the_same_tensor_as_argument_and_in_the_closure_is_two_things() -> None:
    x = vector(2, 3, requires_grad=True)
    same(mr.vjp(lambda z: (z * x).sum(), x)[1], 2, 3)
    same(mr.vjp(lambda a, b: (a * a * b).sum(), (x, x))[1][0], 8, 18)


def test_what_went_in_is_handed_back_by_the_identity() -> None:
    x = vector(2, 3)
    y, g = mr.vjp(lambda x: x, x, vector(5, 7))
    same(y, 2, 3)
    same(g, 5, 7)
    same(mr.jvp(lambda x: (x, x), x, vector(5, 7))[1][1], 5, 7)


def test_a_function_with_dropout_is_called_once() -> None:
    mr.manual_seed(0)
    y, g = mr.vjp(lambda x: mr.nn.functional.dropout(x, 0.5, True), mr.tensor(np.ones(100)), mr.tensor(np.ones(100)))
    np.testing.assert_array_equal(y.numpy(), g.numpy())
    y, t = mr.jvp(lambda x: mr.nn.functional.dropout(x, 0.5, True), mr.tensor(np.ones(100)), mr.tensor(np.ones(100)))
    np.testing.assert_array_equal(y.numpy(), t.numpy())
    assert 20 < (y.numpy() == 0).sum() < 80


def test_products_go_through_an_lstm(device: str) -> None:
    """J v by the trick agrees with differences; u' (J v) is (u' J) v."""
    mr.manual_seed(0)
    model = mr.nn.LSTM(3, 4, device=device, dtype=np.float64)
    rng = np.random.default_rng(0)
    x, v = (mr.tensor(rng.normal(size=(5, 2, 3)), device=device) for _ in range(2))
    u = mr.tensor(rng.normal(size=(5, 2, 4)), device=device)
    f = lambda x: model(x)[0]  # noqa: E731
    y, t = mr.jvp(f, x, v)
    h = 1e-5
    difference = (f(x + h * v).numpy() - f(x - h * v).numpy()) / (2 * h)
    np.testing.assert_allclose(t.numpy(), difference, atol=1e-9)
    _, g = mr.vjp(f, x, u)
    np.testing.assert_allclose((u * t).sum().item(), (g * v).sum().item(), rtol=1e-12)
    loss = lambda x: (f(x) ** 2).sum()  # noqa: E731
    difference = (mr.vjp(loss, x + h * v)[1].numpy() - mr.vjp(loss, x - h * v)[1].numpy()) / (2 * h)
    np.testing.assert_allclose(mr.hvp(loss, x, v)[1].numpy(), difference, atol=1e-8)
    assert all(p.grad is None for p in model.parameters())


# ---- strict


def of_first(x: mr.Tensor, y: mr.Tensor) -> mr.Tensor:
    return (x**3).sum()


@pytest.mark.parametrize("name", PRODUCTS)
def test_strict_refuses_an_input_without_influence_which_is_zeros_otherwise(name: str) -> None:
    inputs = vector(2.0), vector(3.0)
    v = {"vjp": None}.get(name, (vector(1.0), vector(1.0)))
    found = PRODUCTS[name](of_first, inputs, v)[1]
    if name != "jvp":
        same(found[0], 12)
        same(found[1], 0)
    else:
        assert found.item() == 12
    with pytest.raises(RuntimeError, match=r"input 1.*\n.*strict=True"):
        PRODUCTS[name](of_first, inputs, v, strict=True)
    PRODUCTS[name](lambda x, y: (x**3 * y**3).sum(), inputs, v, strict=True)


@pytest.mark.parametrize("name", PRODUCTS)
def test_strict_refuses_an_output_that_was_not_recorded(name: str) -> None:
    f = lambda x: mr.tensor(x.numpy().sum())  # noqa: E731
    _, g = PRODUCTS[name](f, vector(2.0))
    assert np.all(g.numpy() == 0)
    with pytest.raises(RuntimeError, match="output 0 .* was not recorded"):
        PRODUCTS[name](f, vector(2.0), strict=True)


@pytest.mark.parametrize("name", PRODUCTS)
def test_strict_refuses_a_constant_where_it_is_to_be_differentiated(name: str) -> None:
    """The derivative of 5 x is a constant, and so is the second one of x^2."""
    f = (lambda x: x * 5) if name in ("vjp", "jvp") else (lambda x: (x * x * 2.5).sum())
    x = vector(2.0, requires_grad=True)
    assert PRODUCTS[name](f, x, create_graph=True)[1].item() == 5
    assert PRODUCTS[name](f, x, strict=True)[1].item() == 5
    with pytest.raises(RuntimeError, match="does not depend on"):
        PRODUCTS[name](f, x, create_graph=True, strict=True)


def test_strict_refuses_the_hessian_of_a_linear_function() -> None:
    f = lambda x: (x * 5).sum()  # noqa: E731
    assert mr.hvp(f, vector(2.0))[1].item() == 0
    with pytest.raises(RuntimeError, match="the gradient with respect to input 0 does not depend on the inputs"):
        mr.hvp(f, vector(2.0), strict=True)


@pytest.mark.parametrize(
    ("f", "says"),
    [(lambda x: x**3, r"shape \(2,\)"), (lambda x: ((x**3).sum(),), "1 Tensors, a tuple")],
)
def test_the_hessian_needs_a_function_with_one_number(f: Any, says: str) -> None:
    with pytest.raises(ValueError, match=f"hvp: the function returned {says}"):
        mr.hvp(f, vector(2, 3), vector(1, 1))
    assert mr.hvp(lambda x: (x**3).sum().reshape((1, 1)), vector(2, 3), vector(1, 1))[0].shape == (1, 1)


def test_a_vector_must_fit() -> None:
    x = vector(2, 3)
    for v, says in ((vector(1), "v has shape"), ((x, x), "v has 2 Tensors for 1"), (None, "v is None")):
        with pytest.raises(ValueError, match=says):
            mr.vjp(lambda x: x**3, x, v)
        with pytest.raises(ValueError, match=says):
            mr.jvp(lambda x: x**3, x, v)
