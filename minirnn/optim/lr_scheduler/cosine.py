"""Schedules along a cosine: once down, or again and again with warm restarts (SGDR)."""

from __future__ import annotations

import math

from minirnn import check
from minirnn.optim.lr_scheduler.scheduler import LRScheduler
from minirnn.optim.optimizer import Optimizer


class CosineAnnealingLR(LRScheduler):
    """Half a cosine from the base step size down to `eta_min` (Loshchilov & Hutter 2017), and up again after `T_max`.

    ::

        lr = eta_min + (base_lr - eta_min) * (1 + cos(pi * epoch / T_max)) / 2

    Parameters
    ----------
    optimizer, last_epoch
        As for `LRScheduler`.
    T_max : int
        Epochs down, 1 or more.
    eta_min : float
    """

    _starts_at_base = True

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max = check.integer("CosineAnnealingLR", "T_max", T_max, 1)
        self.eta_min = check.number("CosineAnnealingLR", "eta_min", eta_min)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        self._warn_outside_step()
        epoch, low = self.last_epoch, self.eta_min
        if self._is_initial:
            return self._current()
        if (epoch - 1 - self.T_max) % (2 * self.T_max) == 0:  # at eta_min, where a factor cannot increase the step size
            rise = (1 - math.cos(math.pi / self.T_max)) / 2
            return [lr + (base - low) * rise for base, lr in zip(self.base_lrs, self._current(), strict=True)]
        now, before = (1 + math.cos(math.pi * e / self.T_max) for e in (epoch, epoch - 1))
        factor = now / before
        found = [factor * (lr - low) + low for lr in self._current()]
        return [0.0 if -1e-15 * abs(low) < lr < 0 else lr for lr in found]  # so that no rounding makes one negative


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half a cosine down in `T_0` epochs, then again from the top, each time `T_mult` times as long (SGDR).

    Parameters
    ----------
    optimizer, last_epoch
        As for `LRScheduler`.
    T_0 : int
        Epochs of the first descent, 1 or more.
    T_mult : int
        1 or more.
    eta_min : float
    """

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        name = "CosineAnnealingWarmRestarts"
        self.T_0 = check.integer(name, "T_0", T_0, 1)
        self.T_i = self.T_0
        self.T_mult = check.integer(name, "T_mult", T_mult, 1)
        self.eta_min = check.number(name, "eta_min", eta_min)
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        self._warn_outside_step()
        height = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (lr - self.eta_min) * height for lr in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Go to the next epoch; or to `epoch`, which may lie between two: ``step(e + batch / batches)``."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        else:
            self._go_to(check.number("CosineAnnealingWarmRestarts", "epoch", epoch))
        self._update_lr(math.floor(epoch))

    def _go_to(self, epoch: float) -> None:
        if epoch < 0:
            raise ValueError(f"CosineAnnealingWarmRestarts: epoch is {epoch}\n  expected 0 or more")
        if epoch < self.T_0:
            self.T_i, self.T_cur = self.T_0, epoch
        elif self.T_mult == 1:
            self.T_cur = epoch % self.T_0
        else:
            n = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))  # completed descents
            self.T_cur = epoch - self.T_0 * (self.T_mult**n - 1) / (self.T_mult - 1)
            self.T_i = self.T_0 * self.T_mult**n
