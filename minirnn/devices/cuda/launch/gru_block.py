"""The GRU of GRUBlockCell on a CUDA device: products by the driver, the rest by `gru_block.cu`.

Formulas, shapes and their explanation: the ops of the same names in `minirnn/ops/gru_block.py`.
"""

from __future__ import annotations

import numpy as np

from minirnn.devices.cuda.array import CudaArray
from minirnn.devices.cuda.launch.copies import copy, in_c_order
from minirnn.devices.cuda.launch.primitives.products import product
from minirnn.devices.cuda.launch.threads import cells, of_units, units_at_once
from minirnn.devices.cuda.launcher import Launcher

Arrays = tuple[CudaArray, ...]


def gru_block_cell(device: Launcher, *inputs: CudaArray) -> Arrays:
    """One step from x (B, I), h_prev (B, H), w_ru (I+H, 2H), w_c (I+H, H), b_ru (2H,) and b_c (H,).

    Returns r, u, c, h, each (B, H).
    """
    x, h_prev, w_ru, w_c, b_ru, b_c = in_c_order(device, *inputs)
    B, I, H = *x.shape, h_prev.shape[1]
    r, u, c, h, h_prevr = (device.empty((B, H), x.dtype) for _ in range(5))
    z_ru, z_c = device.empty((B, 2 * H), x.dtype), device.empty((B, H), x.dtype)
    if B * H:
        n = units_at_once(H, z_ru, b_ru, h_prev, r, u, h_prevr, z_c, b_c, c, h, dtype=x.dtype)
        sizes, threads, constants = (np.int32(B), np.int32(H)), cells(B, H // n), of_units(n)
        product(device, x, w_ru[:I], z_ru)
        product(device, h_prev, w_ru[I:], z_ru, beta=1.0)
        gates = device.kernel_of("gru_block.cu", "gru_block_cell_gates", x.dtype, constants=constants)
        gates(*sizes, z_ru, b_ru, h_prev, r, u, h_prevr, **threads)
        product(device, x, w_c[:I], z_c)
        product(device, h_prevr, w_c[I:], z_c, beta=1.0)
        candidate = device.kernel_of("gru_block.cu", "gru_block_cell", x.dtype, constants=constants)
        candidate(*sizes, z_c, b_c, h_prev, u, c, h, **threads)
    return r, u, c, h


def gru_block_cell_grad(device: Launcher, *arrays: CudaArray) -> Arrays:
    """The gradient of one step, from its inputs, the saved r, u, c and the gradient d_h, (B, H) each.

    Returns d_x (B, I), d_h_prev (B, H), d_c_bar (B, H), d_r_bar_u_bar (B, 2H); a bar marks a pre-activation. x, b_ru
    and b_c are not read; the gradients of weights and biases follow from d_c_bar and d_r_bar_u_bar.
    """
    x, h_prev, w_ru, w_c, _, _, *saved = arrays
    h_prev, w_ru, w_c, r, u, c, d_h = in_c_order(device, h_prev, w_ru, w_c, *saved)
    B, I, H = *x.shape, h_prev.shape[1]
    real = h_prev.dtype
    d_c_bar, d_r_bar_u_bar = device.empty((B, H), real), device.empty((B, 2 * H), real)
    d_x_h_prevr = device.empty((B, I + H), real)
    d_x, d_h_prev = device.empty((B, I), real), device.empty((B, H), real)
    if B * H:
        n = units_at_once(H, h_prev, r, u, c, d_h, d_c_bar, d_r_bar_u_bar, d_h_prev, dtype=real)
        candidate = device.kernel_of("gru_block.cu", "gru_block_cell_grad_candidate", real, constants=of_units(n))
        candidate(np.int32(B), np.int32(H), h_prev, u, c, d_h, d_c_bar, d_r_bar_u_bar, **cells(B, H // n))
        product(device, d_c_bar, device.transpose(w_c, (1, 0)), d_x_h_prevr)
        n = n if n == units_at_once(I, d_x_h_prevr, dtype=real) else 1  # its last H columns begin at column I
        gates = device.kernel_of("gru_block.cu", "gru_block_cell_grad", real, constants=of_units(n))
        sizes = np.int32(B), np.int32(I), np.int32(H)
        gates(*sizes, h_prev, r, u, d_h, d_x_h_prevr, d_r_bar_u_bar, d_h_prev, **cells(B, H // n))
        copy(device, d_x, d_x_h_prevr[:, :I])
        product(device, d_r_bar_u_bar, device.transpose(w_ru[:I], (1, 0)), d_x, beta=1.0)
        product(device, d_r_bar_u_bar, device.transpose(w_ru[I:], (1, 0)), d_h_prev, beta=1.0)
    else:
        d_x = device.full((B, I), 0, real)
    return d_x, d_h_prev, d_c_bar, d_r_bar_u_bar
