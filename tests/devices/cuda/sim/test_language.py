"""language.cu: kernels like those in books on CUDA, run by the simulator in all its modes and compared with NumPy.

Tests `minirnn/devices/cuda/sim/include/`, `minirnn/devices/cuda/sim/runtime/` and `minirnn/devices/cuda/sim/launch.py`.
"""

from pathlib import Path

import numpy as np
import pytest

from minirnn.devices.cuda.sim.driver import SimDriver
from minirnn.devices.cuda.sim.launch import SimModule
from minirnn.devices.cuda.sim.options import SimOptions
from tests.devices.cuda.sim.run import put, take
from tests.slow import slow_unless

TILE = 16
SOURCE = (Path(__file__).parent / "language.cu").read_text(encoding="utf-8")

MODES = {
    "fast": SimOptions(),
    "seed": SimOptions(seed=7),
    "check": SimOptions(check=True),
    "check, seed, preempt": SimOptions(check=True, seed=3, preempt=8),
}
LINE = np.dtype([("count", "i4"), ("slope", "f8"), ("offset", "f4", 3)], align=True)


@pytest.fixture(scope="module", params=slow_unless(["seed", "check, seed, preempt"], MODES))
def module(request: pytest.FixtureRequest) -> SimModule:
    return SimDriver(MODES[request.param]).module(SOURCE, "language.cu")


def test_saxpy(module: SimModule, rng: np.random.Generator) -> None:
    n, driver = 1000, module.driver
    x, y = rng.standard_normal((2, n)).astype("f4")
    dx, dy = put(driver, x), put(driver, y)
    module.function("saxpy")(np.float32(2), dx, dy, np.int32(n), grid=(8,), block=(128,))
    np.testing.assert_array_equal(take(driver, dy, n, "f4"), 2 * x + y)


@pytest.mark.parametrize("kernel, dtype", [("sigmoid_float", "f4"), ("sigmoid_half", "f2")])
def test_templates_behind_extern_c(module: SimModule, rng: np.random.Generator, kernel: str, dtype: str) -> None:
    n, driver = 300, module.driver
    x = rng.standard_normal(n).astype(dtype)
    dx, dy = put(driver, x), driver.alloc(x.nbytes)
    module.function(kernel)(dx, dy, np.int32(n), grid=(2,), block=(256,))
    expected = 1 / (1 + np.exp(-x.astype("f8")))
    np.testing.assert_allclose(take(driver, dy, n, dtype), expected, rtol=2 * float(np.finfo(dtype).eps))


def test_matmul_with_tiles_in_shared_memory(module: SimModule, rng: np.random.Generator) -> None:
    M, N, K, driver = 37, 50, 45, module.driver
    A, B = rng.standard_normal((M, K)).astype("f4"), rng.standard_normal((K, N)).astype("f4")
    dA, dB, dC = put(driver, A), put(driver, B), driver.alloc(4 * M * N)
    sizes = np.int32(M), np.int32(N), np.int32(K)
    module.function("matmul")(dA, dB, dC, *sizes, grid=(-(-N // TILE), -(-M // TILE)), block=(TILE, TILE))
    np.testing.assert_allclose(take(driver, dC, (M, N), "f4"), A @ B, atol=1e-4)
    assert driver.stats.barriers == 12 * 3 * 2  # blocks, tiles, two each


def test_sum_by_shuffles_and_one_atomic_a_block(module: SimModule, rng: np.random.Generator) -> None:
    n, driver = 1000, module.driver
    x, total = rng.standard_normal(n).astype("f4"), put(driver, np.zeros(1, "f4"))
    module.function("sum")(put(driver, x), total, np.int32(n), grid=(3,), block=(128,))
    np.testing.assert_allclose(take(driver, total, 1, "f4")[0], x.sum(dtype="f8"), atol=1e-4)
    assert driver.stats.atomics == 3


def test_histogram_in_dynamic_shared_memory(module: SimModule, rng: np.random.Generator) -> None:
    n, bins, driver = 1000, 61, module.driver
    x = rng.integers(0, bins, n, dtype="i4")
    h = put(driver, np.zeros(bins, "u4"))
    sizes = np.int32(n), np.int32(bins)
    module.function("histogram")(put(driver, x), h, *sizes, grid=(4,), block=(256,), shared=4 * bins)
    np.testing.assert_array_equal(take(driver, h, bins, "u4"), np.bincount(x, minlength=bins))
    assert driver.stats.shared_bytes == 4 * bins


def test_a_persistent_kernel_whose_blocks_meet_at_its_own_barrier(module: SimModule, rng: np.random.Generator) -> None:
    H, T, driver = 64, 6, module.driver
    W, h = (rng.standard_normal((H, H)) / 8).astype("f4"), rng.standard_normal((2, H)).astype("f4")
    dW, dh, arrived = put(driver, W), put(driver, h), put(driver, np.zeros(1, "u4"))
    module.function("persistent")(dW, dh, arrived, np.int32(H), np.int32(T), grid=(16,), block=(128,))
    expected = h[0]
    for _ in range(T):
        expected = np.tanh(W @ expected)
    np.testing.assert_allclose(take(driver, dh, (2, H), "f4")[T % 2], expected, atol=1e-5)
    assert driver.stats.resident_blocks == 16


def test_every_half_becomes_the_right_float(module: SimModule) -> None:
    n, driver = 1 << 16, module.driver
    x = np.arange(n, dtype="u2").view("f2")
    y = driver.alloc(4 * n)
    module.function("half_to_float")(put(driver, x), y, np.int32(n), grid=(n // 1024,), block=(1024,))
    got, expected = take(driver, y, n, "f4"), x.astype("f4")
    numbers = ~np.isnan(x)
    np.testing.assert_array_equal(got[numbers].view("u4"), expected[numbers].view("u4"))
    np.testing.assert_array_equal(np.isnan(got), np.isnan(x))


def test_floats_are_rounded_to_half_as_numpy_does(module: SimModule, rng: np.random.Generator) -> None:
    halves = np.arange(0x7C00, dtype="u2").view("f2").astype("f4")  # all finite ones from 0 up
    ties = (halves[:-1].astype("f8") + halves[1:].astype("f8")).astype("f4") / 2
    near = [np.nextafter(ties, np.float32(s), dtype="f4") for s in (0, np.inf)]
    special = np.array([np.inf, np.nan, 65519.996, 65520, 65504, 1e30, 1e-30, 2**-25, 2**-24], "f4")
    x = np.concatenate([ties[::7], near[0][::7], near[1][::7], special, rng.standard_normal(3000).astype("f4")])
    x = np.concatenate([x, -x])
    n, driver = len(x), module.driver
    y = driver.alloc(2 * n)
    module.function("float_to_half")(put(driver, x), y, np.int32(n), grid=(-(-n // 256),), block=(256,))
    got, numbers = take(driver, y, n, "f2"), ~np.isnan(x)
    with np.errstate(over="ignore", under="ignore"):
        expected = x.astype("f2")
    np.testing.assert_array_equal(got[numbers].view("u2"), expected[numbers].view("u2"))
    assert np.isnan(got[~numbers]).all()


def test_half_arithmetic_is_numpys_bit_for_bit(module: SimModule, rng: np.random.Generator) -> None:
    n, driver = 5000, module.driver
    a, b = rng.integers(0, 1 << 16, (2, n), dtype="u2").view("f2")
    y = driver.alloc(2 * 4 * n)
    kernel = module.function("half_arithmetic")
    kernel(put(driver, a), put(driver, b), y, np.int32(n), grid=(-(-n // 256),), block=(256,))
    got = take(driver, y, (4, n), "f2")
    with np.errstate(all="ignore"):
        expected = np.stack([a + b, a - b, a * b, a / b])
    numbers = ~np.isnan(expected)
    np.testing.assert_array_equal(got[numbers].view("u2"), expected[numbers].view("u2"))
    np.testing.assert_array_equal(np.isnan(got), ~numbers)


@pytest.mark.parametrize("name, dtype", [("float", "f4"), ("int", "i4"), ("half", "f2")])
def test_kernels_made_by_a_macro(module: SimModule, name: str, dtype: str) -> None:
    driver = module.driver
    x = put(driver, np.arange(32).astype(dtype))
    module.function(f"reverse_{name}")(x, grid=(1,), block=(32,))
    np.testing.assert_array_equal(take(driver, x, 32, dtype), np.arange(32)[::-1])


def test_structs_by_value_and_vectors(module: SimModule) -> None:
    driver = module.driver
    v, u = put(driver, np.ones((4, 4), "f4")), put(driver, np.full((4, 2), 2, "f4"))
    line = np.array((7, 0.5, [0, 0, 3]), LINE)[()]
    module.function("line")(line, v, u, np.bool_(True), grid=(1,), block=(4,))
    np.testing.assert_array_equal(take(driver, v, (4, 4), "f4"), [[1 + 2 + 7, 3.5, 1, -1]] * 4)

    four = np.array((1, 0, 0, 2), np.dtype([(axis, "f4") for axis in "xyzw"]))[()]
    three = np.array((0, 0, 3), np.dtype([(axis, "u4") for axis in "xyz"]))[()]
    module.function("by_value")(four, three, np.float16(0.5), v, grid=(1,), block=(16,))
    np.testing.assert_array_equal(take(driver, v, 16, "f4"), 821 + np.arange(16))


def test_constants_and_device_variables(module: SimModule) -> None:
    driver = module.driver
    ptr, nbytes = module.variable("scale")
    assert nbytes == 16
    np.testing.assert_array_equal(take(driver, ptr, 4, "f4"), [1, 2, 3, 4])
    x = put(driver, np.ones(8, "f4"))
    driver.h2d(ptr, np.array([5, 6, 7, 8], "f4"))
    module.function("scaled")(x, grid=(1,), block=(8,))
    driver.h2d(ptr, np.array([1, 2, 3, 4], "f4"))
    np.testing.assert_array_equal(take(driver, x, 8, "f4"), [5, 6, 7, 8] * 2)

    counter, _ = module.variable("counter")
    before = int(take(driver, counter, 1, "i4")[0])
    module.function("count")(grid=(3,), block=(64,))
    assert take(driver, counter, 1, "i4")[0] == before + 192


def test_votes_shuffles_and_reductions_of_a_warp(module: SimModule) -> None:
    driver, t = module.driver, np.arange(32)
    y = driver.alloc(4 * 10 * 32)
    module.function("votes")(y, grid=(1,), block=(32,))
    ballot, any_all, count, up, segments, other, equal, total, up8, down8 = take(driver, y, (10, 32), "u4")
    np.testing.assert_array_equal(ballot, 0xAAAAAAAA)
    np.testing.assert_array_equal(any_all, 1 + 4)
    np.testing.assert_array_equal(count, 5)
    np.testing.assert_array_equal(up, np.maximum(t - 1, 0))
    np.testing.assert_array_equal(segments, 2 * (t // 8 * 8 + 4))
    np.testing.assert_array_equal(other, 3 * (t ^ 1))
    np.testing.assert_array_equal(equal, 0xFF << (t // 8 * 8))
    np.testing.assert_array_equal(total, t.sum())
    np.testing.assert_array_equal(up8, np.where(t % 8 < 3, t, t - 3))
    np.testing.assert_array_equal(down8, np.where(t % 8 > 4, t, t + 3))


def test_printf(module: SimModule, capfd: pytest.CaptureFixture[str]) -> None:
    module.function("speak")(np.int32(21), grid=(2,), block=(32,))
    assert sorted(capfd.readouterr().out.splitlines()) == [f"block {b} of {{__shared__ float x;: 42" for b in (0, 1)]


def test_lambdas(module: SimModule) -> None:
    x = put(module.driver, np.arange(32, dtype="f4"))
    module.function("square_of_each")(x, grid=(1,), block=(32,))
    np.testing.assert_array_equal(take(module.driver, x, 32, "f4"), np.arange(32) ** 2)


def test_dynamic_shared_memory_at_file_scope(module: SimModule) -> None:
    x = put(module.driver, np.arange(96, dtype="f4"))
    module.function("turned")(x, grid=(3,), block=(32,), shared=128)
    blocks = np.arange(96, dtype="f4").reshape(3, 32)
    np.testing.assert_array_equal(take(module.driver, x, (3, 32), "f4"), blocks[:, ::-1] + blocks[:, 1:2])
