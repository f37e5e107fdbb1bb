"""CudnnRNN with zoneout, step by step: what `steps.py` does, with the kernels of `cudnn_rnn/zoneout.cu`.

The formulas: `minirnn/ops/cudnn_rnn/zoneout.py`. The products are those of `steps.py`; each launch of a step is handed
the masks of that step as well. The rung `persistent` does without zoneout: what its kernels read at a step is what x
adds to the gates, and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from minirnn.devices.cuda.array import CudaArray, c_strides
from minirnn.devices.cuda.launch.cudnn_rnn.all_steps import input_part
from minirnn.devices.cuda.launch.cudnn_rnn.choice import choose
from minirnn.devices.cuda.launch.cudnn_rnn.direction import VALUES, Direction, GateGradients
from minirnn.devices.cuda.launch.cudnn_rnn.sizes import Sizes
from minirnn.devices.cuda.launch.cudnn_rnn.steps import step_launch
from minirnn.devices.cuda.launch.primitives.products import product
from minirnn.devices.cuda.launcher import Launcher

FILE = "cudnn_rnn/zoneout.cu"
CANDIDATE = ("h_new",)
"""What rnn_tanh and rnn_relu keep for the way back: y no longer tells it."""

Pair = tuple[Any, Any]
"""zh (D, T, B, P) and zc (D, T, B, H), each an array or a number; zc is None where there is no c."""


@dataclass
class Masks:
    """zh or zc: of all directions, or of one."""

    array: CudaArray | None
    """(D, T, B, width), then (T, B, width); or one number, (1,); None where there is no such state."""
    each: bool
    """Whether each element of a step has its own."""

    def of(self, k: int) -> Masks:
        """Those of direction k; then those of step k."""
        return Masks(self.array[k], True) if self.each and self.array is not None else self

    @property
    def of_each(self) -> CudaArray | None:
        """The array if each element has its own, of which a launch gets whole steps."""
        return self.array if self.each else None

    def arguments(self, t: int) -> tuple[CudaArray | None, np.int32]:
        """What a launch is told of step t."""
        return self.of(t).array, np.int32(self.each)


def masks_of(device: Launcher, z: Any, dtype: np.dtype) -> Masks:
    """Masks from an array (D, T, B, width), a number, or None."""
    if z is None or isinstance(z, float):
        return Masks(None if z is None else device.full((1,), z, dtype), False)
    return Masks(device.contiguous(z), True)


def kept_values(mode: str) -> tuple[str, ...]:
    """What a step keeps for the way back, (B, H) each."""
    return VALUES[mode] or CANDIDATE


def values_of(saved: CudaArray | None, sizes: Sizes) -> CudaArray | None:
    """What was saved, as the `kept_values` of all steps, (D, T, 5 or 1, B, H); None if nothing is kept."""
    if saved is None:
        return None
    shape = (sizes.D, sizes.T, len(kept_values(sizes.mode)), sizes.B, sizes.H)
    assert saved.size == prod(shape)
    return saved.seen_as(shape, c_strides(shape))


def all_directions(
    directions: list[Direction],
    zoneout: Pair,
    x: CudaArray,
    h: CudaArray,
    c: CudaArray | None,
    saved: CudaArray | None,
    y: CudaArray,
) -> None:
    """Fill y; h (D, B, P) and c (D, B, H) go from the first state to the last."""
    zh, zc = (masks_of(directions[0].device, z, x.dtype) for z in zoneout)
    kept = values_of(saved, directions[0].sizes)
    count_rung(directions[0], "forward")
    for d, direction in enumerate(directions):
        c_d, kept_d = (None if a is None else a[d] for a in (c, kept))
        forward(direction, x, h[d], c_d, kept_d, y, zh.of(d), zc.of(d))


def gate_gradients(
    directions: list[Direction], zoneout: Pair, saved: CudaArray, dy: CudaArray, dh: CudaArray, dc: CudaArray | None
) -> list[GateGradients]:
    """What goes from step to step; dh, dc go from the last state's gradients to the first's."""
    zh, zc = (masks_of(directions[0].device, z, dy.dtype) for z in zoneout)
    kept = values_of(saved, directions[0].sizes)
    assert kept is not None
    count_rung(directions[0], "backward")
    return [
        backward(direction, kept[d], dy, dh[d], None if dc is None else dc[d], zh.of(d), zc.of(d))
        for d, direction in enumerate(directions)
    ]


def count_rung(direction: Direction, way: str) -> None:
    """Note which rung computes it: with zoneout there is no choice."""
    device = direction.device
    choice = choose(direction.sizes, device.driver.limits, way == "backward", device.cudnn_rnn_rung, zoneout=True)
    device.rungs[f"{choice.rung} {way}"] += 1


def forward(
    direction: Direction,
    x: CudaArray,
    h: CudaArray,
    c: CudaArray | None,
    kept: CudaArray | None,
    y: CudaArray,
    zh: Masks,
    zc: Masks,
) -> None:
    """Fill this direction's columns of y; h (B, P) and c (B, H) go from the first state to the last."""
    device, B, H, P = direction.device, direction.sizes.B, direction.sizes.H, direction.sizes.P
    _, R, Wp, bW, bR = direction.weights
    A = device.empty((direction.sizes.T, B, direction.sizes.G * H), x.dtype)
    input_part(direction, x, A)
    R_T = device.transpose(R, (1, 0))
    A2 = device.empty((B, 3 * H), x.dtype) if direction.sizes.mode == "gru" else None
    m, projected = (device.empty((B, n), x.dtype) for n in (H, P)) if Wp is not None else (None, None)

    outputs = h, direction.own_columns(y, 0), zh.of_each  # with a projection the step does not touch them
    whole = A, A2, bW, bR, kept, c, m, zc.of_each, *(outputs if m is None else ())

    def steps() -> None:
        step = step_launch(direction, f"{direction.sizes.mode}_zoneout_step", H, whole, FILE)
        projected_step = step_launch(direction, "projected_zoneout_step", P, (projected, *outputs), FILE)
        for t in direction.forward_steps():
            if A2 is None:
                product(device, h, R_T, A[t], beta=1.0)
            else:
                product(device, h, R_T, A2)
            here, masks = direction.own_columns(y, t), (*zh.arguments(t), *zc.arguments(t))
            step(t, A[t], A2, bW, bR, None if kept is None else kept[t], c, m, h, here, *masks)
            if m is not None and projected is not None:
                product(device, m, device.transpose(Wp, (1, 0)), projected)
                projected_step(t, projected, h, here, *zh.arguments(t))

    used = (A, R, Wp, bW, bR, h, c, kept, y, A2, m, projected, zh.array, zc.array)
    direction.run("cudnn_rnn zoneout forward", (direction.d,), used, steps)


def backward(
    direction: Direction,
    kept: CudaArray,
    dy: CudaArray,
    dh: CudaArray,
    dc: CudaArray | None,
    zh: Masks,
    zc: Masks,
) -> GateGradients:
    """The gradients of all pre-activations; dh (B, P) and dc (B, H) go from those of the last state to the first's."""
    device, T, B, H, P = direction.device, direction.sizes.T, direction.sizes.B, direction.sizes.H, direction.sizes.P
    _, R, Wp, _, _ = direction.weights
    da = da2 = device.empty((T, B, direction.sizes.columns * H), dh.dtype)
    if direction.sizes.mode == "gru":  # columns q r z n, of which the first three are da2
        da2, R = da[:, :, : 3 * H], device.concatenate([R[2 * H :], R[: 2 * H]], 0)
    ds, ms = (device.empty((T, B, n), dh.dtype) for n in (P, H)) if Wp is not None else (None, None)
    dm = device.empty((B, H), dh.dtype) if Wp is not None else None

    outputs = dh, direction.own_columns(dy, 0), zh.of_each  # with a projection the step does not touch them
    whole = kept, dm, dc, da, ms, zc.of_each, *(outputs if dm is None else ())

    def steps() -> None:
        step = step_launch(direction, f"{direction.sizes.mode}_zoneout_step_grad", H, whole, FILE)
        projected_step = step_launch(direction, "projected_zoneout_step_grad", P, (*outputs, ds), FILE)
        for t in direction.backward_steps():
            there, m = direction.own_columns(dy, t), None
            if ds is not None and ms is not None and dm is not None:
                projected_step(t, there, dh, ds[t], *zh.arguments(t))
                product(device, ds[t], Wp, dm)
                m = ms[t]
            step(t, kept[t], there, dm, dh, dc, da[t], m, *zh.arguments(t), *zc.arguments(t))
            product(device, da2[t], R, dh, beta=1.0)

    used = (R, Wp, kept, dy, dh, dc, da, ds, ms, dm, zh.array, zc.array)
    direction.run("cudnn_rnn zoneout backward", (direction.d,), used, steps)
    return GateGradients(da, ds, ms)
