"""Schedules as formulas of the epoch t: steps, lines, powers, cosines, and any function of the user."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from minirnn.arguments import check
from minirnn.arguments.messages import shown
from minirnn.arguments.names import own_init
from minirnn.optim.lr_scheduler.scheduler import LRScheduler, an_optimizer, attributes, within
from minirnn.optim.optimizer import Optimizer

Factor = Callable[[int], float]


class LambdaLR(LRScheduler):
    """``base * lr_lambda(t)``; `lr_lambda` is one function for all groups, or a list with one for each.

    As in torch, a state dict holds the attributes of callable objects, but no functions.
    """

    _own_base = True
    _not_saved = (*LRScheduler._not_saved, "lr_lambdas", "_products")

    def __init__(self, optimizer: Optimizer, lr_lambda: Factor | list[Factor], last_epoch: int = -1) -> None:
        name = type(self).__name__
        n = len(an_optimizer(name, optimizer).param_groups)
        self.lr_lambdas = list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * n
        if len(self.lr_lambdas) != n:
            raise ValueError(f"{name}: lr_lambda has {len(self.lr_lambdas)} functions\n  expected {n}, one per group")
        for function in self.lr_lambdas:
            if not callable(function):
                raise TypeError(f"{name}: lr_lambda is {shown(function)}\n  expected a function of the epoch")
        self._products: dict[int, tuple[int, float]] = {}
        super().__init__(optimizer, last_epoch)

    def at(self, epoch: Any, base: float) -> float:
        return base * self._of_group("lr_lambda", self.lr_lambdas)(epoch)

    def state_dict(self) -> dict[str, Any]:
        return super().state_dict() | {"lr_lambdas": [attributes(function) for function in self.lr_lambdas]}

    def _take(self, state: dict[str, Any]) -> None:
        for function, values in zip(self.lr_lambdas, state.pop("lr_lambdas"), strict=True):
            vars(function).update(values or {})
        super()._take(state)


@own_init
class MultiplicativeLR(LambdaLR):
    """The product of base and ``lr_lambda(1)`` to ``lr_lambda(t)``; `lr_lambda` as for `LambdaLR`."""

    _own_base = False

    def at(self, epoch: Any, base: float) -> float:
        function = self._of_group("lr_lambda", self.lr_lambdas)
        done, product = self._products.get(self.group, (0, 1.0))
        if done > epoch:
            done, product = 0, 1.0
        for k in range(done + 1, epoch + 1):
            product *= function(k)
        self._products[self.group] = epoch, product
        return base * product


class StepLR(LRScheduler):
    """``base * gamma**(t // step_size)``."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size = check.integer("StepLR", "step_size", step_size, 1)
        self.gamma = check.number("StepLR", "gamma", gamma)
        super().__init__(optimizer, last_epoch)

    def at(self, epoch: float, base: float) -> float:
        return base * self.gamma ** (epoch // self.step_size)


class MultiStepLR(LRScheduler):
    """``base * gamma**n``, where n is the number of `milestones` up to t. One that is listed twice counts twice."""

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        if isinstance(milestones, str) or not isinstance(milestones, Iterable):
            raise TypeError(f"MultiStepLR: milestones is {shown(milestones)}\n  expected a list of epochs")
        self.milestones = Counter(check.integer("MultiStepLR", "milestones", epoch, 0) for epoch in milestones)
        self.gamma = check.number("MultiStepLR", "gamma", gamma)
        super().__init__(optimizer, last_epoch)

    def at(self, epoch: float, base: float) -> float:
        return base * self.gamma ** sum(n for milestone, n in self.milestones.items() if milestone <= epoch)

    def _take(self, state: dict[str, Any]) -> None:
        # JSON, in which states are often stored, turns the epochs into strings.
        super()._take(state | {"milestones": Counter({int(k): n for k, n in state["milestones"].items()})})


class ConstantLR(LRScheduler):
    """``base * factor`` for the first `total_iters` epochs, then `base`; `factor` is 0 .. 1."""

    def __init__(self, optimizer: Optimizer, factor: float = 1 / 3, total_iters: int = 5, last_epoch: int = -1) -> None:
        self.factor = check.number("ConstantLR", "factor", factor, 0, 1)
        self.total_iters = check.integer("ConstantLR", "total_iters", total_iters, 0)
        super().__init__(optimizer, last_epoch)

    def at(self, epoch: float, base: float) -> float:
        return base * self.factor if epoch < self.total_iters else base


class LinearLR(LRScheduler):
    """A line from ``base * start_factor`` to ``base * end_factor`` in `total_iters` epochs: a warm-up.

    `start_factor` is above 0 and at most 1, `end_factor` 0 .. 1, and `total_iters` 1 or more.
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
        self.end_factor = check.number("LinearLR", "end_factor", end_factor, 0, 1)
        self.total_iters = check.integer("LinearLR", "total_iters", total_iters, 1)
        super().__init__(optimizer, last_epoch)

    def at(self, epoch: float, base: float) -> float:
        return base * along_line(self.start_factor, self.end_factor, min(epoch / self.total_iters, 1.0))


class ExponentialLR(LRScheduler):
    """``base * gamma**t``."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = check.number("ExponentialLR", "gamma", gamma)
        super().__init__(optimizer, last_epoch)

    def at(self, epoch: float, base: float) -> float:
        return base * self.gamma**epoch


class PolynomialLR(LRScheduler):
    """``base * (1 - t / total_iters)**power``, and 0 after `total_iters` epochs (1 or more)."""

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters = check.integer("PolynomialLR", "total_iters", total_iters, 1)
        self.power = check.number("PolynomialLR", "power", power)
        super().__init__(optimizer, last_epoch)

    def at(self, epoch: float, base: float) -> float:
        return base * (1 - min(epoch / self.total_iters, 1.0)) ** self.power


class CosineAnnealingLR(LRScheduler):
    """Half a cosine from `base` down to `eta_min` in `T_max` epochs, and up again (Loshchilov & Hutter 2017)."""

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max = check.integer("CosineAnnealingLR", "T_max", T_max, 1)
        self.eta_min = check.number("CosineAnnealingLR", "eta_min", eta_min)
        super().__init__(optimizer, last_epoch)

    def at(self, epoch: float, base: float) -> float:
        return along_cosine(base, self.eta_min, epoch / self.T_max)


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half a cosine down to `eta_min` in `T_0` epochs, then again, each time `T_mult` times as long (SGDR).

    `T_0` and `T_mult` are 1 or more.
    """

    _own_base = True

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        name = "CosineAnnealingWarmRestarts"
        self.T_0 = check.integer(name, "T_0", T_0, 1)
        self.T_mult = check.integer(name, "T_mult", T_mult, 1)
        self.eta_min = check.number(name, "eta_min", eta_min)
        self.T_i, self.T_cur = self._descent(check.integer(name, "last_epoch", last_epoch, -1) + 1)
        super().__init__(optimizer, last_epoch)

    def _descent(self, epoch: float) -> tuple[int, float]:
        """The length of the descent at an epoch, and the epochs since its beginning."""
        length = self.T_0
        if self.T_mult == 1:
            return length, epoch % length
        while epoch >= length:
            epoch, length = epoch - length, length * self.T_mult
        return length, epoch

    def at(self, epoch: float, base: float) -> float:
        length, since = self._descent(epoch)
        return along_cosine(base, self.eta_min, since / length)

    @property
    def _now(self) -> float:
        return self.last_epoch + self.T_cur % 1

    def _arrive(self, epoch: float) -> None:
        self.last_epoch = math.floor(epoch)
        self.T_i, self.T_cur = self._descent(epoch)

    def step(self, epoch: float | None = None) -> None:
        """Go to the next epoch; or to `epoch`, which may lie between two: ``step(e + batch / batches)``."""
        if epoch is None:
            super().step()
            return
        self._go_to(check.number("CosineAnnealingWarmRestarts", "epoch", epoch, 0))


def along_cosine(start: float, end: float, way: float) -> float:
    """From `start` (way 0) to `end` (way 1) along half a cosine."""
    return end + (start - end) / 2 * (math.cos(math.pi * way) + 1)


def along_line(start: float, end: float, way: float) -> float:
    """From `start` (way 0) to `end` (way 1) along a line."""
    return (end - start) * way + start
