"""The table of parts: where each exercise is plugged in, by which function, and how it is compared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from minirnn import nn, optim
from minirnn.learn.mine import probes, through_time, training
from minirnn.learn.mine.probes import B, H, I, Probe, T, gradients, layer
from minirnn.learn.mine.walk import walk


@dataclass(frozen=True)
class Part:
    """A part of minirnn that the answer to an exercise can replace.

    Attributes
    ----------
    id : str
        The exercise.
    name : str
        What the part does.
    place : str
        What it replaces: a method of the device, or one of `minirnn.learn.mine.tasks.TASKS`.
    plug : callable
        ``(answer, device, *call)`` returns the result of the replaced function, or NotImplemented.
    probe : callable
        A computation whose results with and without the part are compared.
    """

    id: str
    name: str
    place: str
    plug: Callable[..., Any]
    probe: Probe


LENGTHS = np.array([4, 2])
RNN, LSTM, GRU = layer(nn.RNN), layer(nn.LSTM), layer(nn.GRU)
PARTS = (
    Part("ex02", "the walk over the tape", "walk", walk, gradients(probes.a_little_network, (B, H), (H, H), (H,))),
    Part("ex22", "broadcasting, backward", "sum_to_shape", training.unbroadcast,
         gradients(probes.broadcast, (T, B, H), (H,), (B, 1), (T, 1, H), ())),
    Part("ex05", "a step of a tanh RNN", "cell_sequence_grad", through_time.rnn_step, RNN),
    Part("ex06", "a tanh RNN through time", "cell_sequence_grad", through_time.rnn_sequence, RNN),
    Part("ex12", "samples of different lengths", "cell_sequence_grad", through_time.rnn_lengths,
         layer(nn.RNN, LENGTHS)),
    Part("ex07", "a step of an LSTM", "cell_sequence_grad", through_time.lstm_step, LSTM),
    Part("ex09", "an LSTM through time", "cell_sequence_grad", through_time.lstm_sequence, LSTM),
    Part("ex31", "an LSTM with a projection", "cell_sequence_grad", through_time.lstm_projected,
         layer(nn.LSTM, proj_size=2)),
    Part("ex08", "peepholes", "cell_sequence_grad", through_time.peephole_sequence, probes.PEEPHOLES),
    Part("ex10", "the GRU of GRUBlockCell", "cell_step_grad", through_time.gru_block_step, probes.GRU_BLOCK),
    Part("ex11", "the GRU of cuDNN and torch", "cell_sequence_grad", through_time.gru_step, GRU),
    Part("ex13", "two directions", "cell_sequence_grad", through_time.two_directions,
         layer(nn.LSTM, bidirectional=True)),
    Part("ex14", "the order of the gates", "lstm_layout", through_time.lstm_layout, probes.layout),
    Part("ex23", "the loss without overflow", "cross_entropy", training.log_sum_exp,
         gradients(probes.loss_of_rows, (T, B, I))),
    Part("ex24", "softmax and cross-entropy, backward", "cross_entropy_grad", training.cross_entropy_grad,
         gradients(probes.loss_of_rows, (T, B, I))),
    Part("ex25", "the embedding, backward", "scatter_add", training.embedding,
         gradients(probes.looked_up, (T, I))),
    Part("ex26", "dropout", "dropout_mask", training.dropout, probes.dropped),
    Part("ex15", "clipping", "clip_by_norm", training.clip, probes.clipped()),
    Part("ex16", "Adam", "adam", training.adam, probes.steps_of(optim.Adam, lr=0.1)),
    Part("ex36", "RMSprop", "rmsprop", training.rmsprop, probes.steps_of(optim.RMSprop, lr=0.1, momentum=0.5)),
    Part("ex42", "the sum over ranks", "all_reduce", training.ring, probes.added_up),
    Part("ex35", "the first weights of an LSTM", "lstm_start", training.lstm_start, probes.first_weights),
)  # fmt: skip
"""One line per exercise. If several parts share a place, they are tried in this order."""
