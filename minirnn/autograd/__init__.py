"""autograd: ops of your own, next to the functions of the tape, under torch's names."""

from minirnn.autograd.context import FunctionCtx
from minirnn.autograd.function import Function, once_differentiable
from minirnn.autograd.gradients import Variable, grad
from minirnn.engine.tape import enable_grad, no_grad
from minirnn.gradcheck import gradcheck

__all__ = ["Function", "FunctionCtx", "Variable", "enable_grad", "grad", "gradcheck", "no_grad", "once_differentiable"]
