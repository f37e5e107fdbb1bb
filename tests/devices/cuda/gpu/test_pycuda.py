"""The driver with the real PyCUDA: on a GPU, or on the stand-in GPU (`scripts/with_stand_in_gpu.sh`).

Tests `minirnn/devices/cuda/gpu/` and `minirnn/devices/cuda/interface.py`.
"""

import os
import re
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import minirnn as mr

pytestmark = pytest.mark.cuda
N = 1000


@pytest.fixture
def gpu() -> Any:
    missing = mr.devices.available()["cuda"]
    if missing is not None:
        pytest.skip(f"cuda: {missing}")
    return mr.devices.get("cuda")


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **environment}, timeout=300
    )


@pytest.mark.parametrize("version", [2, 3])
def test_work_of_another_library_on_its_own_stream_is_waited_for(gpu: Any, version: int) -> None:
    import pycuda.driver as drv

    current = gpu.driver._current
    for k in range(12):  # without the wait, half of them would be read too early
        host = np.full(N, k, np.float32)
        with current:
            theirs, block = drv.Stream(1), drv.mem_alloc(4 * N)  # 1: it does not wait for other streams
            drv.memset_d8(int(block), 255, 4 * N)
            drv.Context.synchronize()
            drv.memcpy_htod_async(block, host, theirs)
            described = {"shape": (N,), "typestr": "<f4", "data": (int(block), False), "version": version}
            if version == 3:
                described["stream"] = int(theirs.handle)
        taken = gpu.asarray(SimpleNamespace(__cuda_array_interface__=described))
        np.testing.assert_array_equal(gpu.to_numpy(taken), host)
        with current:
            theirs.synchronize()
            block.free()
            del theirs, block


def test_a_maker_that_has_finished_says_so(gpu: Any) -> None:
    a = gpu.asarray(np.arange(5, dtype=np.float32))
    gpu.driver.synchronize()
    described = {**a.__cuda_array_interface__, "stream": None}
    np.testing.assert_array_equal(
        gpu.to_numpy(gpu.asarray(SimpleNamespace(__cuda_array_interface__=described))), np.arange(5)
    )


def test_time_is_measured_in_any_thread_and_leaves_nothing_behind(gpu: Any) -> None:
    found: list[float] = []
    a = gpu.asarray(np.ones(N, np.float32))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        thread = threading.Thread(target=lambda: found.append(gpu.driver.seconds(lambda: gpu.add(a, a))))
        thread.start()
        thread.join()
    assert len(found) == 1 and 0 <= found[0] < 100


USE = """
import numpy as np, minirnn as mr
a = mr.tensor(np.ones(3, np.float32), device="cuda")
print(float((a + a).sum().item()))
"""


def test_a_folder_for_compiled_kernels_that_is_not_there_is_made(gpu: Any, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "cache"
    done = run(USE, MINIRNN_CACHE=str(folder))
    assert (done.returncode, done.stdout) == (0, "6.0\n")
    assert re.fullmatch(r"minirnn: compiling CUDA kernels for sm_\d+ with nvcc [\d.]+, once each\n", done.stderr)
    kept = {path.name for path in folder.rglob("*") if path.is_file()}
    assert kept
    again = run(USE, MINIRNN_CACHE=str(folder))
    assert (again.stdout, again.stderr) == ("6.0\n", "") and {
        path.name for path in folder.rglob("*") if path.is_file()
    } == kept


FAULT = """
import numpy as np, minirnn as mr
from minirnn.devices.cuda.driver import LaunchError
device = mr.devices.get("cuda")
kept = [device.asarray(np.ones(n, np.float32)) for n in (3, 500, 70000)]
bad = device.driver.module('extern "C" __global__ void bad(float* p) { p[threadIdx.x] = 1; }', "bad.cu").function("bad")
for call in (lambda: bad(None, grid=(1,), block=(32,)), device.driver.synchronize, lambda: device.to_numpy(kept[0]),
             lambda: device.add(kept[1], kept[1]), lambda: device.driver.seconds(lambda: None)):
    try:
        call()
        print("no error")
    except LaunchError as error:
        print(str(error).splitlines()[0])
"""


def test_after_a_fault_every_call_says_so_and_the_process_ends_quietly(gpu: Any) -> None:
    done = run(FAULT, MINIRNN_QUIET="1")
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and len(lines) == 5, done.stderr
    assert all("illegal memory access" in line for line in lines[1:]), lines
    assert done.stderr == ""
