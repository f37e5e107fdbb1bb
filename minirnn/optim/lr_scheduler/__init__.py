"""Schedules of the step size, with torch's names and values. A schedule is stepped after the optimizer. Schedules write
``lr`` into the optimizer's groups. As in torch, most continue from the present value, so that several can work on one
optimizer.
"""

from minirnn.later import imported_later
from minirnn.optim.lr_scheduler.combined import ChainedScheduler, SequentialLR
from minirnn.optim.lr_scheduler.cosine import CosineAnnealingLR, CosineAnnealingWarmRestarts
from minirnn.optim.lr_scheduler.cycles import CyclicLR, OneCycleLR
from minirnn.optim.lr_scheduler.factors import (
    ConstantLR,
    ExponentialLR,
    LinearLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)
from minirnn.optim.lr_scheduler.functions import LambdaLR, MultiplicativeLR
from minirnn.optim.lr_scheduler.plateau import ReduceLROnPlateau
from minirnn.optim.lr_scheduler.scheduler import LRScheduler

_LRScheduler = LRScheduler  # torch's old name
__getattr__, __dir__ = imported_later(__name__, {})  # these give the names in minirnn of torch's other names

__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]
