"""Descriptions of the devices of a table that apply to every machine of the kind."""

from __future__ import annotations

import numpy as np

from minirnn import devices
from minirnn.arguments.user_error import one_line
from minirnn.machine.computer import blas
from minirnn.proving.table import without_folders

STAND_IN = "stand-in GPU"
"""The name that the GPU of ``scripts/with_stand_in_gpu.sh`` reports."""


def gpu_name(name: str) -> str | None:
    """The name that the GPU, or the simulator, of a device reports; None for a device without a driver."""
    driver = getattr(devices.get(name), "driver", None)
    return None if driver is None else driver.limits.name


def describe(name: str, absent: str | None) -> str:
    """The description of a device, without anything specific to this machine."""
    if absent is not None:
        return f"not available: {one_line(without_folders(absent))}"
    if name == "cpu":
        return f"NumPy {np.__version__}, {blas()}"
    if name == "native":
        return f"C++, vectors of {devices.get(name).vector_bits} bits; NumPy {np.__version__} for the rest"
    found = gpu_name(name)
    if found == STAND_IN:
        return "no GPU: the real PyCUDA on a stand-in that imitates NVIDIA's driver and cuBLAS with the simulator"
    return found or "an additional device"
