"""The trace of a launch: 32-byte sectors of device memory and banks of shared memory, counted by hand."""

import numpy as np
import pytest

from minirnn.devices.cuda.driver import CudaError
from minirnn.devices.cuda.sim.driver import SimDriver
from minirnn.devices.cuda.sim.launch import SimKernel
from minirnn.devices.cuda.sim.options import SimOptions
from minirnn.devices.cuda.sim.trace import Trace
from tests.devices.cuda.sim.run import put

SOURCE = r"""#define KERNEL extern "C" __global__ void

KERNEL neighbors(const float *x, float *y) {
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    const float v = x[t];  // LOAD
    y[t] = v;  // STORE
}

KERNEL rows(const float *x, float *y) {
    const float v = x[threadIdx.x * 32];  // LOAD
    y[threadIdx.x] = v;  // STORE
}

KERNEL pairs(const double *x, double *y) {
    const double v = x[threadIdx.x];  // LOAD
    y[2 * threadIdx.x] = v;  // STORE
}

KERNEL loop(const float *x, float *y, int n) {
    float sum = 0;
    for (int k = 0; k < n; k++)
        sum += x[k * 32 + threadIdx.x % 32];  // LOAD
    y[threadIdx.x] = sum;  // STORE
}

KERNEL columns(const float *x, float *y, int step) {
    __shared__ float s[32 * 33];
    for (int i = threadIdx.x; i < 32 * 33; i += blockDim.x) s[i] = x[i];
    __syncthreads();
    y[threadIdx.x] = s[threadIdx.x * step];  // LOAD
}

KERNEL total(float *x) {
    atomicAdd(x, 1.f);  // ADD
}
"""


def line_of(kernel: str, mark: str) -> int:
    lines = SOURCE.splitlines()
    start = next(k for k, line in enumerate(lines) if line.startswith(f"KERNEL {kernel}("))
    return next(k + 1 for k in range(start, len(lines)) if lines[k].endswith(f"// {mark}"))


@pytest.fixture(scope="module", params=[0, 5])
def driver(request: pytest.FixtureRequest) -> SimDriver:
    return SimDriver(SimOptions(check=True, seed=request.param))


def kernel_of(driver: SimDriver, name: str) -> SimKernel:
    return driver.module(SOURCE, "traced.cu").function(name)


def trace(driver: SimDriver, name: str, *numbers: np.generic, grid: int = 1, block: int = 32) -> Trace:
    x, y = (put(driver, np.zeros(1100, "f8")) for _ in range(2))
    return kernel_of(driver, name).traced(x, y, *numbers, grid=(grid,), block=(block,))


def test_neighboring_floats_are_four_sectors_a_warp(driver: SimDriver) -> None:
    seen = trace(driver, "neighbors", grid=2, block=96)
    assert seen.sectors(line_of("neighbors", "LOAD")) == [4] * 6
    assert seen.sectors(line_of("neighbors", "STORE")) == [4] * 6
    assert len(seen) == 2 * 2 * 96


def test_a_row_apart_each_float_is_a_sector(driver: SimDriver) -> None:
    seen = trace(driver, "rows")
    assert seen.sectors(line_of("rows", "LOAD")) == [32]
    assert seen.sectors(line_of("rows", "STORE")) == [4]


def test_doubles_and_gaps(driver: SimDriver) -> None:
    seen = trace(driver, "pairs")
    assert seen.sectors(line_of("pairs", "LOAD")) == [8]
    assert seen.sectors(line_of("pairs", "STORE")) == [16]


def test_a_loop_gives_one_group_each_time_around(driver: SimDriver) -> None:
    seen = trace(driver, "loop", np.int32(5), block=64)
    groups = list(seen.warp_accesses(seen.of_line(line_of("loop", "LOAD"))))
    assert len(groups) == 2 * 5
    assert seen.sectors(line_of("loop", "LOAD")) == [4] * 10
    for number, group in enumerate(groups):
        warp, k = divmod(number, 5)
        np.testing.assert_array_equal(group["thread"], 32 * warp + np.arange(32))
        np.testing.assert_array_equal(group["address"], 4 * (32 * k + np.arange(32)))


@pytest.mark.parametrize("step, rounds", [(0, 1), (1, 1), (2, 2), (8, 8), (31, 1), (32, 32), (33, 1)])
def test_bank_conflicts_by_the_step_between_lanes(driver: SimDriver, step: int, rounds: int) -> None:
    seen = trace(driver, "columns", np.int32(step))
    assert seen.bank_conflicts(line_of("columns", "LOAD")) == [rounds]


def test_what_is_known_of_each_access(driver: SimDriver) -> None:
    x, y = put(driver, np.zeros(64, "f4")), put(driver, np.zeros(64, "f4"))
    seen = kernel_of(driver, "neighbors").traced(x, y, grid=(2,), block=(32,), cooperative=True)
    loads, stores = (seen.of_line(line_of("neighbors", mark)) for mark in ("LOAD", "STORE"))
    for accesses, buffer, write in ((loads, x, 0), (stores, y, 1)):
        assert len(accesses) == 64
        assert set(accesses["allocation"]) == {buffer.number}
        assert set(accesses["size"]) == {4}
        assert set(accesses["write"]) == {write}
        assert set(accesses["atomic"]) == {0}
        np.testing.assert_array_equal(accesses["address"], 4 * (32 * accesses["block"] + accesses["thread"]))
    np.testing.assert_array_equal(seen.accesses["order"], np.arange(128))


def test_shared_memory_has_no_allocation_and_atomics_are_marked(driver: SimDriver) -> None:
    seen = trace(driver, "columns", np.int32(1)).of_line(line_of("columns", "LOAD"))
    shared = seen[seen["allocation"] == -1]
    np.testing.assert_array_equal(np.diff(np.sort(shared["address"])), [4] * 31)
    assert set(seen["write"][seen["allocation"] >= 0]) == {1}
    x = put(driver, np.zeros(1, "f4"))
    adds = kernel_of(driver, "total").traced(x, grid=(1,), block=(32,)).accesses
    assert set(adds["atomic"]) == {1}
    assert set(adds["write"]) == {1}


def test_a_trace_keeps_no_more_than_it_has_room_for(driver: SimDriver) -> None:
    x, y = (put(driver, np.zeros(64, "f4")) for _ in range(2))
    kernel = kernel_of(driver, "neighbors")
    seen = kernel.traced(x, y, grid=(2,), block=(32,), capacity=10)
    assert len(seen) == 10
    np.testing.assert_array_equal(seen.accesses["order"], np.arange(10))
    assert driver.stats.accesses == 128
    kernel(x, y, grid=(2,), block=(32,))
    assert driver.stats.traced == 0


def test_a_trace_needs_check_mode() -> None:
    driver = SimDriver(SimOptions())
    with pytest.raises(CudaError, match=r"only in check mode\n  expected SimOptions\(check=True\)"):
        kernel_of(driver, "total").traced(None, grid=(1,), block=(32,))


def test_a_struct_is_read_and_written_whole() -> None:
    text = """struct alignas(16) Four { float of[4]; };
extern "C" __global__ void twice(const Four *a, Four *b) {
    Four x = a[threadIdx.x];
    for (int k = 0; k < 4; k++) x.of[k] *= 2;
    b[threadIdx.x] = x;
}
"""
    driver = SimDriver(SimOptions(check=True))
    kernel = driver.module(text, "twice.cu").function("twice")
    a, b = driver.alloc(16 * 32), driver.alloc(16 * 32)
    driver.h2d(a.ptr, np.arange(128, dtype=np.float32))
    trace = kernel.traced(a, b, grid=(1,), block=(32,))
    assert sorted(trace.accesses["size"]) == [16] * 64
    assert trace.sectors_in_all() == 2 * 16
