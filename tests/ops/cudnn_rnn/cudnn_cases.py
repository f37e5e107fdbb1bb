"""The golden files of the CudnnRNN family, and random calls. Imported by the tests beside it."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import minirnn as mr
from minirnn import ops
from minirnn.ops.cudnn_rnn.params import Network

GOLDEN = Path(__file__).parents[2] / "golden" / "cudnn_rnn"
FILES = sorted(p for p in GOLDEN.glob("*.npz") if not p.stem.startswith(("canonical", "params_size")))
STATE = ("input", "input_h", "input_c", "params")
OUTPUTS = ("output", "output_h", "output_c")


def load(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Attributes and arrays of a golden file."""
    case = dict(stored(path))
    return json.loads(str(case.pop("attributes"))), case


@cache
def stored(path: Path) -> dict[str, np.ndarray]:
    """All of a golden file, read once: dozens of tests ask for it. Nobody can write into the arrays."""
    with np.load(path, allow_pickle=False) as z:
        case = dict(z)
    for array in case.values():
        array.flags.writeable = False
    return case


def forward(attributes: dict[str, Any], case: dict[str, Any], inputs: list[Any], version: int = 3, **more: Any) -> Any:
    """Run a golden case by `cudnn_rnn` (version 1), `_v2` or `_v3`."""
    names = ["rnn_mode", "input_mode", "direction", "dropout", "seed", "seed2", "is_training"]
    chosen = {name: attributes[name] for name in names} | more
    if "dropout_masks" in case:
        chosen["dropout_masks"] = case["dropout_masks"]
    if version < 3:
        return (ops.cudnn_rnn if version == 1 else ops.cudnn_rnn_v2)(*inputs, **chosen)
    chosen |= {name: attributes[name] for name in ("num_proj", "time_major")}
    return ops.cudnn_rnn_v3(*inputs, lengths_of(attributes, case), **chosen)


def lengths_of(attributes: dict[str, Any], case: dict[str, Any]) -> Any:
    """The stored lengths, or full ones."""
    T, B = case["input"].shape[:2] if attributes["time_major"] else case["input"].shape[1::-1]
    return case.get("sequence_lengths", np.full(B, T, np.int32))


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
    """How a network is called in the id of a test."""
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
    """What the ops need to know about a network."""
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
