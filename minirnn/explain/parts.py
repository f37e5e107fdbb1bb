"""The parts of every fused op: the places of its formulas and the functions that compute them. See `places`."""

from __future__ import annotations

from minirnn.explain.places import Part, Place
from minirnn.explain.statements import Aliases

LSTM, SEQUENCE, GRU = "ops/lstm_block/cell.py", "ops/lstm_block/sequence.py", "ops/gru_block.py"
LOSSES = "ops/losses.py"
CUDNN, ZONEOUT = "ops/cudnn_rnn/__init__.py", "ops/cudnn_rnn/zoneout.py"
CPU, KERNELS, LAUNCH = "devices/cpu", "devices/cuda/kernels", "devices/cuda/launch"
CELLS = "devices/cells"
BOTH = "C++, CUDA"
"""The column of the code that C++ and CUDA share: the cell, and the code that CUDA launches around it."""


def _mode(mode: str, stem: str, header: str, cell: str, forward: Aliases, backward: Aliases) -> dict[str, Part]:
    """Forward and backward of one mode of CudnnRNN."""
    launch = {"A": "a_g" if mode == "lstm" else "r z" if mode == "gru" else "h", "A2": "q r z", "m": ""}
    numpy, shared = f"{CPU}/cudnn_rnn/reference.py", f"{CELLS}/{header}"
    gates = {"a": "a_g" if mode == "lstm" else "", "after[1]": "m" if mode == "lstm" else ""}
    return {
        mode: Part(
            f"{mode}, forward",
            (CUDNN, 0, mode),
            {
                "NumPy": (Place(numpy, f"{stem}_step", forward),),
                BOTH: (
                    Place(shared, f"{cell}.step", gates),
                    Place(
                        f"{LAUNCH}/cudnn_rnn/steps.py",
                        "forward",
                        {**launch, "projected": "h" if mode == "lstm" else ""},
                    ),
                ),
            },
        ),
        f"{mode}_grad": Part(
            f"{mode}, backward",
            (CUDNN, 1, mode),
            {
                "NumPy": (Place(numpy, f"{stem}_step_grad", backward),),
                BOTH: (
                    Place(shared, f"{cell}.grad", {"dc_prev": "dc'", "dq": "da2", "da": "da da2"}),
                    Place(f"{LAUNCH}/cudnn_rnn/steps.py", "backward", {"da": "", "da2": "", "return": ""}),
                ),
            },
        ),
    }


PARTS: dict[str, Part] = {
    "lstm_block_cell": Part(
        "one step forward",
        (LSTM, 0, ""),
        {
            "NumPy": (Place(f"{CPU}/lstm_block/cell.py", "lstm_block_cell", {"z": "zi zc zf zo"}),),
            BOTH: (
                Place(f"{CELLS}/lstm_block.h", "LstmBlock.step"),
                Place(f"{LAUNCH}/lstm_block/cell.py", "lstm_block_cell", {"z": "zi zc zf zo"}),
            ),
        },
    ),
    "lstm_block_cell_grad": Part(
        "one step backward",
        (LSTM, 1, ""),
        {
            "NumPy": (Place(f"{CPU}/lstm_block/cell.py", "lstm_block_cell_grad"),),
            BOTH: (
                Place(f"{CELLS}/lstm_block.h", "LstmBlock.grad", {"d_gates[0]": "dicfo"}),
                Place(
                    f"{KERNELS}/lstm_block/peepholes.cu",
                    "lstm_peephole_parts",
                    {"dwci": "wci_grad", "dwcf": "wcf_grad", "dwco": "wco_grad"},
                ),
                Place(f"{LAUNCH}/lstm_block/cell.py", "lstm_block_cell_grad", {"cs_prev_grad": ""}),
            ),
            "Node": (
                Place(LSTM, "LSTMBlockCell.backward", {"dz": "dzi dzc dzf dzo", "found": ""}),
                Place(LSTM, "gates_grad", {"return": ""}),
                Place(LSTM, "add_gates_grad", {"return": ""}),
            ),
        },
    ),
    "block_lstm": Part(
        "all steps forward",
        (SEQUENCE, 0, ""),
        {
            "NumPy": (
                Place(f"{CPU}/lstm_block/reference.py", "block_lstm_reference", {"cs_prev": "c", "h_prev": "h"}),
            ),
            "CUDA": (
                Place(
                    f"{LAUNCH}/lstm_block/sequence.py", "block_lstm", {"cp": "c", "hp": "h", "now": "i cs f o ci co h"}
                ),
                Place(f"{CELLS}/lstm_block.h", "LstmBlock.step"),
            ),
        },
    ),
    "block_lstm_grad": Part(
        "all steps backward",
        (SEQUENCE, 1, ""),
        {
            "NumPy": (
                Place(f"{CPU}/lstm_block/reference.py", "block_lstm_grad_reference", {"xh_grad": "x_grad dh_carried"}),
            ),
            "CUDA": (
                Place(f"{LAUNCH}/lstm_block/sequence.py", "block_lstm_grad"),
                Place(
                    f"{CELLS}/lstm_block.h",
                    "LstmBlock.grad",
                    {"dcs": "", "cs_prev_grad": "dcs_carried", "d_gates[0]": "dicfo"},
                ),
            ),
        },
    ),
    "block_lstm_v2": Part(
        "the order of the gates",
        (SEQUENCE, 2, ""),
        {
            "Python": (
                Place(SEQUENCE, "_in_gate_order", {"return": "w b"}),
                Place(SEQUENCE, "_sequence_grad", {"grads": "w_grad b_grad"}),
                Place(SEQUENCE, "exchange_f_and_ci"),
            ),
        },
    ),
    "gru_block_cell": Part(
        "one step forward",
        (GRU, 0, ""),
        {
            "NumPy": (Place(f"{CPU}/gru_block.py", "gru_block_cell", {"r": "zr r", "u": "zu u", "x_h_prevr": "c"}),),
            BOTH: (
                Place(f"{CELLS}/gru_block.h", "GruBlock.step(Stage<0>)"),
                Place(f"{CELLS}/gru_block.h", "GruBlock.step(Stage<1>)", {"u": ""}),
                Place(
                    f"{LAUNCH}/gru_block.py",
                    "gru_block_cell",
                    {"z_ru": "zr zu", "z_c": "c", "r": "", "u": "", "c": "", "h": ""},
                ),
            ),
        },
    ),
    "gru_block_cell_grad": Part(
        "one step backward",
        (GRU, 1, ""),
        {
            "NumPy": (Place(f"{CPU}/gru_block.py", "gru_block_cell_grad", {"d_h_prevr": "d_x_h_prevr"}),),
            BOTH: (
                Place(f"{CELLS}/gru_block.h", "GruBlock.grad(Stage<0>)"),
                Place(
                    f"{CELLS}/gru_block.h",
                    "GruBlock.grad(Stage<1>)",
                    {"d_h_prevr": "d_x_h_prevr", "d_gates[0]": "d_r_bar_u_bar"},
                ),
                Place(
                    f"{LAUNCH}/gru_block.py",
                    "gru_block_cell_grad",
                    {"d_x": "d_x_h_prev d_x", "d_h_prev": "d_x_h_prev d_h_prev"},
                ),
            ),
            "Node": (Place(GRU, "GRUBlockCell.backward"),),
        },
    ),
    "cross_entropy": Part(
        "forward",
        (LOSSES, 0, ""),
        {
            "NumPy": (
                Place(f"{CPU}/losses.py", "cross_entropy", {"a": "m"}),
                Place(f"{CPU}/losses.py", "_shifted", {"return": "m"}),
            ),
            "CUDA": (
                Place(f"{KERNELS}/losses.cu", "cross_entropy"),
                Place(f"{KERNELS}/row_sums.cuh", "row_sums"),
                Place(f"{LAUNCH}/losses.py", "cross_entropy"),
            ),
        },
    ),
    "cross_entropy_grad": Part(
        "backward",
        (LOSSES, 1, ""),
        {
            "NumPy": (Place(f"{CPU}/losses.py", "cross_entropy_grad"),),
            "CUDA": (
                Place(f"{KERNELS}/losses.cu", "cross_entropy_grad"),
                Place(f"{LAUNCH}/losses.py", "cross_entropy_grad"),
            ),
        },
    ),
    **_mode(
        "lstm",
        "lstm",
        "lstm.h",
        "Lstm",
        {"a_i": "a_g", "a_f": "a_g", "a_n": "a_g", "a_o": "a_g", "return": "h m", "values": ""},
        {"dc = dc * f": "dc'", "return": "da2 dc'"},
    ),
    **_mode("gru", "gru", "gru.h", "Gru", {"return": "h", "values": ""}, {"da": "da2", "dh": "", "return": "da2"}),
    **_mode("rnn_tanh", "rnn", "rnn.h", "RnnTanh", {"a": "h", "return": "h"}, {"return": "da da2", "da": "da da2"}),
    **_mode("rnn_relu", "rnn", "rnn.h", "RnnRelu", {"a": "h", "return": "h"}, {"return": "da da2", "da": "da da2"}),
    "weights_grad": Part(
        "all modes, what is summed over the steps",
        (CUDNN, 1, "all"),
        {
            "NumPy": (
                Place(
                    f"{CPU}/cudnn_rnn/reference.py",
                    "rnn_sequence_grad_reference",
                    {"dh": "dh'", "dweights": "dW dR dbW dbR", "dh0": "", "return": ""},
                ),
            ),
            "CUDA": (
                Place(f"{LAUNCH}/cudnn_rnn/all_steps.py", "sums_over_steps", {"return": ""}),
                Place(f"{LAUNCH}/cudnn_rnn/steps.py", "backward", {"dh": "dh'", "return": ""}),
            ),
        },
    ),
    "zoneout": Part(
        "zoneout, forward",
        (ZONEOUT, 0, ""),
        {
            "NumPy": (Place(f"{CPU}/cudnn_rnn/reference.py", "zoned", {"return": "c h"}),),
            "CUDA": (
                Place(f"{KERNELS}/cudnn_rnn/steps.cu", "zoned", {"return": "c h"}),
                Place(f"{KERNELS}/cudnn_rnn/steps.cu", "step"),
            ),
        },
    ),
    "zoneout_grad": Part(
        "zoneout, backward",
        (ZONEOUT, 1, ""),
        {
            "NumPy": (Place(f"{CPU}/cudnn_rnn/reference.py", "zoned_grad", {"return": "dh_new dh' dc_new dc'"}),),
            "CUDA": (
                Place(
                    f"{KERNELS}/cudnn_rnn/steps.cu",
                    "step_grad",
                    {
                        "d_after[I]": "dh_new",
                        "d_after[0]": "dc_new",
                        "d_before[I]": "dh'",
                        "d_before[0]": "dc'",
                        "dh": "",
                    },
                ),
            ),
        },
    ),
}


def parts_of(op: str) -> dict[str, Part]:
    """The parts of an op and its gradient, which are explained together. The ops of the parameter buffer have none."""
    if "params" in op:
        return {}
    stems = ("lstm_block_cell", "block_lstm", "gru_block_cell", "cross_entropy")
    stem = next((stem for stem in stems if op.startswith(stem)), "")
    chosen = {key: part for key, part in PARTS.items() if stem and key.startswith(stem)}
    if stem == "block_lstm":  # a sequence consists of steps
        chosen |= parts_of("lstm_block_cell")
    return chosen or {key: part for key, part in PARTS.items() if not key.startswith(stems)}
