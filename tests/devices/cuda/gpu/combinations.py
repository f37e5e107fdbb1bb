"""Toolkits, drivers and cards, with the result of the check for each combination. One table for two tests."""

from typing import NamedTuple

from minirnn.machine.cuda_versions import Gpu, Version

T4 = Gpu("Tesla T4", (7, 5))
V100 = Gpu("Tesla V100-SXM2-16GB", (7, 0))
A100 = Gpu("NVIDIA A100-SXM4-40GB", (8, 0))
ORIN = Gpu("Orin", (8, 7))
RTX_4090 = Gpu("NVIDIA GeForce RTX 4090", (8, 9))
H100 = Gpu("NVIDIA H100 80GB HBM3", (9, 0))
RTX_5090 = Gpu("NVIDIA GeForce RTX 5090", (12, 0))


class Combination(NamedTuple):
    """A card, the newest CUDA of its driver, nvcc's version, and the CUDA that PyCUDA was built with."""

    gpu: Gpu
    driver: Version
    nvcc: Version
    pycuda: Version
    says: str = ""
    """A part of the check's message; empty if everything fits."""
    install: str = ""
    """The end of the message: the package, on systems with apt-get."""

    def __str__(self) -> str:
        name, numbers = self.gpu.name.split()[-1], (self.driver, self.nvcc, self.pycuda)
        return f"{name}, driver {numbers[0]}, nvcc {numbers[1]}, PyCUDA {numbers[2]}"


REBUILT_BY_12 = "(with nvcc 12.x first on the PATH)"
COMBINATIONS = [
    Combination(T4, (12, 4), (12, 0), (12, 0)),
    Combination(T4, (12, 4), (13, 0), (13, 0), "nvcc 13.0 is newer than the driver", "cuda-toolkit-12-4"),
    Combination(T4, (13, 0), (13, 0), (13, 0)),
    Combination(
        V100, (13, 0), (13, 0), (13, 0), "compiles for sm_75 and newer, not for Tesla V100", "cuda-toolkit-12-9"
    ),
    Combination(V100, (13, 0), (12, 8), (12, 8)),
    Combination(A100, (12, 0), (12, 4), (12, 0)),
    Combination(A100, (12, 4), (12, 4), (13, 0), "PyCUDA was built with CUDA 13.0", REBUILT_BY_12),
    Combination(ORIN, (12, 6), (12, 6), (12, 6)),
    Combination(RTX_4090, (12, 8), (12, 0), (12, 0)),
    Combination(RTX_4090, (13, 0), (12, 4), (12, 4)),
    Combination(H100, (12, 4), (13, 1), (12, 4), "nvcc 13.1 is newer than the driver", "cuda-toolkit-12-4"),
    Combination(H100, (13, 1), (13, 0), (13, 0)),
    Combination(
        RTX_5090,
        (12, 8),
        (12, 4),
        (12, 4),
        "nvcc 12.4 does not know NVIDIA GeForce RTX 5090 (sm_120), which needs 12.8",
        "cuda-toolkit-12-8",
    ),  # fmt: skip
    Combination(RTX_5090, (13, 0), (12, 0), (12, 0), "which needs 12.8", "cuda-toolkit-13-0"),
    Combination(RTX_5090, (12, 8), (12, 8), (12, 8)),
    Combination(RTX_5090, (13, 0), (13, 0), (13, 0)),
]
