"""The time that Python itself takes to launch a layer of CudnnRNN, step by step and from a recording.

CUDA's functions are replaced by stand-ins that do nothing, so this needs no GPU. The result is the least time that the
host can take, for comparison with the GPU's time. Run it from the repository: ``python scripts/evidence/host_time.py``.
"""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

from minirnn.devices.cuda.device import Cuda
from minirnn.devices.cuda.gpu import libcublas, libcuda
from minirnn.devices.cuda.gpu.driver import PyCudaDriver
from minirnn.machine import toolchain
from minirnn.machine.toolchain import Tool
from tests.devices.cuda.gpu import fake_cublas, fake_pycuda


class EveryKernel(dict[str, Any]):
    def __contains__(self, name: object) -> bool:
        return True


def idle_gpu() -> Cuda:
    """A device on stand-ins that compute nothing."""
    machine, cublas = fake_pycuda.Machine(1 << 30), fake_cublas.Cublas()
    machine.kernels = EveryKernel()
    sys.modules |= fake_pycuda.make(machine)
    toolchain.for_a_gpu = lambda: iter([Tool("PyCUDA", "none")])
    library = fake_pycuda.Libcuda(machine)
    libcuda.library = lambda: library  # type: ignore[assignment]
    library.cuGraphLaunch = lambda executable, stream: 0  # type: ignore[method-assign]
    cublas.cublasGemmEx = lambda *given: 0  # type: ignore[method-assign]
    libcublas.library = lambda: cublas  # type: ignore[assignment]
    fake_pycuda.Function._launch_kernel = lambda self, *given: None  # type: ignore[method-assign]
    return Cuda(PyCudaDriver())


def main() -> None:
    device = idle_gpu()
    device.cudnn_rnn_rung = "steps"  # there is nothing to time on it
    T, B, I, H = 256, 1, 256, 256

    def array(*shape: int) -> Any:
        return device.empty(shape, np.dtype(np.float32))

    x, h0, c0 = array(T, B, I), array(1, B, H), array(1, B, H)
    weights = [(array(4 * H, I), array(4 * H, H), None, array(4 * H), array(4 * H))]
    for recorded in (False, True):
        device.recordings.enabled = recorded
        seconds = []
        for _ in range(25):
            start = time.perf_counter()
            device.rnn_sequence(x, h0, c0, weights, rnn_mode="lstm", lengths=None, training=False)
            seconds.append(time.perf_counter() - start)
        took = statistics.median(seconds)
        said = "from a recording" if recorded else "launch by launch"
        print(f"lstm forward, T {T}, {said}: {took * 1e3:.2f} ms, {took / T * 1e6:.2f} us a step")


if __name__ == "__main__":
    main()
