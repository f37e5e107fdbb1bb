"""The `cpu` device: NumPy arrays, NumPy kernels."""

from __future__ import annotations

from minirnn.devices.base import Device
from minirnn.devices.cpu import gru_block
from minirnn.devices.cpu.cudnn_rnn import layer as cudnn_rnn
from minirnn.devices.cpu.lstm_block import cell as lstm_block
from minirnn.devices.cpu.primitives import Primitives


class CPU(Primitives, Device):
    """NumPy on the host. Always there."""

    name = "cpu"
    kernels = frozenset(
        {
            "lstm_block_cell",
            "lstm_block_cell_grad",
            "block_lstm",
            "block_lstm_grad",
            "gru_block_cell",
            "gru_block_cell_grad",
            "rnn_sequence_reserve_layout",
            "rnn_sequence",
            "rnn_sequence_grad",
        }
    )

    lstm_block_cell = staticmethod(lstm_block.lstm_block_cell)
    lstm_block_cell_grad = staticmethod(lstm_block.lstm_block_cell_grad)
    block_lstm = staticmethod(lstm_block.block_lstm)
    block_lstm_grad = staticmethod(lstm_block.block_lstm_grad)
    gru_block_cell = staticmethod(gru_block.gru_block_cell)
    gru_block_cell_grad = staticmethod(gru_block.gru_block_cell_grad)
    rnn_sequence_reserve_layout = staticmethod(cudnn_rnn.rnn_sequence_reserve_layout)
    rnn_sequence = staticmethod(cudnn_rnn.rnn_sequence)
    rnn_sequence_grad = staticmethod(cudnn_rnn.rnn_sequence_grad)
