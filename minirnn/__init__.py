"""minirnn: an open book about how gradients flow through recurrent networks."""

from minirnn import cudnn_rnn, data, devices, io, nn, ops, optim, viz
from minirnn._version import __version__
from minirnn.backward import grad
from minirnn.devices import use_device
from minirnn.gradcheck import gradcheck
from minirnn.random import manual_seed
from minirnn.tape import enable_grad, no_grad
from minirnn.tensor import Tensor, tensor

__all__ = [
    "Tensor",
    "__version__",
    "cudnn_rnn",
    "data",
    "devices",
    "enable_grad",
    "grad",
    "gradcheck",
    "io",
    "manual_seed",
    "nn",
    "no_grad",
    "ops",
    "optim",
    "tensor",
    "use_device",
    "viz",
]
