"""Helpers of the tests of LSTM kernels: kernels as the op calls them, names, sizes and random inputs."""

from __future__ import annotations

from typing import Any

import numpy as np

from minirnn import devices
from minirnn.ops.lstm_block.cell import LSTMBlockCell, LSTMBlockCellGrad
from minirnn.ops.lstm_block.nodes import BlockLSTM, BlockLSTMGrad
from tests.ops.lstm_block import reference


def as_the_op_calls_it(kernel: Any) -> Any:
    """A kernel with the normalized attributes of the op: numbers of the dtype, an infinite clip for none."""

    def call(*arrays: np.ndarray, **attributes: Any) -> tuple[np.ndarray, ...]:
        with np.errstate(over="ignore"):
            for name in attributes.keys() & {"forget_bias", "cell_clip"}:
                number = attributes[name]
                none = name == "cell_clip" and number <= 0
                attributes[name] = np.inf if none else float(arrays[0].dtype.type(number))
        return tuple(kernel(*arrays, **attributes))

    return call


def run_of(node: Any) -> Any:
    """What a node computes for arrays of the device cpu."""
    return as_the_op_calls_it(lambda *arrays, **attributes: node(**attributes).run(devices.get("cpu"), *arrays))


lstm_block_cell, lstm_block_cell_grad = map(run_of, (LSTMBlockCell, LSTMBlockCellGrad))
block_lstm, block_lstm_grad = map(run_of, (BlockLSTM, BlockLSTMGrad))
block_lstm_reference = as_the_op_calls_it(reference.block_lstm_reference)
block_lstm_grad_reference = as_the_op_calls_it(reference.block_lstm_grad_reference)

INPUTS = ("x", "cs_prev", "h_prev", "w", "wci", "wcf", "wco", "b")
OUTPUTS = ("i", "cs", "f", "o", "ci", "co", "h")
CELL_GRADIENTS = ("cs_prev_grad", "dicfo", "wci_grad", "wcf_grad", "wco_grad")
GRADIENTS = tuple(f"{name}_grad" for name in INPUTS)
VERSIONS = {"fast": (block_lstm, block_lstm_grad), "reference": (block_lstm_reference, block_lstm_grad_reference)}
FULL = {"forget_bias": 1.0, "cell_clip": 3.0, "use_peephole": True}
DTYPES = ("float32", "float64")
T, B, I, H = 7, 3, 4, 5


def inputs(rng: np.random.Generator, lead: tuple[int, ...], I: int = I, H: int = H, dtype: str = "float64") -> list:
    B = lead[-1]
    shapes = [(*lead, I), (B, H), (B, H), (I + H, 4 * H), (H,), (H,), (H,), (4 * H,)]
    scales = [1, 1, 0.5, 1 / np.sqrt(I + H), 0.7, 0.7, 0.7, 0.5]
    return [(rng.standard_normal(s) * scale).astype(dtype) for s, scale in zip(shapes, scales, strict=True)]


def draw(rng: np.random.Generator, count: int, shape: tuple[int, ...], dtype: str = "float64") -> list[np.ndarray]:
    return [rng.standard_normal(shape).astype(dtype) for _ in range(count)]
