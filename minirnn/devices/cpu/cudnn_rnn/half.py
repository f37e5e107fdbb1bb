"""float16 layers: computed in float32 by a device's own kernels, every result rounded once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minirnn.devices.cpu.arithmetic import narrow, widen

Array = np.ndarray
Weights = Sequence[tuple[Any, ...]]
Zoneout = tuple[Any, Any]


def forward(
    rnn_sequence: Callable[..., Any],
    x: Array,
    h0: Array,
    c0: Array | None,
    weights: Weights,
    reserve: Array | None,
    options: dict[str, Any],
    zoneout: Zoneout | None,
) -> Any:
    """`rnn_sequence` of float16 arrays."""
    wide = None if reserve is None else np.zeros(reserve.shape, np.float32)
    x, h0, c0 = widen(x, h0, c0)
    weights = [widen(*parts) for parts in weights]
    results = rnn_sequence(x, h0, c0, weights, wide, **options, **wide_option(zoneout))
    if reserve is not None and wide is not None:
        reserve[...] = wide
    return narrow(np.float16, *results)


def backward(
    rnn_sequence_grad: Callable[..., Any],
    x: Array,
    h0: Array,
    c0: Array | None,
    weights: Weights,
    reserve: Array,
    y: Array,
    dy: Array,
    dh_n: Array,
    dc_n: Array | None,
    dweights: Weights,
    options: dict[str, Any],
    zoneout: Zoneout | None,
) -> Any:
    """`rnn_sequence_grad` of float16 arrays."""
    x, h0, c0, reserve, y, dy, dh_n, dc_n = widen(x, h0, c0, reserve, y, dy, dh_n, dc_n)
    weights = [widen(*parts) for parts in weights]
    sums: Any = [tuple(None if a is None else np.empty(a.shape, np.float32) for a in parts) for parts in dweights]
    wide = rnn_sequence_grad(
        x, h0, c0, weights, reserve, y, dy, dh_n, dc_n, sums, **options, **wide_option(zoneout)
    )  # fmt: skip
    for target, source in zip(dweights, sums, strict=True):
        for a, b in zip(target, source, strict=True):
            if a is not None:
                a[...] = b
    return narrow(np.float16, *wide)


def wide_option(zoneout: Zoneout | None) -> dict[str, Any]:
    """The keyword `zoneout` for a computation in float32."""
    return {} if zoneout is None else {"zoneout": tuple(z if isinstance(z, float) else widen(z)[0] for z in zoneout)}
