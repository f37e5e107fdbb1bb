"""Schedules made of schedules: one after the other, or all at once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any

from minirnn import check
from minirnn.messages import shown
from minirnn.optim.lr_scheduler.plateau import ReduceLROnPlateau
from minirnn.optim.lr_scheduler.scheduler import LRScheduler, an_optimizer
from minirnn.optim.optimizer import Optimizer


def schedules_of(op: str, given: Any, optimizer: Any) -> list[LRScheduler]:
    """The schedules. Raises an error unless there is at least one and all belong to `optimizer` (None: that of the
    first).
    """
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


class _Combined(LRScheduler):
    _not_saved = ("optimizer", "_schedulers")
    _schedulers: list[LRScheduler]

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "_schedulers": [one.state_dict() for one in self._schedulers]}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        where = f"{type(self).__name__}.load_state_dict"
        state = self._fitting(state_dict)
        parts = state.pop("_schedulers", None)
        if not isinstance(parts, (list, tuple)) or len(parts) != len(self._schedulers):
            raise ValueError(f"{where}: _schedulers is {shown(parts)}\n  expected {len(self._schedulers)} states")
        for one, part in zip(self._schedulers, parts, strict=True):
            one._fitting(part, also=("lr_lambdas",) if "lr_lambdas" in vars(one) else ())
        for one, part in zip(self._schedulers, parts, strict=True):
            one.load_state_dict(part)
        vars(self).update(state)


class SequentialLR(_Combined):
    """One schedule after the other: number k begins at epoch ``milestones[k - 1]``, from its own start.

    Parameters
    ----------
    optimizer : Optimizer
    schedulers : list of LRScheduler
    milestones : list of int
        Rising; one less than the schedules.
    last_epoch : int
        Unused, as in torch: a resumed schedule loads its state.

    Raises
    ------
    TypeError, ValueError
        A schedule is invalid, is a `ReduceLROnPlateau` or has another optimizer; or the milestones do not fit.
    """

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
        self.last_epoch = check.integer(op, "last_epoch", last_epoch, -1) + 1
        self.optimizer = optimizer
        for group in optimizer.param_groups:
            group["lr"] = group["initial_lr"]
        take_back(self._schedulers)  # undo the first steps that the schedules made in their constructors
        first = self._schedulers[bisect_right(self._milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def step(self) -> None:  # type: ignore[override]
        """Go to the next epoch in the current schedule."""
        self.last_epoch += 1
        turn = bisect_right(self._milestones, self.last_epoch)
        schedule = self._schedulers[turn]
        if turn > 0 and self._milestones[turn - 1] == self.last_epoch:
            schedule._begin_again()
        else:
            schedule.step()
        self._last_lr = schedule.get_last_lr()


def take_back(schedules: list[LRScheduler]) -> None:
    """Undo one epoch; combined schedules undo that of their parts."""
    for one in schedules:
        if isinstance(one, _Combined):
            take_back(one._schedulers)
        else:
            one.last_epoch -= 1


class ChainedScheduler(_Combined):
    """Several schedules at once: each continues from the step sizes that the previous one set.

    Parameters
    ----------
    schedulers : list of LRScheduler
    optimizer : Optimizer, optional
        That of the schedules.

    Raises
    ------
    TypeError, ValueError
        A schedule is invalid, is a `ReduceLROnPlateau` or has another optimizer.
    """

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None) -> None:
        if optimizer is not None:
            an_optimizer("ChainedScheduler", optimizer)
        self._schedulers = schedules_of("ChainedScheduler", schedulers, optimizer)
        self.optimizer = self._schedulers[0].optimizer
        self._last_lr = self._current()

    def step(self) -> None:  # type: ignore[override]
        """Go to the next epoch in all schedules."""
        for schedule in self._schedulers:
            schedule.step()
        self._last_lr = self._current()

    def __repr__(self) -> str:
        return f"ChainedScheduler({', '.join(map(repr, self._schedulers))})"
