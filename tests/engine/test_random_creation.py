"""rand, randn, randint, randperm: shapes, ranges, distributions, one stream for all devices."""

from typing import Any

import numpy as np
import pytest

import minirnn as mr
from tests.compare import assert_same
from tests.each import each

DRAWS: dict[str, Any] = {
    "rand": lambda **k: mr.rand(3, 4, **k),
    "rand float64": lambda **k: mr.rand((3, 4), dtype=mr.float64, **k),
    "rand float16": lambda **k: mr.rand(3, 4, dtype=mr.float16, **k),
    "randn": lambda **k: mr.randn(3, 4, **k),
    "randn float64": lambda **k: mr.randn(3, 4, dtype=mr.float64, **k),
    "randn float16": lambda **k: mr.randn(size=(3, 4), dtype=mr.float16, **k),
    "randint": lambda **k: mr.randint(2, 9, (3, 4), **k),
    "randperm": lambda **k: mr.randperm(12, **k),
}


@each("name", DRAWS)
def test_a_seed_gives_the_same_numbers_everywhere_and_each_time(device: str, name: str) -> None:
    mr.manual_seed(20)
    first, second = DRAWS[name](), DRAWS[name]()
    mr.manual_seed(20)
    assert_same(DRAWS[name](device=device).numpy(), first.numpy())
    with mr.use_device(device):
        again = DRAWS[name]()
    assert again.device == device
    assert_same(again.numpy(), second.numpy())
    assert not np.array_equal(first.numpy(), second.numpy())
    assert first.numpy().std() > 0.1


def test_randint_reaches_all_integers_between_its_bounds() -> None:
    mr.manual_seed(3)
    assert set(mr.randint(-2, 3, (1000,)).tolist()) == {-2, -1, 0, 1, 2}
    assert set(mr.randint(3, (1000,)).tolist()) == {0, 1, 2}
    assert set(mr.randint(high=2, low=0, size=(100,)).tolist()) == {0, 1}
    t = mr.randint(3, (2, 3))
    assert (t.shape, t.dtype) == ((2, 3), np.int64)
    assert mr.randint(3, (2,), dtype=mr.float32).dtype == np.float32
    for dtype, low, high in (("uint8", 0, 256), ("int8", -128, 128)):
        values = mr.randint(low, high, (5000,), dtype=dtype).numpy()
        assert values.dtype == dtype and (values.min(), values.max()) == (low, high - 1)


def test_random_like_takes_shape_dtype_and_device(device: str) -> None:
    x = mr.zeros(2, 0, 3, dtype=mr.float64, device=device)
    for t in (mr.rand_like(x), mr.randn_like(x)):
        assert (t.shape, t.dtype) == ((2, 0, 3), np.float64) and t.device == device
    for make in (mr.rand_like, mr.randn_like):
        assert make(x, device="cpu").device == "cpu"
    assert mr.randn_like(mr.arange(3), dtype=mr.float32).dtype == np.float32


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int64", "uint64"])
def test_all_numbers_of_an_integer_dtype_can_be_drawn_and_no_others(dtype: str) -> None:
    limits = np.iinfo(dtype)
    low, high = int(limits.min), int(limits.max)
    assert mr.randint(high, high + 1, (3,), dtype=dtype).tolist() == [high] * 3
    assert mr.randint(low, low + 1, (3,), dtype=dtype).tolist() == [low] * 3
    for bounds in ((low - 1, high), (low, high + 2), (high + 1, high + 2)):
        with pytest.raises(ValueError, match=f"in {dtype}\n  expected bounds that fit into it"):
            mr.randint(*bounds, (3,), dtype=dtype)


def test_gradients_are_asked_for_by_floats_alone() -> None:
    for call in (
        lambda dtype: mr.randint(3, (2,), dtype=dtype, requires_grad=True),
        lambda dtype: mr.randperm(2, dtype=dtype, requires_grad=True),
    ):
        assert call(np.float64).requires_grad
        with pytest.raises(TypeError, match="cannot require gradients"):
            call(np.int64)
    for make in (mr.rand, mr.randn):
        with pytest.raises(TypeError, match="dtype is int64\n  expected float16, float32 or float64"):
            make(2, dtype=np.int64)


def test_the_numbers_are_those_of_numpys_stream() -> None:
    """float32 numbers are drawn directly; float16 ones are rounded from them, or are multiples of 2**-11."""
    draw = lambda: np.random.default_rng(7)  # noqa: E731
    assert_same(mr.rand(5, generator=draw()).numpy(), draw().random(5, np.float32))
    assert_same(mr.rand(5, dtype=mr.float64, generator=draw()).numpy(), draw().random(5))
    half = (draw().integers(0, 2048, 5) / 2048).astype(np.float16)
    assert_same(mr.rand(5, dtype=mr.float16, generator=draw()).numpy(), half)
    assert_same(mr.randn(5, generator=draw()).numpy(), draw().standard_normal(5, np.float32))
    half = draw().standard_normal(5, np.float32).astype(np.float16)
    assert_same(mr.randn(5, dtype=mr.float16, generator=draw()).numpy(), half)
    assert_same(mr.randint(2, 9, (5,), generator=draw()).numpy(), draw().integers(2, 9, 5))
    assert_same(mr.randperm(5, generator=draw()).numpy(), draw().permutation(5))
    assert mr.randperm(0).shape == (0,)
