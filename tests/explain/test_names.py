"""An op is also found by TensorFlow's names."""

from __future__ import annotations

import pytest

from minirnn import ops
from minirnn.arguments.user_error import UserError
from minirnn.explain.names import LAYERS, explained, op_named, primitives, tensorflow_name
from tests.each import each

# As in tf.raw_ops.
TENSORFLOW = {
    "LSTMBlockCell": "lstm_block_cell",
    "LSTMBlockCellGrad": "lstm_block_cell_grad",
    "BlockLSTM": "block_lstm",
    "BlockLSTMV2": "block_lstm_v2",
    "BlockLSTMGrad": "block_lstm_grad",
    "BlockLSTMGradV2": "block_lstm_grad_v2",
    "GRUBlockCell": "gru_block_cell",
    "GRUBlockCellGrad": "gru_block_cell_grad",
    "CudnnRNN": "cudnn_rnn",
    "CudnnRNNV2": "cudnn_rnn_v2",
    "CudnnRNNV3": "cudnn_rnn_v3",
    "CudnnRNNBackprop": "cudnn_rnn_backprop",
    "CudnnRNNBackpropV2": "cudnn_rnn_backprop_v2",
    "CudnnRNNBackpropV3": "cudnn_rnn_backprop_v3",
    "CudnnRNNParamsSize": "cudnn_rnn_params_size",
    "CudnnRNNParamsToCanonical": "cudnn_rnn_params_to_canonical",
    "CudnnRNNParamsToCanonicalV2": "cudnn_rnn_params_to_canonical_v2",
    "CudnnRNNCanonicalToParams": "cudnn_rnn_canonical_to_params",
    "CudnnRNNCanonicalToParamsV2": "cudnn_rnn_canonical_to_params_v2",
}


def test_every_fused_op_has_its_name_of_tensorflow() -> None:
    assert {tensorflow_name(op): op for op in explained()} == TENSORFLOW


@each("name", [*TENSORFLOW, *LAYERS])
def test_an_op_is_found_by_its_names(name: str) -> None:
    op = {**TENSORFLOW, **LAYERS}[name]
    for spelling in (name, name.lower(), f"tf.raw_ops.{name}", op, f"mr.ops.{op}"):
        if not (name in LAYERS and spelling == f"tf.raw_ops.{name}"):
            assert op_named(spelling) == op


def test_primitives_are_also_found() -> None:
    assert op_named("MatMul") == "matmul" and op_named("tf.math.Tanh") == "tanh"
    assert sorted([*explained(), *primitives()]) == sorted(ops.__all__)


@pytest.mark.parametrize("name", ["", "_", ".", "x" * 10_000, "LSTM\n", "\u212a"])
def test_invalid_names_are_rejected_on_short_lines(name: str) -> None:
    with pytest.raises(UserError, match="no op is called") as error:
        op_named(name)
    assert len(str(error.value)) < 300
