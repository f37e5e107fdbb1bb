"""Optimizers: SGD and Adam, and clipping of gradients.

An optimizer changes parameters by `Tensor.assign`, so the tape notices when a backward pass would still need the old
values. Results equal torch's to rounding. The arithmetic is done by ops, on whatever device the parameters are.
"""

from minirnn.optim.adam import Adam
from minirnn.optim.clip import clip_grad_norm_
from minirnn.optim.optimizer import Optimizer
from minirnn.optim.sgd import SGD

__all__ = ["SGD", "Adam", "Optimizer", "clip_grad_norm_"]
