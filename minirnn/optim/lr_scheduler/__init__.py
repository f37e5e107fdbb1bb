"""Schedules of the step size, with torch's names and values. A schedule is stepped after the optimizer.

A schedule is a formula of the epoch and of the step size with which a group began: `LRScheduler.at`.
"""

from minirnn.lookup.later import imported_later
from minirnn.optim.lr_scheduler.combined import ChainedScheduler, SequentialLR
from minirnn.optim.lr_scheduler.cycles import CyclicLR, OneCycleLR
from minirnn.optim.lr_scheduler.plateau import ReduceLROnPlateau
from minirnn.optim.lr_scheduler.scheduler import LRScheduler
from minirnn.optim.lr_scheduler.shapes import (
    ConstantLR,
    CosineAnnealingLR,
    CosineAnnealingWarmRestarts,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)

_LRScheduler = LRScheduler  # torch's old name
__getattr__, __dir__ = imported_later(__name__, {})  # these give the names in minirnn of torch's other names

__all__ = ["ChainedScheduler", "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CyclicLR"]
__all__ += ["ExponentialLR", "LRScheduler", "LambdaLR", "LinearLR", "MultiStepLR", "MultiplicativeLR", "OneCycleLR"]
__all__ += ["PolynomialLR", "ReduceLROnPlateau", "SequentialLR", "StepLR"]
