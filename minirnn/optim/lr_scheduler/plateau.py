"""ReduceLROnPlateau: a smaller step size when a metric no longer improves."""

from __future__ import annotations

import math
from typing import Any

from minirnn.arguments import check
from minirnn.arguments.messages import shown
from minirnn.engine.tensor import Tensor
from minirnn.optim.lr_scheduler.scheduler import LRScheduler, a_group_each, an_optimizer, no_epoch, within
from minirnn.optim.optimizer import Optimizer


class ReduceLROnPlateau(LRScheduler):
    """Multiply the step size by `factor` when a metric has not improved for more than `patience` epochs.

    ``step(metric)`` is called after each epoch, usually with the validation loss.

    Parameters
    ----------
    optimizer : Optimizer
    mode : "min" or "max"
        Whether less or more is better.
    factor : float
        Below 1.
    patience : int
        Epochs without improvement that are tolerated, 0 or more.
    threshold : float
        How large an improvement must be to count.
    threshold_mode : "rel" or "abs"
        Whether `threshold` is a share of the best value, or a difference.
    cooldown : int
        Epochs after a change that do not count, 0 or more.
    min_lr : float, or list of float
        The smallest step size; for all groups or one each.
    eps : float
        Changes up to this size are not made.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float | list[float] = 0,
        eps: float = 1e-8,
    ) -> None:
        op = "ReduceLROnPlateau"
        self.factor = check.number(op, "factor", factor)
        within(op, "factor", factor, factor < 1, "below 1")
        self.optimizer = an_optimizer(op, optimizer)
        self.min_lrs = a_group_each(op, "min_lr", optimizer, min_lr)
        self.default_min_lr = None if isinstance(min_lr, (list, tuple)) else self.min_lrs[0]
        self._reductions = 0
        self.patience = check.integer(op, "patience", patience, 0)
        self.cooldown = check.integer(op, "cooldown", cooldown, 0)
        self.eps = check.number(op, "eps", eps)
        self.last_epoch = 0
        self.mode = check.choice(op, "mode", mode, ("min", "max"))
        self.threshold = check.number(op, "threshold", threshold)
        self.threshold_mode = check.choice(op, "threshold_mode", threshold_mode, ("rel", "abs"))
        self.mode_worse = math.inf if mode == "min" else -math.inf
        self.best = self.mode_worse
        self.cooldown_counter = 0
        self.num_bad_epochs = 0

    _optional = ("base_lrs",)

    @property
    def in_cooldown(self) -> bool:
        """Whether a change was so recent that epochs do not count."""
        return self.cooldown_counter > 0

    def step(self, metrics: Any, epoch: None = None) -> None:  # type: ignore[override]
        """Record the metric of an epoch, and change the step sizes if necessary.

        Raises TypeError if `metrics` is not a number, or a Tensor or array of one, or if an `epoch` is given.
        """
        no_epoch("ReduceLROnPlateau", epoch)
        try:
            current = float(metrics.item() if isinstance(metrics, Tensor) else metrics)
        except (TypeError, ValueError):
            raise TypeError(f"ReduceLROnPlateau: metrics is {shown(metrics)}\n  expected one number") from None
        self.last_epoch += 1
        if self._is_better(current, self.best):
            self.best = current
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reductions += 1
            self._write()
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0

    def _is_better(self, a: float, best: float) -> bool:
        if self.mode == "min":
            return a < (best * (1 - self.threshold) if self.threshold_mode == "rel" else best - self.threshold)
        return a > (best * (1 + self.threshold) if self.threshold_mode == "rel" else best + self.threshold)

    def at(self, epoch: float, base: float) -> float:
        low = self._of_group("min_lrs", self.min_lrs)
        for _ in range(self._reductions):
            smaller = max(base * self.factor, low)
            if base - smaller > self.eps:
                base = smaller
        return base
