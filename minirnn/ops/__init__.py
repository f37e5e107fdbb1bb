"""Ops: the operations of the tape's nodes, and their gradients.

Ops and modules that TensorFlow also has take its argument `name` and ignore it, so calls written for TensorFlow work.
"""

from typing import TYPE_CHECKING

from minirnn.lookup.later import imported_later
from minirnn.ops import primitives
from minirnn.ops.primitives import *  # noqa: F403

__all__ = ["block_lstm", "block_lstm_grad", "block_lstm_grad_v2", "block_lstm_v2", "cross_entropy"]
__all__ += ["cudnn_rnn_canonical_to_params", "cudnn_rnn_canonical_to_params_v2", "cudnn_rnn_params_size"]
__all__ += ["cudnn_rnn_params_to_canonical", "cudnn_rnn_params_to_canonical_v2", "cudnn_rnn", "cudnn_rnn_backprop"]
__all__ += ["cudnn_rnn_backprop_v2", "cudnn_rnn_backprop_v3", "cudnn_rnn_v2", "cudnn_rnn_v3", "gru_block_cell"]
__all__ += ["gru_block_cell_grad", "lstm_block_cell", "lstm_block_cell_grad"]

if TYPE_CHECKING:
    from minirnn.ops.cudnn_rnn.canonical import (
        cudnn_rnn_canonical_to_params,
        cudnn_rnn_canonical_to_params_v2,
        cudnn_rnn_params_to_canonical,
        cudnn_rnn_params_to_canonical_v2,
    )
    from minirnn.ops.cudnn_rnn.params import cudnn_rnn_params_size
    from minirnn.ops.cudnn_rnn.versions import (
        cudnn_rnn,
        cudnn_rnn_backprop,
        cudnn_rnn_backprop_v2,
        cudnn_rnn_backprop_v3,
        cudnn_rnn_v2,
        cudnn_rnn_v3,
    )
    from minirnn.ops.gru_block.cell import gru_block_cell, gru_block_cell_grad
    from minirnn.ops.losses import cross_entropy
    from minirnn.ops.lstm_block.cell import lstm_block_cell, lstm_block_cell_grad
    from minirnn.ops.lstm_block.sequence import block_lstm, block_lstm_grad, block_lstm_grad_v2, block_lstm_v2
else:
    __getattr__, __dir__ = imported_later(
        __name__,
        {
            **dict.fromkeys((name for name in __all__ if "cudnn" in name), "minirnn.ops.cudnn_rnn.versions"),
            **dict.fromkeys((name for name in __all__ if "canonical" in name), "minirnn.ops.cudnn_rnn.canonical"),
            "cudnn_rnn_params_size": "minirnn.ops.cudnn_rnn.params",
            **dict.fromkeys((name for name in __all__ if "block_lstm" in name), "minirnn.ops.lstm_block.sequence"),
            **dict.fromkeys((name for name in __all__ if "lstm_block" in name), "minirnn.ops.lstm_block.cell"),
            **dict.fromkeys((name for name in __all__ if "gru_block" in name), "minirnn.ops.gru_block.cell"),
            "cross_entropy": "minirnn.ops.losses",
            **{room: f"minirnn.ops.{room}" for room in ("cudnn_rnn", "gru_block", "losses", "lstm_block", "sequence")},
        },
    )
    __all__ += primitives.__all__
