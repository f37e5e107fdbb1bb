"""float16 layers: computed in float32 by a device's own kernels, every result rounded once.

`forward` and `backward` are decorators of a device's `rnn_sequence` and `rnn_sequence_grad`. Where these are methods,
the device comes before the arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np

from minirnn.devices.cpu.arithmetic import narrow, widen

Kernel = TypeVar("Kernel", bound=Callable[..., Any])
Zoneout = tuple[Any, Any]


def forward(rnn_sequence: Kernel) -> Kernel:
    """`rnn_sequence`, of float16 arrays too."""

    @wraps(rnn_sequence)
    def run(*arrays: Any, zoneout: Zoneout | None = None, **options: Any) -> Any:
        *device, x, h0, c0, weights = arrays
        if x.dtype != np.float16:
            return rnn_sequence(*arrays, zoneout=zoneout, **options)
        x, h0, c0 = widen(x, h0, c0)
        weights = [widen(*parts) for parts in weights]
        results = rnn_sequence(*device, x, h0, c0, weights, zoneout=widened(zoneout), **options)
        return narrow(np.float16, *results)

    return cast(Kernel, run)


def backward(rnn_sequence_grad: Kernel) -> Kernel:
    """`rnn_sequence_grad`, of float16 arrays too."""

    @wraps(rnn_sequence_grad)
    def run(*arrays: Any, zoneout: Zoneout | None = None, **options: Any) -> Any:
        *device, x, h0, c0, weights, saved, y, dy, dh_n, dc_n = arrays
        if x.dtype != np.float16:
            return rnn_sequence_grad(*arrays, zoneout=zoneout, **options)
        x, h0, c0, saved, y, dy, dh_n, dc_n = widen(x, h0, c0, saved, y, dy, dh_n, dc_n)
        weights = [widen(*parts) for parts in weights]
        options["zoneout"] = widened(zoneout)
        *wide, dweights = rnn_sequence_grad(*device, x, h0, c0, weights, saved, y, dy, dh_n, dc_n, **options)
        return *narrow(np.float16, *wide), [narrow(np.float16, *parts) for parts in dweights]

    return cast(Kernel, run)


def widened(zoneout: Zoneout | None) -> Zoneout | None:
    """How much of the old state stays, for a computation in float32."""
    if zoneout is None:
        return None
    zh, zc = (z if isinstance(z, float) else widen(z)[0] for z in zoneout)
    return zh, zc
