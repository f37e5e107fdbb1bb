"""Recording which kernels an op launches."""

from __future__ import annotations

from typing import Any

import numpy as np

import minirnn as mr
from minirnn.bench.launches import recorded
from minirnn.devices.cuda.array import CudaArray


def test_recorded_launches_know_their_kernel_and_bytes(device: str) -> None:
    if not device.startswith("cuda"):
        return
    cuda: Any = mr.devices.get(device)
    a = cuda.asarray(np.ones((3, 5), "f4"))
    with recorded(cuda) as launches:
        b = cuda.tanh(a)
    assert isinstance(b, CudaArray)
    assert len(launches) == 1
    assert launches[0].nbytes == 2 * a.nbytes
    before = cuda.driver.launches
    launches[0].again()
    assert cuda.driver.launches == before + 1
    assert "kernel_of" not in vars(cuda)
