"""The limits that a GPU reports."""

from __future__ import annotations

from typing import Any

from minirnn.devices.cuda.driver import Limits

COOPERATIVE_LAUNCH = 95
"""The number of a CUdevice_attribute for which PyCUDA has no name."""


def limits_of(drv: Any, device: Any) -> Limits:
    """The limits of a PyCUDA device."""
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
        cooperative=bool(ask(names(COOPERATIVE_LAUNCH))),
        l2_bytes=ask(names.L2_CACHE_SIZE),
    )
