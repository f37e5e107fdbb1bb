"""The stand-in GPU is as strict as a driver and as asynchronous as a GPU, so it finds planted defects.

Tests `tests/stand_in_gpu`, and `scripts/with_stand_in_gpu.sh`. The functions of the API are called as the generated
libraries call them, with addresses and handles; PyCUDA is not needed.
"""

import ctypes
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minirnn.devices.base import DeviceUnavailable
from minirnn.devices.cuda.sim.options import SimOptions
from tests.stand_in_gpu import answers, machine, nvcc, streams
from tests.stand_in_gpu.queues import Queues

ROOT = Path(__file__).parents[4]
SOURCE = """
extern "C" __global__ void twice(float* y, const float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2 * x[i];
}
extern "C" __global__ void far_away(float* y) { y[64] = 1; }
"""
N = 6


class Api:
    """The functions of the driver as a C program sees them: each returns a status."""

    def __getattr__(self, name: str) -> Callable[..., int]:
        def call(*arguments: Any) -> int:
            given = [int(a) if isinstance(a, (int, np.integer)) else ctypes.addressof(a) for a in arguments]
            return answers.answer(name.encode(), (ctypes.c_uint64 * 24)(*given))

        return call

    def made(self, name: str, *arguments: Any) -> int:
        """The value that a function returns through its first argument."""
        result = ctypes.c_uint64()
        assert getattr(self, name)(result, *arguments) == 0
        return result.value


def gpu(seed: int) -> machine.Machine:
    try:
        made = machine.Machine(SimOptions(shared_limit=machine.MOST_SHARED, memory_mb=64), seed)
    except DeviceUnavailable as error:
        pytest.skip(f"cuda-sim: {error}")
    made.queues.failed = answers.lost
    return made


@pytest.fixture(params=range(3))
def api(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Api]:
    """A separate GPU, with its context current."""
    monkeypatch.setattr(machine, "machine", gpu(request.param), raising=False)
    monkeypatch.setattr(machine, "problems", [])
    api = Api()
    assert api.cuCtxPushCurrent_v2(api.made("cuDevicePrimaryCtxRetain", 0)) == 0
    yield api


def stream(api: Api, flags: int = streams.NON_BLOCKING) -> int:
    return api.made("cuStreamCreate", flags)


def kernel(api: Api, name: str = "twice", source: str = SOURCE) -> int:
    image = nvcc.packed({"source": source, "defines": [], "arch": "sm_90", "release": [13, 0]})
    module = api.made("cuModuleLoadData", ctypes.create_string_buffer(image, len(image)))
    return api.made("cuModuleGetFunction", module, ctypes.create_string_buffer(name.encode()))


def launch(api: Api, function: int, stream: int, parameters: bytes, grid: int = 1, shared: int = 0) -> int:
    memory = ctypes.create_string_buffer(parameters, len(parameters))
    size = ctypes.c_uint64(len(parameters))
    extra = (ctypes.c_uint64 * 5)(1, ctypes.addressof(memory), 2, ctypes.addressof(size), 0)
    return api.cuLaunchKernel(function, grid, 1, 1, 32, 1, 1, shared, stream, 0, extra)


class Attribute(ctypes.Structure):
    _fields_ = (("id", ctypes.c_int), ("pad", ctypes.c_int), ("value", ctypes.c_int), ("rest", ctypes.c_char * 60))


def launch_together(api: Api, function: int, stream: int, parameters: bytes, grid: int) -> int:
    """A cooperative launch, as a C program writes it."""
    attribute = Attribute(id=2, value=1)
    config = (ctypes.c_uint32 * 14)(grid, 1, 1, 32, 1, 1, 0)
    (ctypes.c_uint64 * 3).from_buffer(config, 32)[:] = [stream, ctypes.addressof(attribute), 1]
    memory = ctypes.create_string_buffer(parameters, len(parameters))
    size = ctypes.c_uint64(len(parameters))
    extra = (ctypes.c_uint64 * 5)(1, ctypes.addressof(memory), 2, ctypes.addressof(size), 0)
    return api.cuLaunchKernelEx(config, function, 0, extra)


def twice(api: Api, function: int, stream: int, y: int, x: int) -> int:
    return launch(api, function, stream, y.to_bytes(8, "little") + x.to_bytes(8, "little") + N.to_bytes(4, "little"))


def at(array: np.ndarray) -> int:
    return array.ctypes.data


def filled(api: Api, values: np.ndarray) -> int:
    pointer = api.made("cuMemAlloc_v2", values.nbytes)
    assert api.cuMemcpyHtoD_v2(pointer, at(values), values.nbytes) == 0
    return pointer


def values_at(api: Api, pointer: int) -> np.ndarray:
    host = np.zeros(N, np.float32)
    assert api.cuMemcpyDtoH_v2(at(host), pointer, host.nbytes) == 0
    return host


# ---- work that a GPU does late


def test_work_is_done_when_the_program_waits_for_it(api: Api) -> None:
    x, function, mine = filled(api, np.arange(N, dtype=np.float32)), kernel(api), stream(api)
    y = filled(api, np.zeros(N, np.float32))
    host = np.full(N, -1, np.float32)
    assert twice(api, function, mine, y, x) == 0
    assert api.cuMemcpyDtoHAsync_v2(at(host), y, host.nbytes, mine) == 0
    np.testing.assert_array_equal(host, np.full(N, -1))  # a read before synchronize sees the old values
    assert api.cuStreamSynchronize(mine) == 0
    np.testing.assert_array_equal(host, 2 * np.arange(N))
    assert machine.problems == []


def results(monkeypatch: pytest.MonkeyPatch, waits: bool) -> set[tuple[float, ...]]:
    """The result of `two_streams` under twenty orders of its streams."""
    found = set()
    for seed in range(20):
        monkeypatch.setattr(machine, "machine", gpu(seed), raising=False)
        api = Api()
        api.cuCtxPushCurrent_v2(api.made("cuDevicePrimaryCtxRetain", 0))
        found.add(tuple(two_streams(api, waits)))
    return found


def two_streams(api: Api, waits: bool) -> np.ndarray:
    """One stream doubles x into y, the other y into z: it must wait for the first."""
    first, second, function = stream(api), stream(api), kernel(api)
    x, y, z = (filled(api, np.full(N, k, np.float32)) for k in (1, 0, 0))
    twice(api, function, first, y, x)
    if waits:
        event = api.made("cuEventCreate", 0)
        assert api.cuEventRecord(event, first) == 0
        assert api.cuStreamWaitEvent(second, event, 0) == 0
    twice(api, function, second, z, y)
    assert api.cuCtxSynchronize() == 0
    return values_at(api, z)


def test_a_missing_wait_between_streams_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    assert results(monkeypatch, waits=True) == {(4.0,) * N}
    assert results(monkeypatch, waits=False) == {(4.0,) * N, (0.0,) * N}


def test_a_host_buffer_that_is_reused_too_early_shows(api: Api) -> None:
    mine, host = stream(api), np.arange(N, dtype=np.float32)
    x = api.made("cuMemAlloc_v2", host.nbytes)
    assert api.cuMemcpyHtoDAsync_v2(x, at(host), host.nbytes, mine) == 0
    host[:] = 7
    assert api.cuStreamSynchronize(mine) == 0
    np.testing.assert_array_equal(values_at(api, x), np.full(N, 7))


def test_host_memory_that_is_gone_is_a_fault_and_no_crash(api: Api) -> None:
    mine, x = stream(api), api.made("cuMemAlloc_v2", 4096)
    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_void_p
    pages = libc.mmap(None, ctypes.c_size_t(4096), 3, 0x22, -1, ctypes.c_size_t(0))
    assert api.cuMemcpyHtoDAsync_v2(x, pages, 4096, mine) == 0
    libc.munmap(ctypes.c_void_p(pages), ctypes.c_size_t(4096))
    assert api.cuStreamSynchronize(mine) == machine.ILLEGAL_ADDRESS
    assert "host memory was gone" in machine.problems[0]


def test_memory_of_a_launch_that_is_freed_early_is_noted(api: Api) -> None:
    mine, function = stream(api), kernel(api)
    x, y = (filled(api, np.ones(N, np.float32)) for _ in range(2))
    twice(api, function, mine, y, x)
    assert api.cuMemFree_v2(x) == 0
    assert machine.problems == ["memory was freed while work that needs it was not done"]
    machine.problems.clear()
    assert api.cuMemFree_v2(y) == 0 and machine.problems == []  # now the work is done


def test_an_event_is_not_ready_at_once_and_measures_by_the_clock(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter([10.0, 12.5])
    monkeypatch.setattr(streams, "clock", lambda: next(ticks))
    mine, function = stream(api), kernel(api)
    x, y = (filled(api, np.ones(N, np.float32)) for _ in range(2))
    begin, end = (api.made("cuEventCreate", 0) for _ in range(2))
    ms = ctypes.c_float()
    assert api.cuEventElapsedTime_v2(ms, begin, end) == machine.INVALID_HANDLE  # not recorded yet
    api.cuEventRecord(begin, mine)
    for _ in range(5):
        twice(api, function, mine, y, x)
    api.cuEventRecord(end, mine)
    assert api.cuEventQuery(end) == machine.NOT_READY
    assert api.cuEventElapsedTime_v2(ms, begin, end) == machine.NOT_READY
    assert api.cuEventSynchronize(end) == 0 and api.cuEventQuery(end) == 0
    assert api.cuEventElapsedTime_v2(ms, begin, end) == 0 and ms.value == 2500


# ---- calls that a driver refuses


def test_a_fault_shows_late_and_stays(api: Api) -> None:
    mine, bad, good = stream(api), kernel(api, "far_away"), kernel(api)
    y = filled(api, np.ones(N, np.float32))
    assert launch(api, bad, mine, bytes(8)) == 0  # a null pointer
    assert twice(api, good, mine, y, y) == 0  # without a wait, this is not known yet
    assert api.cuStreamSynchronize(mine) == machine.ILLEGAL_ADDRESS
    assert "far_away" in machine.problems[0]
    for status in (api.cuStreamSynchronize(mine), api.cuMemFree_v2(y), twice(api, good, mine, y, y)):
        assert status == machine.ILLEGAL_ADDRESS


def test_dead_and_wrong_handles_are_refused(api: Api) -> None:
    mine, event = stream(api), api.made("cuEventCreate", 0)
    assert api.cuStreamSynchronize(event) == machine.INVALID_HANDLE
    assert api.cuStreamDestroy_v2(mine) == 0
    assert api.cuStreamSynchronize(mine) == machine.INVALID_HANDLE
    assert api.cuEventDestroy_v2(event) == 0 and api.cuEventDestroy_v2(event) == machine.INVALID_HANDLE
    assert api.cuMemFree_v2(4096) == machine.INVALID_VALUE


def test_copies_must_stay_inside_one_allocation(api: Api) -> None:
    x, host = filled(api, np.ones(N, np.float32)), np.zeros(N + 1, np.float32)
    assert api.cuMemcpyHtoD_v2(x, at(host), host.nbytes) == machine.INVALID_VALUE
    assert api.cuMemcpyDtoH_v2(at(host), x + 4, 4 * N) == machine.INVALID_VALUE
    assert api.cuMemsetD8Async(x, 0, 4 * N + 1, 0) == machine.INVALID_VALUE


def test_parameters_must_have_the_bytes_that_the_kernel_takes(api: Api) -> None:
    mine, function, x = stream(api), kernel(api), filled(api, np.ones(N, np.float32))
    pointers = x.to_bytes(8, "little") * 2
    assert launch(api, function, mine, pointers) == machine.INVALID_VALUE
    assert launch(api, function, mine, pointers + bytes(8)) == machine.INVALID_VALUE
    assert "parameters of 24 bytes, the kernel takes 20" in machine.problems[-1]


def test_limits_of_launches(api: Api) -> None:
    mine, function, x = stream(api), kernel(api), filled(api, np.ones(N, np.float32))
    parameters = x.to_bytes(8, "little") * 2 + N.to_bytes(4, "little")
    assert launch(api, function, mine, parameters, grid=0) == machine.INVALID_VALUE
    assert launch(api, function, mine, parameters, shared=64 << 10) == machine.INVALID_VALUE
    assert api.cuFuncSetAttribute(function, 8, 64 << 10) == 0
    assert launch(api, function, mine, parameters, shared=64 << 10) == 0
    assert api.cuFuncSetAttribute(function, 8, 1 << 20) == machine.INVALID_VALUE


WAITING = {
    "a barrier of the grid": """
#include <cooperative_groups.h>
extern "C" __global__ void all(unsigned *count) {
  if (threadIdx.x == 0) atomicAdd(count, 1);
  cooperative_groups::this_grid().sync();
}""",
    "a barrier by hand": """
extern "C" __global__ void all(unsigned *count) {
  if (threadIdx.x == 0) {
    atomicAdd(count, 1);
    __threadfence();
    while (*(volatile unsigned *)count < gridDim.x) __nanosleep(20);
    __threadfence();
  }
  __syncthreads();
}""",
}


@pytest.mark.parametrize("how", WAITING)
def test_blocks_that_wait_for_each_other_need_a_cooperative_launch(how: str, api: Api) -> None:
    machine.machine.one_by_one.watchdog_ms = 200
    mine, function = stream(api), kernel(api, "all", WAITING[how])
    count = filled(api, np.zeros(N, np.uint32))
    parameters = count.to_bytes(8, "little")
    assert launch_together(api, function, mine, parameters, 5) == 0
    assert api.cuStreamSynchronize(mine) == 0 and machine.problems == []
    assert values_at(api, count).view(np.uint32)[0] == 5
    assert launch_together(api, function, mine, parameters, 10**6) == machine.COOPERATIVE_LAUNCH_TOO_LARGE
    alone = filled(api, np.zeros(N, np.uint32)).to_bytes(8, "little")
    assert launch(api, function, mine, alone, grid=5) == 0
    assert api.cuStreamSynchronize(mine) == machine.ILLEGAL_ADDRESS and len(machine.problems) == 1


def test_a_thread_without_a_current_context_can_do_nothing(api: Api) -> None:
    context = api.made("cuCtxPopCurrent_v2")
    assert api.cuMemAlloc_v2(ctypes.c_uint64(), 16) == machine.INVALID_CONTEXT
    assert api.cuCtxPopCurrent_v2(0) == machine.INVALID_CONTEXT
    assert api.cuCtxPushCurrent_v2(context) == 0
    assert api.cuDevicePrimaryCtxRelease_v2(0) == 0
    assert api.cuCtxPushCurrent_v2(context) == machine.INVALID_CONTEXT  # the primary context is no longer held
    assert api.cuDevicePrimaryCtxRelease_v2(0) == machine.INVALID_CONTEXT


def test_a_forked_child_cannot_use_the_gpu(api: Api) -> None:
    child = os.fork()
    if not child:
        os._exit(api.cuCtxSynchronize() == machine.NOT_INITIALIZED)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1


# ---- captures


def test_waiting_breaks_a_capture(api: Api) -> None:
    mine, graph = stream(api), ctypes.c_uint64()
    api.cuStreamBeginCapture_v2(mine, 2)
    assert api.cuStreamSynchronize(mine) == machine.CAPTURE_UNSUPPORTED
    assert api.cuStreamEndCapture(mine, graph) == machine.CAPTURE_INVALIDATED and graph.value == 0
    assert api.cuStreamEndCapture(mine, graph) == machine.INVALID_VALUE  # it no longer exists
    assert api.cuStreamBeginCapture_v2(0, 2) == machine.CAPTURE_UNSUPPORTED
    assert api.cuStreamSynchronize(mine) == 0


# ---- the order of work


def test_work_keeps_its_order_in_a_stream_whatever_the_seed() -> None:
    orders = set()
    for seed in range(30):
        queues: Queues = Queues(seed)
        done: list[tuple[str, int]] = []
        one, two = queues.new(blocking=False), queues.new(blocking=False)
        for k in range(3):
            queues.push(one, partial(done.append, ("one", k)))
            queues.push(two, partial(done.append, ("two", k)))
        queues.finish_all()
        assert [k for name, k in done if name == "one"] == [k for name, k in done if name == "two"] == [0, 1, 2]
        orders.add(tuple(done))
    assert len(orders) > 5


def test_nvcc_says_what_is_wrong_with_a_kernel(
    tmp_path: Any, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STAND_IN_GPU_CACHE", str(tmp_path / "marks"))
    (tmp_path / "kernel.cu").write_text('extern "C" __global__ void k(float* y) { y[0] = nothing; }')
    assert nvcc.main(["-arch", "sm_90", str(tmp_path / "kernel.cu")]) == 1
    assert "nothing" in capfd.readouterr().err
    (tmp_path / "kernel.cu").write_text(SOURCE)
    assert nvcc.main(["-arch", "sm_90", str(tmp_path / "kernel.cu")]) == 0
    assert (tmp_path / "kernel.cubin").read_bytes().startswith(nvcc.MAGIC)
    marks = list((tmp_path / "marks").iterdir())  # code that does not compile has none
    assert len(marks) == 1
    (tmp_path / "kernel.cubin").unlink()
    monkeypatch.setattr("minirnn.devices.cuda.sim.driver.SimDriver", None)  # nvcc is not called again
    assert nvcc.main(["-arch", "sm_90", str(tmp_path / "kernel.cu")]) == 0
    assert (tmp_path / "kernel.cubin").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="the stand-in GPU is for Linux")
def test_a_python_without_minirnns_packages_is_refused_before_anything_is_built(tmp_path: Path) -> None:
    (tmp_path / "python").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "python").chmod(0o755)
    command = [ROOT / "scripts" / "with_stand_in_gpu.sh", tmp_path / "python", "-m", "minirnn", "doctor"]
    cache = tmp_path / "cache"
    run = subprocess.run(
        command, capture_output=True, text=True, env=os.environ | {"MINIRNN_STAND_IN_CACHE": str(cache)}
    )
    assert run.returncode == 2 and not cache.exists()
    assert f"{tmp_path}/python cannot import minirnn" in run.stderr and ".venv/bin/python" in run.stderr
