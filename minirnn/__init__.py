"""minirnn: an open book about how gradients flow through recurrent networks."""

from minirnn import devices, ops
from minirnn._version import __version__
from minirnn.devices import use_device
from minirnn.gradcheck import gradcheck
from minirnn.random import manual_seed
from minirnn.tape import enable_grad, grad, no_grad
from minirnn.tensor import Tensor, tensor

__all__ = [
    "Tensor",
    "__version__",
    "devices",
    "enable_grad",
    "grad",
    "gradcheck",
    "manual_seed",
    "no_grad",
    "ops",
    "tensor",
    "use_device",
]
