"""The promises of every driver, on the drivers that work here: the simulator's, and the GPU's if there is one.

Tests `minirnn/devices/cuda/sim/driver.py` and `minirnn/devices/cuda/gpu/driver.py`.
"""

import gc
import threading
from itertools import product
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn.devices.cuda.driver import CompileError, Driver, LaunchError, Matrix, OutOfDeviceMemory
from minirnn.devices.cuda.sim.driver import SimDriver
from minirnn.devices.cuda.sim.options import SimOptions
from tests.devices.cuda.gpu.test_driver import PAIR
from tests.devices.cuda.sim.run import put, take

SOURCE = """struct Pair { int count; long long offset; bool flag; };

extern "C" __global__ void look(Pair pair, int i32, double f64, bool flag, const float *null, float *y) {
    extern __shared__ float part[];
    const int k = blockIdx.x * blockDim.x + threadIdx.x;
    part[threadIdx.x] = float(pair.count + pair.offset + pair.flag + i32 + f64 + flag + SCALE * (null == 0));
    __syncthreads();
    y[k] = part[blockDim.x - 1 - threadIdx.x] + k;
}
"""


@pytest.fixture
def driver(cuda_device: Any) -> Driver:
    found: Driver = cuda_device.driver
    return found


def test_memory_is_copied_both_ways_and_inside(driver: Driver, rng: np.random.Generator) -> None:
    for count in (7, 1 << 17, 300_000):  # up to 1 MiB a GPU is given a copy
        host = rng.standard_normal(count)
        before = host.copy()
        a, b = put(driver, host), driver.alloc(8 * count)
        host[:] = 0
        driver.memset(b.ptr, 0x40, 8 * count)
        driver.d2d(b.ptr + 16, a.ptr + 8, 8 * (count - 2))
        got = take(driver, b.ptr, count, "f8")
        np.testing.assert_array_equal(got[2:], before[1:-1])
        np.testing.assert_array_equal(got[:2].view("u1"), 0x40)


def test_copies_and_fills_stay_inside_of_their_array() -> None:
    driver = SimDriver(SimOptions())
    m, a = driver.alloc(400), np.zeros(101, np.float32)
    variable, size = driver.module("__device__ float four[4];", "four.cu").variable("four")
    driver.h2d(variable, a[:4])
    driver.h2d(m.ptr + 396, a[:1])
    driver.d2h(a[:0], 12345)
    for copy, message in (
        (
            lambda: driver.h2d(m.ptr, a),
            r"h2d of 404 bytes at byte 0 goes past the end of device allocation #\d+ of 400 b",
        ),
        (lambda: driver.d2h(a, m.ptr), "d2h of 404 bytes at byte 0 goes past the end"),
        (lambda: driver.h2d(m.ptr + 4, a[:100]), "h2d of 400 bytes at byte 4 goes past the end"),
        (lambda: driver.h2d(m.ptr - 4, a[:2]), "h2d of 8 bytes at byte -4 goes before device allocation"),
        (lambda: driver.h2d(12345, a[:4]), "h2d of 16 bytes at 0x3039, which is not device memory"),
        (lambda: driver.d2h(a[:4], 0), "d2h of 16 bytes at 0x0, which is not device memory"),
        (lambda: driver.memset(m.ptr, 0, 404), "memset of 404 bytes at byte 0 goes past the end"),
        (lambda: driver.memset(m.ptr, 0, -4), "memset of -4 bytes is not possible"),
        (lambda: driver.d2d(m.ptr, m.ptr + 4, 400), "d2d of 400 bytes at byte 4 goes past the end"),
        (lambda: driver.d2d(m.ptr + 4, m.ptr, 400), "d2d of 400 bytes at byte 4 goes past the end"),
        (lambda: driver.h2d(variable, a[: size // 4 + 1]), "h2d of 20 bytes at byte 0 goes past the end of a variable"),
        (lambda: driver.record(lambda: driver.memset(m.ptr, 0, 404)), "memset of 404 bytes"),
    ):
        with pytest.raises(LaunchError, match=f"cuda-sim: {message}"):
            copy()
    for wrong, message in (
        (lambda: driver.h2d(m.ptr, np.zeros((4, 4))[:, ::2]), "h2d: the host array is not contiguous"),
        (lambda: driver.d2h(np.broadcast_to(a[:1], 4), m.ptr), "d2h: the host array is not contiguous"),
        (lambda: driver.alloc(-1), "alloc of -1 bytes"),
    ):
        with pytest.raises(ValueError, match=message):
            wrong()


def test_arguments_arrive_as_the_kernel_declares_them(driver: Driver) -> None:
    module = driver.module(SOURCE, "look.cu", ("-DSCALE=1000",))
    kernel, y, before = module.function("look"), driver.alloc(4 * 64), driver.launches
    pair = np.array((7, 20, True), PAIR)[()]
    kernel(pair, np.int32(-3), np.float64(0.5), np.bool_(True), None, y, grid=(2,), block=(32,), shared=128)
    np.testing.assert_array_equal(take(driver, y.ptr, 64, "f4"), np.arange(64) + 1026.5)
    assert driver.launches == before + 1
    assert driver.module(SOURCE, "look.cu", ["-DSCALE=1000"]) is module


def test_recorded_work_runs_as_one_launch_whenever_it_is_asked_to(driver: Driver) -> None:
    source = 'extern "C" __global__ void raise(float *x) { x[threadIdx.x] += 1.0f; }'
    kernel = driver.module(source, "raise.cu").function("raise")
    ones = np.ones((2, 2), np.float32)
    one, x, y = (put(driver, a) for a in (ones, 0 * ones, 0 * ones))
    square = [Matrix(buffer.ptr, 2, 2, 2, np.dtype(np.float32)) for buffer in (one, x, y)]

    def work() -> None:
        kernel(x, grid=(1,), block=(4,))
        driver.gemm(*square)

    work()
    before = driver.launches
    recording = driver.record(work)
    np.testing.assert_array_equal(take(driver, x.ptr, (2, 2), "f4"), 1)
    for k in (2, 3):
        recording()
        np.testing.assert_array_equal(take(driver, x.ptr, (2, 2), "f4"), k)
        np.testing.assert_array_equal(take(driver, y.ptr, (2, 2), "f4"), 2 * k)
    assert driver.launches == before + 2
    recording.close()
    driver.synchronize()


def test_resident_blocks_are_at_least_one_and_fewer_for_larger_blocks(driver: Driver) -> None:
    kernel = driver.module(SOURCE, "look.cu", ("-DSCALE=1000",)).function("look")
    small, large = (kernel.max_resident_blocks((n,), 4 * n) for n in (32, 1024))
    assert small >= large >= 1


def test_a_mistake_in_the_source_names_file_and_line(driver: Driver) -> None:
    with pytest.raises(CompileError, match=r"mistake\.cu[:(]2"):
        driver.module('extern "C" __global__ void k(int *a) {\n    a[0] = nothing;\n}\n', "mistake.cu")


def test_a_block_that_is_too_large_is_refused_and_the_driver_goes_on(driver: Driver) -> None:
    kernel, y = driver.module(SOURCE, "look.cu", ("-DSCALE=1000",)).function("look"), driver.alloc(4 * 64)
    pair = np.zeros((), PAIR)[()]
    with pytest.raises(LaunchError):
        kernel(pair, np.int32(0), np.float64(0), np.bool_(0), None, y, grid=(1,), block=(5000,), shared=20000)
        driver.synchronize()
    test_memory_is_copied_both_ways_and_inside(driver, np.random.default_rng(0))


def test_more_memory_than_there_is_is_refused_and_the_driver_goes_on(driver: Driver) -> None:
    with pytest.raises(OutOfDeviceMemory) as caught:
        driver.alloc(driver.limits.memory_bytes + 1)
    assert caught.value.asked == driver.limits.memory_bytes + 1
    assert driver.alloc(64).nbytes == 64


def test_memory_goes_back_also_in_other_threads(driver: Driver) -> None:
    kept = [driver.alloc(1 << 20) for _ in range(4)]
    failed: list[BaseException] = []

    def work() -> None:
        try:
            kept.clear()
            gc.collect()
            x = put(driver, np.ones(5))
            np.testing.assert_array_equal(take(driver, x.ptr, 5, "f8"), 1)
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert failed == []


# float64: sums of 5 products; float16: rounded once to its 11 bits, then summed in float32
TOLERANCES = {"f8": 1e-14, "f4": 1e-5, "f2": 1e-2}


def laid_out(rng: np.random.Generator, batch: int, rows: int, cols: int, dtype: Any, transposed: bool, gap: int) -> Any:
    """Host memory full of NaN, a view (batch, rows, cols) of it, and the arguments of `Matrix` but for the address."""
    lines, length = (cols, rows) if transposed else (rows, cols)
    ld = length + gap
    stride = lines * ld + 2 * gap
    memory = np.full(batch * stride, np.nan, dtype)
    strides = [n * memory.itemsize for n in (stride, ld, 1)]
    view = np.lib.stride_tricks.as_strided(memory, (batch, lines, length), strides)
    view[...] = rng.standard_normal(view.shape)
    view = view.swapaxes(1, 2) if transposed else view
    return memory, view, dict(rows=rows, cols=cols, ld=ld, dtype=np.dtype(dtype), transposed=transposed, stride=stride)


@pytest.mark.parametrize("dtypes", [("f4", "f4"), ("f8", "f8"), ("f2", "f2"), ("f2", "f4")])
@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("sizes", [(3, 4, 5), (1, 4, 5), (3, 1, 1)], ids=str)
def test_products_are_those_of_numpy_and_touch_nothing_else(
    driver: Driver, rng: np.random.Generator, dtypes: tuple[str, str], batch: int, sizes: tuple[int, int, int]
) -> None:
    n, k, m = sizes
    for transposed in product((False, True), repeat=3):
        for gap, beta in ((0, 0.0), (3, 1.0), (3, 0.5)):
            shapes = ((n, k, dtypes[0]), (k, m, dtypes[0]), (n, m, dtypes[1]))
            parts = [laid_out(rng, batch, r, c, t, x, gap) for (r, c, t), x in zip(shapes, transposed, strict=True)]
            if beta == 0:
                parts[2][1][...] = np.nan  # must not be read
            va, vb, vc = (p[1].astype("f8") for p in parts)
            buffers = [put(driver, memory) for memory, _, _ in parts]
            a, b, c = (Matrix(ptr=x.ptr, **p[2]) for x, p in zip(buffers, parts, strict=True))
            driver.gemm(a, b, c, beta, batch)
            memory, view, _ = parts[2]
            untouched = np.isnan(memory)
            driver.d2h(memory, buffers[2].ptr)
            tolerance = TOLERANCES[dtypes[1]]
            np.testing.assert_allclose(view, va @ vb + (beta * vc if beta else 0), rtol=tolerance, atol=tolerance)
            if gap:
                np.testing.assert_array_equal(np.isnan(memory), untouched)


@pytest.mark.cuda
def test_torch_reads_our_memory_without_a_copy() -> None:
    if (reason := mr.devices.available()["cuda"]) is not None:
        pytest.skip(f"cuda: {reason}")
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("no GPU for torch")
    x = mr.tensor(np.arange(12, dtype="f4").reshape(3, 4), device="cuda")
    seen = torch.as_tensor(x.array, device="cuda")
    mr.devices.get("cuda").synchronize()
    np.testing.assert_array_equal(seen.cpu().numpy(), np.asarray(x))
