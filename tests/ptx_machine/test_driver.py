"""The machine's reports on wrong kernels, and its guarantees for correct ones.

Tests `tests/ptx_machine/driver.py`, `tests/ptx_machine/build.py`, `tests/ptx_machine/parse.py` and
`tests/ptx_machine/runtime/`.
"""

import numpy as np
import pytest

from minirnn.devices.cuda.driver import CudaError, LaunchError
from tests.devices.cuda.sim.run import put, take
from tests.ptx_machine import build
from tests.ptx_machine.driver import PtxDriver
from tests.ptx_machine.options import PtxOptions
from tests.ptx_machine.parse import NotUnderstood, parse

pytestmark = pytest.mark.skipif(build.reason_against() is not None, reason=f"ptx: {build.reason_against()}")

SOURCE = r"""#include <cooperative_groups.h>
#define KERNEL extern "C" __global__ void

KERNEL past_the_end(int *x) { x[threadIdx.x + 1] = 0; }
KERNEL nowhere(int *x) { *(int *)(unsigned long long)*x = 1; }
KERNEL past_shared(int *x) {
    extern __shared__ int s[];
    s[threadIdx.x] = 1;
    __syncthreads();
    x[threadIdx.x] = s[threadIdx.x + *x];
}
KERNEL left_out(int *x) { x[threadIdx.x] = __shfl_sync(0xffff, x[threadIdx.x], 0); }
KERNEL waits(int *x) {
    if (threadIdx.x < 3) __syncwarp();
    else __syncwarp(0xfffffff0);
}
KERNEL for_ever(volatile int *x) {
    while (!*x) {}
}
KERNEL never_looks(int *x) {
    while (!*x) {}
    x[1] = 2;
}
KERNEL traps(int *x) { if (threadIdx.x == 2) __trap(); }
__device__ int counter = 5;
__device__ float table[3] = {1, 2, 3};
KERNEL variables(float *x) { x[threadIdx.x] = table[threadIdx.x % 3] + atomicAdd(&counter, 0); }

KERNEL grid_sync(int *x) {
    const auto grid = cooperative_groups::this_grid();
    const int n = gridDim.x * blockDim.x, k = grid.thread_rank();
    for (int step = 0; step < 5; step++) {
        const int left = x[(k + n - 1) % n];
        grid.sync();
        x[k] += left;
        grid.sync();
    }
}
KERNEL warps(const int *x, int *y) {
    const auto eight = cooperative_groups::tiled_partition<8>(cooperative_groups::this_thread_block());
    const int k = threadIdx.x;
    y[k] = __shfl_down_sync(~0u, x[k], 3, 16);
    y[32 + k] = __shfl_up_sync(~0u, x[k], 2);
    y[64 + k] = __ballot_sync(~0u, x[k] > 0);
    y[96 + k] = eight.shfl_xor(x[k], 5);
    y[128 + k] = __reduce_add_sync(~0u, x[k]);
    y[160 + k] = __any_sync(~0u, x[k] == 7) + 2 * __all_sync(~0u, x[k] < 99);
    y[192 + k] = __popc(x[k]) + 100 * __clz(x[k]) + 10000 * __ffs(x[k]);
}
"""


def kernel_of(name: str, **options: object):  # type: ignore[no-untyped-def]
    driver = PtxDriver(PtxOptions(**options))  # type: ignore[arg-type]
    return driver, driver.module(SOURCE, "kernels.cu").function(name)


@pytest.mark.parametrize(
    ("name", "says", "line"),
    [
        ("past_the_end", r"a write of 4 bytes at byte 128 of an array of 128 bytes", 4),
        ("nowhere", r"where no memory is", 5),
        ("past_shared", r"byte 128 of shared memory, of which the block has 128 bytes", 10),
        ("left_out", r"mask 0000ffff by lane \d+, which the mask leaves out", None),
        ("waits", r"lane 3, which the mask leaves out|in a warp operation, waits for ever", None),
        ("for_ever", r"deadlock: thread \d+ of block 0, that runs in vain", 18),
        ("never_looks", r"deadlock: thread \d+ of block 0, that runs in vain", None),
        ("traps", r"trap", None),
    ],
)
def test_a_launch_that_fails_says_where_and_the_next_one_works(name: str, says: str, line: int | None) -> None:
    driver, kernel = kernel_of(name)
    x = put(driver, np.zeros(32, "i4") + {"past_shared": 1, "nowhere": 64}.get(name, 0))
    with pytest.raises(LaunchError, match=says) as caught:
        kernel(x, grid=(1,), block=(32,), shared=128)
    if line:
        assert f" kernels.cu:{line}" in str(caught.value)
    y = driver.alloc(4 * 32)
    driver.module(SOURCE, "kernels.cu").function("variables")(y, grid=(1,), block=(32,))
    np.testing.assert_array_equal(take(driver, y, 32, "f4"), np.arange(32) % 3 + 6)


def test_wrong_arguments_are_refused() -> None:
    driver, kernel = kernel_of("warps")
    with pytest.raises(TypeError, match="expected 2 of 16 bytes"):
        kernel(put(driver, np.zeros(32, "i4")), grid=(1,), block=(32,))
    with pytest.raises(TypeError, match="expected 2 of 16 bytes"):
        kernel(np.float32(1), np.float32(1), grid=(1,), block=(32,))
    with pytest.raises(LaunchError, match="block"):
        kernel(None, None, grid=(1,), block=(2000,))
    with pytest.raises(CudaError, match="no kernel 'nothing'"):
        kernel_of("nothing")


@pytest.mark.parametrize("arch", ["sm_80", "sm_120"])
@pytest.mark.parametrize("seed", range(5))
def test_the_grid_barrier_of_cooperative_groups_holds(seed: int, arch: str) -> None:
    driver, kernel = kernel_of("grid_sync", seed=seed, arch=arch)
    x = np.arange(5 * 32, dtype="i4")
    memory = put(driver, x)
    kernel(memory, grid=(5,), block=(32,), cooperative=True)
    for _ in range(5):
        x = x + np.roll(x, 1)
    np.testing.assert_array_equal(take(driver, memory, x.size, "i4"), x)


def test_without_the_fences_of_the_grid_barrier_old_numbers_are_seen() -> None:
    """The control: the same kernel, its release and acquire made relaxed in the PTX."""
    wrong = 0
    for seed in range(20):
        edits = ((r"atom\.add\.release\.gpu", "atom.add.relaxed.gpu"), (r"ld\.acquire\.gpu", "ld.relaxed.gpu"))
        driver, kernel = kernel_of("grid_sync", seed=seed, edits=edits)
        assert not driver.not_planted
        x = np.arange(5 * 32, dtype="i4")
        memory = put(driver, x)
        kernel(memory, grid=(5,), block=(32,), cooperative=True)
        for _ in range(5):
            x = x + np.roll(x, 1)
        wrong += not np.array_equal(take(driver, memory, x.size, "i4"), x)
    assert wrong >= 10


def test_operations_of_a_warp() -> None:
    driver, kernel = kernel_of("warps")
    x = np.random.default_rng(0).integers(-9, 50, 32).astype("i4")
    y = driver.alloc(4 * 7 * 32)
    kernel(put(driver, x), y, grid=(1,), block=(32,))
    got, k = take(driver, y, (7, 32), "i4"), np.arange(32)
    np.testing.assert_array_equal(got[0], np.where(k % 16 < 13, x[(k + 3) % 32], x))
    np.testing.assert_array_equal(got[1], np.where(k >= 2, x[k - 2], x))
    np.testing.assert_array_equal(got[2].astype("u4"), sum(1 << n for n in k if x[n] > 0))
    np.testing.assert_array_equal(got[3], x[k ^ 5])
    np.testing.assert_array_equal(got[4], x.sum())
    np.testing.assert_array_equal(got[5], (x == 7).any() + 2)
    ones = [bin(n & 0xFFFFFFFF).count("1") for n in map(int, x)]
    zeros = [32 - (n & 0xFFFFFFFF).bit_length() for n in map(int, x)]
    first = [(n & -n).bit_length() for n in map(int, x)]
    np.testing.assert_array_equal(got[6], np.array(ones) + 100 * np.array(zeros) + 10000 * np.array(first))


@pytest.mark.parametrize(
    "line", ["tex.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%rd0, {%r0}]", "add.f32 %f9, %f0", "wgmma.fence"]
)
def test_what_the_machine_does_not_know_is_refused_with_the_line(line: str) -> None:
    text = f".visible .entry k()\n{{\n.reg .f32 %f<4>;\n{line};\nret;\n}}\n"
    with pytest.raises(NotUnderstood) as caught:
        build.translated(text, "k")
    assert line in str(caught.value)
    assert list(parse(text).functions) == ["k"]
