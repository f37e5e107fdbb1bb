"""Helpers around parameters, gradients and sequences of different lengths, under torch's names."""

from minirnn.lookup.later import imported_later
from minirnn.nn.utils import rnn
from minirnn.nn.utils.clip_grad import clip_grad_norm_, clip_grad_value_, clip_grads_with_norm_, get_total_norm
from minirnn.nn.utils.vectors import parameters_to_vector, vector_to_parameters

__getattr__, __dir__ = imported_later(__name__, {})  # for torch's other names, an error with the name here

__all__ = ["clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm", "parameters_to_vector"]
__all__ += ["rnn", "vector_to_parameters"]
