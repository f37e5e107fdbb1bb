"""NumPy's functions of a Tensor that requires gradients: NumPy's values, or its TypeError, never a lost gradient.

Tests `minirnn/ops/primitives/numpy_meaning.py` and `minirnn/ops/primitives/numpy_functions.py`.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from tests.each import each

r = np.random.default_rng(0)
ARRAYS = {
    n: np.abs(r.standard_normal(s)) + 0.3
    for n, s in {"s": (), "v": (3,), "m": (2, 3), "n": (3, 4), "c": (2, 2, 3), "d": (2, 3, 4), "e": (2, 3, 3)}.items()
}
PAIRS = "dot matmul outer multiply add maximum minimum power"
REDUCTIONS = "sum mean prod max min amax amin std var ptp linalg.norm"
MOVES = "flip ravel fliplr flipud rot90 squeeze transpose atleast_1d atleast_2d atleast_3d diagonal tril triu diff sort"
OPTIONS: list[dict[str, Any]] = [{}, {"axis": 0}, {"axis": -1}, {"axis": None}, {"axis": (0, 1)}, {"keepdims": True}]
OPTIONS += [{"axis": 0, "keepdims": True}, {"ddof": 1}, {"dtype": np.float32}, {"out": None}, {"order": "F"}]
OPTIONS += [{"axis": 0, "ddof": 1}, {"axes": None}, {"k": 1}, {"ord": 1}, {"ord": np.inf, "axis": 1}, {"ord": 2}]


def function(name: str) -> Any:
    found: Any = np
    for part in name.split("."):
        found = getattr(found, part)
    return found


def compare(call: Any) -> tuple[int, int]:
    """How many calls agree, and how many are refused. `call` gets a function that lifts arrays to Tensors."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            right = call(lambda a: a)
        except Exception:
            right = None
        try:
            found = call(lambda a: mr.tensor(a, requires_grad=True))
        except (TypeError, ValueError, IndexError, AttributeError) as error:
            assert right is None or (isinstance(error, TypeError) and "\n  expected" in str(error)), error
            return 0, 1
    assert right is not None, "NumPy refuses this"
    many = isinstance(right, (list, tuple))
    for a, b in zip(right if many else [right], found if many else [found], strict=True):
        b = b.detach().numpy() if isinstance(b, mr.Tensor) else b
        assert np.shape(a) == np.shape(b)
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7)  # some are float32
    return 1, 0


@each("name", PAIRS.split())
def test_a_function_of_two_arrays_has_the_values_of_numpy(name: str) -> None:
    pairs = [(a, b) for a in ARRAYS.values() for b in ARRAYS.values()]
    counts = [compare(lambda t, a=a, b=b: function(name)(t(a), t(b))) for a, b in pairs]
    assert sum(agree for agree, _ in counts) >= 15


@each("name", (REDUCTIONS + " cumsum cumprod " + MOVES).split())
def test_a_function_of_one_array_has_the_values_of_numpy(name: str) -> None:
    pairs = [(a, kw) for a in ARRAYS.values() for kw in OPTIONS]
    counts = [compare(lambda t, a=a, kw=kw: function(name)(t(a), **kw)) for a, kw in pairs]
    assert sum(agree for agree, _ in counts) >= 5


def test_other_arguments_have_the_meaning_of_numpy() -> None:
    agree = 0
    for a in ARRAYS.values():
        for call in (
            lambda t, a=a: np.swapaxes(t(a), axis1=0, axis2=-1),
            lambda t, a=a: np.moveaxis(t(a), source=0, destination=-1),
            lambda t, a=a: np.rollaxis(t(a), 1),
            lambda t, a=a: np.expand_dims(t(a), (0, 1)),
            lambda t, a=a: np.reshape(t(a), -1, order="F"),
            lambda t, a=a: np.repeat(t(a), 2, axis=0),
            lambda t, a=a: np.repeat(t(a), 2),
            lambda t, a=a: np.tile(t(a), (2, 1)),
            lambda t, a=a: np.roll(t(a), (1, 2)),
            lambda t, a=a: np.roll(t(a), 1, axis=0),
            lambda t, a=a: np.clip(t(a), 0.5, 1.0),
            lambda t, a=a: np.clip(t(a), None, a * 0.5),
            lambda t, a=a: np.take(t(a), [0, 1], axis=0),
            lambda t, a=a: np.split(t(a), [1], axis=-1),
            lambda t, a=a: np.split(t(a), 3),
            lambda t, a=a: np.array_split(t(a), 2),
            lambda t, a=a: np.concatenate([t(a), a], axis=None),
            lambda t, a=a: np.concatenate((t(a), t(a)), axis=-1),
            lambda t, a=a: np.stack([t(a), t(a)], -1),
            lambda t, a=a: np.vstack([t(a), a]),
            lambda t, a=a: np.hstack([a, t(a)]),
            lambda t, a=a: np.column_stack([t(a), t(a)]),
            lambda t, a=a: np.broadcast_to(t(a), (2, *a.shape)),
            lambda t, a=a: np.pad(t(a), 1),
            lambda t, a=a: np.pad(t(a), ((1, 2),) * a.ndim, constant_values=2.5),
            lambda t, a=a: np.pad(t(a), 1, "reflect"),
            lambda t, a=a: np.pad(t(a), 1, "mean"),
            lambda t, a=a: np.where(a > 0.5, t(a), 0.0),
            lambda t, a=a: np.linalg.norm(t(a), axis=(0, 1)),
            lambda t, a=a: np.delete(t(a), 0, axis=0),
            lambda t, a=a: np.compress([False, True], t(a), axis=0),
            lambda t, a=a: np.compress(np.arange(a.size) % 2 == 0, t(a)),
            lambda t, a=a: np.round(t(a), 1),
            lambda t, a=a: np.take_along_axis(t(a), np.argsort(a, -1), -1),
            lambda t, a=a: np.take_along_axis(t(a), np.argsort(a, 0)[:1], axis=0),
            lambda t, a=a: np.einsum("...i,...i->...", t(a), a),
            lambda t, a=a: np.einsum("ij,jk", t(a), a.T),
            lambda t, a=a: np.logaddexp(t(a), a),
            lambda t, a=a: np.fabs(t(a)),
        ):
            agree += compare(call)[0]
    assert agree > 150


@each("name", ["dot", "roll", "vstack", "pad", "sort", "split", "std", "clip", "cumsum"])
def test_gradients_pass(name: str) -> None:
    calls: dict[str, Any] = {
        "dot": lambda x, y: np.dot(x, y),
        "roll": lambda x, y: np.roll(x, 1, axis=1) * x,
        "vstack": lambda x, y: np.vstack([x, x * x]),
        "pad": lambda x, y: np.pad(x * x, 1, constant_values=1.0),
        "sort": lambda x, y: np.sort(x * x, axis=0),
        "split": lambda x, y: np.split(x * x, 2)[1],
        "std": lambda x, y: np.std(x, axis=0, ddof=1),
        "clip": lambda x, y: np.clip(x * x, 0.2, None),
        "cumsum": lambda x, y: np.cumsum(x * x),
    }
    y = mr.tensor(ARRAYS["d"])
    assert mr.gradcheck(lambda x: calls[name](x, y), [ARRAYS["m"]])


def test_no_function_loses_a_gradient_without_a_word() -> None:
    x, a = mr.tensor([1.0, 2.0, 3.0], requires_grad=True, dtype=np.float64), np.zeros(3)

    def assign() -> None:
        a[0] = x[0]

    calls = [
        lambda: np.copyto(a, x),
        lambda: np.put(a, [0, 1, 2], x),
        lambda: np.putmask(a, a == a, x),
        lambda: np.place(a, a == a, x),
        lambda: np.put_along_axis(a, np.array([0]), x[:1], 0),
        lambda: np.full_like(a, x[0]),
        lambda: np.full(3, x[0]),
        lambda: np.fft.fft(x),
        lambda: np.fft.rfft(x),
        lambda: np.interp(x, [0, 1], [0, 1]),
        lambda: np.array([x[0]]),
        lambda: a.__setitem__(slice(None), x),
        lambda: np.add.reduce(x),
        lambda: np.multiply(a, x, out=a),
    ]
    for call in calls:
        with pytest.raises(TypeError, match="requires gradients"):
            call()
    calls = [assign, lambda: a.__setitem__(0, x[0]), lambda: np.fromiter(x, float), lambda: a.fill(x[0])]
    for call in (*calls, lambda: np.array([(x[0],)], dtype=[("value", float)])):
        with pytest.raises(ValueError) as caught:  # NumPy makes a ValueError of it
            call()
        assert "which NumPy would lose" in str(caught.value.__cause__)
    assert not a.any()
    for name in ("sum", "mean", "cumsum", "max", "std", "var", "clip", "prod"):
        with pytest.raises(TypeError, match=rf"np\.{name}: .*\n  expected no out="):
            getattr(np, name)(x, out=a)
    for call in (lambda: np.exp(x, out=a), lambda: np.add.reduce(x, out=a)):
        with pytest.raises(TypeError, match=r"np\.(exp|add): .*\n  expected no out="):
            call()
    for t in (x, mr.zeros(3)):
        for call in (lambda t=t: np.add(a, 1, out=t), lambda t=t: np.sum(a, out=t), lambda t=t: np.exp(t, out=t)):
            with pytest.raises(TypeError, match=r"np\.\w+: out is a Tensor\n  expected an array; t.copy_"):
                call()
    assert float(x[0]) == 1.0 and float(x.sum()) == 6.0
    with mr.no_grad():
        a[0] = x[1]
    assert a[0] == 2.0
