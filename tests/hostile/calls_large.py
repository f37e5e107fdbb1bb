"""Wrong arguments that are large: the message stays short."""

import numpy as np

from minirnn import nn
from tests.hostile.calls_block import CELL, SEQUENCE  # noqa: F401, the table names them
from tests.hostile.calls_cudnn import V1  # noqa: F401, the table names them
from tests.hostile.table import rows
from tests.hostile.wrong_call import array, tensor

LIST = [0.5] * 10**4
TEXT = "x" * 10**6
NUMBER = 10**5000
MATRIX = np.ones((1000, 1000))
X = tensor(2, 3)
WEIGHT = nn.Parameter(array(2, 3))
TABLE = dict.fromkeys(range(10**4))
RNG = np.random.default_rng(0)
LARGE = ("LIST", "TEXT", "MATRIX", "TABLE")

ROWS = rows(
    globals(),
    r"""
for NAME in LARGE:
    with ops.lstm_block_cell(**CELL):
        use_peephole=NAME -> use_peephole is & True or
    with ops.cudnn_rnn(**V1):
        rnn_mode=NAME -> rnn_mode is & 'lstm'
    cudnn_rnn.CudnnLSTM(2, 5, 3, seed=NAME) -> seed & integer
    ops.cross_entropy(X, [0, 1], NAME) -> reduction is & 'mean'
    nn.functional.mse_loss(X, X, reduction=NAME) -> reduction is & 'mean'
    optim.Adam([WEIGHT], betas=NAME) -> betas is & pair
    optim.clip_grad_norm_([WEIGHT], NAME) -> max_norm is & number
    mr.devices.get(NAME) -> device
    mr.devices.register(NAME, None) -> register & string
    ops.softmax(X, NAME) -> axis is & integer
    ops.clip(X, NAME, 1.0) -> bound is & number
    mr.tensor([1.0], dtype=NAME) -> dtype & float16
    mr.gradcheck(ops.tanh, [array(2)], order=NAME) -> order is & 1 or 2
with ops.lstm_block_cell(**CELL):
    forget_bias=NUMBER -> forget_bias & number
with ops.cudnn_rnn(**V1):
    seed=NUMBER -> seed is & expected
with ops.block_lstm(**SEQUENCE):
    seq_len_max=NUMBER -> seq_len_max is & 0 .. 7
mr.manual_seed(-NUMBER) -> seed is & 0 or more
X.sum(NUMBER) -> axis & -2 .. 1
X.split([NUMBER]) -> split
X.clip(NUMBER, None) -> clip & number
nn.LSTM(3, NUMBER) -> hidden_size is & memory
optim.Adam([WEIGHT], NUMBER) -> lr & number
data.CharBatches([1, 2, 3], NUMBER, 1) -> CharBatches & at least
X.__getitem__(NUMBER) -> raises IndexError: (2, 3)
nn.LSTM(2**62, 2**62) -> memory
nn.Embedding(10**15, 10) -> memory
""",
)
