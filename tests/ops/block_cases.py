"""Random inputs of the block ops, and the golden files as one shape of record. Imported by the tests beside it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from minirnn import ops

GOLDEN = Path(__file__).parents[1] / "golden" / "block_ops"
LSTM_INPUTS = ("x", "cs_prev", "h_prev", "w", "wci", "wcf", "wco", "b")
LSTM_OUTPUTS = ("i", "cs", "f", "o", "ci", "co", "h")
GRU_INPUTS = ("x", "h_prev", "w_ru", "w_c", "b_ru", "b_c")
GRU_OUTPUTS = ("r", "u", "c", "h")


@dataclass(frozen=True)
class Family:
    """How the arguments of one op are called in its golden files."""

    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    saved: tuple[str, ...]
    upstream: dict[str, str]  # output -> key of the gradient that arrives there
    gradients: dict[str, str]  # input -> key of its gradient

    def forward(self) -> Any:
        return getattr(ops, self.op)

    def grad(self) -> Any:
        name = self.op.replace("_v2", "") + "_grad"
        return getattr(ops, name + "_v2" if self.op.endswith("_v2") else name)


_LSTM = {name: f"{name}_grad" for name in LSTM_INPUTS}
_UP = {"cs": "cs_grad", "h": "h_grad"}
FAMILIES = {
    "LSTMBlockCellGrad": Family("lstm_block_cell", LSTM_INPUTS, LSTM_OUTPUTS, LSTM_OUTPUTS[:-1], _UP, _LSTM),
    "BlockLSTMGrad": Family("block_lstm", LSTM_INPUTS, LSTM_OUTPUTS, LSTM_OUTPUTS, _UP, _LSTM),
    "BlockLSTMGradV2": Family("block_lstm_v2", LSTM_INPUTS, LSTM_OUTPUTS, LSTM_OUTPUTS, _UP, _LSTM),
    "GRUBlockCellGrad": Family(
        "gru_block_cell",
        GRU_INPUTS,
        GRU_OUTPUTS,
        GRU_OUTPUTS[:-1],
        {"h": "d_h"},
        {name: f"d_{name}" for name in GRU_INPUTS},
    ),
}


def lstm_inputs(rng: np.random.Generator, lead: tuple[int, ...], I: int, H: int, dtype: Any = "f8") -> dict[str, Any]:
    """Inputs of an LSTM op by name; `lead` is (B,) for a cell and (T, B) for a sequence."""
    B = lead[-1]
    draw = lambda *shape, scale=1.0: (rng.standard_normal(shape) * scale).astype(dtype)  # noqa: E731
    return {
        "x": draw(*lead, I),
        "cs_prev": draw(B, H),
        "h_prev": draw(B, H, scale=0.5),
        "w": draw(I + H, 4 * H, scale=0.6),
        "wci": draw(H, scale=0.7),
        "wcf": draw(H, scale=0.7),
        "wco": draw(H, scale=0.7),
        "b": draw(4 * H, scale=0.5),
    }


def gru_inputs(rng: np.random.Generator, B: int, I: int, H: int, dtype: Any = "f8") -> dict[str, Any]:
    """Inputs of the GRU cell by name."""
    draw = lambda *shape, scale=1.0: (rng.standard_normal(shape) * scale).astype(dtype)  # noqa: E731
    return {
        "x": draw(B, I),
        "h_prev": draw(B, H),
        "w_ru": draw(I + H, 2 * H, scale=0.6),
        "w_c": draw(I + H, H, scale=0.6),
        "b_ru": draw(2 * H, scale=0.5),
        "b_c": draw(H, scale=0.5),
    }
