"""Random weights of every kind of network, in every layout. Imported by the tests in this folder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from minirnn.io import convert
from minirnn.io.layouts import LAYOUTS

GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}
I, H = 3, 5


@dataclass(frozen=True)
class Kind:
    """One kind of network."""

    rnn_mode: str
    gru: str | None
    L: int
    D: int
    P: int = 0

    def __str__(self) -> str:
        return f"{self.rnn_mode}-{self.gru or 'plain'}-{self.L}x{self.D}" + (f"-proj{self.P}" if self.P else "")


MODES = [("lstm", None), ("gru", "reset_after"), ("gru", "reset_before"), ("rnn_tanh", None), ("rnn_relu", None)]
KINDS = [Kind(mode, gru, L, D) for mode, gru in MODES for L, D in ((1, 1), (2, 1), (1, 2), (3, 2))]
KINDS += [Kind("lstm", None, 2, 2, P=2)]


def layouts_of(kind: Kind) -> list[str]:
    """The layouts that can hold this kind, by what their documentation says."""
    every = ["torch.nn", "keras", "tf.lstm_block_cell", "tf.block_lstm_v2", "tf.gru_block_cell"]
    every += ["tf.basic_rnn_cell", "cudnn.params", "tf.canonical", "onnx"]
    assert set(every) == set(LAYOUTS)
    lstm = {"tf.lstm_block_cell", "tf.block_lstm_v2"}
    refused = {
        "lstm": {"tf.gru_block_cell", "tf.basic_rnn_cell"},
        "gru": lstm | {"tf.basic_rnn_cell"},
        "rnn_tanh": lstm | {"tf.gru_block_cell"},
        "rnn_relu": lstm | {"tf.gru_block_cell"},
    }[kind.rnn_mode]
    if kind.gru == "reset_after":
        refused = refused | {"tf.gru_block_cell"}
    if kind.gru == "reset_before":
        refused = refused | {"torch.nn", "cudnn.params", "tf.canonical"}
    if kind.P:
        refused = refused | lstm | {"keras", "onnx"}
    return [name for name in every if name not in refused]


def dyadic(rng: np.random.Generator, *shape: int, dtype: Any = np.float32) -> np.ndarray:
    """Multiples of 1/64: sums and halves of them are exact, so round trips can be compared bit for bit."""
    return (rng.integers(-100, 100, shape) / 64).astype(dtype)


def torch_arrays(rng: np.random.Generator, kind: Kind, dtype: Any = np.float32) -> dict[str, np.ndarray]:
    G, P = GATES[kind.rnn_mode], kind.P or H
    arrays = {}
    for l in range(kind.L):
        for d in range(kind.D):
            s = f"_l{l}" + "_reverse" * d
            arrays[f"weight_ih{s}"] = dyadic(rng, G * H, I if l == 0 else kind.D * P, dtype=dtype)
            arrays[f"weight_hh{s}"] = dyadic(rng, G * H, P, dtype=dtype)
            if kind.P:
                arrays[f"weight_hr{s}"] = dyadic(rng, P, H, dtype=dtype)
            arrays[f"bias_ih{s}"] = dyadic(rng, G * H, dtype=dtype)
            arrays[f"bias_hh{s}"] = dyadic(rng, G * H, dtype=dtype)
    return arrays


def onnx_arrays(rng: np.random.Generator, kind: Kind, dtype: Any = np.float32) -> dict[str, np.ndarray]:
    G = GATES[kind.rnn_mode]
    arrays = {}
    for l in range(kind.L):
        folder = f"layer_{l}/" if kind.L > 1 else ""
        arrays[folder + "W"] = dyadic(rng, kind.D, G * H, I if l == 0 else kind.D * H, dtype=dtype)
        arrays[folder + "R"] = dyadic(rng, kind.D, G * H, H, dtype=dtype)
        arrays[folder + "B"] = dyadic(rng, kind.D, 2 * G * H, dtype=dtype)
    return arrays


def start(
    rng: np.random.Generator, kind: Kind, dtype: Any = np.float32
) -> tuple[str, dict[str, np.ndarray], dict[str, Any]]:
    """A layout that can hold the kind with two different biases, arrays in it, and the settings that they lack."""
    if kind.gru == "reset_before":
        return "onnx", onnx_arrays(rng, kind, dtype), {"gru": "reset_before"}
    settings = {"rnn_mode": kind.rnn_mode} if GATES[kind.rnn_mode] == 1 else {}
    return "torch.nn", torch_arrays(rng, kind, dtype), settings


def in_layout(rng: np.random.Generator, kind: Kind, layout: str, dtype: Any = np.float32) -> Any:
    """Random weights of a kind in a layout, as `convert` returns them."""
    source, arrays, settings = start(rng, kind, dtype)
    return convert(arrays, layout, source=source, **settings)
