"""Cutting the parameter buffer of the CudnnRNN ops: the only place where ops read it."""

from __future__ import annotations

from collections.abc import Sequence

from minirnn.engine.op import Op
from minirnn.engine.outputs import record_many
from minirnn.engine.tape import mode
from minirnn.engine.tensor import Tensor, leaf
from minirnn.ops.cudnn_rnn.compose import Weights
from minirnn.ops.cudnn_rnn.params import Network, Region
from minirnn.ops.fused import or_zeros
from minirnn.ops.primitives import concat


class Unpack(Op):
    """y_k = region k of the buffer        the gradient of the buffer: those of all regions, one after the other"""

    reads_inputs = False

    def __init__(self, regions: Sequence[Region]) -> None:
        self.regions = regions

    def backward(self, dy: Sequence[Tensor | None], y: Sequence[Tensor], params: Tensor) -> tuple[Tensor]:
        order = sorted(zip(self.regions, dy, y, strict=True), key=lambda part: part[0].offset)
        parts = [or_zeros(g, piece) for _, g, piece in order]
        if mode.enabled:  # this gradient shall be differentiated again
            return (concat([g.reshape(-1) for g in parts]),)
        device = params.device
        flat = [device.reshape(g.array, (r.size,)) for (r, _, _), g in zip(order, parts, strict=True)]
        return (leaf(device, device.concatenate(flat, 0)),)


def unpack(params: Tensor, regions: Sequence[Region]) -> list[Tensor]:
    """The regions, which cover the whole buffer (n,), as one node; views of the buffer where the device has such."""
    device, buffer = params.device, params.array
    arrays = [device.reshape(device.getitem(buffer, (slice(r.offset, r.offset + r.size),)), r.shape) for r in regions]
    return record_many(Unpack(regions), device, arrays, (params,))


def unpack_weights(net: Network, params: Tensor) -> list[list[Weights]]:
    """W, R, Wp, bW, bR of each direction of each layer, gates stacked."""
    pieces = iter(unpack(params, net.regions))
    each = [tuple([None if r is None else next(pieces) for r in layer]) for layer in net.layers]
    return [each[k : k + net.D] for k in range(0, len(each), net.D)]  # type: ignore[misc]  # R is never None
