# ruff: noqa: F841  (the lines of a backward pass are local variables)
"""The cells of LSTMBlockCell and BlockLSTM, without and with peepholes: each a step and, below it, its backward pass.

`minirnn.ops.cudnn_rnn.cells` explains how to read them. ``z_i`` is ``[x | h'] w + b`` for the gate i. The gradient
passes straight through the clip, as in TensorFlow, and a backward pass reads what TensorFlow's Grad op takes.
Sources: Hochreiter and Schmidhuber 1997; peepholes: Gers and Schmidhuber 2000.
"""

from __future__ import annotations

from functools import cache
from math import inf
from typing import Any

from minirnn.cells.cell import cell
from minirnn.cells.plan import Plan
from minirnn.ops.primitives import clip, sigmoid, tanh


@cell(states=("cs", "h"))
def lstm_block(
    z_i: Any, z_ci: Any, z_f: Any, z_o: Any, cs: Any, h: Any, *, forget_bias: float = 1.0, cell_clip: float = 3.0
) -> Any:
    i, ci, f, o = sigmoid(z_i), tanh(z_ci), sigmoid(z_f + forget_bias), sigmoid(z_o)
    cs = clip(i * ci + f * cs, -cell_clip, cell_clip, straight_through=True)
    co = tanh(cs)
    h = o * co
    return cs, h


@lstm_block.backward
def lstm_block_backward(cs_grad: Any, dh: Any, cs_prev: Any, i: Any, ci: Any, f: Any, o: Any, co: Any) -> None:
    dz_o = dh * co * o * (1 - o)
    dcs = cs_grad + dh * o * (1 - co**2)
    dz_ci = dcs * i * (1 - ci**2)
    dz_i = dcs * ci * i * (1 - i)
    dz_f = dcs * cs_prev * f * (1 - f)
    dcs_prev = dcs * f


@cell(states=("cs", "h"))
def lstm_block_peephole(
    z_i: Any, z_ci: Any, z_f: Any, z_o: Any, cs: Any, h: Any,
    *, wci: Any, wcf: Any, wco: Any, forget_bias: float = 1.0, cell_clip: float = 3.0,
) -> Any:  # fmt: skip
    i, ci, f = sigmoid(z_i + wci * cs), tanh(z_ci), sigmoid(z_f + forget_bias + wcf * cs)
    cs = clip(i * ci + f * cs, -cell_clip, cell_clip, straight_through=True)
    o = sigmoid(z_o + wco * cs)  # the new cs, already clipped
    co = tanh(cs)
    h = o * co
    return cs, h


@lstm_block_peephole.backward
def lstm_block_peephole_backward(
    cs_grad: Any, dh: Any, cs_prev: Any, cs: Any, wci: Any, wcf: Any, wco: Any, i: Any, ci: Any, f: Any, o: Any, co: Any
) -> None:
    dz_o = dh * co * o * (1 - o)
    dcs = cs_grad + dh * o * (1 - co**2) + dz_o * wco
    dz_ci = dcs * i * (1 - ci**2)
    dz_i = dcs * ci * i * (1 - i)
    dz_f = dcs * cs_prev * f * (1 - f)
    dcs_prev = dcs * f + dz_i * wci + dz_f * wcf
    dwci = dz_i * cs_prev
    dwcf = dz_f * cs_prev
    dwco = dz_o * cs


@cache
def plan_of(use_peephole: bool, clips: bool) -> Plan:
    """The plan of a cell, whose constants are forget_bias and cell_clip. Without a clip, none is computed."""
    found = lstm_block_peephole if use_peephole else lstm_block
    return (found if clips else found.with_constants(cell_clip=inf)).plan()
