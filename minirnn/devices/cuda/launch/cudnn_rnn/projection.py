"""A projected lstm layer on the rungs that take one launch, whose kernels know no projection: products around the loop.

::

    m = o * tanh(c)      h = m Wp'      a2 = h' R' = m' (R Wp)'

A step sees the state only by way of R. So the loop may go from m to m and multiply by R Wp, (G*H, H): a layer without a
projection, with one exchange between all blocks a step instead of two. All h are one product after the loop. Only the
first state is no m: its part of the pre-activations, h0 R', is added to that of the inputs. Backward the same: the
gradients of m are those of h times Wp, and what R and Wp need is summed over all steps after the loop.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from minirnn.devices.cuda.array import CudaArray
from minirnn.devices.cuda.launch.cudnn_rnn.all_steps import product
from minirnn.devices.cuda.launch.cudnn_rnn.layer import GateGradients, Layer, products_of, without_padding
from minirnn.devices.cuda.launch.cudnn_rnn.plan import Plan
from minirnn.devices.cuda.launch.lstm_block.sequence import flat
from minirnn.devices.cuda.launch.primitives.elementwise import copy


def forward(
    rung: Callable[..., CudaArray | None],
    layers: list[Layer],
    x: CudaArray,
    h0: CudaArray,
    c: CudaArray | None,
    kept: CudaArray | None,
    y: CudaArray,
    plan: Plan,
) -> CudaArray | None:
    """What `rung` computes, which is the function of that name of a rung, for layers with a projection."""
    device, sizes = layers[0].device, layers[0].sizes
    T, B, H, P, D = sizes.T, sizes.B, sizes.H, sizes.P, sizes.D
    plain = [without_projection(layer, h0[d]) for d, layer in enumerate(layers)]
    m = device.empty((T, B, D * H), x.dtype)
    if rung(plain, x, device.full((D, B, H), 0, x.dtype), c, kept, m, plan) is None:
        return None
    with products_of(sizes):
        for d, layer in enumerate(layers):
            product(device, columns(m, d, H), device.transpose(layer.weights[2], (1, 0)), columns(y, d, P))
    copy(device, y, without_padding(y, layers[0]))
    h_n = device.empty(h0.shape, h0.dtype)
    for d, layer in enumerate(layers):
        copy(device, h_n[d], device.getitem(flat(y), (layer.last_rows(),))[:, d * P : (d + 1) * P])
    return h_n


def backward(
    rung: Callable[..., list[GateGradients] | None],
    layers: list[Layer],
    kept: CudaArray,
    dy: CudaArray,
    dh: CudaArray,
    dc: CudaArray | None,
    plan: Plan,
) -> list[GateGradients] | None:
    """The same for the gradients; an lstm's need no y."""
    device, sizes = layers[0].device, layers[0].sizes
    T, B, H, P, D = sizes.T, sizes.B, sizes.H, sizes.P, sizes.D
    plain = [without_projection(layer) for layer in layers]
    dm, dm_n = device.empty((T, B, D * H), dy.dtype), device.empty((D, B, H), dy.dtype)
    with products_of(sizes):
        for d, layer in enumerate(layers):
            product(device, columns(dy, d, P), layer.weights[2], columns(dm, d, H))
            product(device, dh[d], layer.weights[2], dm_n[d])
        found = rung(plain, kept, dm, dm, dm_n, dc, plan)
        if found is None:
            return None
        return [
            GateGradients(
                gradients.da, results_gradients(layer, gradients.da, columns(dy, d, P), dh[d]), inputs(layer, kept[d])
            )
            for d, (layer, gradients) in enumerate(zip(layers, found, strict=True))
        ]


def without_projection(layer: Layer, h0: CudaArray | None = None) -> Layer:
    """The layer whose state is m. h0: the first state, (B, P), if the pre-activations are computed."""
    device, sizes = layer.device, layer.sizes
    W, R, Wp, bW, bR = layer.weights
    with products_of(sizes):
        weights = device.empty((R.shape[0], sizes.H), R.dtype)
        product(device, R, Wp, weights)
        first = None
        if h0 is not None:
            first = device.empty((sizes.B, R.shape[0]), R.dtype)
            product(device, h0, device.transpose(R, (1, 0)), first)
    return replace(layer, sizes=replace(sizes, P=sizes.H), weights=(W, weights, None, bW, bR), first_part=first)


def results_gradients(layer: Layer, da: CudaArray, dy: CudaArray, dh: CudaArray) -> CudaArray:
    """The gradients of all h, (T, B, P); dh, (B, P), goes from that of the last state to that of the first.

    That is dy, and what comes from the step after, da R: for the last step of each row dh. `dy`: (T*B, P).
    """
    device, T, B, P = layer.device, layer.sizes.T, layer.sizes.B, layer.sizes.P
    R, da = layer.weights[1], flat(da)
    ds = device.add(dy, device.scatter_add((T * B, P), (layer.last_rows(),), dh))
    if T > 1:
        later, earlier = slice(B, T * B), slice(0, (T - 1) * B)
        if layer.direction == 1:
            later, earlier = earlier, later
        product(device, da[later], R, ds[earlier], beta=1.0)
    product(device, device.getitem(da, (layer.first_rows(),)), R, dh)
    return without_padding(ds.seen_as((T, B, P), (B * P, P, 1)), layer)


def inputs(layer: Layer, kept: CudaArray) -> CudaArray:
    """All m, (T, B, H), from the values kept, (T, 5, B, H)."""
    device = layer.device
    i, f, n, o, c_prev = (kept[:, k] for k in range(5))
    c = device.add(device.multiply(f, c_prev), device.multiply(i, n))
    return without_padding(device.multiply(o, device.tanh(c)), layer)


def columns(a: CudaArray, direction: int, width: int) -> CudaArray:
    """A direction's columns of (T, B, D*width): (T*B, width)."""
    T, B, stride = a.shape
    return a.seen_as((T * B, width), (stride, 1), direction * width)
