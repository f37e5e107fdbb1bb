"""Cooperative groups: every function against NumPy, in every order; nvcc takes the same text.

Tests `minirnn/devices/cuda/sim/include/cooperative_groups.h` and `minirnn/devices/cuda/sim/runtime/`.
"""

import shutil
from pathlib import Path

import numpy as np
import pytest

from minirnn.devices.cuda.driver import CompileError, LaunchError
from minirnn.devices.cuda.sim.driver import SimDriver
from minirnn.devices.cuda.sim.launch import SimModule
from minirnn.devices.cuda.sim.options import SimOptions
from tests.devices.cuda.sim.run import put, take
from tests.devices.cuda.test_nvcc import by_nvcc

SOURCE = (Path(__file__).parent / "cooperative_groups.cu").read_text(encoding="utf-8")
ORDERS = {
    "fast": SimOptions(),
    "fast, seed 3": SimOptions(seed=3),
    "check": SimOptions(check=True),
    "check, seed 3": SimOptions(check=True, seed=3),
    "check, seed 4, preempt": SimOptions(check=True, seed=4, preempt=8),
}
N = 64


@pytest.fixture(scope="module", params=ORDERS)
def module(request: pytest.FixtureRequest) -> SimModule:
    return SimDriver(ORDERS[request.param]).module(SOURCE, "cooperative_groups.cu")


@pytest.fixture
def x(rng: np.random.Generator) -> np.ndarray:
    return rng.integers(0, 100, N).astype("i4")


def rows(module: SimModule, kernel: str, x: np.ndarray, count: int) -> np.ndarray:
    """What `kernel` writes: `count` rows of a number for each of N threads."""
    y = put(module.driver, np.full((count, N), -7, "i4"))
    module.function(kernel)(put(module.driver, x), y, grid=(1,), block=(N,))
    return take(module.driver, y, (count, N), "i4")


def test_the_block_and_its_tiles(module: SimModule, x: np.ndarray) -> None:
    y, t, eight = rows(module, "block_and_tiles", x, 10), np.arange(N), np.arange(N) % 8
    tiles = x.reshape(8, 8)
    each = np.repeat(tiles, 8, axis=0)  # (thread, member of its tile)
    bits = 1 << np.arange(8)
    np.testing.assert_array_equal(y[0], N)
    np.testing.assert_array_equal(y[1], eight + 100 * (t // 8) + 10000 * 8)
    np.testing.assert_array_equal(y[2], each[:, 3])
    np.testing.assert_array_equal(y[3], np.where(eight < 2, x, np.roll(x, 2)))
    np.testing.assert_array_equal(y[4], np.where(eight == 7, x, np.roll(x, -1)))
    np.testing.assert_array_equal(y[5], x[t ^ 4])
    np.testing.assert_array_equal(y[6], (each > 90).any(1) + 2 * (each > 5).all(1) + 4 * ((each % 2) @ bits))
    np.testing.assert_array_equal(y[7], (each % 3 == x[:, None] % 3) @ bits)
    np.testing.assert_array_equal(y[8], x[t | 1] + 1000 * (eight // 2) + 40000)
    np.testing.assert_array_equal(y[9], each.sum(1) + 1000 * each.max(1))


def test_values_of_more_than_eight_bytes(module: SimModule, rng: np.random.Generator) -> None:
    x, driver = rng.permutation(3 * N).astype("f4"), module.driver
    value, index = driver.alloc(12), driver.alloc(12)
    module.function("greatest")(put(driver, x), value, index, grid=(3,), block=(N,))
    np.testing.assert_array_equal(take(driver, value, 3, "f4"), x.reshape(3, N).max(1))
    np.testing.assert_array_equal(take(driver, index, 3, "i4"), x.reshape(3, N).argmax(1) + N * np.arange(3))


def test_lanes_that_are_together(x: np.ndarray) -> None:
    for options in (o for o in ORDERS.values() if not o.preempt):  # with it fewer come together
        y = rows(SimDriver(options).module(SOURCE, "cooperative_groups.cu"), "together", x, 4)
        for warp in range(2):
            own, got = x[32 * warp : 32 * warp + 32], y[:, 32 * warp : 32 * warp + 32]
            odd, even = own % 2 == 1, own % 2 == 0
            np.testing.assert_array_equal(got[0], np.where(odd, own[odd].sum(), own[even].sum()))
            np.testing.assert_array_equal(got[1, odd], own[odd][-1])
            np.testing.assert_array_equal(got[1, even], np.r_[own[even][0], own[even][:-1]])
            np.testing.assert_array_equal(got[2, odd], np.arange(odd.sum()) + 200)
            np.testing.assert_array_equal(got[2, even], (own[even] == 4).any() + 2)
            large = own > 50
            ranks = np.where(large, np.cumsum(large), np.cumsum(~large)) - 1
            np.testing.assert_array_equal(got[3], np.where(large, large.sum(), (~large).sum()) + 100 * ranks)


@pytest.mark.parametrize("kernel", ["aggregated", "aggregated_by_mask"])
def test_one_atomic_for_all_active_lanes(module: SimModule, x: np.ndarray, kernel: str) -> None:
    ptr, _ = module.variable("counter")
    module.driver.h2d(ptr, np.zeros(1, "i4"))
    (places,) = rows(module, kernel, x, 1)
    assert sorted(places[x > 40]) == list(range((x > 40).sum()))
    assert (places[x <= 40] == -7).all()
    assert take(module.driver, ptr, 1, "i4")[0] == (x > 40).sum()


def test_scans(module: SimModule, x: np.ndarray) -> None:
    y, tiles = rows(module, "scans", x, 3), x.reshape(4, 16)
    sums = np.cumsum(tiles, axis=1)
    np.testing.assert_array_equal(y[0], sums.ravel())
    np.testing.assert_array_equal(y[1], (sums - tiles).ravel())
    np.testing.assert_array_equal(y[2], np.maximum.accumulate(tiles, axis=1).ravel())


def test_a_group_whose_kind_is_known_only_when_it_runs(module: SimModule, x: np.ndarray) -> None:
    (y,) = rows(module, "any_group", x, 1)
    assert y[0] == x.sum()
    np.testing.assert_array_equal(y[1:17], x.reshape(16, 4).sum(1))


def test_copies_of_a_group(module: SimModule, x: np.ndarray) -> None:
    y = rows(module, "copied", np.r_[x, 2 * x], 2)
    np.testing.assert_array_equal(y, np.stack([x, 2 * x])[:, ::-1])


def test_a_copy_that_a_group_does_not_wait_for_is_found(x: np.ndarray) -> None:
    source = SOURCE.replace("cg::wait(block);", "")
    for options in (o for o in ORDERS.values() if o.check):
        with pytest.raises(LaunchError, match=r"never written.*`tile`|race: .*`tile`"):
            rows(SimDriver(options).module(source, "missing.cu"), "copied", np.r_[x, x], 2)


def test_a_copy_to_elsewhere_than_shared_memory_is_named() -> None:
    source = """#include <cooperative_groups.h>
    #include <cooperative_groups/memcpy_async.h>
    extern "C" __global__ void k(int *x) {
        cooperative_groups::memcpy_async(cooperative_groups::this_thread_block(), x, x + 4, 4 * sizeof(int));
    }"""
    for options in ORDERS.values():
        driver = SimDriver(options)
        with pytest.raises(LaunchError, match="memcpy_async to an address that is not in shared memory, thread"):
            driver.module(source, "wrong.cu").function("k")(put(driver, np.zeros(8, "i4")), grid=(1,), block=(4,))


def test_the_grid_meets(module: SimModule, x: np.ndarray) -> None:
    expected, steps, driver = [x], 5, module.driver
    for _ in range(steps):
        expected.append(expected[-1] + np.roll(expected[-1], -1))
    memory = put(driver, np.r_[x, np.zeros(steps * N, "i4")])
    module.function("whole_grid")(memory, np.int32(steps), grid=(4,), block=(16,))
    np.testing.assert_array_equal(take(driver, memory, (steps + 1, N), "i4"), expected)


def test_a_missing_barrier_of_the_grid_is_found(x: np.ndarray) -> None:
    source = SOURCE.replace("grid.sync();", "")
    for options in ORDERS.values():
        if not options.check:
            continue
        driver = SimDriver(options)
        kernel = driver.module(source, "missing.cu").function("whole_grid")
        with pytest.raises(LaunchError, match=r"race: .*of device allocation"):
            kernel(put(driver, np.r_[x, np.zeros(5 * N, "i4")]), np.int32(5), grid=(4,), block=(16,))


@pytest.mark.parametrize(
    "body, says",
    [
        ("if (blockIdx.x == 1) return; g.sync();", r"waits for the grid at .*:\d+, but 1 of its 3 blocks have already"),
        ("if (blockIdx.x == 1) g.sync();\nelse g.sync();", r"divergent barrier: .* all threads of the grid must meet"),
        ("if (threadIdx.x < 5) g.sync();\nelse __syncthreads();", r"divergent barrier: .*block at .*the grid at"),
    ],
)
def test_wrong_barriers_of_the_grid_are_named(body: str, says: str) -> None:
    source = f"""#include <cooperative_groups.h>
    extern "C" __global__ void k() {{ auto g = cooperative_groups::this_grid(); {body} }}"""
    for options in ORDERS.values():
        with pytest.raises(LaunchError, match=says):
            SimDriver(options).module(source, "wrong.cu").function("k")(grid=(3,), block=(32,))


def test_a_grid_that_does_not_fit_cannot_meet() -> None:
    driver = SimDriver(SimOptions(resident=3))
    kernel = driver.module(SOURCE, "cooperative_groups.cu").function("whole_grid")
    with pytest.raises(LaunchError, match="waits for the grid at .*: it has 4 blocks, of which only 3 fit"):
        kernel(put(driver, np.zeros(2 * N, "i4")), np.int32(1), grid=(4,), block=(16,))


def test_tiles_larger_than_a_warp_are_refused_with_the_reason() -> None:
    source = """#include <cooperative_groups.h>
    extern "C" __global__ void k() {
        auto tile = cooperative_groups::tiled_partition<64>(cooperative_groups::this_thread_block());
        tile.sync();
    }"""
    with pytest.raises(CompileError, match="the simulator has tiles of 1, 2, 4, 8, 16 and 32 threads"):
        SimDriver(SimOptions()).module(source, "large.cu")


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("nvcc"), reason="no nvcc on the PATH")
def test_nvcc_takes_the_same_text() -> None:
    status, said = by_nvcc(SOURCE, "cooperative_groups.cu", (), "sm_90")
    assert status == 0, said
