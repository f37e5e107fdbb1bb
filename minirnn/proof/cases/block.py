"""Cases of the block ops: LSTMBlockCell, BlockLSTM, BlockLSTMV2, GRUBlockCell and their Grad ops.

Weights have the size 1 / sqrt(I + H), so that pre-activations are of size 1. The saved values that a Grad op takes are
random, because the op is a function of them like of its other inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from minirnn import ops
from minirnn.proof.case import Arrays, Case
from minirnn.proof.tolerance import ACTIVATION, Count

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
LSTM_STEP, LSTM_STEP_GRAD = 4 + 2 * ACTIVATION, 12
GRU_STEP, GRU_STEP_GRAD = 5 + 2 * ACTIVATION, 12
"""Elementwise roundings of a step on the longest path, forward and backward."""

CELL_VARIANTS: dict[str, dict[str, Any]] = {
    "plain": {"cell_clip": 0.0},
    "peepholes": {"cell_clip": 0.0, "use_peephole": True, "forget_bias": 0.25},
    "active clip": {"cell_clip": 0.5, "use_peephole": True},
}
"""Maps a name to attributes, which every dtype holds exactly."""
SEQUENCE_VARIANTS: dict[str, dict[str, Any]] = {
    **CELL_VARIANTS,
    "short, peepholes": {"cell_clip": 0.0, "use_peephole": True, "steps_left_out": 1},
    "no step": {"cell_clip": 0.0, "steps_left_out": 9},
}
"""The same for sequences, and the number of time steps that are left out at the end."""


def cases() -> Iterator[Case]:
    """All cases of the block ops."""
    for variant, sizes in product(CELL_VARIANTS, CELLS):
        yield lstm("lstm_block_cell", variant, *sizes)
    for variant, sizes in product(("plain", "peepholes"), CELLS):
        yield lstm_grad("lstm_block_cell_grad", variant, *sizes)
    for make, ops_of_it, variants in (
        (lstm, ("block_lstm", "block_lstm_v2"), SEQUENCE_VARIANTS),
        (lstm_grad, ("block_lstm_grad", "block_lstm_grad_v2"), ("plain", "peepholes", "short, peepholes")),
    ):
        for op, variant in product(ops_of_it, variants):
            for sizes in (*SEQUENCES, LONG) if variant == "peepholes" else SEQUENCES:
                yield make(op, variant, *sizes)
    for sizes in CELLS:
        yield gru(*sizes)
        yield gru_grad(*sizes)


def lstm(op: str, variant: str, *sizes: int) -> Case:
    """A forward op of the LSTM; the sizes are B, I, H of a cell or T, B, I, H of a sequence."""
    *lead, I, H = sizes
    T, B = (1, *lead)[-2:]
    chosen = dict(SEQUENCE_VARIANTS[variant])
    L = max(0, T - chosen.pop("steps_left_out", 0))
    steps = [L] if len(lead) == 2 else []
    if op == "block_lstm_v2":
        chosen.pop("forget_bias", None)
    fused = getattr(ops, op)
    count = product_count(max(L, 1), I, H, LSTM_STEP)
    return Case(
        op,
        variant,
        size_of(lead, I, H, steps),
        lambda *inputs: fused(*steps, *inputs, **chosen),
        partial(lstm_inputs, tuple(lead), I, H),
        LSTM_OUTPUTS,
        count,
        count + backward_count(max(L, 1), B, 4, H, LSTM_STEP_GRAD),
        step=0.0 if variant == "active clip" else 1e-3,
        second_order=(quick := sizes in (CELLS[1], SEQUENCES[1]) and variant != "no step"),
        quick=quick,
    )


def lstm_grad(op: str, variant: str, *sizes: int) -> Case:
    """A Grad op of the LSTM; the sizes are as for `lstm`."""
    *lead, I, H = sizes
    T, B = (1, *lead)[-2:]
    L = max(1, T - 1) if variant.startswith("short") else T
    steps = [L] if len(lead) == 2 else []
    fused, use_peephole = getattr(ops, op), "peepholes" in variant
    count = backward_count(L, B, 4, H, LSTM_STEP_GRAD)
    return Case(
        op,
        variant,
        size_of(lead, I, H, steps),
        lambda *inputs: fused(*steps, *inputs, use_peephole=use_peephole),
        partial(lstm_grad_inputs, tuple(lead), I, H, LSTM_OUTPUTS if steps else LSTM_OUTPUTS[:-1]),
        LSTM_GRADIENTS["block" if steps else "cell"],
        count,
        count.twice(),
        quick=sizes == CELLS[1] or (sizes == SEQUENCES[1] and variant == "peepholes"),
    )


def size_of(lead: Sequence[int], I: int, H: int, steps: Sequence[int] = ()) -> str:
    """The sizes of a case, for the table."""
    T = "".join(f"T={T} " for T in lead[:-1])
    return f"{T}B={lead[-1]} I={I} H={H}" + "".join(f" seq_len_max={L}" for L in steps)


def gru(B: int, I: int, H: int) -> Case:
    count = gru_count(I, H)
    return Case(
        "gru_block_cell",
        "plain",
        size_of((B,), I, H),
        ops.gru_block_cell,
        partial(gru_inputs, B, I, H),
        ("r", "u", "c", "h"),
        count,
        count + gru_count_grad(B, H),
        second_order=CELLS[1] == (B, I, H),
        quick=CELLS[1] == (B, I, H),
    )


def gru_grad(B: int, I: int, H: int) -> Case:
    count = gru_count_grad(B, H)
    return Case(
        "gru_block_cell_grad",
        "plain",
        size_of((B,), I, H),
        ops.gru_block_cell_grad,
        partial(gru_grad_inputs, B, I, H),
        ("d_x", "d_h_prev", "d_c_bar", "d_r_bar_u_bar"),
        count,
        count.twice(),
        quick=CELLS[1] == (B, I, H),
    )


# ---- roundings


def product_count(T: int, I: int, H: int, step: int, T_name: str = "T") -> Count:
    """T steps, each a product of I+H summands and `step` elementwise roundings; two states per step are stored."""
    return Count(T * (I + H + step), f"{T_name} (I+H + {step})", 2 * T, f"2 {T_name}")


def backward_count(T: int, B: int, G: int, H: int, step: int, T_name: str = "T") -> Count:
    """T steps back, each a product of G*H summands; weights add up over T and B. Eight saved values per step."""
    return Count(T * (G * H + step) + T * B, f"{T_name} ({G}H + {step} + B)", 8 * T, f"8 {T_name}")


def gru_count(I: int, H: int) -> Count:
    """The candidate's product comes after that of the gates, which counts as two steps."""
    return product_count(2, I, H, GRU_STEP, "2")


def gru_count_grad(B: int, H: int) -> Count:
    """The same two steps, backward."""
    return backward_count(2, B, 2, H, GRU_STEP_GRAD, "2")


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
    """Inputs of GRUBlockCell."""
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
    """Inputs of its Grad op: gates between 0 and 1, the candidate between -1 and 1."""
    found = gru_inputs(B, I, H, rng)
    for name, low in (("r", 0), ("u", 0), ("c", -1)):
        found[name] = rng.uniform(low, 1, (B, H))
    return found | {"d_h": rng.standard_normal((B, H))}


def drawing(rng: np.random.Generator) -> Callable[..., np.ndarray]:
    """Normal random numbers of a shape and a scale."""
    return lambda *shape, scale=1.0: rng.standard_normal(shape) * scale
