"""Schedules that multiply the step size: at certain epochs, or a little at each.

Each has two forms. ``get_lr`` goes on from the step size that is there, so that schedules can be chained;
``_get_closed_form_lr`` computes it from the epoch alone.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable
from typing import Any

from minirnn import check
from minirnn.messages import shown
from minirnn.optim.lr_scheduler.scheduler import LRScheduler, within
from minirnn.optim.optimizer import Optimizer


class StepLR(LRScheduler):
    """Multiply the step size by `gamma` every `step_size` epochs: ``base_lr * gamma**(epoch // step_size)``.

    Parameters
    ----------
    optimizer, last_epoch
        As for `LRScheduler`.
    step_size : int
        1 or more.
    gamma : float

    Raises
    ------
    TypeError, ValueError, KeyError
        As `LRScheduler`.
    """

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size = check.integer("StepLR", "step_size", step_size, 1)
        self.gamma = check.number("StepLR", "gamma", gamma)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        self._warn_outside_step()
        if self.last_epoch == 0 or self.last_epoch % self.step_size != 0:
            return self._current()
        return self._scaled(self.gamma)

    def _get_closed_form_lr(self) -> list[float]:
        return [lr * self.gamma ** (self.last_epoch // self.step_size) for lr in self.base_lrs]


class MultiStepLR(LRScheduler):
    """Multiply the step size by `gamma` at each of the epochs `milestones`.

    Parameters
    ----------
    optimizer, last_epoch
        As for `LRScheduler`.
    milestones : iterable of int
        Epochs, in any order; one that comes twice counts twice.
    gamma : float

    Raises
    ------
    TypeError, ValueError, KeyError
        As `LRScheduler`.
    """

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        if isinstance(milestones, str) or not isinstance(milestones, Iterable):
            raise TypeError(f"MultiStepLR: milestones is {shown(milestones)}\n  expected a list of epochs")
        self.milestones = Counter(check.integer("MultiStepLR", "milestones", epoch, 0) for epoch in milestones)
        self.gamma = check.number("MultiStepLR", "gamma", gamma)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        self._warn_outside_step()
        if self.last_epoch not in self.milestones:
            return self._current()
        return self._scaled(self.gamma ** self.milestones[self.last_epoch])

    def _get_closed_form_lr(self) -> list[float]:
        passed = bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return [lr * self.gamma**passed for lr in self.base_lrs]

    def load_state_dict(self, state_dict: Any) -> None:
        state = self._fitting(state_dict)
        # JSON, in which many keep it, turns the epochs into text.
        milestones = Counter({int(epoch): count for epoch, count in state["milestones"].items()})
        super().load_state_dict({**state, "milestones": milestones})


class ConstantLR(LRScheduler):
    """Multiply the step size by `factor` for the first `total_iters` epochs.

    Parameters
    ----------
    optimizer, last_epoch
        As for `LRScheduler`.
    factor : float
        0 .. 1.
    total_iters : int
        0 or more.

    Raises
    ------
    TypeError, ValueError, KeyError
        As `LRScheduler`.
    """

    def __init__(self, optimizer: Optimizer, factor: float = 1 / 3, total_iters: int = 5, last_epoch: int = -1) -> None:
        self.factor = check.number("ConstantLR", "factor", factor)
        within("ConstantLR", "factor", factor, 0 <= factor <= 1, "0 .. 1")
        self.total_iters = check.integer("ConstantLR", "total_iters", total_iters, 0)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        self._warn_outside_step()
        if self.last_epoch == 0:
            return self._scaled(self.factor)
        if self.last_epoch != self.total_iters:
            return self._current()
        if self.factor == 0:  # what was multiplied by 0 is gone: begin anew
            return list(self.base_lrs)
        return self._scaled(1 / self.factor)

    def _get_closed_form_lr(self) -> list[float]:
        factor = self.factor + (self.last_epoch >= self.total_iters) * (1 - self.factor)
        return [lr * factor for lr in self.base_lrs]


class LinearLR(LRScheduler):
    """Let the factor of the step size go from `start_factor` to `end_factor` in `total_iters` epochs: a warm-up.

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

    Raises
    ------
    TypeError, ValueError, KeyError
        As `LRScheduler`.
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

    def get_lr(self) -> list[float]:
        self._warn_outside_step()
        if self.last_epoch == 0:
            return self._scaled(self.start_factor)
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._current()
        change = self.end_factor - self.start_factor
        before = self.total_iters * self.start_factor + (self.last_epoch - 1) * change
        return self._scaled(1 + change / before)

    def _get_closed_form_lr(self) -> list[float]:
        way = min(self.total_iters, self.last_epoch) / self.total_iters
        return [lr * (self.start_factor + (self.end_factor - self.start_factor) * way) for lr in self.base_lrs]


class ExponentialLR(LRScheduler):
    """Multiply the step size by `gamma` at every epoch: ``base_lr * gamma**epoch``.

    Parameters
    ----------
    optimizer, last_epoch
        As for `LRScheduler`.
    gamma : float

    Raises
    ------
    TypeError, ValueError, KeyError
        As `LRScheduler`.
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = check.number("ExponentialLR", "gamma", gamma)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        self._warn_outside_step()
        return self._current() if self._is_initial else self._scaled(self.gamma)

    def _get_closed_form_lr(self) -> list[float]:
        return [lr * self.gamma**self.last_epoch for lr in self.base_lrs]


class PolynomialLR(LRScheduler):
    """Let the step size fall to 0 in `total_iters` epochs: ``base_lr * (1 - epoch / total_iters)**power``.

    Parameters
    ----------
    optimizer, last_epoch
        As for `LRScheduler`.
    total_iters : int
        1 or more.
    power : float
        1 is a straight line.

    Raises
    ------
    TypeError, ValueError, KeyError
        As `LRScheduler`.
    """

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters = check.integer("PolynomialLR", "total_iters", total_iters, 1)
        self.power = check.number("PolynomialLR", "power", power)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        self._warn_outside_step()
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._current()
        now, before = (1 - epoch / self.total_iters for epoch in (self.last_epoch, self.last_epoch - 1))
        return self._scaled((now / before) ** self.power)

    def _get_closed_form_lr(self) -> list[float]:
        left = 1 - min(self.total_iters, self.last_epoch) / self.total_iters
        return [lr * left**self.power for lr in self.base_lrs]
