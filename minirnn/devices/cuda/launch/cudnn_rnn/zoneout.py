"""Zoneout on a CUDA device: the masks for each step of `steps.py`.

The formulas: `minirnn/ops/cudnn_rnn/zoneout.py`. The rungs above `steps` do not support zoneout, because at each step
their kernels read only the contribution of x to the gates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from minirnn.devices.cuda.array import CudaArray
from minirnn.devices.cuda.launch.cudnn_rnn.direction import Direction


@dataclass
class Masks:
    """The share of the old states that is kept in one direction; None without zoneout, or if there is no such state.

    An array for all steps, (T, B, P) and (T, B, H), or one that is used at each step, (B, P) and (B, H).
    """

    zh: CudaArray | None = None
    zc: CudaArray | None = None

    def __bool__(self) -> bool:
        return self.zh is not None or self.zc is not None

    def of(self, t: int) -> tuple[CudaArray | None, CudaArray | None]:
        """The masks of step t."""
        zh, zc = (z if z is None or z.ndim == 2 else z[t] for z in (self.zh, self.zc))
        return zh, zc


def masks_of(directions: list[Direction], zoneout: tuple[Any, Any] | None, dtype: np.dtype) -> list[Masks]:
    """The masks of each direction, from arrays (D, T, B, width), numbers, or None."""
    device, sizes = directions[0].device, directions[0].sizes
    each: list[list[CudaArray | None]] = []
    for z, width in zip(zoneout or (None, None), (sizes.P, sizes.H), strict=True):
        if z is None or isinstance(z, float):
            each.append([None if z is None else device.full((sizes.B, width), z, dtype)] * sizes.D)
        else:
            each.append([device.contiguous(z[d]) for d in range(sizes.D)])
    return [Masks(zh, zc) for zh, zc in zip(*each, strict=True)]
