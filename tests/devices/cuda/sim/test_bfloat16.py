"""bfloat16 in the simulator, bit for bit; expected values come from the list of all its numbers, in float64.

Tests `minirnn/devices/cuda/sim/include/cuda_bf16.h`.
"""

import shutil
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minirnn.devices.cuda.sim.driver import SimDriver
from minirnn.devices.cuda.sim.launch import SimModule
from minirnn.devices.cuda.sim.options import SimOptions
from tests.devices.cuda.sim.run import put, take
from tests.devices.cuda.test_nvcc import by_nvcc

SOURCE = (Path(__file__).parent / "bfloat16.cu").read_text(encoding="utf-8")
ALL = np.arange(1 << 16, dtype="u4").astype("u2")


@pytest.fixture(scope="module", params=[SimOptions(), SimOptions(check=True, seed=2)], ids=["fast", "check"])
def module(request: pytest.FixtureRequest) -> SimModule:
    return SimDriver(request.param).module(SOURCE, "bfloat16.cu")


def wide(bits: np.ndarray) -> np.ndarray:
    """The value of bits of bfloat16, by the definition: sign, eight digits of exponent, seven of fraction."""
    x = bits.astype("i8")
    sign, exponent, fraction = x >> 15, x >> 7 & 0xFF, x & 0x7F
    size = np.where(exponent == 0, np.ldexp(fraction / 128.0, -126), np.ldexp(1 + fraction / 128.0, exponent - 127))
    size = np.where(exponent == 255, np.where(fraction == 0, np.inf, np.nan), size)
    return np.where(sign == 1, -size, size)


# All finite numbers of bfloat16 that are not negative, and the one where infinity begins.
LADDER = np.append(wide(np.arange(0x7F80, dtype="u2")), 2.0**128)


def nearest(x: np.ndarray) -> np.ndarray:
    """The bits of the bfloat16 nearest to float64 numbers, ties to even, by search in the list of all."""
    size = np.minimum(np.abs(x), 2.0**128)
    above = np.clip(np.searchsorted(LADDER, size), 1, len(LADDER) - 1)
    down, up = size - LADDER[above - 1], LADDER[above] - size
    bits = np.where((up < down) | ((up == down) & (above % 2 == 0)), above, above - 1)
    return (bits | np.where(np.signbit(x), 0x8000, 0)).astype("u2")


def run(
    module: SimModule, kernel: str, inputs: list[np.ndarray], shape: tuple[int, ...], dtype: str = "u2"
) -> np.ndarray:
    n, driver = len(inputs[0]), module.driver
    y = driver.alloc(int(np.prod(shape)) * np.dtype(dtype).itemsize)
    arguments: list[Any] = [put(driver, a) for a in inputs]
    module.function(kernel)(*arguments, y, np.int32(n), grid=(-(-n // 256),), block=(256,))
    return take(driver, y, shape, dtype)


def assert_same(got: np.ndarray, expected: np.ndarray, numbers: np.ndarray) -> None:
    np.testing.assert_array_equal(got[numbers], expected[numbers])
    assert (got[~numbers] & 0x7FFF > 0x7F80).all()  # NaN


def test_every_bfloat16_widens_to_its_number(module: SimModule) -> None:
    got = run(module, "widened", [ALL], (1 << 16,), "f4")
    np.testing.assert_array_equal(got, wide(ALL).astype("f4"))
    numbers = ~np.isnan(got)
    assert (np.signbit(got) == (ALL >> 15 == 1))[numbers].all()


def floats(rng: np.random.Generator) -> np.ndarray:
    """Random bits, all numbers around ties, and the ends of the range."""
    ties = (ALL.astype("u4") << 16)[:, None] + np.array([0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF], "u4")
    return np.r_[rng.integers(0, 1 << 32, 20000, dtype="u4"), ties[:: 1 + 6].ravel()].view("f4")


def test_float_rounds_in_four_ways(module: SimModule, rng: np.random.Generator) -> None:
    x = floats(rng)
    near, zero, down, up, made = run(module, "narrowed", [x], (5, x.size))
    numbers = ~np.isnan(x)
    exact = np.where(numbers, x, 0).astype("f8")
    assert_same(near, nearest(exact), numbers)
    np.testing.assert_array_equal(made, near)
    finite = np.isfinite(x)
    exact = np.where(finite, exact, 0)
    sizes = np.searchsorted(LADDER, np.abs(exact), side="right") - 1  # the last one that is not larger
    larger = sizes + (LADDER[sizes] != np.abs(exact))
    sign = np.where(np.signbit(x), 0x8000, 0)
    for got, expected in (
        (zero, sizes),
        (down, np.where(np.signbit(x), larger, sizes)),
        (up, np.where(np.signbit(x), sizes, larger)),
    ):
        np.testing.assert_array_equal(got[finite], (expected | sign)[finite])


def test_double_is_rounded_once(module: SimModule, rng: np.random.Generator) -> None:
    ties = wide(ALL[:0x7F00]) / 2 + wide(ALL[1:0x7F01]) / 2
    x = np.r_[ties, ties * (1 + 2.0**-50), ties * (1 - 2.0**-50), rng.standard_normal(1000), [1e300, -1e300, 1e-300]]
    assert_same(run(module, "narrowed_double", [x], (x.size,)), nearest(x), np.ones(x.size, bool))


def test_arithmetic_is_rounded_once(module: SimModule, rng: np.random.Generator) -> None:
    n = 20000
    a, b, c = rng.integers(0, 1 << 16, (3, n), dtype="u2")
    b[: n // 2] = a[: n // 2] + rng.integers(0, 2000, n // 2, dtype="u2")  # of similar size
    y = run(module, "arithmetic", [a, b, c], (7, n))
    x, z = wide(a), wide(b)
    with np.errstate(all="ignore"):
        results = [x + z, x - z, x * z, x / z]
        root = np.sqrt(x)
    for k, expected in [*enumerate(results), (5, root)]:
        numbers = ~np.isnan(expected)
        assert_same(y[k], nearest(np.where(numbers, expected, 0)), numbers)
    both = ~np.isnan(x) & ~np.isnan(z)
    np.testing.assert_array_equal(wide(y[6])[both], np.fmax(x, z)[both])


def test_fma_is_rounded_once(module: SimModule, rng: np.random.Generator) -> None:
    n = 3000
    a, b = (rng.integers(0x3800, 0x4800, (2, n), dtype="u2") | rng.integers(0, 2, (2, n), dtype="u2") << 15).astype(
        "u2"
    )
    c = rng.integers(0x2000, 0x5800, n, dtype="u2")
    y = run(module, "arithmetic", [a, b, c], (7, n))[4]
    ladder = [Fraction(v) for v in LADDER]
    x, z, w = wide(a), wide(b), wide(c)
    for k in range(0, n, 10):
        exact = Fraction(x[k]) * Fraction(z[k]) + Fraction(w[k])
        got = int(y[k] & 0x7FFF)
        distance = abs(ladder[got] - abs(exact))
        for other in (got - 1, got + 1):
            away = abs(ladder[other] - abs(exact))
            assert distance < away or (distance == away and got % 2 == 0)
        assert (y[k] >> 15 == 1) == (exact < 0)


def test_pairs(module: SimModule, rng: np.random.Generator) -> None:
    a, b = rng.integers(0x3800, 0x4800, (2, 500, 2), dtype="u2")
    y = run(module, "pairs", [a, b], (4, 500, 2))
    np.testing.assert_array_equal(y[0], nearest(wide(a) + wide(b)))
    np.testing.assert_array_equal(y[1], nearest(wide(a) * wide(b)))
    np.testing.assert_array_equal(y[2], np.stack([a[:, 0], b[:, 0]], axis=1))
    np.testing.assert_array_equal(y[3], a[:, ::-1])


def test_comparisons(module: SimModule, rng: np.random.Generator) -> None:
    a = np.r_[rng.integers(0, 1 << 16, 2000, dtype="u2"), np.array([0x8000, 0, 0x7F80, 0xFF80, 0x7FC0], "u2")]
    b = np.r_[a[:1000], rng.integers(0, 1 << 16, 1000, dtype="u2"), np.zeros(5, "u2")]
    x, z = wide(a), wide(b)
    expected = (x < z) + 2 * (x == z) + 4 * (x >= z) + 8 * np.isnan(x) + 16 * np.isinf(x)
    np.testing.assert_array_equal(run(module, "compared", [a, b], (a.size,), "i4"), expected)


def test_by_value_it_is_given_as_its_bits(module: SimModule) -> None:
    y = module.driver.alloc(4)
    module.function("by_value")(np.uint16(0x3FC0), y, grid=(1,), block=(1,))  # 1.5
    assert take(module.driver, y, 1, "f4")[0] == 1.5 - 2 + 2


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("nvcc"), reason="no nvcc on the PATH")
def test_nvcc_takes_the_same_text() -> None:
    status, said = by_nvcc(SOURCE, "bfloat16.cu", (), "sm_90")
    assert status == 0, said
