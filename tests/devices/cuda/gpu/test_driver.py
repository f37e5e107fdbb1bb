"""PyCudaDriver with the real PyCUDA, on a GPU or on the stand-in: memory, modules, launches, products, recordings."""

import gc
import threading
import warnings
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn.devices.cuda.driver import LaunchError, Matrix
from minirnn.devices.cuda.gpu.driver import PyCudaDriver
from tests.devices.cuda.sim.run import put, take

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(mr.devices.available()["cuda"] is not None, reason=mr.devices.available()["cuda"] or ""),
]
F4 = np.dtype("f4")
KERNELS = """
extern "C" __global__ void nothing() {}
extern "C" __global__ void add_one(float* x) { x[threadIdx.x] += 1; }
extern "C" __global__ void sizes(int* found) {
    extern __shared__ char memory[];
    const int block = blockIdx.x + gridDim.x * blockIdx.y;
    if (threadIdx.x == 0 && threadIdx.y == 0 && block == 0) {
        memory[0] = 1;
        found[0] = gridDim.x, found[1] = gridDim.y, found[2] = blockDim.x, found[3] = blockDim.y;
    }
}
"""


@pytest.fixture
def driver() -> Iterator[Any]:
    """A separate driver next to that of the device `cuda`: they share the GPU's context."""
    made = PyCudaDriver()
    yield made
    made.close()


# ---- memory


def test_empty_arrays_are_no_work(driver: Any) -> None:
    buffer = driver.alloc(0)
    driver.h2d(buffer.ptr, np.empty(0))
    driver.d2h(np.empty(0), buffer.ptr)
    driver.d2d(buffer.ptr, buffer.ptr, 0)
    driver.memset(buffer.ptr, 0, 0)
    assert buffer.nbytes == 0


def test_arrays_with_other_strides_are_refused(driver: Any) -> None:
    buffer = driver.alloc(96)
    with pytest.raises(ValueError, match="not contiguous"):
        driver.h2d(buffer.ptr, np.zeros((3, 4)).T)


def test_memory_is_used_again_the_lowest_address_first(driver: Any) -> None:
    buffers = [driver.alloc(1000) for _ in range(5)]
    found, held = sorted(buffer.ptr for buffer in buffers), driver.held_bytes
    for k in (3, 0, 4, 1, 2):
        buffers[k] = driver.alloc(5)
    first, second = driver.alloc(1000), driver.alloc(1020)
    assert [first.ptr, second.ptr] == found[:2] and driver.held_bytes == held + 5 * 256


def test_memory_that_the_garbage_collector_finds_is_used_again(driver: Any) -> None:
    circle: list[Any] = [put(driver, np.ones(16, F4))]
    circle.append(circle)
    ptr, held = circle[0].ptr, driver.held_bytes
    del circle
    gc.collect()
    again = put(driver, np.zeros(16, F4))
    assert (again.ptr, driver.held_bytes) == (ptr, held)
    np.testing.assert_array_equal(take(driver, again.ptr, 16, F4), np.zeros(16))


def test_held_memory_is_given_back(driver: Any) -> None:
    kept = driver.alloc(900_000)
    del [driver.alloc(500_000)][:]
    gc.collect()
    assert driver.held_bytes >= 1_400_000
    driver.free_held()
    assert 900_000 <= driver.held_bytes < 1_000_000
    del kept
    driver.free_held()
    assert driver.held_bytes == 0


def test_the_event_of_a_copy_ends_where_a_context_is_current(driver: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another thread may have waited for the copy and dropped its event before the call returns."""

    class TakenAtOnce(deque):  # type: ignore[type-arg]
        def append(self, item: Any) -> None:
            pass

    monkeypatch.setattr(driver, "_flying", TakenAtOnce())
    buffer = driver.alloc(64)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        # Use a thread that did not make the context, because there PyCUDA does not find it by itself.
        thread = threading.Thread(target=driver.h2d, args=(buffer.ptr, np.ones(16, F4)))
        thread.start()
        thread.join()
    assert warned == []
    np.testing.assert_array_equal(take(driver, buffer.ptr, 16, F4), np.ones(16))


def test_buffers_that_outlive_the_driver_end_quietly() -> None:
    driver = PyCudaDriver()
    buffer = driver.alloc(64)
    driver.close()
    driver.close()
    del buffer
    gc.collect()


# ---- modules


def test_a_file_is_compiled_once_with_its_options(driver: Any) -> None:
    text = '#include "real.cuh"\nextern "C" __global__ void k(real *x) { x[0] = sizeof(real); }'
    first = driver.module(text, "a.cu", ["-DREAL=double", "-DACC=double"])
    assert driver.module(text, "a.cu", ("-DREAL=double", "-DACC=double")) is first
    other = driver.module(text, "a.cu", ("-DREAL=float", "-DACC=float"))
    for module, dtype in ((first, "f8"), (other, "f4")):
        x = driver.alloc(8)
        module.function("k")(x, grid=(1,), block=(1,))
        assert take(driver, x.ptr, 1, dtype)[0] == np.dtype(dtype).itemsize


@pytest.mark.parametrize("damage", [b"", b"\x00", b"\x7fELF and no more"])
def test_a_broken_file_of_the_cache_is_compiled_anew(
    damage: bytes, driver: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINIRNN_CACHE", str(tmp_path))
    driver.module(KERNELS, "cached.cu")
    (kept,) = tmp_path.glob("**/*.cubin")
    kept.write_bytes(damage)
    again = PyCudaDriver()
    again.module(KERNELS, "cached.cu").function("nothing")(grid=(1,), block=(1,))
    again.synchronize()
    again.close()


def test_where_the_cache_cannot_be_written_files_are_compiled_all_the_same(
    driver: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MINIRNN_CACHE", str(tmp_path / "file"))
    driver.module(KERNELS, "uncached.cu").function("nothing")(grid=(1,), block=(1,))
    driver.synchronize()


def test_a_kernel_that_is_not_in_the_file_is_named(driver: Any) -> None:
    with pytest.raises(LaunchError, match=r"a\.cu has no .* kernel called nobody"):
        driver.module(KERNELS, "a.cu").function("nobody")


# ---- launches

PAIR = np.dtype([("count", "i4"), ("offset", "i8"), ("flag", "?")], align=True)


def test_a_function_has_one_kernel_which_knows_its_shared_memory(driver: Any) -> None:
    module = driver.module(KERNELS, "x.cu")
    assert module.function("sizes") is module.function("sizes")


def test_grid_block_and_shared_memory_reach_the_launch(driver: Any) -> None:
    kernel, found = driver.module(KERNELS, "x.cu").function("sizes"), driver.alloc(16)
    before = driver.launches
    for shared in (1000, 100_000, 60_000, 200_000):  # more than 48 KB must be requested
        kernel(found, grid=(np.int64(4), 2), block=[8, np.int32(4)], shared=shared)
        assert take(driver, found.ptr, 4, "i4").tolist() == [4, 2, 8, 4]
    assert driver.launches == before + 4
    with pytest.raises(LaunchError, match="sizes, grid .* 300000 bytes of dynamic shared memory: cuFuncSetAttribute"):
        kernel(found, grid=(1,), block=(1,), shared=300_000)
    kernel(found, grid=(1,), block=(1,), shared=100)
    assert take(driver, found.ptr, 4, "i4").tolist() == [1, 1, 1, 1]


def test_a_refused_launch_names_the_kernel(driver: Any) -> None:
    kernel = driver.module(KERNELS, "x.cu").function("nothing")
    with pytest.raises(LaunchError, match=r"nothing, grid \(1,\), block \(2000,\).*: cuLaunchKernel failed: invalid"):
        kernel(grid=(1,), block=(2000,))
    kernel(grid=(1,), block=(1,))
    driver.synchronize()


def test_resident_blocks_are_known_for_any_shared_memory(driver: Any) -> None:
    kernel = driver.module(KERNELS, "x.cu").function("sizes")
    few, many = kernel.max_resident_blocks((np.int64(32), 8), 100_000), kernel.max_resident_blocks((32,))
    assert 0 < few <= many and few % driver.limits.multiprocessors == 0
    with pytest.raises(LaunchError, match=r"cuFuncSetAttribute failed: invalid argument \(error 1\)"):
        kernel.max_resident_blocks((32,), 300_000)


# ---- products


def test_a_row_may_come_with_any_distance(driver: Any) -> None:
    a, b, c = put(driver, np.ones(5, F4)), put(driver, np.ones((5, 2), F4)), driver.alloc(8)
    driver.gemm(Matrix(a.ptr, 1, 5, 1, F4), Matrix(b.ptr, 5, 2, 2, F4), Matrix(c.ptr, 1, 2, 0, F4))
    np.testing.assert_array_equal(take(driver, c.ptr, 2, F4), [5, 5])


def test_an_empty_product_is_no_work(driver: Any) -> None:
    driver.gemm(Matrix(0, 0, 5, 5, F4), Matrix(0, 5, 2, 2, F4), Matrix(0, 0, 2, 2, F4))
    driver.synchronize()


# ---- recordings


def test_what_other_threads_do_meanwhile_is_not_recorded(driver: Any) -> None:
    kernel = driver.module(KERNELS, "x.cu").function("add_one")
    mine, theirs = (put(driver, np.zeros(8, F4)) for _ in range(2))

    def work() -> None:
        kernel(mine, grid=(1,), block=(8,))
        other = threading.Thread(target=lambda: kernel(theirs, grid=(1,), block=(8,)))
        other.start()
        other.join()

    recording = driver.record(work)
    recording()
    recording()
    assert [take(driver, buffer.ptr, 8, F4)[0] for buffer in (mine, theirs)] == [2, 1]
    recording.close()
