"""Modules: layers, recurrent cells and losses."""

from typing import TYPE_CHECKING

from minirnn.lookup.later import imported_later
from minirnn.nn import functional, init, utils
from minirnn.nn.activations import (
    ELU,
    GELU,
    GLU,
    Hardtanh,
    LeakyReLU,
    LogSigmoid,
    LogSoftmax,
    ReLU,
    ReLU6,
    Sigmoid,
    SiLU,
    Softmax,
    Softmin,
    Softplus,
    Tanh,
)
from minirnn.nn.cells import GRUCell, LSTMCell, RNNCell
from minirnn.nn.containers import ModuleDict, ModuleList, Sequential
from minirnn.nn.dropout import Dropout
from minirnn.nn.embedding import Embedding
from minirnn.nn.gru_block import GRUBlockCell
from minirnn.nn.layer_norm import LayerNorm, RMSNorm
from minirnn.nn.linear import Linear
from minirnn.nn.losses import (
    BCELoss,
    BCEWithLogitsLoss,
    CrossEntropyLoss,
    CTCLoss,
    HuberLoss,
    KLDivLoss,
    L1Loss,
    MSELoss,
    NLLLoss,
    SmoothL1Loss,
)
from minirnn.nn.lstm_block import LSTMBlockCell, LSTMBlockFusedCell
from minirnn.nn.module import Module
from minirnn.nn.parameter import Parameter
from minirnn.nn.recurrent import GRU, LSTM, RNN
from minirnn.nn.shape import Flatten, Identity, Unflatten
from minirnn.nn.states import LSTMHidden, LSTMState

if not TYPE_CHECKING:  # torch's other names raise an error with a hint
    __getattr__, __dir__ = imported_later(__name__, {})

__all__ = ["ELU", "GELU", "GLU", "GRU", "LSTM", "RNN", "BCELoss", "BCEWithLogitsLoss", "CTCLoss"]
__all__ += ["CrossEntropyLoss", "Dropout", "Embedding", "Flatten", "GRUBlockCell", "GRUCell", "Hardtanh"]
__all__ += ["HuberLoss", "Identity", "KLDivLoss", "L1Loss", "LSTMBlockCell", "LSTMBlockFusedCell", "LSTMCell"]
__all__ += ["LSTMHidden", "LSTMState", "LayerNorm", "LeakyReLU", "Linear", "LogSigmoid", "LogSoftmax", "MSELoss"]
__all__ += ["Module", "ModuleDict", "ModuleList", "NLLLoss", "Parameter", "RMSNorm", "RNNCell", "ReLU", "ReLU6"]
__all__ += ["Sequential", "SiLU", "Sigmoid", "SmoothL1Loss", "Softmax", "Softmin", "Softplus", "Tanh", "Unflatten"]
__all__ += ["functional", "init", "utils"]
