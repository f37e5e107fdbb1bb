"""The driver's messages for toolkits, drivers and cards: the real PyCUDA on a stand-in GPU that imitates each of them.

Tests `minirnn/machine/cuda_versions.py` in `minirnn/devices/cuda/gpu/driver.py`. If the check accepts a combination, a
kernel is compiled and run. If not, the stand-in rejects the next step, as nvcc or the driver would.
"""

import sys
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn.devices.base import DeviceUnavailable
from minirnn.devices.cuda.gpu.driver import PyCudaDriver
from minirnn.machine import cuda_versions
from tests.devices.cuda.gpu.combinations import COMBINATIONS, Combination

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(mr.devices.available()["cuda"] is not None, reason=mr.devices.available()["cuda"] or ""),
]
TWICE = 'extern "C" __global__ void twice(float *x) { x[threadIdx.x] *= 2; }'


@pytest.fixture
def act_out(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Turns the stand-in into another machine for the duration of the test."""
    contexts = sys.modules.get("tests.stand_in_gpu.contexts")
    if contexts is None:
        pytest.skip("a real GPU cannot be another one")

    def machine(given: Combination) -> None:
        import pycuda.driver as drv

        major, minor = given.gpu.capability
        monkeypatch.setenv("STAND_IN_GPU_RELEASE", "{}.{}".format(*given.nvcc))
        monkeypatch.setattr(contexts, "NAME", given.gpu.name.encode() + b"\0")
        monkeypatch.setattr(contexts, "DRIVER", given.driver[0] * 1000 + given.driver[1] * 10)
        monkeypatch.setattr(contexts, "ATTRIBUTES", contexts.ATTRIBUTES | {75: major, 76: minor})
        monkeypatch.setattr(drv, "get_version", lambda: (*given.pycuda, 0))
        monkeypatch.setattr(
            cuda_versions.shutil,
            "which",
            lambda name, found=cuda_versions.shutil.which: "/apt" if name == "apt-get" else found(name),
        )

    return machine


def doubled(driver: PyCudaDriver) -> list[float]:
    x = np.arange(4, dtype=np.float32)
    memory = driver.alloc(x.nbytes)
    driver.h2d(memory.ptr, x)
    driver.module(TWICE, "twice.cu").function("twice")(memory, grid=(1,), block=(4,))
    driver.d2h(x, memory.ptr)
    return x.tolist()


@pytest.mark.parametrize("given", COMBINATIONS, ids=str)
def test_a_combination_computes_or_says_what_to_install(given: Combination, act_out: Any) -> None:
    act_out(given)
    if given.says:
        with pytest.raises(DeviceUnavailable) as caught:
            PyCudaDriver()
        assert given.says in str(caught.value) and str(caught.value).endswith(given.install)
        return
    driver = PyCudaDriver()
    assert driver.limits.compute_capability == given.gpu.capability
    assert doubled(driver) == [0, 2, 4, 6]
    driver.close()
