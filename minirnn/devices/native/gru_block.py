"""GRUBlockCell and its gradient in C++.

Formulas, shapes and their explanation: the ops of the same names in `minirnn/ops/gru_block.py`; the cell:
`devices/cells/gru_block.h`; the products around it: `kernels/gru_block.cpp`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minirnn.devices.native.arguments import NOTHING, GruBlockArrays, address, call, regular, rows

Arrays = tuple[np.ndarray, ...]


def gru_block_cell(device: Any, *inputs: np.ndarray) -> Arrays:
    """One step from x (B, I), h_prev (B, H), w_ru (I+H, 2H), w_c (I+H, H), b_ru (2H,), b_c (H,).

    Returns r, u, c, h, each (B, H).
    """
    x, h_prev, *weights = inputs
    x, h_prev = regular(x), regular(h_prev)
    weights = [np.ascontiguousarray(a) for a in weights]
    (B, I), H, dtype = x.shape, h_prev.shape[1], x.dtype
    r, u, c, h = results = [np.empty((B, H), dtype) for _ in range(4)]
    values = [part for a in results for part in rows(a)]
    d = GruBlockArrays(B, I, H, *rows(x), *rows(h_prev), *map(address, weights), *values)
    call(device.function("gru_block", dtype), 0, d, work=B * 3 * H * (I + H))
    return r, u, c, h


def gru_block_cell_grad(device: Any, *arrays: np.ndarray) -> Arrays:
    """The gradient of one step, from its inputs, the saved r, u, c and the gradient d_h, each (B, H).

    Returns d_x (B, I), d_h_prev (B, H), d_c_bar (B, H), d_r_bar_u_bar (B, 2H). x, b_ru and b_c are not read.
    """
    x, h_prev, w_ru, w_c, _, _, *saved = arrays
    h_prev, r, u, c, d_h = (regular(a) for a in (h_prev, *saved))
    w_ru, w_c = np.ascontiguousarray(w_ru), np.ascontiguousarray(w_c)
    (B, I), H, dtype = x.shape, h_prev.shape[1], h_prev.dtype
    results = [np.empty((B, width), dtype) for width in (I, H, H, 2 * H)]
    values = [part for a in (r, u, c) for part in rows(a)]
    found = [part for a in results for part in rows(a)]
    d = GruBlockArrays(
        B, I, H, *NOTHING, *rows(h_prev), address(w_ru), address(w_c), 0, 0, *values, *NOTHING, *rows(d_h), *found
    )
    call(device.function("gru_block", dtype), 1, d, work=B * 3 * H * (I + H))
    return tuple(results)
