"""What a GPU says of itself: its limits, and whether it is too old."""

from __future__ import annotations

from typing import Any

from minirnn import toolchain
from minirnn.devices.base import DeviceUnavailable
from minirnn.devices.cuda.driver import Limits


def limits_of(drv: Any, device: Any) -> Limits:
    """What a PyCUDA device can do."""
    ask, names = device.get_attribute, drv.device_attribute
    return Limits(
        name=device.name(),
        compute_capability=tuple(device.compute_capability()),
        multiprocessors=ask(names.MULTIPROCESSOR_COUNT),
        threads_per_block=ask(names.MAX_THREADS_PER_BLOCK),
        shared_bytes_per_block=ask(names.MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
        memory_bytes=device.total_memory(),
        simulated=False,
        warp=ask(names.WARP_SIZE),
    )


def refuse_too_old(limits: Limits) -> None:
    """Raises `DeviceUnavailable` for a GPU for which the installed nvcc no longer compiles."""
    version = (toolchain.find_nvcc().found or "").partition(".")[0]
    if version.isdigit() and int(version) >= 13 and limits.compute_capability < (7, 5):
        raise DeviceUnavailable(
            "cuda: {} has compute capability {}.{}, and nvcc {} compiles for 7.5 and newer\n"
            "  to use it: CUDA 12, and the extra minirnn[cuda12]".format(
                limits.name, *limits.compute_capability, version
            )
        )
