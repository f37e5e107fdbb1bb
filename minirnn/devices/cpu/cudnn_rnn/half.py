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
        *device, x, h0, c0, weights, reserve = arrays
        if x.dtype != np.float16:
            return rnn_sequence(*arrays, zoneout=zoneout, **options)
        wide = None if reserve is None else np.zeros(reserve.shape, np.float32)
        x, h0, c0 = widen(x, h0, c0)
        weights = [widen(*parts) for parts in weights]
        results = rnn_sequence(*device, x, h0, c0, weights, wide, zoneout=widened(zoneout), **options)
        if reserve is not None and wide is not None:
            reserve[...] = wide
        return narrow(np.float16, *results)

    return cast(Kernel, run)


def backward(rnn_sequence_grad: Kernel) -> Kernel:
    """`rnn_sequence_grad`, of float16 arrays too."""

    @wraps(rnn_sequence_grad)
    def run(*arrays: Any, zoneout: Zoneout | None = None, **options: Any) -> Any:
        *device, x, h0, c0, weights, reserve, y, dy, dh_n, dc_n, dweights = arrays
        if x.dtype != np.float16:
            return rnn_sequence_grad(*arrays, zoneout=zoneout, **options)
        x, h0, c0, reserve, y, dy, dh_n, dc_n = widen(x, h0, c0, reserve, y, dy, dh_n, dc_n)
        weights = [widen(*parts) for parts in weights]
        sums: Any = [tuple(None if a is None else np.empty(a.shape, np.float32) for a in parts) for parts in dweights]
        options["zoneout"] = widened(zoneout)
        wide = rnn_sequence_grad(*device, x, h0, c0, weights, reserve, y, dy, dh_n, dc_n, sums, **options)
        for target, source in zip(dweights, sums, strict=True):
            for a, b in zip(target, source, strict=True):
                if a is not None:
                    a[...] = b
        return narrow(np.float16, *wide)

    return cast(Kernel, run)


def widened(zoneout: Zoneout | None) -> Zoneout | None:
    """How much of the old state stays, for a computation in float32."""
    if zoneout is None:
        return None
    zh, zc = (z if isinstance(z, float) else widen(z)[0] for z in zoneout)
    return zh, zc
