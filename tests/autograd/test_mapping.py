"""vmap: axes, nests, gradients of each sample, and what does not fit. `test_golden.py` has torch's values.

Tests `minirnn/autograd/mapping.py` and `minirnn/autograd/trees.py`. More wrong calls are in
`tests/hostile/calls_functions.py`.
"""

from collections import OrderedDict, defaultdict, namedtuple
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from tests.each import each

Pair = namedtuple("Pair", "first second")


def numbers(*shape: int) -> mr.Tensor:
    return mr.tensor(np.cos(np.arange(1, 1 + int(np.prod(shape)))).reshape(shape))


X = numbers(3, 4)


@each(("axis", "out"), [(0, 0), (1, 1), (2, -1), (-1, 0), (-3, -3), (1, 2), (1, (1,))])
def test_axes_of_arguments_and_results(axis: int, out: Any) -> None:
    x = numbers(2, 3, 4)
    found = mr.vmap(lambda part: part.exp(), in_dims=axis, out_dims=out)(x)
    np.testing.assert_array_equal(found.numpy(), np.moveaxis(np.exp(x.numpy()), axis, np.ravel(out)[0]))


def test_none_is_for_what_is_the_same_for_all() -> None:
    w = numbers(4, 2)
    seen: list[Any] = []

    def f(row: mr.Tensor, w: mr.Tensor, name: str, scale: float = 1.0) -> Any:
        seen.append((w, name))
        return row @ w * scale

    y = mr.vmap(f, in_dims=(0, None, None))(X, w, "a", scale=2.0)
    np.testing.assert_allclose(y.numpy(), 2 * X.numpy() @ w.numpy(), atol=1e-14)
    assert [(w.shape, name) for w, name in seen] == [((4, 2), "a")] * 3  # one call per sample


def test_nests_keep_their_kinds() -> None:
    p = OrderedDict(a=Pair(numbers(3, 2), [numbers(3, 2)]), b=defaultdict(int, c=numbers(3, 2)))

    def f(p: Any, x: Any) -> Any:
        assert type(p["b"]) is defaultdict and p["b"]["new"] == 0
        return OrderedDict(r=Pair(p["a"].first * x, [p["a"].second[0] + 4]), c=p["b"]["c"])

    found = mr.vmap(f, in_dims=(0, 1), out_dims=1)(p, numbers(2, 3))
    assert type(found) is OrderedDict and type(found["r"]) is Pair and type(found["r"].second) is list
    np.testing.assert_array_equal(found["r"].first.numpy(), numbers(3, 2).numpy().T * numbers(2, 3).numpy())
    np.testing.assert_array_equal(found["r"].second[0].numpy(), numbers(3, 2).numpy().T + 4)
    assert list(p["b"]) == ["c"]


@each("dtype", [np.float16, np.float32, np.int64, np.uint8, np.bool_])
@each("samples", [1, 3])
def test_dtypes_and_numbers_of_samples(dtype: Any, samples: int, device: str) -> None:
    x = mr.tensor(np.ones((2, samples), dtype), device=device)
    found = mr.vmap(lambda column: (column, column[0]), in_dims=1)(x)
    assert [t.shape for t in found] == [(samples, 2), (samples,)]
    assert all(t.dtype == dtype and t.device == device for t in found)


def test_gradients_of_each_sample(device: str) -> None:
    """For a loss (x w - y)^2 the gradient of sample b is 2 (x_b w - y_b) x_b, by hand; w is given or closed over."""
    rng = np.random.default_rng(0)
    x, w, y = rng.normal(size=(5, 3)), rng.normal(size=3), rng.normal(size=5)
    weight = mr.tensor(w, requires_grad=True, device=device)

    def gradient(x: mr.Tensor, y: mr.Tensor, w: mr.Tensor = weight) -> Any:
        return mr.grad((x @ w - y) ** 2, w)

    data = mr.tensor(x, device=device), mr.tensor(y, device=device)
    for found in (mr.vmap(gradient)(*data), mr.vmap(gradient, in_dims=(0, 0, None))(*data, weight)):
        np.testing.assert_allclose(found.numpy(), 2 * (x @ w - y)[:, None] * x, rtol=1e-13)
    assert weight.grad is None
    mr.vmap(lambda row: (row * weight).sum().backward() or row)(data[0])
    np.testing.assert_allclose(weight.grad.numpy(), x.sum(0))


def test_what_the_function_closes_over_gets_the_gradient_of_all_samples(rng: np.random.Generator) -> None:
    x, w, b = (mr.tensor(rng.standard_normal(s), requires_grad=True) for s in ((5, 3), (3, 2), (2,)))
    y = mr.vmap(lambda row: (row @ w + b).tanh() @ w.T)(x)
    expected = (x @ w + b).tanh() @ w.T
    for ours, theirs in zip(*[mr.grad((t**2).sum(), [x, w, b]) for t in (y, expected)], strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-12, atol=1e-12)
    y = mr.vmap(lambda row: row * row.detach())(x)
    np.testing.assert_array_equal(mr.grad(y.sum(), x).numpy(), x.numpy())


def test_one_inside_the_other() -> None:
    y = numbers(5, 4)
    table = mr.vmap(lambda a: mr.vmap(lambda b: (a * b).sum())(y))(X)
    np.testing.assert_allclose(table.numpy(), X.numpy() @ y.numpy().T, rtol=1e-14)
    jacobians = mr.vmap(lambda a: mr.jacobian(lambda z: z**3, a))(X)
    np.testing.assert_allclose(np.einsum("bii->bi", jacobians.numpy()), 3 * X.numpy() ** 2, rtol=1e-14)


def test_the_name_and_the_docstring_are_those_of_the_function() -> None:
    def f(x: Any) -> Any:
        """Twice."""
        return x * 2

    assert (mr.vmap(f).__name__, mr.vmap(f).__doc__) == ("f", "Twice.")
    assert mr.vmap(mr.nn.Linear(4, 2))(X.astype(np.float32)).shape == (3, 2)


def test_each_sample_draws_its_own_random_numbers_and_its_values_can_be_looked_at() -> None:
    mask = lambda x: mr.nn.functional.dropout(x, 0.5, True) if x[0].item() else x  # noqa: E731
    x = mr.tensor(np.ones((3, 40)))
    mr.manual_seed(1)
    found = mr.vmap(mask)(x).numpy()
    mr.manual_seed(1)
    np.testing.assert_array_equal(found, np.stack([mask(row).numpy() for row in x]))
    assert len({row.tobytes() for row in found}) == 3


DIFFERENT: list[tuple[Any, str]] = [  # functions whose results differ from sample to sample
    (lambda x: mr.tensor(np.ones(1 + int(x.item() > 1))), r"result 0 has the shapes \[\(1,\), \(2,\)\]"),
    (lambda x: (x,) if x.item() > 1 else [x], "differs in structure"),
    (lambda x: [x, x] if x.item() > 1 else [x], "differs in structure"),
    (lambda x: {"a": x} if x.item() > 1 else {"b": x}, "differs in structure"),
    (lambda x: {"a": [x]} if x.item() > 1 else {"a": x}, "differs in structure"),
]
REFUSED = [
    ({"in_dims": (0, 0)}, (X,), "in_dims is .* for 1 values"),
    ({"in_dims": 2}, (X,), r"axis 2 for .*, shape \(3, 4\)"),
    ({"in_dims": -3}, (X,), r"axis -3 for .*, shape \(3, 4\)"),
    ({"in_dims": (0, 1)}, (X, X), r"3 and 4 samples, in arguments of shapes \(3, 4\), \(3, 4\)"),
    ({"out_dims": (0, 0)}, (X,), "out_dims is .* for 1 values"),
    ({"out_dims": 2}, (X,), r"axis 2 for a result of shape \(4,\)"),
    ({"out_dims": -3}, (X,), r"out_dims has the axis -3 for a result of shape \(4,\)\n  expected one of 2 places"),
]


def test_what_does_not_fit_is_refused() -> None:
    rows = [(lambda *xs: xs[0], *row) for row in REFUSED]
    rows += [(function, {}, (mr.tensor([1.0, 2.0]),), says) for function, says in DIFFERENT]
    for function, settings, args, says in rows:
        with pytest.raises(ValueError, match=says):
            mr.vmap(function, **settings)(*args)
