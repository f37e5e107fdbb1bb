"""NumPy's functions of a Tensor that requires gradients: NumPy's values, or its TypeError, never a lost gradient.

Tests `minirnn/ops/primitives/numpy_functions.py`.
"""

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
PAIRS = "dot matmul multiply add maximum minimum power"
REDUCTIONS = "sum mean max min amax amin std var linalg.norm"
MOVES = "squeeze transpose"
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
    assert sum(agree for agree, _ in counts) >= (8 if name == "dot" else 15)  # np.dot has no batch


@each("name", f"{REDUCTIONS} {MOVES}".split())
def test_a_function_of_one_array_has_the_values_of_numpy(name: str) -> None:
    pairs = [(a, kw) for a in ARRAYS.values() for kw in OPTIONS]
    counts = [compare(lambda t, a=a, kw=kw: function(name)(t(a), **kw)) for a, kw in pairs]
    assert sum(agree for agree, _ in counts) >= 5


def test_other_arguments_have_the_meaning_of_numpy() -> None:
    agree = 0
    for a in ARRAYS.values():
        for call in (
            lambda t, a=a: np.reshape(t(a), -1),
            lambda t, a=a: np.reshape(t(a), -1, order="F"),
            lambda t, a=a: np.concatenate([t(a), a], axis=None),
            lambda t, a=a: np.concatenate((t(a), t(a)), axis=-1),
            lambda t, a=a: np.stack([t(a), t(a)], -1),
            lambda t, a=a: np.stack([t(a), a]),
            lambda t, a=a: np.broadcast_to(t(a), (2, *a.shape)),
            lambda t, a=a: np.where(a > 0.5, t(a), 0.0),
            lambda t, a=a: np.squeeze(t(a[None]), axis=0),
            lambda t, a=a: np.einsum("...i,...i->...", t(a), a),
            lambda t, a=a: np.einsum("ij,jk", t(a), a.T),
            lambda t, a=a: np.logaddexp(t(a), a),
            lambda t, a=a: np.fabs(t(a)),
        ):
            agree += compare(call)[0]
    assert agree > 60


@each("name", ["prod", "ptp", "cumsum", "ravel", "roll", "flip", "sort", "diff", "tril", "outer", "vstack", "pad"])
def test_other_functions_name_the_op(name: str) -> None:
    x = mr.tensor(ARRAYS["m"], requires_grad=True)
    extra: dict[str, Any] = {"roll": (1,), "outer": (x,), "pad": (1,)}
    op = rf"t\.{name}\(" if hasattr(mr.Tensor, name) else "an op of minirnn"
    with pytest.raises(TypeError, match=rf"np\.{name}: .* which NumPy would lose\n  expected {op}"):
        function(name)(*([x, x],) if name == "vstack" else (x, *extra.get(name, ())))


@each("name", ["dot", "concatenate", "where", "std", "max"])
def test_gradients_pass(name: str) -> None:
    calls: dict[str, Any] = {
        "dot": lambda x, y: np.dot(x, y),
        "concatenate": lambda x, y: np.concatenate([x, x * x], axis=1),
        "where": lambda x, y: np.where(ARRAYS["m"] > 1, x * x, 0.5),
        "std": lambda x, y: np.std(x, axis=0, ddof=1),
        "max": lambda x, y: np.max(x * x, axis=1),
    }
    y = mr.tensor(ARRAYS["n"])
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
    for name in ("sum", "mean", "cumsum", "max", "std", "var", "prod"):
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
    assert type(np.sqrt(x.detach())) is np.ndarray and np.exp(mr.tensor(0.0)) == 1
    with mr.no_grad():
        a[0] = x[1]
    assert a[0] == 2.0
