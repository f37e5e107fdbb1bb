"""The definition of a recurrent layer, composed from primitive ops for each step and direction.

It is slow, but its gradients come only from the tape. The fused kernels are tested against it, and second derivatives
use it. The formulas are explained in the package.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minirnn.engine.tensor import Tensor, tensor
from minirnn.ops.cudnn_rnn.params import GATES
from minirnn.ops.cudnn_rnn.zoneout import constants, zoned
from minirnn.ops.primitives import chunk, concat, relu, sigmoid, stack, tanh, unbind, where

Weights = tuple[Tensor | None, Tensor, Tensor | None, Tensor | None, Tensor | None]
"""W (G*H, in) or None, R (G*H, P), Wp (P, H) or None, bW (G*H,) or None, bR (G*H,) or None"""


def compose_layer(
    rnn_mode: str,
    x: Tensor,
    h0: Tensor,
    c0: Tensor | None,
    weights: Sequence[Weights],
    lengths: np.ndarray | None,
    zoneout: Any = None,
) -> list[Tensor]:
    """y (T, B, D*P), h_n (D, B, P), for lstm c_n (D, B, H)."""
    valid = None
    if lengths is not None:
        steps = np.arange(x.shape[0])[:, None, None] < lengths[None, :, None]  # (T, B, 1)
        valid = [tensor(v, device=x.device) for v in steps]
        # The values at padding must not reach the weights as 0 * NaN.
        x = where(tensor(steps, device=x.device), x, 0.0)
    z = None if zoneout is None else constants(zoneout, x)
    ends = []
    for d, own in enumerate(weights):
        masks = None if z is None else [m[d] if isinstance(m, Tensor) else m for m in z]
        ends.append(_direction(rnn_mode, x, h0[d], None if c0 is None else c0[d], own, valid, d == 1, masks))
    y, h, c = zip(*ends, strict=True)
    return [y[0] if len(y) == 1 else concat(list(y), 2), stack(h), *([] if c0 is None else [stack(c)])]


def _direction(
    rnn_mode: str,
    x: Tensor,
    h: Tensor,
    c: Tensor | None,
    weights: Weights,
    valid: list[Tensor] | None,
    reverse: bool,
    zoneout: Sequence[Any] | None,
) -> tuple[Tensor, Tensor, Tensor | None]:
    """One direction of one layer: y (T, B, P), the last h (B, P) and c (B, H)."""
    T = x.shape[0]
    xs = unbind(x)  # (B, in) each
    outputs = list(xs)
    for t in reversed(range(T)) if reverse else range(T):
        h_new, c_new, _ = step(rnn_mode, xs[t], h, c, weights)
        if zoneout is not None:
            zh, zc = (z[t] if isinstance(z, Tensor) else z for z in zoneout)
            h_new = zoned(zh, h, h_new)
            c_new = None if c is None else zoned(zc, c, c_new)
        if valid is not None:  # past the end of a sequence, its state stays the same and its output is 0
            y = where(valid[t], h_new, 0.0)
            h_new = where(valid[t], h_new, h)
            c_new = None if c is None or c_new is None else where(valid[t], c_new, c)
        else:
            y = h_new
        outputs[t], h, c = y, h_new, c_new
    return stack(outputs), h, c


def step(
    rnn_mode: str, x: Tensor, h: Tensor, c: Tensor | None, weights: Weights
) -> tuple[Tensor, Tensor | None, dict[str, Tensor]]:
    """One step: h (B, P), c (B, H) or None, and the gates (B, H) by name."""
    W, R, Wp, bW, bR = weights
    ax = concat([x] * len(GATES[rnn_mode]), 1) if W is None else x @ W.T  # (B, G*H)
    ah = h @ R.T
    ax, ah = ax if bW is None else ax + bW, ah if bR is None else ah + bR
    if rnn_mode == "rnn_tanh":
        return tanh(ax + ah), None, {}
    if rnn_mode == "rnn_relu":
        return relu(ax + ah), None, {}
    if c is not None:
        ai, af, an, ao = chunk(ax + ah, 4, 1)
        i, f, n, o = sigmoid(ai), sigmoid(af), tanh(an), sigmoid(ao)
        c = f * c + i * n
        m = o * tanh(c)
        return (m if Wp is None else m @ Wp.T), c, {"i": i, "f": f, "n": n, "o": o}
    xr, xz, xn = chunk(ax, 3, 1)
    hr, hz, q = chunk(ah, 3, 1)
    r, z = sigmoid(xr + hr), sigmoid(xz + hz)
    n = tanh(xn + r * q)  # the reset gate acts after the product and its bias
    return (1 - z) * n + z * h, None, {"r": r, "z": z, "n": n}
