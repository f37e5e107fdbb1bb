"""The primitives of the cpu device on plain arrays: their descriptions in base.py, and formulas to the last bit.

Tests `minirnn/devices/cpu/primitives.py`, `minirnn/devices/cpu/elementwise.py`, `minirnn/devices/cpu/losses.py` and
`minirnn/devices/cpu/adam.py`.
"""

import math
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import devices
from minirnn.devices.cpu import adam as module
from minirnn.devices.cpu import elementwise, workspace
from minirnn.devices.cpu.adam import adam
from minirnn.devices.cpu.losses import cross_entropy, cross_entropy_grad
from minirnn.devices.cpu.primitives import without_false_alarms
from tests.compare import assert_same

cpu = devices.get("cpu")
FLOATS = [np.float16, np.float32, np.float64]


def test_asarray_copies_and_makes_scalars_of_zero_dimensional_arrays() -> None:
    a = np.ones((2, 3))
    assert not np.shares_memory(cpu.asarray(a), a)
    scalar = cpu.asarray(np.array(2.0, np.float32))
    assert type(scalar) is np.float32
    assert_same(cpu.to_numpy(scalar), np.float32(2))


def test_five_columns_of_float32_do_not_warn() -> None:
    """OpenBLAS may raise the invalid flag there without a reason. Here it is always raised."""
    a, b = np.full((1, 5), np.inf, np.float32), np.zeros((3, 5), np.float32)
    assert_same(cpu.matmul(a, b.T), np.full((1, 3), np.nan, np.float32))


@pytest.mark.parametrize("kind", [mr.nn.RNN, mr.nn.GRU, mr.nn.LSTM], ids=lambda k: k.__name__)
def test_layers_of_five_columns_do_not_warn_either(kind: Any) -> None:
    layer = kind(5, 5)
    for p in layer.parameters():
        p.assign(np.zeros(p.shape, p.dtype))
    x = mr.tensor(np.full((1, 1, 5), np.inf, np.float32), requires_grad=True)
    y, *_ = layer(x)
    y.sum().backward()
    assert np.isnan(y.numpy()).all()


def test_a_large_product_is_that_of_numpy_in_memory_that_comes_back(rng: np.random.Generator) -> None:
    a, b = rng.standard_normal((130, 40)), rng.standard_normal((300, 40)).T
    for dtype in (*FLOATS, np.int64):
        p, q = (10 * a).astype(dtype), (10 * b).astype(dtype)
        got = cpu.matmul(p, q)
        assert_same(got, p @ q)
        assert got.flags.c_contiguous and got.flags.writeable
    pool = workspace.Pool()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(workspace, "empty", pool.empty)
        kept = cpu.matmul(a, b)
        before = kept.copy()
        where = cpu.matmul(a, -b).ctypes.data  # this one is not referenced
        assert cpu.matmul(-a, b).ctypes.data == where != kept.ctypes.data
        assert_same(kept, before)


def test_operands_of_two_dtypes_and_shapes_that_do_not_fit_are_left_to_numpy(rng: np.random.Generator) -> None:
    a, b = rng.standard_normal((200, 3)).astype(np.float32), rng.standard_normal((3, 200))
    assert cpu.matmul(a, b).dtype == np.float64
    with pytest.raises(ValueError, match="mismatch"):
        cpu.matmul(b, b)


def test_a_kernel_without_false_alarms_has_its_own_settings_and_otherwise_those_of_its_caller() -> None:
    @without_false_alarms
    def kernel(a: float, *, b: float) -> tuple[float, dict[str, str]]:
        """What it computes."""
        found = np.geterr()
        np.seterr(over="ignore")
        return a + b, dict(found)

    with np.errstate(over="raise", invalid="call"):
        before = np.geterr()
        assert kernel(1.0, b=2.0) == (3.0, {**before, "invalid": "ignore"})
        assert np.geterr() == before
    assert (kernel.__name__, kernel.__doc__) == ("kernel", "What it computes.")


# ---- elementwise primitives of many numbers: the numbers of the plain formula, in fewer passes or without a branch


MANY = elementwise.MANY + 77
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-30, -1e-4, 60000.0, -60000.0]


def numbers(rng: np.random.Generator, dtype: Any, n: int = MANY) -> np.ndarray:
    return np.concatenate([8 * rng.standard_normal(n), SPECIAL]).astype(dtype)


@pytest.mark.parametrize(("dtype", "ulps"), [(np.float32, 3.5), (np.float64, 4.5)])
def test_erf_is_right_to_a_few_units_in_the_last_place(dtype: Any, ulps: float, rng: np.random.Generator) -> None:
    x = np.concatenate([rng.uniform(-7, 7, 100_000), 10.0 ** rng.uniform(-30, 0, 20_000)]).astype(dtype)
    exact = np.array([math.erf(v) for v in x.tolist()])
    error = np.abs(elementwise.erf(x) - exact) / np.spacing(np.abs(exact).astype(dtype))
    assert error.max() <= ulps and error.mean() < 1


def test_erf_at_the_ends_of_the_numbers() -> None:
    for dtype in (np.float16, np.float32, np.float64):
        found = elementwise.erf(np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 60000, -60000], dtype))
        np.testing.assert_array_equal(found, np.array([0, 0, 1, -1, np.nan, 1, -1], dtype))
        assert found.dtype == dtype and np.signbit(found[1])
        assert type(elementwise.erf(dtype(0.5))) is dtype


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 1e-7), (np.float64, 3e-16)])
def test_the_normal_distribution_has_no_cancellation(dtype: Any, tolerance: float, rng: np.random.Generator) -> None:
    x = np.linspace(-12, 12, 3001).astype(dtype)
    exact = np.array([math.erfc(-v / math.sqrt(2)) / 2 for v in x.tolist()])
    found = elementwise.normal_cdf(x)
    np.testing.assert_allclose(found, exact, rtol=0, atol=tolerance)
    tail = (x > -5) & (x < 0)
    np.testing.assert_allclose(found[tail], exact[tail], rtol=5e-3)
    assert (np.diff(found[x < 0]) >= 0).all() and elementwise.normal_cdf(dtype(-3)) == pytest.approx(1.3498980e-3)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_sigmoid_and_relu_are_the_plain_formulas(dtype: Any, rng: np.random.Generator) -> None:
    x = numbers(rng, dtype)
    with np.errstate(over="ignore"):
        e = np.exp(-np.abs(x))
        plain = np.where(x >= 0, 1 / (1 + e), e / (1 + e))
    for found, expected in (
        (elementwise.sigmoid(x), plain),
        (np.array([elementwise.sigmoid(v) for v in x[-20:]]), plain[-20:]),
        (elementwise.relu(x), np.maximum(x, 0)),
        (elementwise.relu(x[:9]), np.maximum(x[:9], 0)),
    ):
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == dtype


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int64])
def test_where_chooses_every_bit(dtype: Any, rng: np.random.Generator) -> None:
    a = numbers(rng, np.float64)
    a = (np.nan_to_num(a, posinf=7, neginf=-7) if dtype == np.int64 else a).astype(dtype)
    b = a[::-1]
    condition = rng.random(a.shape) < 0.5
    for first, second in (
        (a, b),
        (a, dtype(2)),
        (dtype(3), b),
        (dtype(1), dtype(2)),
        (a, 0.5 if a.dtype.kind == "f" else 1),
    ):
        found, expected = elementwise.where(condition, first, second), np.where(condition, first, second)
        assert found.dtype == expected.dtype and found.tobytes() == expected.tobytes()
    rows = rng.random((3, MANY)) < 0.5
    found = elementwise.where(rows, a[:MANY], np.arange(3.0)[:, None].astype(dtype))
    np.testing.assert_array_equal(found, np.where(rows, a[:MANY], np.arange(3.0)[:, None].astype(dtype)))


# ---- the kernels of cross_entropy in NumPy: values beyond what exp can hold. `tests/ops/table.py` has all others


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_large_scores_do_not_overflow(dtype: str) -> None:
    x = np.array([[6e4, 0.0, -6e4], [6e4, 6e4, 6e4]], dtype)
    with np.errstate(all="raise", under="ignore"):
        (y,) = cross_entropy(x, target=np.array([1, 2]))
        (dx,) = cross_entropy_grad(x, np.ones(2, dtype), target=np.array([1, 2]))
    assert y.dtype == dx.dtype == np.dtype(dtype)
    np.testing.assert_allclose(y, np.array([6e4, np.log(3)], dtype), 1e-3)
    np.testing.assert_allclose(dx, [[1, -1, 0], [1 / 3, 1 / 3, -2 / 3]], 1e-3)


# ---- the step of Adam in NumPy: the numbers of the formula, to the last bit, also across blocks


SETTINGS = {"lr": 0.03, "beta1": 0.8, "beta2": 0.95, "eps": 1e-3}


def formula(p, g, m, v, *, step, lr, beta1, beta2, eps):  # type: ignore[no-untyped-def]
    m = (1 - beta1) * g if m is None else beta1 * m + (1 - beta1) * g
    v = (1 - beta2) * (g * g) if v is None else beta2 * v + (1 - beta2) * (g * g)
    return p - lr / (1 - beta1**step) * m / (np.sqrt(v) * (1 / math.sqrt(1 - beta2**step)) + eps), m, v


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("shape", [(), (1,), (3, 5), (7, 3), (0, 4)], ids=str)
def test_it_is_the_formula(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, shape: tuple[int, ...], dtype: str
) -> None:
    monkeypatch.setattr(module, "BLOCK", 4)  # 3 x 5 and 7 x 3 end in the middle of a block
    draw = lambda: np.asarray(rng.standard_normal(shape), dtype)  # noqa: E731
    p, m, v = draw(), None, None
    for step in range(1, 4):
        g = np.asarray(draw(), order="F")
        before = [None if a is None else a.copy() for a in (p, g, m, v)]
        got = adam(p, g, m, v, step=step, **SETTINGS)
        for a, b in zip(got, formula(p, g, m, v, step=step, **SETTINGS), strict=True):
            assert a.dtype == np.dtype(dtype) and a.shape == shape
            np.testing.assert_array_equal(a, b)
        for a, b in zip((p, g, m, v), before, strict=True):
            assert (a is None and b is None) or np.array_equal(a, b)  # type: ignore[arg-type]
        p, m, v = got
