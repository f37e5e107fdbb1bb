"""Random calls of the CudnnRNN ops. Imported by the tests next to it."""

from typing import Any

import numpy as np

import minirnn as mr
from minirnn import ops
from minirnn.ops.cudnn_rnn.params import Network


def random_call(
    rng: np.random.Generator,
    net: Network,
    T: int,
    B: int,
    device: str,
    dtype: Any = "f8",
    scale: float = 0.5,
) -> list[mr.Tensor]:
    """input, input_h, input_c and params of a network, as leaves that require gradients."""
    shapes = (T, B, net.I), (net.L * net.D, B, net.P), (net.L * net.D, B, net.H), (net.size,)
    return [mr.tensor((rng.standard_normal(s) * scale).astype(dtype), True, device) for s in shapes]


def random_masks(net: Network, kind: str, rng: np.random.Generator, T: int, B: int) -> Any:
    """zoneout_masks of a kind: binary "masks", "numbers", or one row that is "shared" by all steps and layers."""

    def one(width: int) -> Any:
        if kind == "numbers":
            return float(rng.uniform(0.2, 0.8))
        shape = (net.L * net.D, T, B, width) if kind == "masks" else (1, 1, B, width)
        return (rng.random(shape) < 0.5) + 0.0

    return (one(net.P), one(net.H)) if net.rnn_mode == "lstm" else one(net.P)


def name_of(net: Network) -> str:
    """The name of a network in the id of a test."""
    return f"{net.rnn_mode}-{net.direction[:3]}-{net.L}-{net.input_mode[:4]}-{net.num_proj}"


def used(net: Network, inputs: list[mr.Tensor]) -> list[mr.Tensor]:
    """Without the cell state of modes that have none."""
    return inputs if net.rnn_mode == "lstm" else [inputs[0], inputs[1], inputs[3]]


def run(net: Network, inputs: list[mr.Tensor], lengths: Any, **more: Any) -> list[mr.Tensor]:
    """The float outputs of `cudnn_rnn_v3`; without lengths all sequences are as long as the input."""
    T, B = inputs[0].shape[:2]
    y = ops.cudnn_rnn_v3(*inputs, np.full(B, T) if lengths is None else lengths, **attributes_of(net), **more)
    return list(y[:3] if net.rnn_mode == "lstm" else y[:2])


def attributes_of(net: Network) -> dict[str, Any]:
    """The attributes of the ops for a network."""
    return {
        "rnn_mode": net.rnn_mode,
        "input_mode": net.input_mode,
        "direction": net.direction,
        "num_proj": net.num_proj,
    }


def packed(net: Network, pieces: list[Any]) -> mr.Tensor:
    """The parameter buffer, from the regions in the order of ``net.regions``."""
    ends = sorted(zip(net.regions, pieces, strict=True), key=lambda pair: pair[0].offset)
    return ops.concat([piece.reshape(-1) for _, piece in ends])
