"""Splitting the parameter buffer of the CudnnRNN ops. No other module reads the buffer in an op."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minirnn.devices.base import Device, Weights
from minirnn.engine.op import Op
from minirnn.engine.outputs import record_many
from minirnn.engine.tensor import Tensor
from minirnn.ops.cudnn_rnn.params import Network, Region
from minirnn.ops.fused import or_zeros
from minirnn.ops.primitives import concat


class Unpack(Op):
    """y_k = region k of the buffer        the gradient of the buffer: those of all regions, one after the other"""

    arithmetic = True  # joining gradients also works on bare arrays
    reads_inputs = False

    def __init__(self, device: Device, regions: Sequence[Region]) -> None:
        self.device = device
        self.regions = regions
        self.order = sorted(range(len(regions)), key=lambda k: regions[k].offset)

    def backward(self, dy: Any, y: Sequence[Any], params: Any) -> tuple[Any]:
        if isinstance(params, Tensor):  # this gradient will be differentiated again
            return (concat([or_zeros(dy[k], y[k]).reshape(-1) for k in self.order]),)
        flat = []
        for k in self.order:
            g, size = dy.get(k), (self.regions[k].size,)
            flat.append(self.device.full(size, 0, params.dtype) if g is None else self.device.reshape(g, size))
        return (self.device.concatenate(flat, 0),)


def unpack(params: Tensor, regions: Sequence[Region]) -> list[Tensor]:
    """The regions, which cover the whole buffer (n,), as one node; views of the buffer if the device has views."""
    device, buffer = params.device, params.array
    arrays = [device.reshape(device.getitem(buffer, (slice(r.offset, r.offset + r.size),)), r.shape) for r in regions]
    return record_many(Unpack(device, regions), device, arrays, (params,))


def unpack_weights(net: Network, params: Tensor) -> list[list[Weights]]:
    """The weights of each direction of each layer, gates stacked."""
    pieces = iter(unpack(params, net.regions))
    each = [Weights(*[None if r is None else next(pieces) for r in layer]) for layer in net.layers]
    return [each[k : k + net.D] for k in range(0, len(each), net.D)]
