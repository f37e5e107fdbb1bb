"""What takes or makes derivatives: the base class of your own ops, torch's functions of the tape, Jacobians and
products with them, `vmap`, and `checkpoint`.
"""

from minirnn.autograd.context import FunctionCtx
from minirnn.autograd.function import Function, once_differentiable
from minirnn.autograd.gradients import Variable, grad
from minirnn.autograd.jacobians import hessian, jacobian
from minirnn.autograd.mapping import vmap
from minirnn.autograd.products import hvp, jvp, vjp
from minirnn.autograd.recomputation import checkpoint
from minirnn.engine.anomaly import detect_anomaly, set_detect_anomaly
from minirnn.engine.tape import enable_grad, no_grad
from minirnn.gradcheck import gradcheck
from minirnn.lookup.later import imported_later

__getattr__, __dir__ = imported_later(__name__, {})  # these give the names in minirnn of torch's other names

__all__ = ["Function", "FunctionCtx", "Variable", "detect_anomaly", "enable_grad", "grad", "gradcheck", "no_grad"]
__all__ += ["once_differentiable", "set_detect_anomaly", "checkpoint", "hessian", "hvp"]
__all__ += ["jacobian", "jvp", "vjp", "vmap"]
