"""The base of all schedules: the step size as a formula of the epoch, and where it is written."""

from __future__ import annotations

import copy
import types
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from minirnn.arguments import check
from minirnn.arguments.messages import shown
from minirnn.optim.optimizer import Optimizer


class LRScheduler:
    """Base class of schedules. A subclass defines ``at(epoch, base)``, the step size of a group that began with `base`.

    A schedule is made after its optimizer, and stepped after it::

        schedule = lr_scheduler.StepLR(optimizer, step_size=30)
        for epoch in range(90):
            ...
            optimizer.step()
            schedule.step()

    Each value is computed from the epoch, not from the value before. So a step size that you write into a group lasts
    until the next step of a schedule. If an optimizer has several schedules, each gets the result of the previous one
    as its `base`. As in torch, `LambdaLR` and warm restarts do not, but begin with the group's own step size. Raises
    TypeError, ValueError or KeyError if a setting is not valid, or `last_epoch` is not -1 and a group has no
    "initial_lr".

    Parameters
    ----------
    optimizer : Optimizer
        Its groups get an entry "initial_lr", the step size with which they began.
    last_epoch : int
        -1 begins at epoch 0. Another number continues after that epoch, for an optimizer whose state was loaded.

    Attributes
    ----------
    last_epoch : int
        The present epoch.
    group : int
        The index of the group about which ``at`` is asked, for settings with a value per group.
    """

    group = 0
    _own_base = False  # whether it begins with the group's own step size, also after other schedules
    _not_saved: tuple[str, ...] = ("optimizer", "group")
    _optional: tuple[str, ...] = ()  # entries that a state of torch does not have

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        name = type(self).__name__
        self.optimizer = an_optimizer(name, optimizer)
        self.last_epoch = check.integer(name, "last_epoch", last_epoch, -1) + 1
        for k, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", group["lr"])
            elif "initial_lr" not in group:
                raise KeyError(
                    f"{name}: group {k} has no 'initial_lr', last_epoch is {last_epoch}\n"
                    "  expected the optimizer's state, loaded before; or last_epoch=-1 for a new schedule"
                )
        self._begin(instead_of=optimizer.schedules if last_epoch >= 0 else ())

    def _begin(self, instead_of: Sequence[LRScheduler] = ()) -> None:
        """Join the schedules of the optimizer, from which some are removed, and write the first step sizes."""
        before = self.optimizer.schedules
        self.optimizer.schedules = [one for one in before if one not in instead_of]
        try:
            self._write()
        except BaseException:
            self.optimizer.schedules = before
            raise

    # ---- the formula

    def at(self, epoch: float, base: float) -> float:
        """The step size at an epoch of a group that began with `base`."""
        if type(self).get_lr is LRScheduler.get_lr:
            raise NotImplementedError(
                f"{type(self).__name__} defines no at(epoch, base)\n  expected a subclass that does"
            )
        return self.get_lr()[self.group]

    def _momentum_at(self, epoch: float) -> float | None:
        """The momentum (for Adam: beta1) of a group at an epoch, or None if the schedule does not change it."""
        return None

    @property
    def _now(self) -> float:
        """The present epoch, about which ``at`` is asked."""
        return self.last_epoch

    @property
    def base_lrs(self) -> list[float]:
        """The step sizes with which the groups began."""
        return [group.setdefault("initial_lr", group["lr"]) for group in self.optimizer.param_groups]

    def get_lr(self) -> list[float]:
        """The step sizes at the present epoch. A subclass written for torch defines this instead of `at`."""
        rates = []
        for k, group in enumerate(self.optimizer.param_groups):
            lr = base = group.setdefault("initial_lr", group["lr"])
            for one in self.optimizer.schedules:
                one.group = k
                lr = one.at(one._now, base if one._own_base else lr)
            rates.append(lr)
        return rates

    def get_last_lr(self) -> list[float]:
        """The step sizes of the groups."""
        return [group["lr"] for group in self.optimizer.param_groups]

    # ---- work

    def _write(self) -> None:
        """Write the step sizes, and momentum where it is scheduled, into the groups of the optimizer."""
        if self not in self.optimizer.schedules:  # a new schedule, or a copy
            self.optimizer.schedules.append(self)
        for group, lr in zip(self.optimizer.param_groups, LRScheduler.get_lr(self), strict=True):
            group["lr"] = lr
        self._write_momentum()

    def _write_momentum(self) -> None:
        if type(self)._momentum_at is LRScheduler._momentum_at:
            return
        for k, group in enumerate(self.optimizer.param_groups):
            self.group = k
            momentum = self._momentum_at(self._now)
            if momentum is not None and "betas" in group:
                group["betas"] = (momentum, *group["betas"][1:])
            elif momentum is not None:
                group["momentum"] = momentum

    def step(self, epoch: None = None) -> None:
        """Go to the next epoch. Raises TypeError if an `epoch` is given, which torch has deprecated."""
        no_epoch(type(self).__name__, epoch)
        if self.last_epoch == 0 and type(self.optimizer).step is Optimizer.step and not self.optimizer.steps_done:
            warnings.warn(
                "`lr_scheduler.step()` was called before `optimizer.step()`\n"
                "  expected the opposite order; otherwise the first value of the schedule is skipped",
                UserWarning,
                stacklevel=2,
            )
        self._go_to(self._now + 1)

    def _go_to(self, epoch: float) -> None:
        """Go to an epoch. If its step sizes cannot be computed, nothing is changed."""
        before = self._now
        self._arrive(epoch)
        try:
            self._write()
        except BaseException:
            self._arrive(before)
            raise

    def _arrive(self, epoch: float) -> None:
        """Set the present epoch."""
        self.last_epoch = int(epoch)

    # ---- saving and loading

    def state_dict(self) -> dict[str, Any]:
        """The settings, the epoch and the step sizes, under torch's names: numbers, lists and dicts."""
        saved = {name: copy.deepcopy(value) for name, value in vars(self).items() if name not in self._not_saved}
        return saved | {"base_lrs": self.base_lrs, "_last_lr": self.get_last_lr()}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Return to the point at which `state_dict` was called, here or in torch, before or after the optimizer does.

        Raises TypeError or ValueError if it is not a dict, or belongs to another schedule or to another number of
        groups. Nothing is changed then.
        """
        self._take(copy.deepcopy(self._fitting(state_dict)))

    def _take(self, state: dict[str, Any]) -> None:
        bases, rates = state.pop("base_lrs", ()), state.pop("_last_lr", ())
        if type(self).get_lr is not LRScheduler.get_lr:
            rates = ()  # a program written for torch gets what torch does: step sizes change at the next step
        for key, values in (("initial_lr", bases), ("lr", rates)):
            for group, value in zip(self.optimizer.param_groups, values, strict=False):
                group[key] = value
        vars(self).update({name: value for name, value in state.items() if name in vars(self)})
        self._write_momentum()

    def _fitting(self, state: Any) -> dict[str, Any]:
        """The entries of `state`, if they belong to this schedule."""
        where, own = f"{type(self).__name__}.load_state_dict", self.state_dict()
        if not isinstance(state, Mapping):
            raise TypeError(f"{where}: got a {type(state).__name__}\n  expected a dict, as of state_dict()")
        public = {name for name in own if not name.startswith("_")}
        missing = sorted(public - set(state) - set(self._optional))
        foreign = [str(name) for name in state if name not in {*own, "verbose"} and not str(name).startswith("_")]
        if missing or foreign:
            raise ValueError(
                f"{where}: missing {', '.join(missing) or 'nothing'}, unexpected {', '.join(foreign) or 'nothing'}\n"
                f"  expected {', '.join(sorted(own))}\n  likely the state of another schedule"
            )
        n = len(self.optimizer.param_groups)
        for name in ("base_lrs", "_last_lr", "min_lrs", "max_lrs", "lr_lambdas"):
            if name in state and isinstance(state[name], (list, tuple)) and len(state[name]) != n:
                raise ValueError(f"{where}: {name} has {len(state[name])} values\n  expected {n}, one per group")
        check.integer(where, "last_epoch", state.get("last_epoch", 0), -1)
        return dict(state)

    def __repr__(self) -> str:
        rates = ", ".join(f"{lr:.6g}" for lr in self.get_last_lr())
        return f"{type(self).__name__}(epoch {self.last_epoch}, lr {rates})"

    # ---- settings

    def _of_group(self, name: str, values: Sequence[Any]) -> Any:
        """The value of the present group; a group that was added later takes the value that all have."""
        if self.group >= len(values) and any(value is not values[0] for value in values):
            raise ValueError(
                f"{type(self).__name__}: {name} has {len(values)} values\n  expected {self.group + 1}, one per group\n"
                "  likely a group was added later; make a new schedule"
            )
        return values[min(self.group, len(values) - 1)]


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


def attributes(function: Any) -> dict[str, Any] | None:
    """What a state dict holds of a function: the attributes of a callable object, and None for plain functions."""
    return None if function is None or isinstance(function, types.FunctionType) else dict(vars(function))
