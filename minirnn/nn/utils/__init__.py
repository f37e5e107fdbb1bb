"""Helpers around parameters, gradients and sequences of different lengths, under torch's names."""

from minirnn.lookup.later import imported_later
from minirnn.nn.utils import rnn
from minirnn.nn.utils.clip_grad import clip_grad_norm_, clip_grad_value_
from minirnn.nn.utils.vectors import parameters_to_vector, vector_to_parameters

__getattr__, __dir__ = imported_later(__name__, {})  # for torch's other names, an error with the name here

__all__ = ["clip_grad_norm_", "clip_grad_value_", "parameters_to_vector", "rnn", "vector_to_parameters"]
