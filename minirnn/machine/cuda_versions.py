"""Which CUDA toolkits, drivers and GPUs work together: pure functions of version numbers, called before anything is
compiled.

Sources: the release notes of the CUDA toolkits 12.0 to 13.0 ("supported architectures"), and "CUDA compatibility" for
drivers: machine code from any 12.x runs on any driver for 12.x or newer, but code from 13.x does not run on a driver
for 12.x.
"""

from __future__ import annotations

import re
import shutil
from typing import NamedTuple

Version = tuple[int, int]

OLDEST: Version = (12, 0)
"""The oldest toolkit that the kernels are compiled with."""
OLDEST_PYCUDA = (2025, 1, 2)
"""The first PyCUDA that can be built with CUDA 13."""
SINCE: dict[Version, Version] = {
    (8, 9): (11, 8),
    (9, 0): (11, 8),
    (10, 0): (12, 8),
    (10, 1): (12, 8),
    (10, 3): (12, 9),
    (11, 0): (13, 0),
    (12, 0): (12, 8),
    (12, 1): (12, 9),
}
"""Compute capability -> the first toolkit that compiles for it. For older GPUs, `OLDEST` is new enough."""
FIRST_OF_13: Version = (7, 5)
"""The oldest compute capability that CUDA 13 compiles for."""
LAST_OF_12: Version = (12, 9)
ARCHIVE = "https://developer.nvidia.com/cuda-toolkit-archive"


class Gpu(NamedTuple):
    """A GPU: its name and its compute capability."""

    name: str
    capability: Version

    @property
    def arch(self) -> str:
        """Its name for nvcc, such as ``sm_90``."""
        return "sm_{}{}".format(*self.capability)


class Unfit(NamedTuple):
    """Why a tool does not fit the others, and what to do about it."""

    reason: str
    fix: str


def version_in(text: str | None) -> Version | None:
    """The first version number, such as ``12.4``, in a text."""
    found = re.search(r"(\d+)\.(\d+)", text or "")
    return (int(found[1]), int(found[2])) if found else None


def in_words(version: Version) -> str:
    return "{}.{}".format(*version)


def toolkit_for(gpu: Gpu, driver: Version) -> Version:
    """The toolkit to install. It has the driver's version, so that PyCUDA asks the driver for nothing newer."""
    if driver >= (13, 0) and gpu.capability < FIRST_OF_13:
        return LAST_OF_12
    return max(driver, SINCE.get(gpu.capability, OLDEST), OLDEST)


def install_toolkit(gpu: Gpu, driver: Version) -> str:
    """How to install `toolkit_for` this GPU and driver."""
    major, minor = toolkit_for(gpu, driver)
    for manager in ("apt-get", "dnf", "zypper"):  # the names in NVIDIA's own repositories
        if shutil.which(manager):
            return f"sudo {manager} install cuda-toolkit-{major}-{minor}"
    return f"install the CUDA toolkit {major}.{minor} from {ARCHIVE}"


def nvcc_unfit(nvcc: Version, driver: Version, gpu: Gpu) -> Unfit | None:
    """The reason why the driver cannot run this nvcc's machine code on the GPU, or None if it can."""
    fix, name, card = install_toolkit(gpu, driver), f"nvcc {in_words(nvcc)}", f"{gpu.name} ({gpu.arch})"
    if nvcc < OLDEST:
        return Unfit(f"{name} is older than {in_words(OLDEST)}, with which the kernels are compiled", fix)
    first = SINCE.get(gpu.capability, OLDEST)
    if nvcc < first:
        return Unfit(f"{name} does not know {card}, which needs {in_words(first)}", fix)
    if nvcc >= (13, 0) and gpu.capability < FIRST_OF_13:
        return Unfit(f"{name} compiles for sm_75 and newer, not for {card}", fix)
    if nvcc[0] > driver[0]:
        return Unfit(f"{name} is newer than the driver, which runs code of CUDA {driver[0]}.x and older", fix)
    return None


def pycuda_unfit(version: str, built_for: Version | None, driver: Version, rebuild: str) -> Unfit | None:
    """The reason why this PyCUDA cannot be used with the driver, or None. `rebuild` is the command that rebuilds it."""
    if tuple(map(int, re.findall(r"\d+", version)[:3])) < OLDEST_PYCUDA:
        return Unfit(f"PyCUDA {version} is older than {'.'.join(map(str, OLDEST_PYCUDA))}", rebuild)
    if built_for is not None and built_for[0] > driver[0]:
        return Unfit(
            f"PyCUDA was built with CUDA {in_words(built_for)}, and the driver is for {in_words(driver)}",
            f"{rebuild}  (with nvcc {driver[0]}.x first on the PATH)",
        )
    return None


def cublas_unfit(version: str, driver: Version, install: str) -> Unfit | None:
    """The reason why this cuBLAS cannot be used with the driver, or None if it can."""
    found = version_in(version)
    if found is not None and found[0] > driver[0]:
        return Unfit(f"cuBLAS {version} is newer than the driver, which is for CUDA {in_words(driver)}", install)
    return None
