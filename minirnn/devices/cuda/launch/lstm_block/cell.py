"""One step of the LSTM of LSTMBlockCell on a CUDA device, and its gradient: a product and one launch each.

Formulas, shapes and their explanation: the ops of the same names in `minirnn/ops/lstm_block/cell.py`. The launches are
those of `kernels/lstm_block/cell.cu`; a sequence (`sequence`) uses the same ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minirnn.devices.cuda.array import CudaArray
from minirnn.devices.cuda.launch.copies import in_c_order
from minirnn.devices.cuda.launch.lstm_block.peepholes import peephole_grads
from minirnn.devices.cuda.launch.primitives.products import product
from minirnn.devices.cuda.launch.sources import accumulator
from minirnn.devices.cuda.launch.threads import cells, of_units, units_at_once
from minirnn.devices.cuda.launcher import Launcher

Arrays = tuple[CudaArray, ...]
NULL = None


def lstm_block_cell(
    device: Launcher, *inputs: CudaArray, forget_bias: float, cell_clip: float, use_peephole: bool
) -> Arrays:
    """One step from the arrays of `LSTMBlockInputs`. Returns i, cs, f, o, ci, co, h, each (B, H)."""
    x, cs_prev, h_prev, w, wci, wcf, wco, b = in_c_order(device, *inputs)
    B, I, H = *x.shape, cs_prev.shape[1]
    z = device.empty((B, 4 * H), accumulator(x.dtype))
    product(device, x, w[:I], z)
    product(device, h_prev, w[I:], z, beta=1.0)
    outputs = tuple(device.empty((B, H), x.dtype) for _ in range(7))
    arrays = z, b, cs_prev, wci, wcf, wco, *outputs
    step = step_launch(device, x.dtype, arrays, B, H, forget_bias, cell_clip, use_peephole)
    step(*arrays)
    return outputs


def step_launch(
    device: Launcher,
    dtype: np.dtype,
    used: Arrays,
    B: int,
    H: int,
    forget_bias: float,
    cell_clip: float,
    use_peephole: bool,
) -> Any:
    """The launch of one forward step, as a function of its arrays: those `used`, or whole steps of them."""
    number = accumulator(dtype).type
    numbers = (*map(np.int32, (B, H, use_peephole)), number(forget_bias), number(cell_clip))
    return _launch(device, "lstm_block_cell", dtype, used, B, H, numbers)


def lstm_block_cell_grad(device: Launcher, *arrays: CudaArray, use_peephole: bool) -> Arrays:
    """The gradient of one step, from its inputs, its saved values, and the gradients cs_grad and h_grad (B, H).

    Returns cs_prev_grad (B, H), dicfo (B, 4H), wci_grad, wcf_grad, wco_grad (H,). x, h_prev, w and b are not read.
    """
    x, cs_prev, _, _, wci, wcf, wco, _, *saved = arrays
    cs_prev, wci, wcf, wco, i, cs, f, o, ci, co, cs_grad, h_grad = in_c_order(device, cs_prev, wci, wcf, wco, *saved)
    B, H = cs_prev.shape
    cs_prev_grad, dicfo = device.empty((B, H), x.dtype), device.empty((B, 4 * H), x.dtype)
    used = cs_prev, wci, wcf, wco, i, f, o, ci, co, cs_grad, h_grad, NULL, NULL, cs_prev_grad, dicfo
    grad_step_launch(device, x.dtype, used, B, H, use_peephole)(*used)
    return cs_prev_grad, dicfo, *peephole_grads(device, use_peephole, dicfo, cs_prev, cs, B)


def grad_step_launch(
    device: Launcher, dtype: np.dtype, used: tuple[CudaArray | None, ...], B: int, H: int, use_peephole: bool
) -> Any:
    """The launch of one backward step, like `step_launch`."""
    numbers = tuple(map(np.int32, (B, H, use_peephole)))
    return _launch(device, "lstm_block_cell_grad", dtype, used, B, H, numbers)


def _launch(
    device: Launcher, kernel: str, dtype: np.dtype, used: tuple[CudaArray | None, ...], B: int, H: int, numbers: Any
) -> Any:
    if not B * H:
        return lambda *arrays: None
    n = units_at_once(H, *used, dtype=dtype)
    run = device.kernel_of("lstm_block/cell.cu", kernel, dtype, constants=of_units(n))
    threads = cells(B, H // n)
    return lambda *arrays: run(*numbers, *arrays, **threads)
