"""Zoneout (Krueger et al. 2017): at each step, units of the state keep their old value at random.

The cells with zoneout are lstm_zoned, gru_zoned, .. on the page `cells`. Their ``mask_h`` and ``mask_c``,
the share of the old state, are called zh and zc here. While training they are masks, fresh for each step, example and
unit: 1 (keep) with probability p, else 0. In evaluation they are their expectation, the number p. One formula serves
both; no gradient flows into zh and zc.

* The lstm's h_new is ``o * tanh(c_new)``: zoneout of c reaches h one step later, as in the paper's formula and in its
  authors' code. c and h have separate masks.
* With a projection, the h that is kept is the projected one, P wide, because the next step reads it. The cell is then
  lstm_zoned_c, which keeps c alone, and the device mixes h and the old one after the product with Wp.
* Past its length, a sequence keeps its state and its output is 0, whatever the masks are.
* A reverse direction has its own masks in the order of time. The masks at t are used when it visits t.

The masks are drawn like those of dropout (`minirnn.ops.cudnn_rnn.dropout`): element k, counted in C order over
(T, B, width), is 1 if ``u_k < p * 2**32``. The stream number is l*D + d for zh of direction d of layer l. For its zc it
is L*D larger.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minirnn.arguments.host_array import numbers
from minirnn.engine.tensor import Tensor, tensor
from minirnn.ops.cudnn_rnn.dropout import dropped
from minirnn.ops.cudnn_rnn.params import Network

Zoneout = Sequence[tuple[Any, Any]]
"""For each layer zh and zc: an array (D, T, B, P), for zc (D, T, B, H), or a number. zc is None unless lstm."""


def drawn_zoneout(
    net: Network, T: int, B: int, p_h: float, p_c: float, seeds: tuple[int, int], like: Tensor
) -> Zoneout:
    """The masks for these seeds, in the dtype and on the device of `like`."""
    D, N = net.D, net.L * net.D

    def masks(layer: int, width: int, p: float, first: int) -> Any:
        if p == 0:
            return 0.0
        found = [dropped((T, B, width), p, first + layer * D + d, *seeds) for d in range(D)]
        return tensor(np.stack(found), device=like.device, dtype=like.dtype).array

    lstm = net.rnn_mode == "lstm"
    return [(masks(k, net.P, p_h, 0), masks(k, net.H, p_c, N) if lstm else None) for k in range(net.L)]


def expected_zoneout(net: Network, p_h: float, p_c: float) -> Zoneout:
    """The expectations of the masks, which are used in evaluation."""
    return [(p_h, p_c if net.rnn_mode == "lstm" else None)] * net.L


def zoneout_by_layer(op: str, masks: Any, net: Network, T: int, B: int, time_major: bool, x: Tensor) -> Zoneout:
    """The user's `zoneout_masks` by layer: zh, or for lstm a pair (zh, zc). One of them may be None (nothing is kept).

    Each is a number or (L*D, T, B, width), batch-major (L*D, B, T, width); any axis may be 1.
    """
    lstm = net.rnn_mode == "lstm"
    if lstm and not (isinstance(masks, (tuple, list)) and len(masks) == 2):
        raise TypeError(
            f"{op}: zoneout_masks is a {type(masks).__name__}\n  expected a pair (zh, zc) for an lstm, whose h and c"
            " have separate masks"
        )
    zh, zc = masks if lstm else (masks, None)
    of_h = _by_layer(op, "zoneout_masks" + "[0]" * lstm, zh, net, T, B, net.P, "P", time_major, x)
    of_c = _by_layer(op, "zoneout_masks[1]", zc, net, T, B, net.H, "H", time_major, x) if lstm else [None] * net.L
    return list(zip(of_h, of_c, strict=True))


def _by_layer(
    op: str, name: str, z: Any, net: Network, T: int, B: int, width: int, letter: str, time_major: bool, x: Tensor
) -> list[Any]:
    """The masks of one state for each layer: a number or an array (D, T, B, width)."""
    if z is None:
        return [0.0] * net.L
    found = numbers(f"{op}: {name}", z)
    full = (net.L * net.D, T, B, width) if time_major else (net.L * net.D, B, T, width)
    fits = found.ndim == 0 or (found.ndim == 4 and all(n in (1, m) for n, m in zip(found.shape, full, strict=True)))
    if not fits:
        letters = f"L*D, T, B, {letter}" if time_major else f"L*D, B, T, {letter}"
        raise ValueError(f"{op}: {name} has shape {found.shape}\n  expected a number or ({letters}) = {full}")
    if not ((found >= 0) & (found <= 1)).all():
        raise ValueError(
            f"{op}: {name} has values outside 0 .. 1\n  expected 1 to keep the old state, 0 for the new one"
        )
    if found.ndim == 0:
        return [float(found)] * net.L
    found = np.broadcast_to(found, full)
    if not time_major:
        found = found.transpose(0, 2, 1, 3)
    parts = found.reshape(net.L, net.D, T, B, width)
    return [tensor(part, device=x.device, dtype=x.dtype).array for part in parts]
