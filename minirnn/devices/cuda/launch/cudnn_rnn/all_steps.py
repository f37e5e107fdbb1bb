"""What all rungs of the CudnnRNN ladder compute for all steps at once: products before and after the loop over time."""

from __future__ import annotations

from typing import Any

from minirnn.devices.cuda.array import CudaArray
from minirnn.devices.cuda.launch.copies import copy
from minirnn.devices.cuda.launch.cudnn_rnn.direction import Direction, GateGradients
from minirnn.devices.cuda.launch.lstm_block.sequence import flat
from minirnn.devices.cuda.launch.primitives.products import product


def input_part(direction: Direction, x: CudaArray, A: CudaArray) -> None:
    """Set A (T, B, G*H) to x W' of all steps; with skip_input to x for every gate."""
    device, sizes, W = direction.device, direction.sizes, direction.weights[0]
    if W is not None:
        product(device, flat(x), device.transpose(W, (1, 0)), flat(A))
        return
    gates = A.seen_as((sizes.T * sizes.B, sizes.G, sizes.H), (sizes.G * sizes.H, sizes.H, 1))
    copy(device, gates, flat(x).seen_as(gates.shape, (sizes.H, 0, 1)))


def all_input_parts(directions: list[Direction], x: CudaArray) -> CudaArray:
    """The input parts of all directions, (D, T, B, G*H)."""
    sizes = directions[0].sizes
    A = directions[0].device.empty((sizes.D, sizes.T, sizes.B, sizes.G * sizes.H), x.dtype)
    for d, direction in enumerate(directions):
        input_part(direction, x, A[d])
    return A


def sums_over_steps(
    direction: Direction,
    x: CudaArray,
    h0: CudaArray,
    y: CudaArray,
    gradients: GateGradients,
    dweights: tuple[Any, ...],
    dx: CudaArray | None,
) -> None:
    """Set `dweights` of one direction and add to dx: single products over all steps and rows."""
    device, T, B, H, P = direction.device, direction.sizes.T, direction.sizes.B, direction.sizes.H, direction.sizes.P
    gru = direction.sizes.mode == "gru"
    columns = flat(gradients.da)
    da, da2 = (columns[:, H:], columns[:, : 3 * H]) if gru else (columns, columns)
    W, (dW, dR, dWp, dbW, dbR) = direction.weights[0], dweights

    if dW is not None:
        product(device, device.transpose(da, (1, 0)), flat(x), dW)
    if dWp is not None and gradients.ds is not None and gradients.ms is not None:
        product(device, device.transpose(flat(gradients.ds), (1, 0)), flat(gradients.ms), dWp)
    # h' of a step is the output of the step before, and h0 at the first step of each row.
    later, earlier = slice(B, T * B), slice(0, (T - 1) * B)
    if direction.d == 0:
        first = da2[:B]
    else:
        later, earlier = earlier, later
        first = device.getitem(da2, (direction.first_rows(),))
    outputs = y.seen_as((T * B, P), (direction.y_stride, 1), direction.d * P)
    ones = device.full((1, T * B), 1, x.dtype)
    total = device.empty((1, da2.shape[1]), x.dtype)
    product(device, ones, da2, total)
    pieces = [(slice(0, da2.shape[1]), slice(None))]
    if gru:  # q r z in da2, r z n in the weights
        pieces = [(slice(H, 3 * H), slice(0, 2 * H)), (slice(0, H), slice(2 * H, 3 * H))]
    for source, target in pieces:
        product(device, device.transpose(first[:, source], (1, 0)), h0, dR[target])
        if T > 1:
            product(device, device.transpose(da2[later, source], (1, 0)), outputs[earlier], dR[target], beta=1.0)
        copy(device, dbR[target], total[0, source])
    if gru:
        total = device.empty((1, 3 * H), x.dtype)
        product(device, ones, da, total)
    copy(device, dbW, total[0])

    if dx is not None and W is not None:
        product(device, da, W, flat(dx), beta=1.0)
    elif dx is not None:
        stride = da.element_strides[0]
        gates = da.seen_as((T, B, direction.sizes.G, H), (B * stride, stride, H, 1))
        copy(device, dx, device.add(dx, device.sum(gates, (2,), False)))
