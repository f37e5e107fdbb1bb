"""MINIRNN_DEBUG: a fault shows at its launch, and the same launch is run again in the simulator."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn.devices import DeviceUnavailable
from minirnn.devices.cuda.debug import DebugDriver, checking_simulator
from minirnn.devices.cuda.driver import Driver, LaunchError, Limits, Matrix

FAULT = "an illegal memory access was encountered"
Run = Callable[["HostDriver", "tuple[Any, ...]"], None]


class HostDriver:
    """Memory at made-up addresses; a launch calls `run`; its exceptions are raised at the next wait, as on a GPU."""

    limits = Limits("host", (9, 0), 1, 1024, 49152, 1 << 20, True)
    about: dict[str, Any] = {}

    def __init__(self, run: Run, base: int = 0x1000, name: str = "cuda") -> None:
        self.name, self.run, self.launches = name, run, 0
        self.next = base
        self.buffers: dict[int, np.ndarray] = {}
        self.late: Exception | None = None
        self.waits = 0
        self.launched: list[Any] = []
        self.stream_handle = 7

    def alloc(self, nbytes: int) -> Any:
        buffer = type("Buffer", (), {"ptr": self.next, "nbytes": nbytes})()
        self.buffers[self.next] = np.full(nbytes, 0xFF, np.uint8)
        self.next += nbytes  # without gaps, so that a wrong search for the owner fails
        return buffer

    def at(self, ptr: int, nbytes: int) -> np.ndarray:
        start = max(p for p in self.buffers if p <= ptr)
        found = self.buffers[start][ptr - start : ptr - start + nbytes]
        assert found.nbytes == nbytes
        return found

    def h2d(self, ptr: int, host: np.ndarray) -> None:
        self.at(ptr, host.nbytes)[:] = host.reshape(-1).view(np.uint8)

    def d2h(self, host: np.ndarray, ptr: int) -> None:
        self.synchronize()
        host.reshape(-1).view(np.uint8)[:] = self.at(ptr, host.nbytes)

    def d2d(self, to: int, ptr: int, nbytes: int) -> None:
        self.at(to, nbytes)[:] = self.at(ptr, nbytes)

    def memset(self, ptr: int, byte: int, nbytes: int) -> None:
        self.at(ptr, nbytes)[:] = byte

    def module(self, source: str, name: str, options: Sequence[str] = ()) -> Any:
        driver = self

        class Kernel:
            name = "add_one"

            def __call__(self, *args: Any, grid: Any, block: Any, shared: int = 0, cooperative: bool = False) -> None:
                driver.launches += 1
                driver.launched.append((source, file, tuple(options), grid, block, shared))
                try:
                    driver.run(driver, args)
                except Exception as error:
                    driver.late = error

            def max_resident_blocks(self, block: Any, shared: int = 0) -> int:
                return 7

        file = name

        class Module:
            def function(self, name: str) -> Any:
                assert name == "add_one"
                return Kernel()

        return Module()

    def gemm(self, a: Matrix, b: Matrix, c: Matrix, beta: float = 0.0, batch: int = 1) -> None:
        self.late = LaunchError(FAULT)

    def synchronize(self) -> None:
        self.waits += 1
        if self.late is not None:
            raise self.late


def add_one(driver: HostDriver, args: tuple[Any, ...]) -> None:
    """The kernel: x[k] += 1 for k < n, at (n, x)."""
    n, x = args[:2]
    numbers = driver.at(x.ptr, 4 * int(n)).view(np.float32)
    numbers += 1


def destroys_and_fails(driver: HostDriver, args: tuple[Any, ...]) -> None:
    driver.at(args[1].ptr, 8)[:] = 0xEE
    raise LaunchError(FAULT)


def test_what_works_gives_the_same_results_and_is_waited_for() -> None:
    gpu = HostDriver(add_one)
    debug: Driver = DebugDriver(gpu, simulator=lambda limits: pytest.fail("nothing is wrong"))
    x = debug.alloc(12)
    debug.h2d(x.ptr, np.array([1, 2, 3], "f4"))
    kernel = debug.module("text", "a.cu", ["-DREAL=float"]).function("add_one")
    before = gpu.waits
    kernel(np.int32(3), x, None, grid=(1,), block=(3,))
    assert gpu.waits > before
    host = np.empty(3, "f4")
    debug.d2h(host, x.ptr)
    np.testing.assert_array_equal(host, [2, 3, 4])
    assert debug.launches == 1 and kernel.max_resident_blocks((3,)) == 7
    assert (debug.name, debug.limits) == ("cuda", HostDriver.limits)
    assert debug.stream_handle == 7  # type: ignore[attr-defined]


def test_a_fault_runs_again_in_the_simulator_with_the_same_launch_and_memory() -> None:
    seen: list[Any] = []

    def simulated(simulator: HostDriver, args: tuple[Any, ...]) -> None:
        n, x = args
        seen.append((int(n), simulator.at(x.ptr, 8).view(np.float32).copy()))
        raise LaunchError("add_one: thread (1, 0, 0) reads outside, a.cu:3")

    gpu, sim = HostDriver(destroys_and_fails), HostDriver(simulated, base=0x9000, name="cuda-sim")
    debug = DebugDriver(gpu, lambda limits: sim)
    first, x, last = debug.alloc(16), debug.alloc(16), debug.alloc(16)
    debug.h2d(x.ptr, np.arange(4, dtype="f4"))
    view = type("View", (), {"ptr": x.ptr + 8})()
    kernel = debug.module("text", "a.cu", ["-DREAL=float"]).function("add_one")
    with pytest.raises(LaunchError) as caught:
        kernel(np.int32(5), view, grid=(2,), block=(32, 2), shared=64)
    said = str(caught.value)
    assert FAULT in said and "thread (1, 0, 0) reads outside, a.cu:3" in said
    assert "add_one of a.cu, grid (2,), block (32, 2), shared 64" in said
    assert sim.launched == [("text", "a.cu", ("-DREAL=float",), (2,), (32, 2), 64)]
    ((n, contents),) = seen
    assert n == 5
    np.testing.assert_array_equal(contents, [2, 3])  # as before the launch, which overwrote them
    assert first.nbytes == last.nbytes == 16


def test_addresses_in_a_struct_are_also_followed() -> None:
    seen: list[Any] = []

    def simulated(simulator: HostDriver, args: tuple[Any, ...]) -> None:
        struct = args[0]
        seen.append((struct["count"], *[simulator.at(int(p), 4).view(np.float32)[0] for p in struct["x"][:2]]))
        seen.append((struct["x"][2], int(struct["y"])))
        raise LaunchError("found")

    def destroys_both(driver: HostDriver, args: tuple[Any, ...]) -> None:
        for p in args[0]["x"][:2]:
            driver.at(int(p), 4)[:] = 0xEE
        raise LaunchError(FAULT)

    debug = DebugDriver(HostDriver(destroys_both), lambda limits: HostDriver(simulated, base=0x9000))
    a, b = debug.alloc(8), debug.alloc(16)
    debug.h2d(a.ptr, np.float32([1, 2]))
    debug.h2d(b.ptr, np.float32([3, 4, 5, 6]))
    struct: np.void = np.zeros(1, [("count", "i8"), ("x", "u8", 3), ("y", "u8")])[0]
    struct["count"], struct["x"][:2], struct["y"] = a.ptr, [b.ptr + 12, a.ptr + 4], 17
    with pytest.raises(LaunchError, match=r"(?s)illegal memory access.*found"):
        debug.module("", "a.cu").function("add_one")(struct, grid=(1,), block=(1,))
    assert seen == [(a.ptr, 6, 2), (0, 17)]  # numbers and pointers to nothing stay unchanged
    assert list(struct["x"][:2]) == [b.ptr + 12, a.ptr + 4]


def test_a_pointer_into_no_memory_stays_stray() -> None:
    pointers: list[int] = []

    def simulated(simulator: HostDriver, args: tuple[Any, ...]) -> None:
        pointers.append(args[1].ptr)
        raise LaunchError("no memory there")

    gpu, sim = HostDriver(destroys_and_fails), HostDriver(simulated, base=0x9000)
    debug = DebugDriver(gpu, lambda limits: sim)
    x = debug.alloc(16)
    stray = type("View", (), {"ptr": x.ptr + 17})()
    kernel = debug.module("", "a.cu").function("add_one")
    with pytest.raises(LaunchError, match="no memory there"):
        gpu.run = lambda driver, args: destroys_and_fails(driver, (None, x))
        kernel(np.int32(1), stray, grid=(1,), block=(1,))
    assert pointers == [x.ptr + 17]


def test_freed_memory_is_not_copied() -> None:
    gpu = HostDriver(add_one)
    debug = DebugDriver(gpu)
    x = debug.alloc(16)
    ptr = x.ptr
    assert debug.around(ptr + 3) == (ptr, 16)
    del x
    gc.collect()
    assert debug.around(ptr + 3) is None


def test_memory_that_is_another_arrays_before_the_first_one_has_ended_stays_known() -> None:
    gpu = HostDriver(add_one)
    debug = DebugDriver(gpu)
    first = debug.alloc(16)
    gpu.next = first.ptr  # the collector may end the memory below a buffer before the buffer itself
    second = debug.alloc(16)
    assert second.ptr == first.ptr
    del first
    gc.collect()
    assert debug.around(second.ptr + 3) == (second.ptr, 16)


def test_a_simulator_that_finds_nothing_is_quoted_as_such() -> None:
    debug = DebugDriver(HostDriver(destroys_and_fails), lambda limits: HostDriver(add_one, base=0x9000))
    x = debug.alloc(16)
    kernel = debug.module("", "a.cu").function("add_one")
    with pytest.raises(LaunchError, match=r"(?s)illegal memory access.*runs without a fault in the simulator"):
        kernel(np.int32(4), x, grid=(1,), block=(1,))


def test_a_simulator_that_cannot_run_is_quoted_and_the_gpus_error_kept() -> None:
    def no_compiler(limits: Limits) -> Driver:
        raise DeviceUnavailable("no C++ compiler: sudo apt-get install g++")

    debug = DebugDriver(HostDriver(destroys_and_fails), no_compiler)
    x = debug.alloc(16)
    kernel = debug.module("", "a.cu").function("add_one")
    with pytest.raises(LaunchError, match=r"(?s)illegal memory access.*cannot run this launch.*apt-get install g\+\+"):
        kernel(np.int32(4), x, grid=(1,), block=(1,))


def test_a_faulty_product_is_named() -> None:
    debug = DebugDriver(HostDriver(add_one))
    f4 = np.dtype("f4")
    with pytest.raises(LaunchError, match=r"product of \(2, 3\) and \(3, 4\), float32, 5 times: an illegal"):
        debug.gemm(Matrix(0, 2, 3, 3, f4), Matrix(0, 3, 4, 4, f4), Matrix(0, 2, 4, 4, f4), batch=5)


# With the simulator itself

OUTSIDE = """extern "C" __global__ void add_one(int n, float *x) {
    const int k = blockIdx.x * blockDim.x + threadIdx.x;
    x[k] += 1;
}
"""


class Faulty:
    """A fake GPU on the fast simulator, which reports every launch as an asynchronous fault."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def __getattr__(self, name: str) -> Any:
        return getattr(self.driver, name)

    def synchronize(self) -> None:
        self.driver.synchronize()
        raise LaunchError(FAULT)


@pytest.fixture
def simulator() -> Any:
    if mr.devices.available()["cuda-sim"] is not None:
        pytest.skip(str(mr.devices.available()["cuda-sim"]))
    return checking_simulator(HostDriver.limits)


def test_the_simulator_names_thread_and_line_of_a_fault(simulator: Any) -> None:
    debug = DebugDriver(Faulty(simulator), lambda limits: simulator)  # type: ignore[arg-type]
    before, x = debug.alloc(4096), debug.alloc(40)
    debug.h2d(x.ptr, np.zeros(10, "f4"))
    kernel = debug.module(OUTSIDE, "outside.cu").function("add_one")
    with pytest.raises(LaunchError) as caught:
        kernel(np.int32(10), x, grid=(1, 1, 1), block=(11, 1, 1))
    said = str(caught.value)
    assert "add_one of outside.cu, grid (1, 1, 1), block (11, 1, 1)" in said
    assert "outside.cu:3" in said and "(10,0,0)" in said.replace(" ", ""), said
    assert before.nbytes == 4096


def test_the_switch_wraps_the_devices_driver(simulator: Any) -> None:
    code = """
import minirnn as mr, numpy as np
device = mr.devices.get("cuda-sim")
assert type(device.driver).__name__ == "DebugDriver"
x = mr.tensor(np.float32([1, 2, 3]), True, device)
(x @ x).backward()
assert x.grad.numpy().tolist() == [2, 4, 6]
"""
    environment = os.environ | {"MINIRNN_DEBUG": "1"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
