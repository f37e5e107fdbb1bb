"""The cost of a step of a persistent kernel on a multiprocessor, in cycles, to choose between plans of one layer.

These are counts of operations divided by the rate of a multiprocessor. They are not times, because nothing was
measured. Sources: the table of arithmetic instructions of the CUDA C++ programming guide; NVIDIA's figures for the
bandwidth of shared memory; for the L2 cache the third table of https://doi.org/10.1016/j.ultsonch.2023.106546, which
has the peaks of V100, A100 and H100.
"""

from __future__ import annotations

from minirnn.devices.cuda.driver import Limits

Capability = tuple[int, int]

SHARED_BYTES = 128
"""Bytes of shared memory per cycle."""
L2_BYTES = 32
"""Bytes of the L2 cache per cycle and multiprocessor if all of them read. The peaks are 3,133 GB/s at 1.53 GHz for
V100, 7,219 at 1.41 for A100 and 8,986 at 1.755 for H100: 26, 47 and 39 bytes for their 80, 108 and 132
multiprocessors. One number below the newer peaks is used for all GPUs."""


def lanes(capability: Capability, itemsize: int) -> int:
    """Multiplications and additions of float32 (itemsize 4) or float64 (8) of a multiprocessor per cycle."""
    large = capability in ((7, 0), (8, 0), (9, 0), (10, 0), (10, 3))  # data center GPUs, with fast float64
    if itemsize == 8:
        return (64 if capability[0] >= 9 else 32) if large else 2
    return 128 if capability >= (8, 6) else 64


def cycles(products: int, itemsize: int, shared_bytes: int, l2_bytes: int, limits: Limits) -> float:
    """The sum of the cycles of one block's multiplications and shared memory reads, and of the messages of all blocks.

    Parameters
    ----------
    products : int
        Multiplications of a block in a step.
    itemsize : int
        Bytes of a number.
    shared_bytes : int
        Bytes that its warps read from shared memory in a step.
    l2_bytes : int
        Bytes that all blocks gather in a step.
    limits : Limits
        The device.
    """
    multiplied = products / lanes(limits.compute_capability, itemsize)
    gathered = l2_bytes / (L2_BYTES * limits.multiprocessors)
    return multiplied + shared_bytes / SHARED_BYTES + gathered


def weights_stay_in_l2(weights: int, limits: Limits) -> bool | None:
    """Whether `nbytes` of weights, which each step of the rung `steps` reads, stay in the L2 cache; None if unknown.

    It assumes that half of the cache is used by everything else.
    """
    return 2 * weights <= limits.l2_bytes if limits.l2_bytes else None
