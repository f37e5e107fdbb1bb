"""The products of all rungs of the CudnnRNN ladder for all steps at once, before and after the loop over time."""

from __future__ import annotations

from typing import Any

from minirnn.devices.cuda.array import CudaArray
from minirnn.devices.cuda.launch.copies import copy
from minirnn.devices.cuda.launch.cudnn_rnn.direction import Direction, GateGradients
from minirnn.devices.cuda.launch.lstm_block.sequence import flat
from minirnn.devices.cuda.launch.primitives.products import product


def input_part(direction: Direction, x: CudaArray, A: CudaArray) -> None:
    """Set A (T, B, rows of W) to x W' of all steps; with skip_input to x for every gate."""
    device, sizes, W = direction.device, direction.sizes, direction.weights[0]
    if W is not None:
        product(device, flat(x), device.transpose(W, (1, 0)), flat(A))
        return
    G = sizes.gates.rows_of_W
    gates = A.seen_as((sizes.T * sizes.B, G, sizes.H), (G * sizes.H, sizes.H, 1))
    copy(device, gates, flat(x).seen_as(gates.shape, (sizes.H, 0, 1)))


def all_input_parts(directions: list[Direction], x: CudaArray) -> CudaArray:
    """The input parts of all directions, (D, T, B, rows of W)."""
    sizes = directions[0].sizes
    A = directions[0].device.empty((sizes.D, sizes.T, sizes.B, sizes.gates.rows_of_W * sizes.H), x.dtype)
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
    gates, columns = direction.sizes.gates, flat(gradients.da)
    of_h, both = gates.of_h * H, gates.of_both * H
    da, da2 = columns[:, of_h:], columns[:, : of_h + both]
    W, (dW, dR, dWp, dbW, dbR) = direction.weights[0], dweights

    if dW is not None:
        product(device, device.transpose(da, (1, 0)), flat(x), dW)
    if dWp is not None and gradients.ds is not None and gradients.ms is not None:
        product(device, device.transpose(flat(gradients.ds), (1, 0)), flat(gradients.ms), dWp)
    total = device.empty((1, columns.shape[1]), x.dtype)
    product(device, device.full((1, T * B), 1, x.dtype), columns, total)
    copy(device, dbW, total[0, of_h:])
    # The columns begin with the gates of only h, which are the last ones in the weights.
    pieces = [(slice(of_h, of_h + both), slice(0, both)), (slice(0, of_h), slice(both, both + of_h))]
    pieces = [(source, target) for source, target in pieces if source.stop > source.start]
    for source, target in pieces:
        copy(device, dbR[target], total[0, source])
    if dR is not None:
        # h' of a step is the output of the previous step, or h0 at the first step of each row.
        later, earlier = slice(B, T * B), slice(0, (T - 1) * B)
        if direction.d == 0:
            first = da2[:B]
        else:
            later, earlier = earlier, later
            first = device.getitem(da2, (direction.first_rows(),))
        outputs = y.seen_as((T * B, P), (direction.y_stride, 1), direction.d * P)
        for source, target in pieces:
            product(device, device.transpose(first[:, source], (1, 0)), h0, dR[target])
            if T > 1:
                product(device, device.transpose(da2[later, source], (1, 0)), outputs[earlier], dR[target], beta=1.0)

    if dx is not None and W is not None:
        product(device, da, W, flat(dx), beta=1.0)
    elif dx is not None:
        stride = da.element_strides[0]
        each = da.seen_as((T, B, gates.rows_of_W, H), (B * stride, stride, H, 1))
        copy(device, dx, device.add(dx, device.sum(each, (2,), False)))
