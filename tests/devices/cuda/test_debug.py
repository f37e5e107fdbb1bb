"""MINIRNN_DEBUG: a fault shows at its launch, and the same launch is run again in the simulator.

The GPU is a fast simulator, which overlooks what check mode reports.
"""

import gc
import os
import subprocess
import sys
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest

import minirnn as mr
from minirnn.devices import DeviceUnavailable
from minirnn.devices.cuda.debug import DebugDriver
from minirnn.devices.cuda.driver import Driver, LaunchError, Limits, Matrix
from minirnn.devices.cuda.sim.driver import SimDriver
from tests.devices.cuda.sim.run import put, take

pytestmark = pytest.mark.skipif(
    mr.devices.available()["cuda-sim"] is not None, reason=f"cuda-sim: {mr.devices.available()['cuda-sim']}"
)
FAULT = "an illegal memory access was encountered"
# Both kernels destroy what they read. They read shared memory that nobody wrote, which only check mode reports, if they
# have read what was there before the launch.
SOURCE = """extern "C" __global__ void one(int n, REAL *x) {
    extern __shared__ REAL s[];
    const REAL before = x[threadIdx.x];
    x[threadIdx.x] = before + 1;
    if (before == 3) x[threadIdx.x] = s[n];
}
struct Struct { long long count; float *x[2], *nowhere; };
extern "C" __global__ void two(Struct given, long long count) {
    __shared__ float s[4];
    const float a = *given.x[0], b = *given.x[1];
    *given.x[0] = *given.x[1] = -1;
    if (a == 6 && b == 2 && given.count == count && given.nowhere == (float *)17) *given.x[0] = s[2];
}
"""
OPTIONS = ["-DREAL=float"]


class Faulty:
    """A GPU that reports every launch as a fault, when it is waited for."""

    def __init__(self) -> None:
        self.driver = SimDriver()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.driver, name)

    def synchronize(self) -> None:
        raise LaunchError(FAULT)


def kernel_of(debug: DebugDriver, name: str) -> Any:
    return debug.module(SOURCE, "a.cu", OPTIONS).function(name)


def test_what_works_gives_the_same_results_and_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu, waits = SimDriver(), list[int]()
    monkeypatch.setattr(gpu, "synchronize", lambda: waits.append(gpu.launches))
    debug: Any = DebugDriver(gpu, simulator=lambda limits: pytest.fail("nothing is wrong"))
    x = put(debug, np.array([1, 2, 0], "f4"))
    kernel = kernel_of(debug, "one")
    kernel(np.int32(3), x, grid=(1,), block=(3,), shared=4)
    assert waits == [1] == [debug.launches]
    np.testing.assert_array_equal(take(debug, x, 3, "f4"), [2, 3, 1])
    assert kernel.max_resident_blocks((3,)) > 0 and (debug.name, debug.limits) == (gpu.name, gpu.limits)
    assert debug.compiler is gpu.compiler  # which only this driver has


def test_a_fault_runs_again_in_the_simulator_with_the_same_launch_and_memory() -> None:
    debug: Any = DebugDriver(Faulty())  # type: ignore[arg-type]
    around = [put(debug, np.zeros(4, "f4")) for _ in range(2)]
    x = put(debug, np.arange(4, dtype="f4"))
    with pytest.raises(LaunchError) as caught:
        kernel_of(debug, "one")(np.int32(2), SimpleNamespace(ptr=x.ptr + 8), grid=(1,), block=(2, 1), shared=64)
    said = str(caught.value)
    assert said.startswith(f"one of a.cu, grid (1,), block (2, 1), shared 64: {FAULT}")
    assert "never written, byte 8 of" in said and "thread (1,0,0)" in said and "a.cu:5" in said, said
    np.testing.assert_array_equal(take(debug, x, 3, "f4"), [0, 1, 3])
    assert len(around) == 2


def test_addresses_in_a_struct_are_also_followed() -> None:
    """Numbers and pointers to nothing stay as they are."""
    debug: Any = DebugDriver(Faulty())  # type: ignore[arg-type]
    a, b = put(debug, np.float32([1, 2])), put(debug, np.float32([3, 4, 5, 6]))
    struct: np.void = np.zeros(1, [("count", "i8"), ("x", "u8", 2), ("nowhere", "u8")])[0]
    struct["count"], struct["x"], struct["nowhere"] = a.ptr, [b.ptr + 12, a.ptr + 4], 17
    with pytest.raises(LaunchError, match=r"(?s)illegal memory access.*never written, byte 8 of .*`s`.*a\.cu:12"):
        kernel_of(debug, "two")(struct, np.int64(a.ptr), grid=(1,), block=(1,))
    assert list(struct["x"]) == [b.ptr + 12, a.ptr + 4]


def test_a_pointer_into_no_memory_stays_stray() -> None:
    debug = DebugDriver(Faulty())  # type: ignore[arg-type]
    with pytest.raises(LaunchError, match=r"(?s) at 0x3039.*the same launch in the simulator: .* at 0x3039"):
        kernel_of(debug, "one")(np.int32(1), SimpleNamespace(ptr=0x3039), grid=(1,), block=(1,), shared=4)


class Buffer:
    def __init__(self, nbytes: int) -> None:
        self.ptr, self.nbytes = 4096, nbytes


def test_memory_is_known_as_long_as_an_array_has_it() -> None:
    """The collector may end the memory below an array before the array itself. Then another one has it."""
    debug = DebugDriver(MagicMock(alloc=Buffer))
    first: Any = debug.alloc(16)
    second: Any = debug.alloc(16)
    assert second.ptr == first.ptr and debug.around(4097) == (4096, 16) and debug.around(4095) is None
    del first
    gc.collect()
    assert debug.around(4096 + 16) == (4096, 16) and debug.around(4096 + 17) is None
    del second
    gc.collect()
    assert debug.around(4097) is None


def test_a_simulator_that_finds_nothing_or_cannot_run_is_quoted_and_the_gpus_error_kept() -> None:
    def no_compiler(limits: Limits) -> Driver:
        raise DeviceUnavailable("no C++ compiler: sudo apt-get install g++")

    for more, said in (
        ((), "runs without a fault in the simulator"),
        ((no_compiler,), r"cannot run this launch.*apt-get install g\+\+"),
    ):
        debug: Any = DebugDriver(Faulty(), *more)  # type: ignore[arg-type]
        x = put(debug, np.zeros(4, "f4"))
        with pytest.raises(LaunchError, match=f"(?s)illegal memory access.*{said}"):
            kernel_of(debug, "one")(np.int32(4), x, grid=(1,), block=(1,), shared=4)


def test_a_faulty_product_is_named() -> None:
    debug: Any = DebugDriver(Faulty())  # type: ignore[arg-type]
    sizes = (2, 3), (3, 4), (2, 4)
    buffers = [put(debug, np.ones(size, "f4")) for size in sizes]
    a, b, c = (Matrix(x.ptr, *size, size[1], np.dtype("f4")) for x, size in zip(buffers, sizes, strict=True))
    with pytest.raises(LaunchError, match=r"product of \(2, 3\) and \(3, 4\), float32, 5 times: an illegal"):
        debug.gemm(a, b, c, batch=5)


def test_the_switch_wraps_the_devices_driver() -> None:
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
