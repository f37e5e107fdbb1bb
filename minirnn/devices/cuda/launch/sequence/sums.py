"""The products of all rungs of the ladder for all steps at once, before and after the loop over time."""

from __future__ import annotations

from dataclasses import dataclass

from minirnn.devices.base import Weights
from minirnn.devices.cuda.array import CudaArray
from minirnn.devices.cuda.launch.copies import copy
from minirnn.devices.cuda.launch.primitives.index import gather_rows
from minirnn.devices.cuda.launch.primitives.products import product
from minirnn.devices.cuda.launch.sequence.arrays import Layer, flat


@dataclass
class StepGradients:
    """The gradients inside all steps of one direction, of which the sums over steps are products."""

    da: CudaArray
    """Of the pre-activations: (T, B, gates*H), those of gates of only h first. So the first ROWS_OF_R columns are those
    of R's rows, and the last ROWS_OF_W those of W's."""
    ds: CudaArray | None = None
    """With a projection: of its results, (T, B, P)."""
    ms: CudaArray | None = None
    """With a projection: its operands, (T, B, H)."""
    products: CudaArray | None = None
    """Of the products inside the step: (PRODUCTS, T, B, H)."""
    vectors: CudaArray | None = None
    """Of the vectors, for each step and row: (T, VECTORS, B, H)."""


def input_part(layer: Layer, d: int, x: CudaArray, A: CudaArray) -> None:
    """Set A (T, B, rows of W) to x W' of all steps; with skip_input to x for every gate."""
    device, sizes, W = layer.device, layer.sizes, layer.weights[d].W
    if W is not None:
        product(device, flat(x), device.transpose(W, (1, 0)), flat(A))
        return
    G = sizes.rows_of_W
    gates = A.seen_as((sizes.T * sizes.B, G, sizes.H), (G * sizes.H, sizes.H, 1))
    copy(device, gates, flat(x).seen_as(gates.shape, (sizes.H, 0, 1)))


def weight_gradients(
    layer: Layer,
    d: int,
    x: CudaArray,
    h0: CudaArray,
    y: CudaArray,
    found: StepGradients,
    multiplied: CudaArray | None,
    given: Weights,
    dx: CudaArray | None,
    first_rows: CudaArray | None,
) -> Weights:
    """The gradients of the weights `given` of one direction, single products over all steps and rows.

    Direction 0 sets dx, the next one adds to it. A cell without W adds to zeros.

    `multiplied` (PRODUCTS, T, B, H) are the operands of the products inside the step, `first_rows` (B,) the rows of
    (T*B, ..) at which direction 1 begins; None if that is the last step.
    """
    device, sizes, plan = layer.device, layer.sizes, layer.plan
    T, B, H, P = sizes.T, sizes.B, sizes.H, sizes.P
    columns, of_h, both = flat(found.da), plan.of_h * H, plan.of_both * H
    da, da2 = columns[:, of_h:], columns[:, : of_h + both]
    dW, dR, dWp, dbW, dbR = (None if w is None else device.empty(w.shape, w.dtype) for w in given[:5])

    if dW is not None:
        product(device, device.transpose(da, (1, 0)), flat(x), dW)
    if dWp is not None and found.ds is not None and found.ms is not None:
        product(device, device.transpose(flat(found.ds), (1, 0)), flat(found.ms), dWp)
    # The columns begin with the gates of only h, which are the last ones in the weights.
    pieces = [(slice(of_h, of_h + both), slice(0, both)), (slice(0, of_h), slice(both, both + of_h))]
    pieces = [(source, target) for source, target in pieces if source.stop > source.start]
    if dbW is not None:
        total = device.empty((columns.shape[1],), x.dtype) if of_h else dbW
        product(device, device.ones(T * B, x.dtype), columns, device.reshape(total, (1, columns.shape[1])))
        of_W = sizes.rows_of_W * H
        if of_h:
            copy(device, dbW[:of_W], total[of_h:])
        if of_h and dbR is None:  # one bias of all gates
            copy(device, dbW[of_W:], total[:of_h])
        if dbR is not None:
            for source, target in pieces:
                copy(device, dbR[target], total[source])
    if dR is not None:
        # h' of a step is the output of the previous step, or h0 at the first step of each row.
        later, earlier = slice(B, T * B), slice(0, (T - 1) * B)
        if d == 1:
            later, earlier = earlier, later
        first = da2[:B] if d == 0 else da2[(T - 1) * B :]
        if d == 1 and first_rows is not None:
            first = gather_rows(device, device.contiguous(da2), first_rows)
        outputs = y.seen_as((T * B, P), (layer.y_stride, 1), d * P)
        for source, target in pieces:
            product(device, device.transpose(first[:, source], (1, 0)), h0, dR[target])
            if T > 1:
                product(device, device.transpose(da2[later, source], (1, 0)), outputs[earlier], dR[target], beta=1.0)
    dU = [device.empty(u.shape, u.dtype) for u in given.U]
    begun: set[int] = set()  # matrices with the part of one product, to which those of others are added
    for k, cut in enumerate(plan.cuts):
        if cut.kind == "product" and found.products is not None and multiplied is not None:
            da_k, more = device.transpose(flat(found.products[k]), (1, 0)), float(cut.matrix in begun)
            product(device, da_k, flat(multiplied[k]), dU[cut.matrix], beta=more)
            begun.add(cut.matrix)
    totals = None if found.vectors is None else device.sum(found.vectors, (0, 2), False)

    W = layer.weights[d].W
    if dx is not None and W is not None:
        product(device, da, W, flat(dx), beta=float(d))
    elif dx is not None and plan.reads_x:
        stride = da.element_strides[0]
        each = da.seen_as((T, B, sizes.rows_of_W, H), (B * stride, stride, H, 1))
        copy(device, dx, device.add(dx, device.sum(each, (2,), False)))
    return Weights(dW, dR, dWp, dbW, dbR, dU, () if totals is None else [totals[k] for k in range(plan.vectors)])
