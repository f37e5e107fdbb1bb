"""jacobian and hessian: values by hand, shapes and nesting, strictness, and the absence of side effects."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minirnn as mr

STRATEGIES = ("reverse-mode", "forward-mode")


def vector(*values: float, requires_grad: bool = False) -> mr.Tensor:
    return mr.tensor(np.array(values, np.float64), requires_grad=requires_grad)


def pair(x: mr.Tensor) -> mr.Tensor:
    return mr.ops.stack([x[0] * x[0] * x[1], 5 * x[1], x[0]])


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_jacobian_by_hand(strategy: str) -> None:
    found = mr.jacobian(pair, vector(2, 3), strategy=strategy)
    np.testing.assert_array_equal(found.numpy(), [[12, 4], [0, 5], [1, 0]])


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_hessian_by_hand(strategy: str) -> None:
    def f(x: mr.Tensor) -> mr.Tensor:
        return x[0] * x[0] * x[1] + x[1] ** 3

    found = mr.hessian(f, vector(2, 3), outer_jacobian_strategy=strategy)
    np.testing.assert_allclose(found.numpy(), [[6, 4], [4, 18]], rtol=1e-14)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_shapes_dtypes_and_nesting(strategy: str, device: str) -> None:
    x = mr.tensor(np.ones((2, 3), np.float32), device=device)
    y = mr.tensor(np.ones(4), device=device)

    def f(x: mr.Tensor, y: mr.Tensor) -> Any:
        return x.sum() * y, x.astype(np.float64).exp(), x.argmax()

    found = mr.jacobian(f, (x, y), strategy=strategy)
    assert type(found) is tuple and all(type(row) is tuple for row in found)
    assert [[(t.shape, t.dtype) for t in row] for row in found] == [
        [((4, 2, 3), np.float32), ((4, 4), np.float64)],
        [((2, 3, 2, 3), np.float32), ((2, 3, 4), np.float64)],
        [((*f(x, y)[2].shape, 2, 3), np.float32), ((*f(x, y)[2].shape, 4), np.float64)],
    ]
    np.testing.assert_allclose(found[1][0].numpy().reshape(6, 6), np.e * np.eye(6), rtol=1e-6)
    assert not found[2][0].numpy().any() and not found[2][1].numpy().any()
    assert mr.jacobian(lambda x: x * 2, x, strategy=strategy).shape == (2, 3, 2, 3)
    (only,) = mr.jacobian(lambda x: x * 2, (x,), strategy=strategy)
    assert only.shape == (2, 3, 2, 3)
    (only,) = mr.jacobian(lambda x: (x * 2,), x, strategy=strategy)
    assert only.shape == (2, 3, 2, 3)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_sizes_of_zero_and_numbers(strategy: str, device: str) -> None:
    empty, number = mr.tensor(np.ones((0, 3)), device=device), mr.tensor(np.array(2.0), device=device)
    found = mr.jacobian(lambda e, n: (e * n, n**3), (empty, number), strategy=strategy)
    assert [[t.shape for t in row] for row in found] == [[(0, 3, 0, 3), (0, 3)], [(0, 3), ()]]
    assert found[1][1].item() == 12
    found = mr.hessian(lambda e, n: e.sum() + n**3, (empty, number), outer_jacobian_strategy=strategy)
    assert [[t.shape for t in row] for row in found] == [[(0, 3, 0, 3), (0, 3)], [(0, 3), ()]]
    assert found[1][1].item() == 12


def test_the_jacobian_of_a_linear_layer_is_its_weight(device: str) -> None:
    layer = mr.nn.Linear(3, 4, device=device)
    found = mr.jacobian(layer, mr.tensor(np.ones(3, np.float32), device=device))
    np.testing.assert_array_equal(found.numpy(), layer.weight.numpy())
    assert layer.weight.grad is None


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_create_graph_lets_differences_agree(strategy: str) -> None:
    x, w = vector(0.3, -0.7, requires_grad=True), vector(1.1, 0.4, requires_grad=True)

    def f(x: mr.Tensor, w: mr.Tensor) -> Any:
        return mr.jacobian(lambda z: (z * w).tanh() * z.sum(), x, create_graph=True, strategy=strategy)

    assert mr.gradcheck(f, [x, w], order=2)
    assert not mr.jacobian(lambda z: z * w, x).requires_grad
    assert mr.jacobian(lambda z: z * w, x, create_graph=True).requires_grad
    assert x.grad is w.grad is None


def test_a_jacobian_of_jacobians_is_a_tensor_of_third_order() -> None:
    x = vector(2, 3)

    def first(x: mr.Tensor) -> Any:
        return mr.jacobian(lambda z: z**3, x, create_graph=True)

    found = mr.jacobian(first, x).numpy()
    expected = np.zeros((2, 2, 2))
    expected[0, 0, 0], expected[1, 1, 1] = 12, 18
    np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_they_record_inside_no_grad_and_leave_the_mode() -> None:
    with mr.no_grad():
        assert mr.jacobian(lambda x: x**3, mr.tensor(np.array(2.0))).item() == 12
        assert mr.hessian(lambda x: x**3, mr.tensor(np.array(2.0))).item() == 12
        assert (vector(1.0, requires_grad=True) * 2).op is None


@pytest.mark.parametrize("function", [mr.jacobian, mr.hessian])
def test_a_tape_that_the_function_holds_on_to_stays_as_it_is(function: Any) -> None:
    w = vector(3.0, requires_grad=True)
    held = w * 2
    assert function(lambda x: (held * x**3).sum(), vector(2.0)).item() == 72
    held.sum().backward()
    assert function(lambda x: (held * x**3).sum(), vector(2.0)).item() == 72
    assert w.grad.item() == 2  # type: ignore[union-attr]


# ---- strict


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_strict_names_output_and_input_that_are_independent(strategy: str) -> None:
    inputs = vector(2.0), vector(3.0)
    f = lambda x, y: (x * y, x**2)  # noqa: E731
    found = mr.jacobian(f, inputs, strategy=strategy)
    assert [[t.item() for t in row] for row in found] == [[3, 2], [4, 0]]
    with pytest.raises(RuntimeError, match="output 1 does not depend on input 1"):
        mr.jacobian(f, inputs, strict=True, strategy=strategy)
    mr.jacobian(lambda x, y: x * y, inputs, strict=True, strategy=strategy)


def test_strict_refuses_what_was_not_recorded_and_constants_under_create_graph() -> None:
    x = vector(2.0, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"output 1 .* was not recorded"):
        mr.jacobian(lambda x: (x, x.detach()), x, strict=True)
    with pytest.raises(RuntimeError, match="derivative of output 0 with respect to input 0 is a constant"):
        mr.jacobian(lambda x: x * 5, x, strict=True, create_graph=True)
    with pytest.raises(RuntimeError, match="gradient with respect to input 0 does not depend on the inputs"):
        mr.hessian(lambda x: (x * 5).sum(), x, strict=True)
    assert mr.hessian(lambda x: (x * 5).sum(), x).item() == 0
    assert mr.hessian(lambda x: (x**3).sum(), x, strict=True).item() == 12
