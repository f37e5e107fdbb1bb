"""Packing the weights of a network, given one by one, into the parameter buffer of the CudnnRNN ops."""

from __future__ import annotations

from collections.abc import Sequence

from minirnn.engine.operands import mixed_devices
from minirnn.engine.tape import Op, mode, record
from minirnn.engine.tensor import Tensor, leaf
from minirnn.ops.cudnn_rnn.params import Network, Region


class Pack(Op):
    """y = all pieces one after the other        each piece gets its stretch of dy"""

    reads_inputs = False

    def __init__(self, regions: Sequence[Region]) -> None:
        self.regions = regions

    def backward(self, dy: Tensor, y: Tensor, *pieces: Tensor) -> list[Tensor]:
        if mode.enabled:  # these gradients shall be differentiated again
            return [region.of(dy) for region in self.regions]
        device = dy.device
        return [leaf(device, device.view(dy.array, region.offset, region.shape)) for region in self.regions]


def pack_params(net: Network, pieces: Sequence[Tensor | None]) -> Tensor:
    """The parameter buffer (n,) of stacked weights, one copy and one node.

    Parameters
    ----------
    net : Network
    pieces : sequence of Tensor or None
        For each pseudo-layer its W, R, Wp, bW, bR, with the shapes of ``net.layers[p]``; those the network does not
        have are left out. None stands for zeros (no bias).
    """
    first: Tensor = pieces[0]  # type: ignore[assignment]  # only a bias may be None
    device = first.device
    buffer = device.empty((net.size,), first.dtype)
    regions: list[Region] = []
    given: list[Tensor] = []
    for region, piece in zip(net.regions, pieces, strict=True):
        place = device.view(buffer, region.offset, region.shape)
        if piece is None:
            device.assign(place, 0)
            continue
        if piece.device is not device:
            weights = [t for t in pieces if t is not None]
            raise mixed_devices("pack_params", *weights, names=[f"weight {k}" for k in range(len(weights))])
        device.assign(place, piece.array)
        regions.append(region)
        given.append(piece)
    return record(Pack(regions), device, buffer, tuple(given))
