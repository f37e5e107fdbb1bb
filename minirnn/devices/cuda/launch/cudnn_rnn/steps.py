"""CudnnRNN on a CUDA device, step by step: the lowest rung of the ladder, for any size on any GPU.

The kernels: `cudnn_rnn/steps.cu`. The inputs of all steps are multiplied at once; a step is one product and one launch
(two each with a projection), which gets zoneout's masks of that step, if there are any; the sums over steps (dx, dW, dR
and the biases) are single products after the loop. A repeated loop can be recorded and started as one launch
(`recordings.py`).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from minirnn.devices.cuda.array import CudaArray
from minirnn.devices.cuda.launch.cudnn_rnn.all_steps import input_part
from minirnn.devices.cuda.launch.cudnn_rnn.direction import Direction, GateGradients
from minirnn.devices.cuda.launch.cudnn_rnn.zoneout import Masks
from minirnn.devices.cuda.launch.primitives.products import product
from minirnn.devices.cuda.launch.threads import cells, of_units, units_at_once


def step_launch(
    direction: Direction, kernel: str, units: int, used: tuple[CudaArray | None, ...], masks: Masks
) -> Callable[..., None]:
    """The launch of `kernel` for one step, as a function of the step and its arrays.

    A thread has one unit of a row, or several if the alignment of the arrays `used`, of which it gets whole steps,
    allows it.
    """
    dtype = direction.weights[1].dtype
    n = units_at_once(units, *used, dtype=dtype)
    constants = (*of_units(n), *(("-DZONEOUT=1",) if masks else ()))
    run = direction.device.kernel_of("cudnn_rnn/steps.cu", kernel, dtype, constants=constants)
    B = direction.sizes.B
    sizes, threads = tuple(map(np.int32, (B, units, direction.y_stride))), cells(B, units // n)
    return lambda t, *arrays: run(np.int32(t), *sizes, direction.lengths, *arrays, **threads)


def forward(
    direction: Direction,
    x: CudaArray,
    h: CudaArray,
    c: CudaArray | None,
    kept: CudaArray | None,
    y: CudaArray,
    masks: Masks,
) -> None:
    """Fill this direction's columns of y; h (B, P) and c (B, H) go from the first state to the last."""
    device, B, H, P = direction.device, direction.sizes.B, direction.sizes.H, direction.sizes.P
    _, R, Wp, bW, bR = direction.weights
    A = device.empty((direction.sizes.T, B, direction.sizes.gates.rows_of_W * H), x.dtype)
    input_part(direction, x, A)
    R_T = device.transpose(R, (1, 0))
    A2 = device.empty((B, direction.sizes.G * H), x.dtype) if direction.sizes.gates.apart else None
    m, projected = (device.empty((B, n), x.dtype) for n in (H, P)) if Wp is not None else (None, None)

    outputs = h, direction.own_columns(y, 0), masks.zh  # with a projection the step does not touch them
    used = A, A2, bW, bR, kept, c, m, masks.zc, *(outputs if m is None else ())

    def steps() -> None:
        single = units_at_once(H, *used, dtype=x.dtype) == 1  # a thread has one unit
        plain = direction.sizes.mode == "lstm" and single and m is None and not masks
        step = step_launch(direction, f"{direction.sizes.mode}_step{'_plain' if plain else ''}", H, used, masks)
        projected_step = step_launch(direction, "projected_step", P, (projected, *outputs), masks)
        for t in direction.forward_steps():
            if A2 is None:
                product(device, h, R_T, A[t], beta=1.0)
            else:
                product(device, h, R_T, A2)
            here, (zh, zc), kept_t = direction.own_columns(y, t), masks.of(t), None if kept is None else kept[t]
            if plain:
                step(t, A[t], bW, bR, kept_t, c, h, here)
            else:
                step(t, A[t], A2, bW, bR, None, kept_t, c, m, h, here, zh, zc)
            if m is not None and projected is not None:
                product(device, m, device.transpose(Wp, (1, 0)), projected)
                projected_step(t, projected, h, here, zh)

    arrays = A, R, Wp, bW, bR, h, c, kept, y, A2, m, projected, masks.zh, masks.zc
    direction.run("cudnn_rnn forward", (direction.d,), arrays, steps)


def backward(
    direction: Direction,
    kept: CudaArray | None,
    y: CudaArray,
    dy: CudaArray,
    dh: CudaArray,
    dc: CudaArray | None,
    masks: Masks,
) -> GateGradients:
    """The gradients of all pre-activations; dh (B, P) and dc (B, H) go from those of the last state to the first's."""
    device, T, B, H, P = direction.device, direction.sizes.T, direction.sizes.B, direction.sizes.H, direction.sizes.P
    _, R, Wp, _, _ = direction.weights
    da, R = device.empty((T, B, direction.sizes.columns * H), dh.dtype), in_columns(direction, R)
    da2 = da[:, :, : direction.sizes.G * H]
    ds, ms = (device.empty((T, B, n), dh.dtype) for n in (P, H)) if Wp is not None else (None, None)
    dm = device.empty((B, H), dh.dtype) if Wp is not None else None

    outputs = dh, direction.own_columns(dy, 0), masks.zh  # with a projection the step does not touch them
    read = kept, direction.own_columns(y, 0) if kept is None else None
    used = *read, dm, dc, da, ms, masks.zc, *(outputs if dm is None else ())

    def steps() -> None:
        step = step_launch(direction, f"{direction.sizes.mode}_step_grad", H, used, masks)
        projected_step = step_launch(direction, "projected_step_grad", P, (*outputs, ds), masks)
        for t in direction.backward_steps():
            there, m, (zh, zc) = direction.own_columns(dy, t), None, masks.of(t)
            if ds is not None and ms is not None and dm is not None:
                projected_step(t, there, dh, ds[t], zh)
                product(device, ds[t], Wp, dm)
                m = ms[t]
            # The gradient is computed from the saved values, or from the output if there are none.
            values, here = (None, direction.own_columns(y, t)) if kept is None else (kept[t], None)
            step(t, None, values, here, there, dm, dh, dc, da[t], m, None, zh, zc)
            product(device, da2[t], R, dh, beta=1.0)

    arrays = R, Wp, kept, y, dy, dh, dc, da, ds, ms, dm, masks.zh, masks.zc
    direction.run("cudnn_rnn backward", (direction.d,), arrays, steps)
    return GateGradients(da, ds, ms)


def in_columns(direction: Direction, R: CudaArray) -> CudaArray:
    """R with its rows in the order of the columns of da: those of only h first."""
    gates, H = direction.sizes.gates, direction.sizes.H
    both = gates.of_both * H
    return direction.device.concatenate([R[both:], R[:both]], 0) if gates.of_h and both else R
