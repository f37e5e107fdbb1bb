"""The base of all schedules: epochs, the step sizes of the groups, saving and loading."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from minirnn import check
from minirnn.messages import shown
from minirnn.optim.optimizer import Optimizer


class LRScheduler:
    """Base class of schedules. A subclass defines ``get_lr()``, the step sizes of the groups at `last_epoch`.

    A schedule is made after its optimizer, and stepped after it::

        schedule = lr_scheduler.StepLR(optimizer, step_size=30)
        for epoch in range(90):
            ...
            optimizer.step()
            schedule.step()

    Parameters
    ----------
    optimizer : Optimizer
    last_epoch : int
        -1 starts the schedule, which writes the first step sizes. Another number continues after that epoch with a
        loaded optimizer, whose groups must have an "initial_lr".

    Attributes
    ----------
    last_epoch : int
        How many times ``step`` was called since the start.
    base_lrs : list of float
        The initial step size of each group.

    Notes
    -----
    All schedules raise these errors.

    Raises
    ------
    TypeError
        `optimizer` is not an Optimizer, `last_epoch` is not an integer, or a setting has the wrong type.
    ValueError
        A number is out of range.
    KeyError
        `last_epoch` is not -1 and a group has no "initial_lr".
    """

    _get_lr_called_within_step = False
    _is_initial = False
    _starts_at_base = False
    """Whether `SequentialLR` sets the step sizes to `base_lrs` first: ``get_lr`` continues from the present values."""

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        self.optimizer = an_optimizer(type(self).__name__, optimizer)
        last_epoch = check.integer(type(self).__name__, "last_epoch", last_epoch, -1)
        if last_epoch == -1:
            for group in optimizer.param_groups:
                group.setdefault("initial_lr", group["lr"])
        else:
            for k, group in enumerate(optimizer.param_groups):
                if "initial_lr" not in group:
                    raise KeyError(
                        f"{type(self).__name__}: group {k} has no 'initial_lr', last_epoch is {last_epoch}\n"
                        "  expected the optimizer's state, loaded before; or last_epoch=-1 for a new schedule"
                    )
        self.base_lrs: list[float] = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._initial_step()

    def _initial_step(self) -> None:
        """Write the first step sizes."""
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    # ---- definitions of a subclass

    def get_lr(self) -> list[float]:
        """The step sizes of all groups at `last_epoch`; use `get_last_lr` to look at them."""
        raise NotImplementedError(f"{type(self).__name__} defines no get_lr()\n  expected a subclass that does")

    def _current(self) -> list[float]:
        """The present step sizes of the groups."""
        return [group["lr"] for group in self.optimizer.param_groups]

    # ---- work

    def get_last_lr(self) -> list[float]:
        """The step sizes that the schedule wrote last, one per group."""
        return list(self._last_lr)

    def step(self, epoch: None = None) -> None:
        """Go to the next epoch and write the step sizes of its groups.

        Raises
        ------
        TypeError
            An `epoch` is given, which torch has deprecated.
        """
        no_epoch(type(self).__name__, epoch)
        if self._step_count == 1 and not self._optimizer_stepped():
            warnings.warn(
                "`lr_scheduler.step()` was called before `optimizer.step()`\n"
                "  expected the opposite order; otherwise the first value of the schedule is skipped",
                UserWarning,
                stacklevel=2,
            )
        self._step_count += 1
        self._update_lr(self.last_epoch + 1)

    def _optimizer_stepped(self) -> bool:
        """Whether the optimizer made a step; an optimizer with a foreign ``step`` is not checked."""
        return type(self.optimizer).step is not Optimizer.step or self.optimizer.steps_done > 0

    def _begin_again(self) -> None:
        """Go to epoch 0, when `SequentialLR` comes to this schedule."""
        if self._starts_at_base:
            self._write(self.base_lrs)
        self._is_initial = self._starts_at_base
        try:
            self._update_lr(0)
        finally:
            self._is_initial = False

    def _update_lr(self, epoch: int) -> None:
        before, self._get_lr_called_within_step = self.last_epoch, True
        try:
            self.last_epoch = epoch
            self._write(self.get_lr())
        except BaseException:
            self.last_epoch = before
            raise
        finally:
            self._get_lr_called_within_step = False

    def _write(self, values: list[float]) -> None:
        """Write the step sizes into the groups."""
        groups = self.optimizer.param_groups
        if len(values) != len(groups):
            raise ValueError(
                f"{type(self).__name__}: {len(values)} step sizes for {len(groups)} groups\n  expected one per group\n"
                "  likely a group was added later; make a new schedule"
            )
        for group, lr in zip(groups, values, strict=True):
            group["lr"] = lr
        self._last_lr = self._current()

    def _warn_outside_step(self) -> None:
        if not self._get_lr_called_within_step:
            warnings.warn(
                "get_lr() computes the next step sizes\n  expected get_last_lr(), which returns the present ones",
                UserWarning,
                stacklevel=3,
            )

    # ---- saving and loading

    _not_saved: tuple[str, ...] = ("optimizer",)

    def state_dict(self) -> dict[str, Any]:
        """All attributes but the optimizer, under torch's names: numbers, lists and dicts."""
        return {name: copy.deepcopy(value) for name, value in vars(self).items() if name not in self._not_saved}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Return to the point at which `state_dict` was called, here or in torch. On an error nothing is changed.

        The optimizer's state holds its step sizes, so load that state as well.

        Raises
        ------
        TypeError
            It is not a dict.
        ValueError
            It belongs to another schedule, or to an optimizer with another number of groups.
        """
        vars(self).update(copy.deepcopy(self._fitting(state_dict)))

    def _fitting(self, state: Any, also: Sequence[str] = ()) -> dict[str, Any]:
        """The entries of `state`, if they belong to this schedule; `also` names those that are not attributes."""
        where = f"{type(self).__name__}.load_state_dict"
        if not isinstance(state, Mapping):
            raise TypeError(f"{where}: got a {type(state).__name__}\n  expected a dict, as of state_dict()")
        own = (vars(self).keys() - set(self._not_saved)) | set(also)
        missing = [name for name in sorted(own) if name not in state and not name.startswith("_")]
        foreign = [name for name in state if name not in own and name != "verbose" and not str(name).startswith("_")]
        if missing or foreign:
            strange = ", ".join(map(str, foreign)) or "nothing"
            raise ValueError(
                f"{where}: missing {', '.join(missing) or 'nothing'}, unexpected {strange}\n"
                f"  expected {', '.join(sorted(own))}\n  likely the state of another schedule"
            )
        n = len(self.optimizer.param_groups)
        for name in ("base_lrs", "_last_lr", "min_lrs", "max_lrs", "lr_lambdas"):
            if name in state and isinstance(state[name], (list, tuple)) and len(state[name]) != n:
                raise ValueError(f"{where}: {name} has {len(state[name])} values\n  expected {n}, one per group")
        if "last_epoch" in state:
            check.integer(where, "last_epoch", state["last_epoch"], -1)
        return {name: value for name, value in state.items() if name != "verbose"}

    def __repr__(self) -> str:
        rates = ", ".join(f"{lr:.6g}" for lr in self._last_lr)
        return f"{type(self).__name__}(epoch {self.last_epoch}, lr {rates})"


def an_optimizer(op: str, optimizer: Any) -> Optimizer:
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{op}: optimizer is a {type(optimizer).__name__}\n  expected an Optimizer of minirnn.optim")
    return optimizer


def a_group_each(op: str, name: str, optimizer: Any, value: Any) -> list[float]:
    """One number for each group: `value` is one for all, or a list with one for each."""
    n = len(an_optimizer(op, optimizer).param_groups)
    if isinstance(value, (list, tuple)):
        if len(value) != n:
            raise ValueError(f"{op}: {name} has {len(value)} values\n  expected {n}, one per group")
        return [check.number(op, name, v) for v in value]
    return [check.number(op, name, value)] * n


def within(op: str, name: str, value: Any, fits: bool, expected: str) -> None:
    """Raise ValueError unless the value `fits`."""
    if not fits:
        raise ValueError(f"{op}: {name} is {shown(value)}\n  expected {expected}")


def no_epoch(op: str, epoch: Any) -> None:
    """Raise TypeError if an `epoch` is passed to a schedule."""
    if epoch is not None:
        raise TypeError(
            f"{op}: step() got the epoch {shown(epoch)}\n  expected none: step() goes to the next epoch\n"
            "  likely a resumed run: load_state_dict() takes what state_dict() returned"
        )
