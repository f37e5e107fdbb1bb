# ruff: noqa: F841  (the lines of a backward pass are local variables)
"""The cell of GRUBlockCell: a step and, below it, its backward pass. The reset gate acts before the product.

`minirnn.ops.cudnn_rnn.cells` explains how to read it. ``z_r`` and ``z_u`` are ``[x | h'] w_ru + b_ru``; ``x_c`` is the
part of x in ``[x | r h'] w_c + b_c``, and ``product`` the other one. Source: Cho et al. 2014, with u for 1 - z.
"""

from __future__ import annotations

from typing import Any

from minirnn.cells.cell import cell
from minirnn.ops.sequence.functions import product
from minirnn.ops.primitives import sigmoid, tanh


@cell(states="h")
def gru_block(z_r: Any, z_u: Any, x_c: Any, h: Any) -> Any:
    r, u = sigmoid(z_r), sigmoid(z_u)
    rh = r * h
    c = tanh(x_c + product(rh))
    h = u * h + (1 - u) * c
    return h


@gru_block.backward
def gru_block_backward(dh: Any, drh: Any, h_prev: Any, r: Any, u: Any, c: Any) -> None:
    dx_c = dh * (1 - u) * (1 - c**2)
    dz_u = dh * (h_prev - c) * u * (1 - u)
    dz_r = drh * h_prev * r * (1 - r)
    dh_prev = drh * r + dh * u
