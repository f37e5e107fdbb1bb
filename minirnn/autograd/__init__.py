"""torch.autograd's names: the base class of your own ops, and the functions of the tape."""

from minirnn.autograd.context import FunctionCtx
from minirnn.autograd.function import Function, once_differentiable
from minirnn.autograd.gradients import Variable, grad
from minirnn.engine.anomaly import detect_anomaly, set_detect_anomaly
from minirnn.engine.tape import enable_grad, no_grad
from minirnn.gradcheck import gradcheck
from minirnn.lookup.later import imported_later

__getattr__, __dir__ = imported_later(__name__, {})  # these give the names in minirnn of torch's other names

__all__ = ["Function", "FunctionCtx", "Variable", "detect_anomaly", "enable_grad", "grad", "gradcheck", "no_grad"]
__all__ += ["once_differentiable", "set_detect_anomaly"]
