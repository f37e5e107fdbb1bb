"""In which order simulated threads and blocks run, and how many blocks run at once.

Tests `minirnn/devices/cuda/sim/runtime/`.
"""

import numpy as np
import pytest

from minirnn.devices.cuda.sim.driver import SimDriver
from minirnn.devices.cuda.sim.options import SimOptions
from tests.devices.cuda.sim.run import put, take

SOURCE = r"""
#define KERNEL extern "C" __global__ void

KERNEL arrivals(int *count, int *who) {
    who[atomicAdd(count, 1)] = blockIdx.x * blockDim.x + threadIdx.x;
}

// A barrier is missing: right as long as each thread finds what its left neighbor has just stored.
KERNEL from_the_left(const float *x, float *y) {
    __shared__ float s[64];
    const int t = threadIdx.x;
    s[t] = x[t];
    y[t] = t ? s[t - 1] : 0;
}

KERNEL not_atomic(volatile int *count) { *count = *count + 1; }

KERNEL meet(unsigned *arrived) {
    atomicAdd(arrived, 1u);
    while (*(volatile unsigned *)arrived < gridDim.x) __nanosleep(10);
}
"""


def arrivals(options: SimOptions, grid: int = 6, block: int = 32) -> np.ndarray:
    """The threads of a grid in their order of arrival. (grid, block)"""
    driver = SimDriver(options)
    count, who = put(driver, np.zeros(1, "i4")), driver.alloc(4 * grid * block)
    driver.module(SOURCE, "order.cu").function("arrivals")(count, who, grid=(grid,), block=(block,))
    return take(driver, who, (grid, block), "i4")


def test_without_a_seed_threads_and_blocks_come_in_the_order_of_their_indices() -> None:
    arrivals(SimOptions(seed=3))  # leaves nothing behind
    np.testing.assert_array_equal(arrivals(SimOptions()).ravel(), np.arange(6 * 32))


def test_a_seed_shuffles_the_threads_of_each_block_and_the_blocks() -> None:
    for seed in (1, 2, 3, 2**32 - 1):
        came = arrivals(SimOptions(seed=seed))
        np.testing.assert_array_equal(np.sort(came.ravel()), np.arange(6 * 32))
        blocks = came // 32
        assert (blocks == blocks[:, :1]).all()  # a block that does not wait runs to its end
        assert all((np.diff(threads) < 0).any() for threads in came)
    orders = {tuple(arrivals(SimOptions(seed=seed))[:, 0] // 32) for seed in range(1, 9)}
    assert len(orders) > 4


def test_a_seed_gives_the_same_order_each_time_and_another_seed_another_one() -> None:
    orders = [arrivals(SimOptions(seed=seed)) for seed in (5, 5, 6)]
    np.testing.assert_array_equal(orders[0], orders[1])
    assert (orders[0] != orders[2]).any()


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 4, 5])
def test_a_missing_barrier_shows_in_the_result_once_the_order_is_another(seed: int) -> None:
    driver = SimDriver(SimOptions(seed=seed))
    x, y = put(driver, np.arange(64, dtype="f4")), driver.alloc(4 * 64)
    driver.module(SOURCE, "order.cu").function("from_the_left")(x, y, grid=(1,), block=(64,))
    got = take(driver, y, 64, "f4")[1:]
    assert (got == np.arange(63)).all() == (seed == 0)
    assert np.isnan(got).any() == (seed != 0)  # shared memory starts as NaN


def test_preemption_takes_turns_between_any_two_accesses() -> None:
    def count(preempt: int) -> int:
        driver = SimDriver(SimOptions(check=True, seed=1, preempt=preempt))
        counter = put(driver, np.zeros(1, "i4"))
        driver.module(SOURCE, "order.cu").function("not_atomic")(counter, grid=(1,), block=(64,))
        return int(take(driver, counter, 1, "i4")[0])

    assert count(0) == 64
    assert count(2) < 64


def test_as_many_blocks_are_resident_as_wait_for_each_other() -> None:
    driver = SimDriver(SimOptions(resident=7, watchdog_ms=50))
    meet = driver.module(SOURCE, "order.cu").function("meet")
    for grid in (1, 7):
        meet(put(driver, np.zeros(1, "u4")), grid=(grid,), block=(1,))
    with pytest.raises(RuntimeError, match="only 7 fit"):
        meet(put(driver, np.zeros(1, "u4")), grid=(8,), block=(1,))


@pytest.mark.parametrize(
    "resident, block, shared, expected",
    [
        (132, (256,), 0, 132),
        (100_000, (256,), 0, 132 * 8),
        (100_000, (1024,), 0, 132 * 2),
        (100_000, (32, 2), 0, 132 * 32),
        (100_000, (64,), 48 << 10, 132 * 4),
        (5, (64,), 0, 5),
    ],
)
def test_how_many_blocks_the_device_says_it_holds(
    resident: int, block: tuple[int, ...], shared: int, expected: int
) -> None:
    driver = SimDriver(SimOptions(resident=resident))
    assert driver.module(SOURCE, "order.cu").function("meet").max_resident_blocks(block, shared) == expected
