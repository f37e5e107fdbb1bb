"""Cases of the block ops: LSTMBlockCell, BlockLSTM, BlockLSTMV2, GRUBlockCell and their Grad ops.

Weights have the size 1 / sqrt(I + H), so that pre-activations are of size 1. What a Grad op takes as saved values is
random: it is a function of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from minirnn import ops
from minirnn.verify import torch as verify_torch
from minirnn.verify.case import Arrays, Case
from minirnn.verify.tolerance import ACTIVATION, Count

CELLS = ((1, 1, 1), (3, 5, 7), (5, 19, 67))
"""B, I, H. The kernels' blocks have 256 threads and their tiles 16 x 16: B*H and I are larger."""
SEQUENCES = ((1, 1, 1, 1), (5, 3, 4, 7), (3, 5, 19, 67))
"""T, B, I, H."""
LONG = (40, 2, 3, 5)
LSTM_OUTPUTS = ("i", "cs", "f", "o", "ci", "co", "h")
LSTM_GRADIENTS = {
    "cell": ("cs_prev_grad", "dicfo", "wci_grad", "wcf_grad", "wco_grad"),
    "block": tuple(f"{name}_grad" for name in ("x", "cs_prev", "h_prev", "w", "wci", "wcf", "wco", "b")),
}
LSTM_STEP, LSTM_STEP_GRAD = 4 + 2 * ACTIVATION, 12  # elementwise roundings of a step on the longest path
GRU_STEP, GRU_STEP_GRAD = 5 + 2 * ACTIVATION, 12

# variant -> attributes; numbers that every dtype holds exactly
CELL_VARIANTS: dict[str, dict[str, Any]] = {
    "plain": {"cell_clip": 0.0},
    "peepholes": {"cell_clip": 0.0, "use_peephole": True, "forget_bias": 0.25},
    "active clip": {"cell_clip": 0.5, "use_peephole": True},
}
SEQUENCE_VARIANTS: dict[str, dict[str, Any]] = {
    **CELL_VARIANTS,
    "short, peepholes": {"cell_clip": 0.0, "use_peephole": True, "steps_left_out": 1},
    "no step": {"cell_clip": 0.0, "steps_left_out": 9},
}


def cases() -> Iterator[Case]:
    """All cases of the block ops."""
    for variant, attributes in CELL_VARIANTS.items():
        for B, I, H in CELLS:
            yield lstm_cell(variant, attributes, B, I, H)
    for variant in ("plain", "peepholes"):
        for B, I, H in CELLS:
            yield lstm_cell_grad(variant, variant == "peepholes", B, I, H)
    for op in ("block_lstm", "block_lstm_v2"):
        for variant, attributes in SEQUENCE_VARIANTS.items():
            for sizes in (*SEQUENCES, LONG) if variant == "peepholes" else SEQUENCES:
                yield lstm_sequence(op, variant, attributes, *sizes)
    for op in ("block_lstm_grad", "block_lstm_grad_v2"):
        for variant in ("plain", "peepholes", "short, peepholes"):
            for sizes in (*SEQUENCES, LONG) if variant == "peepholes" else SEQUENCES:
                yield lstm_sequence_grad(op, variant, *sizes)
    for B, I, H in CELLS:
        yield gru_cell(B, I, H)
        yield gru_cell_grad(B, I, H)


def lstm_cell(variant: str, attributes: dict[str, Any], B: int, I: int, H: int) -> Case:
    count = product(1, I, H, LSTM_STEP)
    return Case(
        "lstm_block_cell",
        variant,
        f"B={B} I={I} H={H}",
        lambda *inputs: ops.lstm_block_cell(*inputs, **attributes),
        partial(lstm_inputs, (B,), I, H),
        LSTM_OUTPUTS,
        count,
        count + backward(1, B, 4, H, LSTM_STEP_GRAD),
        partial(verify_torch.lstm_cell, "icfo", **attributes),
        step=0.0 if variant == "active clip" else 1e-3,
        quick=I == 5,
    )


def lstm_cell_grad(variant: str, use_peephole: bool, B: int, I: int, H: int) -> Case:
    count = backward(1, B, 4, H, LSTM_STEP_GRAD)
    return Case(
        "lstm_block_cell_grad",
        variant,
        f"B={B} I={I} H={H}",
        lambda *inputs: ops.lstm_block_cell_grad(*inputs, use_peephole=use_peephole),
        partial(lstm_grad_inputs, (B,), I, H, LSTM_OUTPUTS[:-1]),
        LSTM_GRADIENTS["cell"],
        count,
        count.twice(),
        quick=I == 5,
    )


def lstm_sequence(op: str, variant: str, attributes: dict[str, Any], T: int, B: int, I: int, H: int) -> Case:
    chosen = dict(attributes)
    L = max(0, T - chosen.pop("steps_left_out", 0))
    if op == "block_lstm_v2":
        chosen.pop("forget_bias", None)
    fused = getattr(ops, op)
    order = "ifco" if op == "block_lstm_v2" else "icfo"
    count = product(max(L, 1), I, H, LSTM_STEP)
    return Case(
        op,
        variant,
        f"T={T} B={B} I={I} H={H} seq_len_max={L}",
        lambda *inputs: fused(L, *inputs, **chosen),
        partial(lstm_inputs, (T, B), I, H),
        LSTM_OUTPUTS,
        count,
        count + backward(max(L, 1), B, 4, H, LSTM_STEP_GRAD),
        partial(verify_torch.lstm_sequence, order, L, **chosen),
        step=0.0 if variant == "active clip" else 1e-3,
        quick=T == 5 and variant != "no step",
    )


def lstm_sequence_grad(op: str, variant: str, T: int, B: int, I: int, H: int) -> Case:
    L = max(1, T - 1) if variant.startswith("short") else T
    fused = getattr(ops, op)
    use_peephole = "peepholes" in variant
    count = backward(L, B, 4, H, LSTM_STEP_GRAD)
    return Case(
        op,
        variant,
        f"T={T} B={B} I={I} H={H} seq_len_max={L}",
        lambda *inputs: fused(L, *inputs, use_peephole=use_peephole),
        partial(lstm_grad_inputs, (T, B), I, H, LSTM_OUTPUTS),
        LSTM_GRADIENTS["block"],
        count,
        count.twice(),
        quick=T == 5 and variant == "peepholes",
    )


def gru_cell(B: int, I: int, H: int) -> Case:
    count = gru_count(I, H)
    return Case(
        "gru_block_cell",
        "plain",
        f"B={B} I={I} H={H}",
        ops.gru_block_cell,
        partial(gru_inputs, B, I, H),
        ("r", "u", "c", "h"),
        count,
        count + gru_count_grad(B, H),
        verify_torch.gru_cell,
        quick=I == 5,
    )


def gru_cell_grad(B: int, I: int, H: int) -> Case:
    count = gru_count_grad(B, H)
    return Case(
        "gru_block_cell_grad",
        "plain",
        f"B={B} I={I} H={H}",
        ops.gru_block_cell_grad,
        partial(gru_grad_inputs, B, I, H),
        ("d_x", "d_h_prev", "d_c_bar", "d_r_bar_u_bar"),
        count,
        count.twice(),
        quick=I == 5,
    )


# ---- roundings


def product(T: int, I: int, H: int, step: int, T_name: str = "T") -> Count:
    """T steps, each a product of I+H summands and `step` elementwise roundings; two states a step are stored."""
    return Count(T * (I + H + step), f"{T_name} (I+H + {step})", 2 * T, f"2 {T_name}")


def backward(T: int, B: int, G: int, H: int, step: int, T_name: str = "T") -> Count:
    """T steps back, each a product of G*H summands; weights add up over T and B. Eight saved values a step."""
    return Count(T * (G * H + step) + T * B, f"{T_name} ({G}H + {step} + B)", 8 * T, f"8 {T_name}")


def gru_count(I: int, H: int) -> Count:
    """The candidate's product comes after that of the gates: as two steps."""
    return product(2, I, H, GRU_STEP, "2")


def gru_count_grad(B: int, H: int) -> Count:
    return backward(2, B, 2, H, GRU_STEP_GRAD, "2")


# ---- inputs


def lstm_inputs(lead: tuple[int, ...], I: int, H: int, rng: np.random.Generator) -> Arrays:
    """Inputs of an LSTM op; `lead` is (B,) for a cell and (T, B) for a sequence."""
    draw = drawing(rng)
    B, weight = lead[-1], (I + H) ** -0.5
    return {
        "x": draw(*lead, I),
        "cs_prev": draw(B, H),
        "h_prev": draw(B, H, scale=0.5),
        "w": draw(I + H, 4 * H, scale=weight),
        "wci": draw(H, scale=0.5),
        "wcf": draw(H, scale=0.5),
        "wco": draw(H, scale=0.5),
        "b": draw(4 * H, scale=0.5),
    }


def lstm_grad_inputs(lead: tuple[int, ...], I: int, H: int, saved: tuple[str, ...], rng: np.random.Generator) -> Arrays:
    """Inputs of an LSTM Grad op: gates between 0 and 1, activations between -1 and 1."""
    found = lstm_inputs(lead, I, H, rng)
    for name in saved:
        found[name] = rng.uniform(0 if name in ("i", "f", "o") else -1, 1, (*lead, H))
    return found | {"cs_grad": rng.standard_normal((*lead, H)), "h_grad": rng.standard_normal((*lead, H))}


def gru_inputs(B: int, I: int, H: int, rng: np.random.Generator) -> Arrays:
    draw, weight = drawing(rng), (I + H) ** -0.5
    return {
        "x": draw(B, I),
        "h_prev": draw(B, H),
        "w_ru": draw(I + H, 2 * H, scale=weight),
        "w_c": draw(I + H, H, scale=weight),
        "b_ru": draw(2 * H, scale=0.5),
        "b_c": draw(H, scale=0.5),
    }


def gru_grad_inputs(B: int, I: int, H: int, rng: np.random.Generator) -> Arrays:
    found = gru_inputs(B, I, H, rng)
    for name, low in (("r", 0), ("u", 0), ("c", -1)):
        found[name] = rng.uniform(low, 1, (B, H))
    return found | {"d_h": rng.standard_normal((B, H))}


def drawing(rng: np.random.Generator) -> Callable[..., np.ndarray]:
    return lambda *shape, scale=1.0: rng.standard_normal(shape) * scale
