"""Schedules that multiply the step size by a factor at certain epochs or at every epoch.

They continue from the present step size, so that schedules can be chained.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from minirnn import check
from minirnn.messages import shown
from minirnn.optim.lr_scheduler.scheduler import LRScheduler, within
from minirnn.optim.optimizer import Optimizer


class _Multiplying(LRScheduler):
    """A schedule that defines the factor of the step sizes at each epoch."""

    _starts_at_base = True

    def _factor(self, epoch: int) -> float:
        raise NotImplementedError

    def get_lr(self) -> list[float]:
        self._warn_outside_step()
        factor = self._factor(self.last_epoch)
        return [lr * factor for lr in self._current()]


class StepLR(_Multiplying):
    """Multiply the step size by `gamma` every `step_size` epochs: ``base_lr * gamma**(epoch // step_size)``.

    Parameters
    ----------
    optimizer, last_epoch
        As for `LRScheduler`.
    step_size : int
        1 or more.
    gamma : float
    """

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size = check.integer("StepLR", "step_size", step_size, 1)
        self.gamma = check.number("StepLR", "gamma", gamma)
        super().__init__(optimizer, last_epoch)

    def _factor(self, epoch: int) -> float:
        return self.gamma if epoch > 0 and epoch % self.step_size == 0 else 1.0


class MultiStepLR(_Multiplying):
    """Multiply the step size by `gamma` at each of the epochs `milestones`.

    Parameters
    ----------
    optimizer, last_epoch
        As for `LRScheduler`.
    milestones : iterable of int
        Epochs, in any order. An epoch that is listed twice counts twice.
    gamma : float
    """

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        if isinstance(milestones, str) or not isinstance(milestones, Iterable):
            raise TypeError(f"MultiStepLR: milestones is {shown(milestones)}\n  expected a list of epochs")
        self.milestones = Counter(check.integer("MultiStepLR", "milestones", epoch, 0) for epoch in milestones)
        self.gamma = check.number("MultiStepLR", "gamma", gamma)
        super().__init__(optimizer, last_epoch)

    def _factor(self, epoch: int) -> float:
        return self.gamma ** self.milestones[epoch]

    def load_state_dict(self, state_dict: Any) -> None:
        state = self._fitting(state_dict)
        # JSON, in which states are often stored, turns the epochs into strings.
        milestones = Counter({int(epoch): count for epoch, count in state["milestones"].items()})
        super().load_state_dict({**state, "milestones": milestones})


class ConstantLR(_Multiplying):
    """Multiply the step size by `factor` for the first `total_iters` epochs.

    Parameters
    ----------
    optimizer, last_epoch
        As for `LRScheduler`.
    factor : float
        0 .. 1.
    total_iters : int
        0 or more.
    """

    def __init__(self, optimizer: Optimizer, factor: float = 1 / 3, total_iters: int = 5, last_epoch: int = -1) -> None:
        self.factor = check.number("ConstantLR", "factor", factor)
        within("ConstantLR", "factor", factor, 0 <= factor <= 1, "0 .. 1")
        self.total_iters = check.integer("ConstantLR", "total_iters", total_iters, 0)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        # a value that was multiplied by 0 is lost, so start from the base
        if self.factor == 0 and self.last_epoch == self.total_iters > 0:
            return list(self.base_lrs)
        return super().get_lr()

    def _factor(self, epoch: int) -> float:
        if epoch == 0:
            return self.factor
        return 1 / self.factor if epoch == self.total_iters else 1.0


class LinearLR(_Multiplying):
    """Change the factor of the step size from `start_factor` to `end_factor` in `total_iters` epochs: a warm-up.

    Parameters
    ----------
    optimizer, last_epoch
        As for `LRScheduler`.
    start_factor : float
        Above 0, at most 1.
    end_factor : float
        0 .. 1.
    total_iters : int
        1 or more.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        self.start_factor = check.number("LinearLR", "start_factor", start_factor)
        within("LinearLR", "start_factor", start_factor, 0 < start_factor <= 1, "above 0, at most 1")
        self.end_factor = check.number("LinearLR", "end_factor", end_factor)
        within("LinearLR", "end_factor", end_factor, 0 <= end_factor <= 1, "0 .. 1")
        self.total_iters = check.integer("LinearLR", "total_iters", total_iters, 1)
        super().__init__(optimizer, last_epoch)

    def _factor(self, epoch: int) -> float:
        if epoch == 0:
            return self.start_factor
        if self._is_initial or epoch > self.total_iters:
            return 1.0
        change = self.end_factor - self.start_factor
        return 1 + change / (self.total_iters * self.start_factor + (epoch - 1) * change)


class ExponentialLR(_Multiplying):
    """Multiply the step size by `gamma` at every epoch: ``base_lr * gamma**epoch``.

    Parameters
    ----------
    optimizer, last_epoch
        As for `LRScheduler`.
    gamma : float
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = check.number("ExponentialLR", "gamma", gamma)
        super().__init__(optimizer, last_epoch)

    def _factor(self, epoch: int) -> float:
        return 1.0 if self._is_initial else self.gamma


class PolynomialLR(_Multiplying):
    """Reduce the step size to 0 in `total_iters` epochs: ``base_lr * (1 - epoch / total_iters)**power``.

    Parameters
    ----------
    optimizer, last_epoch
        As for `LRScheduler`.
    total_iters : int
        1 or more.
    power : float
        1 is a straight line.
    """

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters = check.integer("PolynomialLR", "total_iters", total_iters, 1)
        self.power = check.number("PolynomialLR", "power", power)
        super().__init__(optimizer, last_epoch)

    def _factor(self, epoch: int) -> float:
        if self._is_initial or epoch > self.total_iters:
            return 1.0
        now, before = (1 - e / self.total_iters for e in (epoch, epoch - 1))
        return (now / before) ** self.power
