"""The LSTM of LSTMBlockCell and BlockLSTM on a CUDA device: products by the driver, the rest by `lstm_block/cell.cu`.

Formulas, shapes and their explanation: the ops of the same names in `minirnn/ops/lstm_block/cell.py`. One step is a
product and one launch, forward and backward. A sequence multiplies the inputs of all steps at once, then takes its
steps one by one; backward, the products for x_grad, w_grad and b_grad are single ones over all steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from minirnn.devices.cuda.array import CudaArray
from minirnn.devices.cuda.launch.narrow import in_order, narrow, widen
from minirnn.devices.cuda.launch.primitives.elementwise import BLOCK, blocks, cells
from minirnn.devices.cuda.launch.primitives.products import product
from minirnn.devices.cuda.launch.sources import accumulator
from minirnn.devices.rounding import rounded

if TYPE_CHECKING:
    from minirnn.devices.cuda.primitives import Primitives

Arrays = tuple[CudaArray, ...]
NULL = None


def lstm_block_cell(
    device: Primitives,
    x: CudaArray,
    cs_prev: CudaArray,
    h_prev: CudaArray,
    w: CudaArray,
    wci: CudaArray,
    wcf: CudaArray,
    wco: CudaArray,
    b: CudaArray,
    *,
    forget_bias: float,
    cell_clip: float,
    use_peephole: bool,
) -> Arrays:
    """One step: x (B, I), cs_prev and h_prev (B, H), w (I+H, 4H), wci wcf wco (H,), b (4H,).

    Returns i, cs, f, o, ci, co, h, each (B, H).
    """
    x, cs_prev, h_prev, w, wci, wcf, wco, b = in_order(device, x, cs_prev, h_prev, w, wci, wcf, wco, b)
    B, I, H = *x.shape, cs_prev.shape[1]
    z = device.empty((B, 4 * H), accumulator(x.dtype))
    product(device, x, w[:I], z)
    product(device, h_prev, w[I:], z, beta=1.0)
    outputs = tuple(device.empty((B, H), x.dtype) for _ in range(7))
    forget, limit = rounded(forget_bias, x.dtype), rounded(cell_clip, x.dtype) if cell_clip > 0 else None
    step = _step(device, x.dtype, B, H, forget, limit, use_peephole, "icfo")
    step(z, b, cs_prev, wci, wcf, wco, *outputs)
    return outputs


def _step(
    device: Primitives,
    dtype: np.dtype,
    B: int,
    H: int,
    forget_bias: float,
    limit: float | None,
    use_peephole: bool,
    gate_order: str,
) -> Any:
    """The launch of one forward step, waiting for its arrays; `limit` is the clip of cs, None for none."""
    if not B * H:
        return lambda *arrays: None
    run = device.kernel_of("lstm_block/cell.cu", "lstm_block_cell", dtype)
    number, at = accumulator(dtype).type, gate_order.index
    sizes = map(np.int32, (B, H, at("c"), at("f"), use_peephole, limit is not None))
    numbers = (*sizes, number(forget_bias), number(limit or 0))
    threads = cells(B, H)
    return lambda *arrays: run(*numbers, *arrays, **threads)


def lstm_block_cell_grad(
    device: Primitives,
    x: CudaArray,
    cs_prev: CudaArray,
    h_prev: CudaArray,
    w: CudaArray,
    wci: CudaArray,
    wcf: CudaArray,
    wco: CudaArray,
    b: CudaArray,
    i: CudaArray,
    cs: CudaArray,
    f: CudaArray,
    o: CudaArray,
    ci: CudaArray,
    co: CudaArray,
    cs_grad: CudaArray,
    h_grad: CudaArray,
    *,
    use_peephole: bool,
) -> Arrays:
    """Gradient of one step; the saved i, cs, f, o, ci, co and the gradients cs_grad, h_grad are (B, H).

    Returns cs_prev_grad (B, H), dicfo (B, 4H), wci_grad, wcf_grad, wco_grad (H,). x, h_prev, w and b are not read.
    """
    cs_prev, wci, wcf, wco = in_order(device, cs_prev, wci, wcf, wco)
    i, cs, f, o, ci, co, cs_grad, h_grad = in_order(device, i, cs, f, o, ci, co, cs_grad, h_grad)
    B, H = cs_prev.shape
    cs_prev_grad, dicfo = device.empty((B, H), x.dtype), device.empty((B, 4 * H), x.dtype)
    step = _grad_step(device, x.dtype, B, H, use_peephole, "icfo")
    step(cs_prev, wci, wcf, wco, i, f, o, ci, co, cs_grad, h_grad, NULL, NULL, cs_prev_grad, dicfo)
    peepholes = _peephole_grads(device, use_peephole, "icfo", dicfo, cs_prev, cs, B)
    return cs_prev_grad, dicfo, *peepholes


def _grad_step(device: Primitives, dtype: np.dtype, B: int, H: int, use_peephole: bool, gate_order: str) -> Any:
    """The launch of one backward step, waiting for its arrays."""
    if not B * H:
        return lambda *arrays: None
    run = device.kernel_of("lstm_block/cell.cu", "lstm_block_cell_grad", dtype)
    at = gate_order.index
    numbers = tuple(map(np.int32, (B, H, at("c"), at("f"), use_peephole)))
    threads = cells(B, H)
    return lambda *arrays: run(*numbers, *arrays, **threads)


def _peephole_grads(
    device: Primitives,
    use_peephole: bool,
    gate_order: str,
    dicfo: CudaArray,
    cs_prev: CudaArray,
    cs: CudaArray,
    rows: int,
) -> Arrays:
    """wci_grad, wcf_grad, wco_grad (H,) from dicfo and cs of all `rows` = T*B rows; cs_prev (B, H) came before them."""
    B, H = cs_prev.shape
    if not use_peephole or not rows:
        return tuple(device.full((H,), 0, dicfo.dtype) for _ in range(3))
    grads = tuple(device.empty((H,), dicfo.dtype) for _ in range(3))
    run = device.kernel_of("lstm_block/cell.cu", "lstm_peephole_grad", dicfo.dtype)
    numbers = np.int64(rows), np.int32(B), np.int32(H), np.int32(gate_order.index("f"))
    if H:
        run(*numbers, dicfo, cs_prev, cs, *grads, grid=blocks(H), block=BLOCK)
    return grads


def block_lstm(
    device: Primitives,
    x: CudaArray,
    cs_prev: CudaArray,
    h_prev: CudaArray,
    w: CudaArray,
    wci: CudaArray,
    wcf: CudaArray,
    wco: CudaArray,
    b: CudaArray,
    *,
    seq_len_max: int,
    forget_bias: float,
    cell_clip: float,
    use_peephole: bool,
    gate_order: str,
) -> Arrays:
    """All steps: x is (T, B, I), the rest as in `lstm_block_cell`.

    Returns i, cs, f, o, ci, co, h, each (T, B, H) and zero from seq_len_max on, where x is not read.
    """
    dtype = x.dtype
    forget, limit = rounded(forget_bias, dtype), rounded(cell_clip, dtype) if cell_clip > 0 else None
    x, cs_prev, h_prev, w, wci, wcf, wco, b = widen(device, x, cs_prev, h_prev, w, wci, wcf, wco, b)
    (T, B, I), H, L = x.shape, cs_prev.shape[1], int(seq_len_max)
    outputs = tuple(device.empty((T, B, H), x.dtype) for _ in range(7))
    for a in outputs:
        _clear(device, a[L:])
    z = device.empty((L, B, 4 * H), x.dtype)
    product(device, flat(x[:L]), w[:I], flat(z))
    R = w[I:]
    step = _step(device, x.dtype, B, H, forget, limit, use_peephole, gate_order)

    def steps() -> None:
        cp, hp = cs_prev, h_prev
        for t in range(L):
            product(device, hp, R, z[t], beta=1.0)
            now = tuple(a[t] for a in outputs)
            step(z[t], b, cp, wci, wcf, wco, *now)
            _, cp, _, _, _, _, hp = now

    numbers = L, B, H, float(forget), None if limit is None else float(limit), use_peephole, gate_order
    device.recordings.run("block_lstm", numbers, (cs_prev, h_prev, w, wci, wcf, wco, b, z, *outputs), steps)
    return narrow(device, dtype, *outputs)


def block_lstm_grad(
    device: Primitives,
    x: CudaArray,
    cs_prev: CudaArray,
    h_prev: CudaArray,
    w: CudaArray,
    wci: CudaArray,
    wcf: CudaArray,
    wco: CudaArray,
    b: CudaArray,
    i: CudaArray,
    cs: CudaArray,
    f: CudaArray,
    o: CudaArray,
    ci: CudaArray,
    co: CudaArray,
    h: CudaArray,
    cs_grad: CudaArray,
    h_grad: CudaArray,
    *,
    seq_len_max: int,
    use_peephole: bool,
    gate_order: str,
) -> Arrays:
    """Gradient of all steps; the saved i, ..., h and the gradients cs_grad, h_grad are (T, B, H).

    Returns x_grad (T, B, I), cs_prev_grad, h_prev_grad (B, H), w_grad (I+H, 4H), wci_grad, wcf_grad, wco_grad (H,),
    b_grad (4H,). Nothing is read from seq_len_max on, and x_grad is zero there. b is not read.
    """
    dtype = x.dtype
    x, cs_prev, h_prev, w, wci, wcf, wco = widen(device, x, cs_prev, h_prev, w, wci, wcf, wco)
    i, cs, f, o, ci, co, h, cs_grad, h_grad = widen(device, i, cs, f, o, ci, co, h, cs_grad, h_grad)
    (T, B, I), H, L = x.shape, cs_prev.shape[1], int(seq_len_max)
    R = w[I:]
    dicfo = device.empty((L, B, 4 * H), x.dtype)
    step = _grad_step(device, x.dtype, B, H, use_peephole, gate_order)
    dcs, dh = device.full((B, H), 0, x.dtype), device.full((B, H), 0, x.dtype)  # from step t+1

    def steps() -> None:
        for t in reversed(range(L)):
            cp = cs[t - 1] if t else cs_prev
            saved = i[t], f[t], o[t], ci[t], co[t]
            # One thread reads dcs at its own place only, before it writes there.
            step(cp, wci, wcf, wco, *saved, cs_grad[t], h_grad[t], dcs, dh, dcs, dicfo[t])
            product(device, dicfo[t], device.transpose(R, (1, 0)), dh)

    arrays = (cs_prev, w, wci, wcf, wco, i, cs, f, o, ci, co, cs_grad, h_grad, dcs, dh, dicfo)
    device.recordings.run("block_lstm_grad", (L, B, H, use_peephole, gate_order), arrays, steps)

    dz, ones = flat(dicfo), device.full((1, L * B), 1, x.dtype)
    x_grad, w_grad = device.empty((T, B, I), x.dtype), device.full((I + H, 4 * H), 0, x.dtype)
    b_grad = device.full((1, 4 * H), 0, x.dtype)
    _clear(device, x_grad[L:])
    if L * B:
        product(device, dz, device.transpose(w[:I], (1, 0)), flat(x_grad[:L]))
        product(device, device.transpose(flat(x[:L]), (1, 0)), dz, w_grad[:I])
        # h_prev of step 0, and h of the steps before for all others
        product(device, device.transpose(h_prev, (1, 0)), dicfo[0], w_grad[I:])
        if L > 1:
            product(device, device.transpose(flat(h[: L - 1]), (1, 0)), flat(dicfo[1:]), w_grad[I:], beta=1.0)
        product(device, ones, dz, b_grad)
    peepholes = _peephole_grads(device, use_peephole, gate_order, dz, cs_prev, flat(cs[:L]), L * B)
    return narrow(device, dtype, x_grad, dcs, dh, w_grad, *peepholes, device.reshape(b_grad, (4 * H,)))


def flat(a: CudaArray) -> CudaArray:
    """(T, B, n) in C order as a matrix (T*B, n)."""
    T, B, n = a.shape
    return a.seen_as((T * B, n), (n, 1))


def _clear(device: Primitives, a: CudaArray) -> None:
    if a.size:
        device.driver.memset(a.ptr, 0, a.nbytes)
