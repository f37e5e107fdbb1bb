"""How the kernels of the rung `barrier` are distributed over a device, given a layer's sizes and a device's limits."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from minirnn.devices.cuda.driver import Limits
from minirnn.devices.cuda.launch.cudnn_rnn.sizes import Sizes

THREADS = 256
"""The most threads of a block (`cudnn_rnn/barrier.cu`)."""


@dataclass(frozen=True)
class BarrierPlan:
    """The plan of `cudnn_rnn/barrier.cu`, the same for both passes.

    Attributes
    ----------
    blocks : int
        The blocks of one direction.
    units : int
        Units of a block.
    warps : int
        Warps of a block.
    shared : int
        Bytes of shared memory of a block: its part of R.
    gathered : int
        Bytes that all blocks of a direction read from each other in one step.
    """

    blocks: int
    units: int
    warps: int
    shared: int
    gathered: int

    @property
    def threads(self) -> tuple[int, int, int]:
        """The size of a block for a launch."""
        return (32 * self.warps, 1, 1)

    @property
    def constants(self) -> dict[str, int]:
        """The compile-time constants of the kernel: none."""
        return {}

    @property
    def numbers(self) -> tuple[int, ...]:
        """The kernel's arguments after T, B and H."""
        return (self.units,)

    def describe(self, D: int) -> str:
        """A readable line."""
        return (
            f"{self.blocks * D} blocks of {self.warps} warps, {self.units} units each; {self.shared:,} bytes of shared"
            f" memory per block; one barrier per step; {self.gathered:,} bytes of others are read per step"
        )


def barrier_plan(sizes: Sizes, limits: Limits, backward: bool) -> BarrierPlan | str:
    """The plan with a block on each multiprocessor, or the reason why there is none."""
    units = ceil(sizes.H / (limits.multiprocessors // sizes.D))
    blocks = ceil(sizes.H / units)
    shared = units * sizes.G * sizes.H * sizes.itemsize
    if shared > limits.shared_bytes_per_block:
        return (
            f"its weights do not fit on the chip: {shared:,} bytes of shared memory per block,"
            f" the device has {limits.shared_bytes_per_block:,}"
        )
    warps = ceil(min(sizes.B * units, THREADS) / limits.warp)
    gathered = blocks * sizes.B * sizes.H * sizes.itemsize * (sizes.G if backward else 1)
    return BarrierPlan(blocks, units, warps, shared, gathered)
