"""autograd: ops of your own, next to the functions of the tape, under torch's names."""

from minirnn.later import imported_later
from minirnn.autograd.context import FunctionCtx
from minirnn.autograd.function import Function, once_differentiable
from minirnn.engine.backward import grad
from minirnn.engine.tape import enable_grad, no_grad
from minirnn.gradcheck import gradcheck

__getattr__, __dir__ = imported_later(__name__, {})  # which say what torch's other names are called here

__all__ = ["Function", "FunctionCtx", "enable_grad", "grad", "gradcheck", "no_grad", "once_differentiable"]
