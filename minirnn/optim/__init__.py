"""Optimizers, schedules of their step size, and clipping of gradients.

An optimizer changes parameters by `Tensor.assign`, so the tape notices when a backward pass would still need the old
values. Results equal torch's to rounding. Ops do the arithmetic, on the device of the parameters.
"""

from typing import TYPE_CHECKING

from minirnn.lookup.later import imported_later
from minirnn.nn.utils.clip_grad import clip_grad_norm_, clip_grad_value_
from minirnn.optim.adadelta import Adadelta
from minirnn.optim.adagrad import Adagrad
from minirnn.optim.adam import Adam, AdamW
from minirnn.optim.nadam import NAdam
from minirnn.optim.optimizer import Optimizer
from minirnn.optim.rmsprop import RMSprop
from minirnn.optim.sgd import SGD

if TYPE_CHECKING:
    from minirnn.optim import lr_scheduler
    from minirnn.optim.asgd import ASGD
    from minirnn.optim.lbfgs import LBFGS
else:
    LATER = {"ASGD": "minirnn.optim.asgd", "LBFGS": "minirnn.optim.lbfgs"}
    __getattr__, __dir__ = imported_later(__name__, {"lr_scheduler": "minirnn.optim.lr_scheduler"} | LATER)

__all__ = ["ASGD", "LBFGS", "SGD", "Adadelta", "Adagrad", "Adam", "AdamW", "NAdam", "Optimizer", "RMSprop"]
__all__ += ["clip_grad_norm_", "clip_grad_value_", "lr_scheduler"]
