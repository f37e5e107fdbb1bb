"""Random inputs of the block ops. Imported by the tests next to it."""

from typing import Any

import numpy as np

LSTM_INPUTS = ("x", "cs_prev", "h_prev", "w", "wci", "wcf", "wco", "b")
LSTM_OUTPUTS = ("i", "cs", "f", "o", "ci", "co", "h")
GRU_INPUTS = ("x", "h_prev", "w_ru", "w_c", "b_ru", "b_c")


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
