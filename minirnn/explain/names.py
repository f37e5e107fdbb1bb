"""Finds an op by its name here, by TensorFlow's name, or by the layer that uses it."""

from __future__ import annotations

from minirnn import ops
from minirnn.arguments.messages import likely, shown
from minirnn.arguments.user_error import UserError

LAYERS = {
    "LSTMBlockFusedCell": "block_lstm",
    "GRUBlockCellV2": "gru_block_cell",
    **dict.fromkeys(("CudnnLSTM", "CudnnGRU", "CudnnRNNTanh", "CudnnRNNRelu"), "cudnn_rnn"),
    **dict.fromkeys(("nn.LSTM", "nn.GRU", "nn.RNN"), "cudnn_rnn"),
}
"""Layers that are one op."""
FUSED = ("lstm_", "block_", "gru_", "cudnn_")


def explained() -> list[str]:
    """The fused ops, which have a page each; all other ops are primitives."""
    return sorted(name for name in ops.__all__ if name.startswith(FUSED))


def primitives() -> list[str]:
    """The ops of which the fused ones are composed, and the ops that are composed of these."""
    return sorted(name for name in ops.__all__ if not name.startswith(FUSED))


def tensorflow_name(op: str) -> str:
    """The name that TensorFlow gives to a fused op: ``BlockLSTMGradV2`` for ``block_lstm_grad_v2``."""
    whole = {"lstm": "LSTM", "gru": "GRU", "rnn": "RNN", "to": "To"}
    return "".join(whole.get(part, part.capitalize()) for part in op.split("_"))


def op_named(name: str) -> str:
    """The op of this name in any of its spellings: ``block_lstm``, ``BlockLSTM``, ``tf.raw_ops.BlockLSTM``, ``MatMul``.

    Raises UserError if there is no such op. The message lists similar names.
    """
    names = {_letters(op): op for op in ops.__all__}
    names |= {_letters(layer): op for layer, op in LAYERS.items()}
    for spelling in (name, name.rpartition(".")[2]):
        if (op := names.get(_letters(spelling))) is not None:
            return op
    known = [*explained(), *primitives()]
    near = likely(name.rpartition(".")[2], known, {**{tensorflow_name(op): op for op in explained()}, **LAYERS}, most=6)
    hint = f"\n  likely one of {', '.join(near)} is meant" if len(near) > 1 else ""
    if len(near) == 1:
        hint = f"\n  likely {near[0]!r} is meant"
    raise UserError(f"no op is called {shown(name)}{hint}\n  minirnn explain lists all")


def _letters(name: str) -> str:
    return name.replace("_", "").lower()
