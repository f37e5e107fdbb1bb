"""Wrong arguments that are large: the message stays short."""

from __future__ import annotations

from typing import Any

import numpy as np

import minirnn as mr
from minirnn import cudnn_rnn, data, io, nn, ops, optim
from tests.hostile.calls_block import CELL, GRU, SEQUENCE
from tests.hostile.calls_cudnn import INPUTS, V3
from tests.hostile.wrong_call import LIST, Wrong, array, tensor, wrong

TEXT = "x" * 10**6
NUMBER = 10**5000  # Python refuses to write it
MATRIX = np.ones((1000, 1000))
X = tensor(2, 3)
WEIGHT = nn.Parameter(array(2, 3))

LARGE: dict[str, Any] = {"a list": LIST, "text": TEXT, "a matrix": MATRIX, "a dict": dict.fromkeys(range(10**5))}


def each(title: str, says: str, call: Any) -> list[Wrong]:
    """A row for each large value."""
    return [wrong(f"{title}: {name}", says, call, value) for name, value in LARGE.items()]


def cell(v: Any, name: str = "forget_bias") -> Any:
    return ops.lstm_block_cell(**CELL, **{name: v})


def sequence(v: Any) -> Any:
    return ops.block_lstm(**{**SEQUENCE, "seq_len_max": v})


def network(v: Any, name: str = "seed") -> Any:
    return ops.cudnn_rnn(**INPUTS, **{name: v})


def wave(v: Any) -> Any:
    return data.sine_wave(np.random.default_rng(0), 7, 2, periods=v)


def lengths(v: Any) -> Any:
    return ops.cudnn_rnn_v3(**{**V3, "sequence_lengths": v})


ROWS: list[Wrong] = [
    *each("lstm_block_cell: forget_bias", "forget_bias is & number", cell),
    *each(
        "lstm_block_cell: use_peephole",
        "use_peephole is & True or",
        lambda v: cell(v, "use_peephole"),
    ),
    *each("block_lstm: seq_len_max", "seq_len_max & integer", sequence),
    *each("cudnn_rnn: dropout", "dropout is & number", lambda v: network(v, "dropout")),
    *each("cudnn_rnn: rnn_mode", "rnn_mode is & 'lstm'", lambda v: network(v, "rnn_mode")),
    *each("cudnn_rnn: seed", "seed & integer", network),
    *each(
        "cudnn_rnn_v3: sequence_lengths",
        "sequence_lengths",
        lengths,
    ),
    *each("cudnn_rnn_params_size: num_layers", "num_layers & integer", lambda v: ops.cudnn_rnn_params_size(v, 5, 3)),
    *each("CudnnLSTM: seed", "seed & integer", lambda v: cudnn_rnn.CudnnLSTM(2, 5, 3, seed=v)),
    *each("LSTM: hidden_size", "hidden_size is & integer", lambda v: nn.LSTM(3, v)),
    *each("LSTM: dtype", "dtype & float16", lambda v: nn.LSTM(3, 5, dtype=v)),
    *each("RNN: nonlinearity", "nonlinearity is & 'tanh'", lambda v: nn.RNN(3, 5, nonlinearity=v)),
    *each("RNNCell: nonlinearity", "nonlinearity is & 'tanh'", lambda v: nn.RNNCell(3, 5, nonlinearity=v)),
    *each("cross_entropy: reduction", "reduction is & 'mean'", lambda v: ops.cross_entropy(X, [0, 1], v)),
    *each("MSELoss: reduction", "reduction is & 'mean'", lambda v: nn.MSELoss(reduction=v)),
    *each("mse_loss: reduction", "reduction is & 'mean'", lambda v: nn.functional.mse_loss(X, X, reduction=v)),
    *each("Adam: lr", "lr is & number", lambda v: optim.Adam([WEIGHT], lr=v)),
    *each("Adam: betas", "betas is & pair", lambda v: optim.Adam([WEIGHT], betas=v)),
    *each("clip_grad_norm_: max_norm", "max_norm is & number", lambda v: optim.clip_grad_norm_([WEIGHT], v)),
    *each("manual_seed", "seed & integer", mr.manual_seed),
    *each("get", "device & ", mr.devices.get),
    *each("register", "register & string", lambda v: mr.devices.register(v, None)),
    *each("softmax: axis", "axis is & integer", lambda v: ops.softmax(X, v)),
    *each("clip: a bound", "bound is & number", lambda v: ops.clip(X, v, 1.0)),
    *each("astype", "dtype & float16", lambda v: ops.astype(X, v)),
    *each("tensor: dtype", "dtype & float16", lambda v: mr.tensor([1.0], dtype=v)),
    *each("gradcheck: order", "order is & 1 or 2", lambda v: mr.gradcheck(ops.tanh, [array(2)], order=v)),
    *each("CharBatches: T", "T is & whole number", lambda v: data.CharBatches([1, 2, 3], v, 1)),
    *each("sine_wave: rng", "rng is & Generator", lambda v: data.sine_wave(v, 7, 2)),
    *each(
        "sine_wave: periods",
        "periods is & (shortest, longest)",
        wave,
    ),
    *each("convert: to", "layout & torch.nn", lambda v: io.convert({"w": array(2)}, v)),
    *each("save: metadata", "metadata", lambda v: io.save("/nowhere/at/all", {}, {"a": (v,)})),
    *each("gru_block_cell: b_c", "b_c", lambda v: ops.gru_block_cell(**{**GRU, "b_c": v})),
    wrong(
        "lstm_block_cell: a bias of 5000 digits",
        "forget_bias & number",
        cell,
        NUMBER,
    ),
    wrong("cudnn_rnn: a seed of 5000 digits", "seed is & expected", network, NUMBER),
    wrong(
        "block_lstm: seq_len_max of 5000 digits",
        "seq_len_max is & 0 .. 7",
        sequence,
        NUMBER,
    ),
    wrong("manual_seed: minus 5000 digits", "seed is & 0 or more", mr.manual_seed, -NUMBER),
    wrong("sum: an axis of 5000 digits", "axis & -2 .. 1", X.sum, NUMBER),
    wrong("reshape: a size of 5000 digits", "reshape & 6 elements", X.reshape, (NUMBER, NUMBER)),
    wrong("split: a size of 5000 digits", "split", X.split, [NUMBER]),
    wrong("clip: a bound of 5000 digits", "clip & number", X.clip, NUMBER, None),
    wrong("LSTM: a hidden size of 5000 digits", "hidden_size is & memory", nn.LSTM, 3, NUMBER),
    wrong("Adam: a step of 5000 digits", "lr & number", optim.Adam, [WEIGHT], NUMBER),
    wrong("CharBatches: T of 5000 digits", "CharBatches & at least", data.CharBatches, [1, 2, 3], NUMBER, 1),
    wrong("tensor: a number of 5000 digits", "tensor", mr.tensor, [NUMBER]),
    wrong("index by 5000 digits", "(2, 3)", X.__getitem__, NUMBER).raises(IndexError),
    wrong("LSTM: a size that is a short integer's limit", "memory", nn.LSTM, 2**62, 2**62),
    wrong("Embedding: more rows than memory", "memory", nn.Embedding, 10**15, 10),
]
