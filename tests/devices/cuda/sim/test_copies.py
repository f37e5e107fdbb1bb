"""memcpy, memmove, memset and copies of structs: they copy as everywhere, and check mode sees each piece.

Tests `minirnn/devices/cuda/sim/runtime/copies.cpp` and `minirnn/devices/cuda/sim/include/cusim_copies.h`.
"""

import numpy as np
import pytest

from minirnn.devices.cuda.driver import LaunchError
from minirnn.devices.cuda.sim.driver import SimDriver
from minirnn.devices.cuda.sim.launch import SimKernel
from minirnn.devices.cuda.sim.options import SimOptions
from tests.devices.cuda.sim.run import put, take
from tests.each import each

SOURCE = r"""#include <cstring>
#define KERNEL extern "C" __global__ void
struct Three { double of[3]; };

KERNEL copied(unsigned char *to, const unsigned char *from, int n) { std::memcpy(to, from, n); }
KERNEL moved(unsigned char *x, int to, int from, int n) { memmove(x + to, x + from, n); }
KERNEL filled(unsigned char *x, int value, int n) { memset(x, value, n); }

KERNEL through_shared(float *to, const float *from, int wait) {
    __shared__ float s[32];
    if (threadIdx.x == 0) memcpy(s, from, sizeof s);  // WRITE
    if (wait) __syncthreads();
    to[threadIdx.x] = s[31 - threadIdx.x];  // READ
}

KERNEL zeros(float *to, int set) {
    __shared__ float s[32];
    if (threadIdx.x == 0 && set) memset(s, 0, sizeof s);
    __syncthreads();
    to[threadIdx.x] = s[threadIdx.x];  // NEVER
}

KERNEL turned(Three *to, const Three *from, int n) {
    const Three three = from[threadIdx.x];  // LOAD
    to[n - 1 - threadIdx.x] = three;  // STORE
}

KERNEL struct_through_shared(Three *to, const Three *from) {
    __shared__ Three s[32];
    s[threadIdx.x] = from[threadIdx.x];  // PUT
    to[threadIdx.x] = s[threadIdx.x ^ 1];  // TAKE
}
"""


def line(mark: str) -> int:
    return next(k for k, text in enumerate(SOURCE.splitlines(), 1) if text.endswith(f"// {mark}"))


@pytest.fixture(params=[True, False], ids=["check", "plain"])
def driver(request: pytest.FixtureRequest) -> SimDriver:
    return SimDriver(SimOptions(check=request.param))


@pytest.fixture
def checked() -> SimDriver:
    return SimDriver(SimOptions(check=True))


def kernel_of(driver: SimDriver, name: str) -> SimKernel:
    return driver.module(SOURCE, "copies.cu").function(name)


BYTES = np.random.default_rng(0).integers(0, 256, 200).astype("u1")


@each("n", [0, 1, 2, 3, 7, 16, 33, 100])
@each("to, from_", [(0, 0), (1, 0), (3, 7), (8, 4)])
def test_bytes_arrive_from_and_to_any_place(driver: SimDriver, n: int, to: int, from_: int) -> None:
    source, target = put(driver, BYTES), put(driver, BYTES[::-1].copy())
    kernel_of(driver, "copied")(target.ptr + to, source.ptr + from_, np.int32(n), grid=(1,), block=(1,))
    want = BYTES[::-1].copy()
    want[to : to + n] = BYTES[from_ : from_ + n]
    np.testing.assert_array_equal(take(driver, target, 200, "u1"), want)


@each("n", [0, 1, 5, 16, 50, 64])
@each("to, from_", [(0, 0), (10, 3), (3, 10), (16, 0), (0, 16), (100, 1), (1, 0)])
def test_areas_that_overlap_are_moved_whole(driver: SimDriver, n: int, to: int, from_: int) -> None:
    x = put(driver, BYTES)
    kernel_of(driver, "moved")(x, np.int32(to), np.int32(from_), np.int32(n), grid=(1,), block=(1,))
    want = BYTES.copy()
    want[to : to + n] = BYTES[from_ : from_ + n]
    np.testing.assert_array_equal(take(driver, x, 200, "u1"), want)


@pytest.mark.parametrize("n", [0, 1, 15, 16, 199])
def test_memory_is_filled(driver: SimDriver, n: int) -> None:
    x = put(driver, BYTES)
    kernel_of(driver, "filled")(x, np.int32(0x1AB), np.int32(n), grid=(1,), block=(1,))
    np.testing.assert_array_equal(take(driver, x, 200, "u1"), np.r_[np.full(n, 0xAB, "u1"), BYTES[n:]])


def test_pieces_are_those_that_a_gpu_can_move(checked: SimDriver) -> None:
    x, y = put(checked, BYTES), put(checked, BYTES)
    trace = kernel_of(checked, "copied").traced(y.ptr + 8, x.ptr + 8, np.int32(47), grid=(1,), block=(1,))
    pieces = [8, 16, 16, 4, 2, 1]
    assert trace.accesses["size"].tolist() == [size for size in pieces for _ in "rw"]
    assert trace.accesses["write"].tolist() == [0, 1] * len(pieces)


def test_a_copy_past_the_end_is_named_with_its_line(checked: SimDriver) -> None:
    x, y = put(checked, BYTES), put(checked, BYTES[:100])
    copied = kernel_of(checked, "copied")
    where = next(k for k, text in enumerate(SOURCE.splitlines(), 1) if text.startswith("KERNEL copied"))
    for to, from_, verb in [(y, x, "write"), (x, y, "read")]:
        says = rf"{verb} past the end of device allocation #\d+ \(100 bytes\), at byte 96"
        with pytest.raises(LaunchError, match=rf"{says}.*\n.*copies\.cu:{where}:"):
            copied(to, from_, np.int32(128), grid=(1,), block=(1,))
    with pytest.raises(LaunchError, match=r"write past the end of device allocation #\d+ \(100 bytes\)"):
        kernel_of(checked, "filled")(y, np.int32(1), np.int32(101), grid=(1,), block=(1,))
    with pytest.raises(LaunchError, match=r"write past the end of device allocation #\d+ \(200 bytes\)"):
        kernel_of(checked, "moved")(x, np.int32(150), np.int32(0), np.int32(60), grid=(1,), block=(1,))


def test_a_copy_without_a_wait_is_a_race(checked: SimDriver) -> None:
    x, y = put(checked, np.arange(32, dtype="f4")), put(checked, np.zeros(32, "f4"))
    through = kernel_of(checked, "through_shared")
    through(y, x, np.int32(1), grid=(1,), block=(32,))
    np.testing.assert_array_equal(take(checked, y, 32, "f4"), np.arange(32)[::-1])
    with pytest.raises(LaunchError, match=r"race: read after write, byte \d+ of shared memory `s`") as error:
        through(y, x, np.int32(0), grid=(1,), block=(32,))
    assert f"copies.cu:{line('WRITE')}:" in str(error.value) and f"copies.cu:{line('READ')}:" in str(error.value)


def test_what_was_filled_was_written(checked: SimDriver) -> None:
    y = put(checked, np.ones(32, "f4"))
    kernel_of(checked, "zeros")(y, np.int32(1), grid=(1,), block=(32,))
    np.testing.assert_array_equal(take(checked, y, 32, "f4"), np.zeros(32))
    with pytest.raises(LaunchError, match=rf"never written.*`s`(.|\n)*copies\.cu:{line('NEVER')}:"):
        kernel_of(checked, "zeros")(y, np.int32(0), grid=(1,), block=(32,))


def test_a_struct_of_24_bytes_is_counted_once_and_kept_in_bounds(checked: SimDriver) -> None:
    threes = np.arange(32 * 3, dtype="f8").reshape(32, 3)
    x, y = put(checked, threes), put(checked, np.zeros_like(threes))
    turned = kernel_of(checked, "turned")
    turned(y, x, np.int32(32), grid=(1,), block=(32,))
    np.testing.assert_array_equal(take(checked, y, (32, 3), "f8"), threes[::-1])
    assert (checked.stats.bytes_read, checked.stats.bytes_written) == (32 * 24, 32 * 24)
    # Clang copies at once, without a variable between: then it knows one line of the two.
    here = rf"copies\.cu:({line('LOAD')}|{line('STORE')}):"
    with pytest.raises(LaunchError, match=rf"read (past the end|\d+ bytes before)(.|\n)*{here}"):
        turned(y, x.ptr + 24, np.int32(32), grid=(1,), block=(32,))
    with pytest.raises(LaunchError, match=rf"write (past the end|\d+ bytes before)(.|\n)*{here}"):
        turned(y, x, np.int32(33), grid=(1,), block=(32,))


def test_structs_exchanged_without_a_barrier_race(checked: SimDriver) -> None:
    x = put(checked, np.arange(32 * 3, dtype="f8"))
    y = put(checked, np.zeros(32 * 3))
    with pytest.raises(LaunchError, match=r"race: |never written") as error:
        kernel_of(checked, "struct_through_shared")(y, x, grid=(1,), block=(32,))
    assert f"copies.cu:{line('TAKE')}:" in str(error.value) or f"copies.cu:{line('PUT')}:" in str(error.value)
