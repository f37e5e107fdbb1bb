"""A network of several layers as one node a layer.

A whole network is one node of the tape, so all its gradients come at once, at the end. Where hooks wait for the
gradients of single parameters, the network is recorded layer by layer instead: the hooks of the last layer run while
the gradients of the layers below are still to be computed. The numbers are the same to the last bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minirnn.engine.tensor import Tensor, tensor
from minirnn.ops.cudnn_rnn import Network, dropout_mask, pack_params, run_network
from minirnn.ops.primitives import concat

Pieces = Sequence[Tensor | None]


def is_waited_for(net: Network, pieces: Pieces) -> bool:
    """Whether a hook waits for the gradient of one of these weights, and there are layers to tell apart."""
    return net.L > 1 and any(piece is not None and piece.hooks for piece in pieces)


def run_layers(
    name: str,
    net: Network,
    inputs: Sequence[Tensor],
    pieces: Pieces,
    lengths: Any,
    keep: bool,
    *,
    dropout: float = 0.0,
    seeds: tuple[int, int] = (0, 0),
    variational: bool = False,
    zoneout: Any = None,
) -> list[Tensor]:
    """Output, h_n (and c_n) as of `run_network`, whose arguments these are.

    Parameters
    ----------
    inputs : sequence of Tensor
        x (T, B, I), h0 (L*D, B, P), for lstm c0 (L*D, B, H).
    pieces : sequence of Tensor or None
        The weights as `pack_params` takes them.
    """
    y, *states = inputs
    T, B, _ = y.shape
    ends: list[list[Tensor]] = []
    of_a_layer = len(pieces) // net.L
    for layer in range(net.L):
        one = Network(net.rnn_mode, 1, net.H, net.in_size(layer), net.direction, "linear_input", net.num_proj)
        params = pack_params(one, pieces[layer * of_a_layer : (layer + 1) * of_a_layer])
        rows = slice(layer * net.D, (layer + 1) * net.D)
        own = None if zoneout is None else zoneout[layer : layer + 1]
        before = [y, *(state[rows] for state in states), params]
        (y, *after), _ = run_network(name, one, before, lengths, zoneout=own, keep=keep)
        ends.append(after)
        if dropout > 0 and layer < net.L - 1:
            mask = dropout_mask((1 if variational else T, B, net.D * net.P), dropout, layer, *seeds)
            y = y * tensor(mask, device=y.device, dtype=y.dtype)
    return [y, *(concat(list(parts), 0) for parts in zip(*ends, strict=True))]
