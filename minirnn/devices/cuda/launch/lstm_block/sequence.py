"""The LSTM sequence of BlockLSTM on a CUDA device, and its gradient.

Formulas, shapes and their explanation: the ops of the same names in `minirnn/ops/lstm_block/sequence.py`. The forward
pass multiplies the inputs of all steps at once, then takes its steps one by one, a product and a launch each; the
backward pass takes the steps in reverse, and the products for x_grad, w_grad and b_grad are single ones over all steps.
"""

from __future__ import annotations

from minirnn.devices.cuda.array import CudaArray
from minirnn.devices.cuda.launch.copies import in_c_order
from minirnn.devices.cuda.launch.lstm_block.cell import Arrays, grad_step_launch, step_launch
from minirnn.devices.cuda.launch.lstm_block.peepholes import peephole_grads
from minirnn.devices.cuda.launch.primitives.products import product
from minirnn.devices.cuda.launcher import Launcher


def block_lstm(
    device: Launcher,
    *inputs: CudaArray,
    seq_len_max: int,
    forget_bias: float,
    cell_clip: float,
    use_peephole: bool,
) -> Arrays:
    """All steps from the arrays of `LSTMBlockInputs`, where x is (T, B, I).

    Returns i, cs, f, o, ci, co, h, each (T, B, H) and zero from seq_len_max on, where x is not read.
    """
    x, cs_prev, h_prev, w, wci, wcf, wco, b = in_c_order(device, *inputs)
    (T, B, I), H, L = x.shape, cs_prev.shape[1], int(seq_len_max)
    outputs = tuple(device.empty((T, B, H), x.dtype) for _ in range(7))
    for a in outputs:
        _clear(device, a[L:])
    z = device.empty((L, B, 4 * H), x.dtype)
    product(device, flat(x[:L]), w[:I], flat(z))
    R = w[I:]
    used = cs_prev, wci, wcf, wco, b, z, *outputs
    step = step_launch(device, x.dtype, used, B, H, forget_bias, cell_clip, use_peephole)

    def steps() -> None:
        cp, hp = cs_prev, h_prev
        for t in range(L):
            product(device, hp, R, z[t], beta=1.0)
            now = tuple(a[t] for a in outputs)
            step(z[t], b, cp, wci, wcf, wco, *now)
            _, cp, _, _, _, _, hp = now

    numbers = L, B, H, forget_bias, cell_clip, use_peephole
    device.recordings.run("block_lstm", numbers, (h_prev, w, *used), steps)
    return outputs


def block_lstm_grad(device: Launcher, *arrays: CudaArray, seq_len_max: int, use_peephole: bool) -> Arrays:
    """The gradient of all steps, from the inputs, the saved i, ..., h and the gradients cs_grad, h_grad (T, B, H).

    Returns x_grad (T, B, I), cs_prev_grad, h_prev_grad (B, H), w_grad (I+H, 4H), wci_grad, wcf_grad, wco_grad (H,),
    b_grad (4H,). Nothing is read from seq_len_max on, and x_grad is zero there. b is not read.
    """
    x, cs_prev, h_prev, w, wci, wcf, wco, _, *saved = arrays
    x, cs_prev, h_prev, w, wci, wcf, wco = in_c_order(device, x, cs_prev, h_prev, w, wci, wcf, wco)
    i, cs, f, o, ci, co, h, cs_grad, h_grad = in_c_order(device, *saved)
    (T, B, I), H, L = x.shape, cs_prev.shape[1], int(seq_len_max)
    R = w[I:]
    dicfo = device.empty((L, B, 4 * H), x.dtype)
    dcs_carried, dh_carried = device.full((B, H), 0, x.dtype), device.full((B, H), 0, x.dtype)  # from step t+1

    used = cs_prev, wci, wcf, wco, i, cs, f, o, ci, co, cs_grad, h_grad, dcs_carried, dh_carried, dicfo
    step = grad_step_launch(device, x.dtype, used, B, H, use_peephole)

    def steps() -> None:
        for t in reversed(range(L)):
            cp = cs[t - 1] if t else cs_prev
            saved = i[t], f[t], o[t], ci[t], co[t]
            # A thread reads dcs_carried only at its own place, before it writes there.
            step(cp, wci, wcf, wco, *saved, cs_grad[t], h_grad[t], dcs_carried, dh_carried, dcs_carried, dicfo[t])
            product(device, dicfo[t], device.transpose(R, (1, 0)), dh_carried)

    device.recordings.run("block_lstm_grad", (L, B, H, use_peephole), (w, *used), steps)

    dz, ones = flat(dicfo), device.full((1, L * B), 1, x.dtype)
    x_grad, w_grad = device.empty((T, B, I), x.dtype), device.full((I + H, 4 * H), 0, x.dtype)
    b_grad = device.full((1, 4 * H), 0, x.dtype)
    _clear(device, x_grad[L:])
    if L * B:
        product(device, dz, device.transpose(w[:I], (1, 0)), flat(x_grad[:L]))
        product(device, device.transpose(flat(x[:L]), (1, 0)), dz, w_grad[:I])
        # h_prev of step 0, and h of the previous steps for all others
        product(device, device.transpose(h_prev, (1, 0)), dicfo[0], w_grad[I:])
        if L > 1:
            product(device, device.transpose(flat(h[: L - 1]), (1, 0)), flat(dicfo[1:]), w_grad[I:], beta=1.0)
        product(device, ones, dz, b_grad)
    peepholes = peephole_grads(device, use_peephole, dz, cs_prev, flat(cs[:L]), L * B)
    return x_grad, dcs_carried, dh_carried, w_grad, *peepholes, device.reshape(b_grad, (4 * H,))


def flat(a: CudaArray) -> CudaArray:
    """(T, B, n) in C order as a matrix (T*B, n)."""
    T, B, n = a.shape
    return a.seen_as((T * B, n), (n, 1))


def _clear(device: Launcher, a: CudaArray) -> None:
    if a.size:
        device.driver.memset(a.ptr, 0, a.nbytes)
