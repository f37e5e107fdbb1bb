"""Layers, activations and losses as functions with torch's names and arguments. The modules of `nn` call them."""

from typing import TYPE_CHECKING

from minirnn.lookup.later import imported_later
from minirnn.nn.functional.activations import (
    elu,
    gelu,
    glu,
    hardtanh,
    leaky_relu,
    log_softmax,
    logsigmoid,
    relu,
    relu6,
    silu,
    softmax,
    softmin,
    softplus,
)
from minirnn.nn.functional.attention import scaled_dot_product_attention
from minirnn.nn.functional.binary import binary_cross_entropy, binary_cross_entropy_with_logits
from minirnn.nn.functional.classification import cross_entropy, nll_loss
from minirnn.nn.functional.ctc import ctc_loss
from minirnn.nn.functional.layers import dropout, embedding, linear, one_hot
from minirnn.nn.functional.normalization import cosine_similarity, layer_norm, normalize, rms_norm
from minirnn.nn.functional.padding import pad
from minirnn.nn.functional.regression import huber_loss, kl_div, l1_loss, mse_loss, smooth_l1_loss
from minirnn.ops import sigmoid, tanh
from minirnn.ops.primitives.declare import ACTIVATIONS as _ACTIVATIONS

__getattr__, __dir__ = imported_later(__name__, {})  # for torch's other names, an error with the name here

__all__ = ["binary_cross_entropy", "binary_cross_entropy_with_logits", "cosine_similarity"]
__all__ += ["cross_entropy", "ctc_loss", "dropout", "elu", "embedding", "gelu", "glu", "hardtanh", "huber_loss"]
__all__ += ["kl_div", "l1_loss", "layer_norm", "leaky_relu", "linear", "log_softmax", "logsigmoid", "mse_loss"]
__all__ += ["nll_loss", "normalize", "one_hot", "pad", "relu", "relu6", "rms_norm", "scaled_dot_product_attention"]
__all__ += ["sigmoid", "silu", "smooth_l1_loss", "softmax", "softmin", "softplus", "tanh"]

if not TYPE_CHECKING:  # a type checker reads the lists above
    vars().update(_ACTIVATIONS)
    __all__ = sorted({*__all__, *_ACTIVATIONS})
