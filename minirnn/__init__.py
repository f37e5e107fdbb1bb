"""minirnn: an open book about how gradients flow through recurrent networks."""

from minirnn.machine import startup  # noqa: F401  before all others, since Ctrl-C may come while they are imported

# ruff: noqa: F403
# isort: split
from typing import TYPE_CHECKING

from minirnn import devices, ops
from minirnn.devices import use_device, use_precision
from minirnn.engine import creation as _creation
from minirnn.engine import dtypes as _dtypes
from minirnn.engine import random_creation as _random_creation
from minirnn.engine.backward import grad
from minirnn.engine.creation import *
from minirnn.engine.dtypes import *
from minirnn.engine.random import manual_seed
from minirnn.engine.random_creation import *
from minirnn.engine.tape import enable_grad, inference_mode, is_grad_enabled, no_grad, set_grad_enabled
from minirnn.engine.tensor import Tensor, tensor
from minirnn.lookup import at_the_top as _torch_names
from minirnn.lookup.at_the_top import *
from minirnn.lookup.later import imported_later
from minirnn.lookup.pointers import attach as _attach
from minirnn.ops import at_the_top as _ops
from minirnn.ops.at_the_top import *

__version__ = "2.0.0"  # the build reads this line

if TYPE_CHECKING:
    from minirnn import autograd, data, io, nn, optim, viz
    from minirnn.autograd import checkpoint, hessian, hvp, jacobian, jvp, vjp, vmap
    from minirnn.gradcheck import gradcheck
    from minirnn.io.arrays import load, save
    from minirnn.lookup import cuda, utils
    from minirnn.nn.functional import softplus
    from minirnn.nn.own.decorator import cell
    from minirnn.ops.cudnn_rnn import objects as cudnn_rnn
    from minirnn.ops.sequence.functions import (
        product,
        straight_through,
        unit_max,
        unit_mean,
        unit_norm,
        unit_softmax,
        unit_sum,
    )
else:
    __getattr__, __dir__ = imported_later(
        __name__,
        {
            **{room: f"minirnn.{room}" for room in ("autograd", "cuda", "cudnn_rnn", "data", "gradcheck", "io")},
            **{room: f"minirnn.{room}" for room in ("nn", "optim", "random", "utils")},
            **dict.fromkeys(("float", "int"), "minirnn.engine.dtypes"),
            **dict.fromkeys(("checkpoint", "hessian", "hvp", "jacobian", "jvp", "vjp", "vmap"), "minirnn.autograd"),
            **dict.fromkeys(("product", "straight_through"), "minirnn.ops.sequence.functions"),
            **dict.fromkeys(("unit_max", "unit_mean", "unit_norm", "unit_softmax"), "minirnn.ops.sequence.functions"),
            "unit_sum": "minirnn.ops.sequence.functions",
            **dict.fromkeys(("load", "save"), "minirnn.io.arrays"),
            "cell": "minirnn.nn.own.decorator",
            "softplus": "minirnn.nn.functional",
            "viz": "minirnn.viz",
        },
    )

_attach(Tensor)

__all__ = ["Tensor", "__version__", "autograd", "cell", "checkpoint", "cudnn_rnn", "data"]
__all__ += ["devices", "cuda", "inference_mode", "is_grad_enabled", "set_grad_enabled"]
__all__ += ["enable_grad", "grad", "gradcheck", "hessian", "hvp", "io", "jacobian", "jvp", "load"]
__all__ += [
    "manual_seed",
    "nn",
    "no_grad",
    "ops",
    "optim",
    "product",
    "save",
    "softplus",
    "straight_through",
    "tensor",
    "unit_max",
    "unit_mean",
    "unit_norm",
    "unit_softmax",
    "unit_sum",
    "use_device",
    "use_precision",
    "utils",
    "viz",
    "vjp",
    "vmap",
]

if not TYPE_CHECKING:  # type checkers read the lists in the modules
    __all__ += [*_creation.__all__, *_dtypes.__all__, *_random_creation.__all__, *_ops.__all__, *_torch_names.__all__]
