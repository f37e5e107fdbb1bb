"""Schedules made of schedules: one after the other, or all at once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from minirnn.arguments import check
from minirnn.arguments.messages import shown
from minirnn.optim.lr_scheduler.plateau import ReduceLROnPlateau
from minirnn.optim.lr_scheduler.scheduler import LRScheduler, an_optimizer
from minirnn.optim.optimizer import Optimizer


class ChainedScheduler(LRScheduler):
    """Several schedules at once: each gets the step size of the previous one as its base.

    Raises TypeError or ValueError if a schedule is invalid, is a `ReduceLROnPlateau` or has another optimizer.
    """

    _not_saved = (*LRScheduler._not_saved, "_schedulers")
    _optional: tuple[str, ...] = ("base_lrs", "last_epoch")

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None) -> None:
        self._schedulers = schedules_of("ChainedScheduler", schedulers, optimizer)
        self.optimizer = self._schedulers[0].optimizer
        self.last_epoch = 0
        self._begin(instead_of=self._schedulers)

    def at(self, epoch: float, base: float) -> float:
        lr = base
        for one in self._schedulers:
            one.group = self.group
            lr = one.at(one._now + epoch - self.last_epoch, base if one._own_base else lr)
        return lr

    def _momentum_at(self, epoch: float) -> float | None:
        found = None
        for one in self._schedulers:
            one.group = self.group
            momentum = one._momentum_at(one._now + epoch - self.last_epoch)
            found = found if momentum is None else momentum
        return found

    def _arrive(self, epoch: float) -> None:
        for one in self._schedulers:
            one._arrive(one._now + epoch - self.last_epoch)
        super()._arrive(epoch)

    def state_dict(self) -> dict[str, Any]:
        return super().state_dict() | {"_schedulers": [one.state_dict() for one in self._schedulers]}

    def _fitting(self, state: Any) -> dict[str, Any]:
        found = super()._fitting(state)
        parts = found.get("_schedulers")
        if not isinstance(parts, (list, tuple)) or len(parts) != len(self._schedulers):
            where = f"{type(self).__name__}.load_state_dict"
            raise ValueError(f"{where}: _schedulers is {shown(parts)}\n  expected {len(self._schedulers)} states")
        return found | {"_schedulers": [one._fitting(s) for one, s in zip(self._schedulers, parts, strict=True)]}

    def _take(self, state: dict[str, Any]) -> None:
        for one, part in zip(self._schedulers, state.pop("_schedulers"), strict=True):
            one._take(part)
        super()._take(state)


class SequentialLR(ChainedScheduler):
    """One schedule after the other: number k begins at epoch ``milestones[k - 1]``, from its own epoch 0.

    Raises TypeError or ValueError if a schedule is invalid, is a `ReduceLROnPlateau` or has another optimizer, or the
    milestones do not fit.

    Parameters
    ----------
    optimizer : Optimizer
    schedulers : list of LRScheduler
    milestones : list of int
        Rising; one less than the schedules.
    last_epoch : int
        The present epoch is one more. A resumed schedule loads its state instead.
    """

    _optional = ("base_lrs",)

    def __init__(
        self, optimizer: Optimizer, schedulers: list[LRScheduler], milestones: list[int], last_epoch: int = -1
    ) -> None:
        op = "SequentialLR"
        self._schedulers = schedules_of(op, schedulers, an_optimizer(op, optimizer))
        if not isinstance(milestones, (list, tuple)):
            raise TypeError(f"{op}: milestones is {shown(milestones)}\n  expected a list of epochs")
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                f"{op}: {len(schedulers)} schedules and {len(milestones)} milestones\n"
                f"  expected {len(schedulers) - 1} milestones, where the second and later ones begin"
            )
        self._milestones = [check.integer(op, "milestones", epoch, 0) for epoch in milestones]
        if self._milestones != sorted(self._milestones):
            raise ValueError(f"{op}: milestones is {shown(milestones)}\n  expected rising epochs")
        self.optimizer = optimizer
        self._arrive(check.integer(op, "last_epoch", last_epoch, -1) + 1)
        self._begin(instead_of=self._schedulers)

    def _turn(self, epoch: float) -> tuple[LRScheduler, float]:
        """The schedule whose turn it is, and its own epoch."""
        turn = bisect_right(self._milestones, epoch)
        self._schedulers[turn].group = self.group
        return self._schedulers[turn], epoch - (self._milestones[turn - 1] if turn else 0)

    def at(self, epoch: float, base: float) -> float:
        one, own = self._turn(epoch)
        return one.at(own, base)

    def _momentum_at(self, epoch: float) -> float | None:
        one, own = self._turn(epoch)
        return one._momentum_at(own)

    def _arrive(self, epoch: float) -> None:
        one, own = self._turn(epoch)
        one._arrive(own)
        LRScheduler._arrive(self, epoch)


def schedules_of(op: str, given: Any, optimizer: Any) -> list[LRScheduler]:
    """The schedules. Raises an error unless there is at least one and all belong to `optimizer` (None: that of the
    first).
    """
    if optimizer is not None:
        an_optimizer(op, optimizer)
    if not isinstance(given, Sequence) or isinstance(given, str):
        raise TypeError(f"{op}: schedulers is {shown(given)}\n  expected a list of schedules")
    if not given:
        raise ValueError(f"{op}: no schedules\n  expected at least one")
    for k, one in enumerate(given):
        if not isinstance(one, LRScheduler):
            raise TypeError(
                f"{op}: schedule {k} is a {type(one).__name__}\n  expected a schedule of optim.lr_scheduler"
            )
        if isinstance(one, ReduceLROnPlateau):
            raise ValueError(
                f"{op}: schedule {k} is a ReduceLROnPlateau\n"
                "  expected one whose step() takes no metric; call its step() separately"
            )
        if one.optimizer is not (given[0].optimizer if optimizer is None else optimizer):
            raise ValueError(f"{op}: schedule {k}, {one}, has another optimizer\n  expected the same for all")
    return list(given)
