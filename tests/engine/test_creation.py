"""Constructors of Tensors: torch's values, shapes, dtypes and defaults."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minirnn as mr
from minirnn.engine.creation import number_of, shape_of
from tests.compare import assert_close, assert_same
from tests.each import each
from tests.examples import examples

STORED = Path(__file__).parents[1] / "golden" / "tensor" / "creation.npz"

CALLS: dict[str, Any] = {
    "zeros": lambda m: m.zeros(2, 3),
    "zeros of a tuple": lambda m: m.zeros((2, 3)),
    "zeros of a list": lambda m: m.zeros([2, 3]),
    "zeros of size=": lambda m: m.zeros(size=(4,)),
    "zeros of no axis": lambda m: m.zeros(()),
    "zeros, empty": lambda m: m.zeros(0, 3),
    "zeros, int": lambda m: m.zeros(2, dtype=m.int32),
    "ones": lambda m: m.ones(2, 1),
    "ones, bool": lambda m: m.ones(3, dtype=m.bool),
    "ones, half": lambda m: m.ones((2,), dtype=m.float16),
    "full of a float": lambda m: m.full((2, 3), 1.5),
    "full of an int": lambda m: m.full((2, 3), 7),
    "full of a bool": lambda m: m.full((2,), True),
    "full of NaN": lambda m: m.full((2,), float("nan")),
    "full, rounded down": lambda m: m.full((2,), 1.5, dtype=m.int64),
    "full of a Tensor": lambda m: m.full((2,), m.tensor(2.5)),
    "arange": lambda m: m.arange(5),
    "arange of two": lambda m: m.arange(2, 7),
    "arange by 2": lambda m: m.arange(1, 10, 4),
    "arange back": lambda m: m.arange(5, -2, -3),
    "arange of floats": lambda m: m.arange(1, 2.5, 0.5),
    "arange of 0.1": lambda m: m.arange(0, 1, 0.1),
    "arange back by 0.1": lambda m: m.arange(0.5, -0.35, -0.1, dtype=m.float64),
    "arange, float end": lambda m: m.arange(3.0),
    "arange of nothing": lambda m: m.arange(0),
    "arange from here to here": lambda m: m.arange(3, 3),
    "arange, dtype": lambda m: m.arange(4, dtype=m.float64),
    "arange by names": lambda m: m.arange(start=1, end=4),
    "linspace": lambda m: m.linspace(-1, 2, 7),
    "linspace, float64": lambda m: m.linspace(-1, 2, 7, dtype=m.float64),
    "linspace, int64": lambda m: m.linspace(0, 10, 5, dtype=m.int64),
    "linspace back": lambda m: m.linspace(3, -3, steps=4),
    "linspace of 0": lambda m: m.linspace(0, 1, 0),
    "linspace of 1": lambda m: m.linspace(3, 5, 1),
    "eye": lambda m: m.eye(3),
    "eye, wide": lambda m: m.eye(2, 4),
    "eye of nothing": lambda m: m.eye(0),
    "eye, int": lambda m: m.eye(2, dtype=m.int64),
    "zeros_like": lambda m: m.zeros_like(m.ones(2, 3, dtype=m.float64)),
    "zeros_like, dtype": lambda m: m.zeros_like(m.ones(2), dtype=m.int64),
    "ones_like": lambda m: m.ones_like(m.arange(3)),
    "full_like": lambda m: m.full_like(m.arange(3), 2),
    "full_like, float": lambda m: m.full_like(m.zeros(2), 7),
    "new_zeros": lambda m: m.arange(3).new_zeros(2, 1),
    "new_zeros, dtype": lambda m: m.zeros(1).new_zeros(2, dtype=m.int64),
}
"""Each call, for `minirnn` and for torch. The results of torch are in tests/golden/tensor."""


@each("name", CALLS)
def test_values_dtypes_and_shapes_are_those_that_torch_gave(device: str, name: str) -> None:
    with np.load(STORED) as stored:
        expected = stored[name]
    with mr.use_device(device):
        got = CALLS[name](mr)
    assert got.device == device and got.is_leaf and not got.requires_grad
    assert got.dtype == expected.dtype
    assert_close(got.numpy(), expected)


@pytest.mark.parametrize("make", [mr.zeros, mr.ones, mr.empty, mr.rand, mr.randn], ids=lambda f: f.__name__)
def test_device_dtype_and_gradients(device: str, make: Any) -> None:
    assert not mr.empty(2, 3).numpy().any()
    t = make(2, 3, device=device, dtype=np.float64, requires_grad=True)
    assert (t.shape, t.dtype, t.requires_grad, t.is_leaf) == ((2, 3), np.float64, True, True)
    assert t.device == device
    (t * t).sum().backward()
    assert_same(t.grad, 2 * t.numpy())


def test_like_keeps_the_device_and_asks_no_gradients(device: str) -> None:
    x = mr.ones(2, device=device, requires_grad=True)
    made = (mr.zeros_like(x), mr.ones_like(x), mr.full_like(x, 2), mr.rand_like(x), x.new_zeros(1))
    for t in made:
        assert t.device == device and not t.requires_grad
    for make in (mr.zeros_like, mr.ones_like, lambda t, **k: mr.full_like(t, 4, **k)):
        assert make(x, device="cpu").device == "cpu"
    assert mr.zeros_like(x, requires_grad=True).requires_grad
    assert_same(mr.zeros_like(np.ones((2, 1))), np.zeros((2, 1)))


def test_numpy_integers_and_tensors_are_sizes_and_bounds() -> None:
    assert mr.zeros(np.int64(2), mr.tensor(3)).shape == (2, 3)
    assert mr.eye(np.int64(2)).shape == (2, 2)
    assert mr.arange(np.int64(3)).dtype == np.int64 and mr.arange(np.float64(3)).dtype == np.float32
    assert mr.full((np.int32(2),), np.float64(1)).dtype == np.float32


@examples(200)
@given(
    start=st.integers(-20, 20),
    count=st.integers(0, 12),
    step=st.one_of(st.integers(1, 7), st.sampled_from([0.25, 0.5, 1.5])),
    back=st.booleans(),
)
def test_arange_has_the_numbers_that_are_asked_for(start: int, count: int, step: Any, back: bool) -> None:
    step = -step if back else step
    end = start + count * step
    for last in (end, end - step * 0.25) if count else (end,):
        got = mr.arange(start, last, step)
        assert_same(got, np.array([start + k * step for k in range(count)], dtype=got.dtype))


def test_large_integers_are_exact() -> None:
    assert mr.arange(2**60, 2**60 + 3).tolist() == [2**60, 2**60 + 1, 2**60 + 2]
    assert mr.full((1,), 2**62 + 1).tolist() == [2**62 + 1]


def test_sizes_and_numbers_have_a_largest_one() -> None:
    assert shape_of("f", (2**59, 1)) == (2**59, 1)
    assert shape_of("f", (2**60 - 1,)) == (2**60 - 1,)
    assert shape_of("f", (2**70, 0)) == (2**70, 0)  # without elements
    for size in (2**60, 2**61):
        with pytest.raises(ValueError, match=r"fewer than 2\*\*60 elements"):
            mr.zeros(size)
        with pytest.raises(ValueError, match=r"fewer than 2\*\*60"):
            mr.arange(size)
    assert number_of("f", "x", 2**1023 - 1) == 2**1023 - 1
    for beyond in (2**1023, -(2**1023), 2**1024):
        with pytest.raises(ValueError, match="a number that a float can hold"):
            number_of("f", "x", beyond)


@pytest.mark.parametrize(
    ("dtype", "low", "high"), [("uint8", 0, 255), ("int8", -128, 127), ("int32", -(2**31), 2**31 - 1)]
)
def test_the_least_and_the_largest_integer_of_a_dtype_fit(dtype: str, low: int, high: int) -> None:
    for value in (low, high):
        assert mr.full((1,), value, dtype=dtype).tolist() == [value]
        assert mr.full((1,), float(value), dtype=dtype).tolist() == [value]
    for value in (low - 1, high + 1, float(high + 1), float("nan"), float("inf")):
        with pytest.raises(ValueError, match=f"does not fit into {dtype}"):
            mr.full((1,), value, dtype=dtype)


def test_a_bool_is_what_is_not_0() -> None:
    assert mr.full((2,), 2.5, dtype=bool).tolist() == [True, True]
    assert mr.full((1,), 0.0, dtype=bool).tolist() == [False]
    assert mr.full((1,), 256, dtype=bool).tolist() == [True]


@pytest.mark.parametrize("one", [[2.5], [[2.5]], np.array([2.5]), np.float32(2.5)])
def test_a_number_is_also_an_array_of_one_element(one: Any) -> None:
    value = mr.tensor(one) if isinstance(one, list) else one
    assert mr.full((1,), value).tolist() == [2.5]
    with pytest.raises(TypeError, match="fill_value is"):
        mr.full((1,), np.array([1.0, 2.0]))


def test_each_of_the_numbers_of_arange_may_be_the_float_that_makes_float32() -> None:
    for args in ((0.0, 3, 1), (0, 3.0, 1), (0, 3, 1.0)):
        assert mr.arange(*args).dtype == np.float32
        assert mr.arange(*args).tolist() == [0, 1, 2]
    assert mr.arange(0, 3, 1).dtype == np.int64


def test_0_is_a_size_and_less_is_not() -> None:
    assert mr.eye(0, 3).shape == (0, 3)
    assert mr.eye(3, 0).shape == (3, 0)
    assert mr.randperm(1).tolist() == [0] and mr.linspace(5, 9, 1, dtype=mr.int64).tolist() == [5]
    for call in (lambda: mr.eye(-1), lambda: mr.eye(2, -1), lambda: mr.linspace(0, 1, -1), lambda: mr.zeros(2, -1)):
        with pytest.raises(ValueError, match="0 or more"):
            call()
