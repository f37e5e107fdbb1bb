"""vmap: axes, nests, gradients of each sample."""

from __future__ import annotations

from collections import OrderedDict, namedtuple
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from tests.each import each

Pair = namedtuple("Pair", "first second")


def numbers(*shape: int) -> mr.Tensor:
    return mr.tensor(np.cos(np.arange(1, 1 + int(np.prod(shape)))).reshape(shape))


def test_it_is_the_function_of_each_sample() -> None:
    x = numbers(3, 4)
    found = mr.vmap(lambda row: row * row[0])(x)
    np.testing.assert_array_equal(found.numpy(), x.numpy() * x.numpy()[:, :1])


@pytest.mark.parametrize(("axis", "out"), [(0, 0), (1, 1), (2, -1), (-1, 0), (-3, -3), (1, 2)])
def test_axes_of_arguments_and_results(axis: int, out: int) -> None:
    x = numbers(2, 3, 4)
    found = mr.vmap(lambda part: part.exp(), in_dims=axis, out_dims=out)(x)
    np.testing.assert_array_equal(found.numpy(), np.moveaxis(np.exp(x.numpy()), axis, out))


def test_none_is_for_what_is_the_same_for_all() -> None:
    x, w = numbers(3, 4), numbers(4, 2)
    seen: list[Any] = []

    def f(row: mr.Tensor, w: mr.Tensor, name: str, scale: float = 1.0) -> Any:
        seen.append((w, name))
        return row @ w * scale

    y = mr.vmap(f, in_dims=(0, None, None))(x, w, "a", scale=2.0)
    np.testing.assert_allclose(y.numpy(), 2 * x.numpy() @ w.numpy(), atol=1e-14)
    assert [(w.shape, name) for w, name in seen] == [((4, 2), "a")] * 3  # one call per sample


def test_nests_keep_their_kinds() -> None:
    p = OrderedDict(a=Pair(numbers(3, 2), [numbers(3, 2)]))
    f = lambda p, x: OrderedDict(r=Pair(p["a"].first * x, [p["a"].second[0] + 4]))  # noqa: E731
    found = mr.vmap(f, in_dims=(0, 1), out_dims=1)(p, numbers(2, 3))
    assert type(found) is OrderedDict and type(found["r"]) is Pair and type(found["r"].second) is list
    np.testing.assert_array_equal(found["r"].first.numpy(), numbers(3, 2).numpy().T * numbers(2, 3).numpy())
    np.testing.assert_array_equal(found["r"].second[0].numpy(), numbers(3, 2).numpy().T + 4)


def test_each_result_may_have_its_own_axis() -> None:
    x = numbers(3, 4)
    first, (second, third) = mr.vmap(lambda row: (row * 2, (row, row[0])), out_dims=(1, 0))(x)
    np.testing.assert_array_equal(first.numpy(), 2 * x.numpy().T)
    assert (second.shape, third.shape) == ((3, 4), (3,))


@each("dtype", [np.float16, np.float32, np.int64, np.uint8, np.bool_])
@each("samples", [1, 3])
def test_dtypes_and_numbers_of_samples(dtype: Any, samples: int, device: str) -> None:
    x = mr.tensor(np.ones((2, samples), dtype), device=device)
    found = mr.vmap(lambda column: (column, column[0]), in_dims=1)(x)
    assert [(t.shape, t.dtype, t.device.name) for t in found] == [
        ((samples, 2), dtype, device),
        ((samples,), dtype, device),
    ]


def test_gradients_of_each_sample(device: str) -> None:
    """For a loss (x w - y)^2 the gradient of sample b is 2 (x_b w - y_b) x_b, by hand."""
    rng = np.random.default_rng(0)
    x, w, y = rng.normal(size=(5, 3)), rng.normal(size=3), rng.normal(size=5)
    weight = mr.tensor(w, requires_grad=True, device=device)

    def gradient(w: mr.Tensor, x: mr.Tensor, y: mr.Tensor) -> Any:
        return mr.grad((x @ w - y) ** 2, w)

    found = mr.vmap(gradient, in_dims=(None, 0, 0))(weight, mr.tensor(x, device=device), mr.tensor(y, device=device))
    np.testing.assert_allclose(found.numpy(), 2 * (x @ w - y)[:, None] * x, rtol=1e-13)
    assert weight.grad is None


def test_gradients_of_each_sample_for_all_parameters_of_a_module() -> None:
    model = mr.nn.LSTM(3, 4)
    parameters = list(model.parameters())
    x = numbers(5, 6, 3).astype(np.float32)  # 5 samples of 6 steps
    found = mr.vmap(lambda one: mr.grad(model(one)[0].sum(), parameters))(x)
    for k, p in enumerate(parameters):
        assert found[k].shape == (5, *p.shape)
        total = mr.grad(model(x.transpose(1, 0, 2))[0].sum(), p)
        np.testing.assert_allclose(found[k].numpy().sum(0), total.numpy(), rtol=1e-4, atol=1e-5)


def test_gradients_flow_through_it_to_any_order(device: str) -> None:
    x = mr.tensor(numbers(3, 2).numpy(), requires_grad=True, device=device)
    w = mr.tensor(numbers(2, 2).numpy(), requires_grad=True, device=device)
    assert mr.gradcheck(lambda x, w: mr.vmap(lambda r: (r @ w).tanh() * r.sum())(x), [x, w], order=2)


def test_one_inside_the_other() -> None:
    x, y = numbers(2, 3), numbers(4, 3)
    table = mr.vmap(lambda a: mr.vmap(lambda b: (a * b).sum())(y))(x)
    np.testing.assert_allclose(table.numpy(), x.numpy() @ y.numpy().T, rtol=1e-14)
    jacobians = mr.vmap(lambda a: mr.jacobian(lambda z: z**3, a))(x)
    np.testing.assert_allclose(np.einsum("bii->bi", jacobians.numpy()), 3 * x.numpy() ** 2, rtol=1e-14)


def test_a_function_may_look_at_the_values_of_its_sample() -> None:
    found = mr.vmap(lambda t: t * 2 if t.item() > 0 else t * 3)(mr.tensor([1.0, -1.0]))
    np.testing.assert_array_equal(found.numpy(), [2, -3])


def test_the_name_and_the_docstring_are_those_of_the_function() -> None:
    def f(x: Any) -> Any:
        """Twice."""
        return x * 2

    assert (mr.vmap(f).__name__, mr.vmap(f).__doc__) == ("f", "Twice.")
    layer = mr.nn.Linear(3, 2)
    assert mr.vmap(layer)(numbers(4, 3).astype(np.float32)).shape == (4, 2)


def test_each_sample_draws_its_own_random_numbers() -> None:
    mask = lambda x: mr.nn.functional.dropout(x, 0.5, True)  # noqa: E731
    x = mr.tensor(np.ones((3, 40)))
    mr.manual_seed(1)
    found = mr.vmap(mask)(x).numpy()
    mr.manual_seed(1)
    np.testing.assert_array_equal(found, np.stack([mask(row).numpy() for row in x]))
    assert len({row.tobytes() for row in found}) == 3


# ---- errors during a call; those of the settings are in the table of wrong calls


X = numbers(3, 4)


@pytest.mark.parametrize(
    ("settings", "args", "says"),
    [
        ({}, (), "no samples"),
        ({"in_dims": (0, 0)}, (X,), "in_dims is .* for 1 values"),
        ({}, (X, 3.0), "axis 0 for 3.0, a float"),
        ({}, (mr.tensor(np.ones((0, 4))),), "0 samples"),
        ({"in_dims": 2}, (X,), r"axis 2 for .*, shape \(3, 4\)"),
        ({"in_dims": -3}, (X,), r"axis -3 for .*, shape \(3, 4\)"),
        ({"in_dims": (None,)}, (X,), "no samples"),
        ({"in_dims": (0, 1)}, (X, X), r"3 and 4 samples, in arguments of shapes \(3, 4\), \(3, 4\)"),
        ({"out_dims": (0, 0)}, (X,), "out_dims is .* for 1 values"),
        ({"out_dims": 2}, (X,), r"axis 2 for a result of shape \(4,\)"),
        ({"out_dims": -3}, (X,), r"out_dims has the axis -3 for a result of shape \(4,\)\n  expected one of 2 places"),
    ],
)
def test_what_does_not_fit_is_refused(settings: Any, args: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        mr.vmap(lambda *xs: xs[0], **settings)(*args)


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (lambda x: x[: 1 + int(x.item() > 0)] if x.shape else x.reshape(1 + 0 * 1), "nothing"),
        (lambda x: 5, "result 0 is 5, a int"),
        (lambda x: mr.tensor(np.ones(1 + int(x.item() > 1))), r"result 0 has the shapes \[\(1,\), \(2,\)\]"),
        (lambda x: (x,) if x.item() > 1 else [x], "differs in structure"),
        (lambda x: {"a": x} if x.item() > 1 else {"b": x}, "differs in structure"),
    ],
)
def test_results_that_cannot_be_put_together_are_refused(function: Any, says: str) -> None:
    if says == "nothing":
        assert mr.vmap(function)(mr.tensor([1.0, 2.0])).shape == (2, 1)
        return
    with pytest.raises(ValueError, match=says):
        mr.vmap(function)(mr.tensor([1.0, 2.0]))


def test_out_dims_of_one_entry_stand_for_one_result() -> None:
    assert mr.vmap(lambda x: x, out_dims=(1,))(X).shape == (4, 3)


# ---- values that the function closes over


def test_what_the_function_closes_over_gets_the_gradient_of_all_samples(rng: np.random.Generator) -> None:
    x, w, b = (mr.tensor(rng.standard_normal(s), requires_grad=True) for s in ((5, 3), (3, 2), (2,)))
    y = mr.vmap(lambda row: (row @ w + b).tanh() @ w.T)(x)
    expected = (x @ w + b).tanh() @ w.T
    for ours, theirs in zip(*[mr.grad((t**2).sum(), [x, w, b]) for t in (y, expected)], strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-12, atol=1e-12)


def test_gradients_with_respect_to_what_the_function_closes_over_are_those_of_each_sample(
    rng: np.random.Generator,
) -> None:
    x, w = (mr.tensor(rng.standard_normal(s), requires_grad=True) for s in ((5, 3), (3,)))
    found = mr.vmap(lambda row: mr.grad((row * w).tanh().sum(), w))(x)
    np.testing.assert_allclose(found.numpy(), x.numpy() / np.cosh(x.numpy() * w.numpy()) ** 2, rtol=1e-12)
    assert w.grad is None
    mr.vmap(lambda row: (row * w).sum().backward() or row)(x.detach())
    np.testing.assert_allclose(w.grad.numpy(), x.numpy().sum(0))


def test_a_detached_value_stays_detached(rng: np.random.Generator) -> None:
    x = mr.tensor(rng.standard_normal((5, 3)), requires_grad=True)
    y = mr.vmap(lambda row: row * row.detach())(x)
    np.testing.assert_array_equal(mr.grad(y.sum(), x).numpy(), x.numpy())
