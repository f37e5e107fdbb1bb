"""Schedules that go up and down, with momentum the other way: OneCycleLR and CyclicLR."""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Mapping
from typing import Any

from minirnn import check
from minirnn.optim.lr_scheduler.scheduler import LRScheduler, a_group_each, an_optimizer, within
from minirnn.optim.optimizer import Optimizer


class _Cycling(LRScheduler):
    """A schedule that may also change momentum: that of SGD and RMSprop, or the first of Adam's betas."""

    cycle_momentum: bool
    use_beta1: bool

    def _take_momentum(
        self, optimizer: Optimizer, cycle: Any, base: Any, top: Any, last_epoch: Any
    ) -> tuple[list[float], list[float]]:
        """The lowest and the highest momentum of each group; at the start of a schedule the groups get the highest.

        Raises ValueError for an optimizer that has no momentum.
        """
        op = type(self).__name__
        self.cycle_momentum = check.flag(op, "cycle_momentum", cycle)
        highs = a_group_each(op, "max_momentum", optimizer, top)
        lows = a_group_each(op, "base_momentum", optimizer, base)
        begins = check.integer(op, "last_epoch", last_epoch, -1) == -1
        if self.cycle_momentum:
            if "betas" not in optimizer.defaults and "momentum" not in optimizer.defaults:
                raise ValueError(
                    f"{op}: {type(optimizer).__name__} has neither momentum nor betas\n"
                    "  expected cycle_momentum=False for it"
                )
            self.use_beta1 = "betas" in optimizer.defaults
            if begins:
                for group, low, high in zip(optimizer.param_groups, lows, highs, strict=True):
                    self._write_momentum(group, high)
                    group["max_momentum"], group["base_momentum"] = high, low
        return lows, highs

    def _write_momentum(self, group: dict[str, Any], momentum: float) -> None:
        if self.use_beta1:
            group["betas"] = (momentum, *group["betas"][1:])
        else:
            group["momentum"] = momentum


class OneCycleLR(_Cycling):
    """Up from ``max_lr / div_factor`` to `max_lr`, then down to a ten-thousandth of the start (Smith & Topin 2018).

    Momentum goes from `max_momentum` down to `base_momentum` and up again. This schedule is stepped after every batch.

    Parameters
    ----------
    optimizer, last_epoch
        As for `LRScheduler`.
    max_lr : float, or list of float
        The top, for all groups or one each.
    total_steps : int, optional
        The total number of steps; or `epochs` times `steps_per_epoch`.
    pct_start : float
        Share of the steps that go up, 0 .. 1.
    anneal_strategy : "cos" or "linear"
    cycle_momentum : bool
        Whether momentum (for Adam: beta1) is also scheduled.
    base_momentum, max_momentum : float, or list of float
    div_factor, final_div_factor : float
        The start is ``max_lr / div_factor``, the end ``start / final_div_factor``; above 0.
    three_phase : bool
        Whether to return to the start first, as fast as it rose, and then go to the end.

    Raises
    ------
    TypeError, ValueError, KeyError
        As `LRScheduler`; ``step`` raises ValueError after `total_steps`.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        op = "OneCycleLR"
        self.optimizer = an_optimizer(op, optimizer)
        if total_steps is not None:
            self.total_steps = check.integer(op, "total_steps", total_steps, 1)
        elif epochs is not None and steps_per_epoch is not None:
            self.total_steps = check.integer(op, "epochs", epochs, 1)
            self.total_steps *= check.integer(op, "steps_per_epoch", steps_per_epoch, 1)
        else:
            raise ValueError(f"{op}: total_steps is None\n  expected total_steps, or both epochs and steps_per_epoch")
        share = check.number(op, "pct_start", pct_start)
        within(op, "pct_start", pct_start, 0 <= share <= 1, "0 .. 1")
        self._anneal_func_type = check.choice(op, "anneal_strategy", anneal_strategy, ("cos", "linear"))
        self._schedule_phases = phases(share, self.total_steps, check.flag(op, "three_phase", three_phase))
        for name, value in (("div_factor", div_factor), ("final_div_factor", final_div_factor)):
            within(op, name, value, check.number(op, name, value) > 0, "above 0")
        tops = a_group_each(op, "max_lr", optimizer, max_lr)
        self._take_momentum(optimizer, cycle_momentum, base_momentum, max_momentum, last_epoch)
        if last_epoch == -1:
            for group, top in zip(optimizer.param_groups, tops, strict=True):
                group["initial_lr"] = top / div_factor
                group["max_lr"] = top
                group["min_lr"] = group["initial_lr"] / final_div_factor
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        self._warn_outside_step()
        if self.last_epoch > self.total_steps:
            raise ValueError(f"OneCycleLR: step {self.last_epoch}\n  expected at most total_steps, {self.total_steps}")
        start = 0.0
        for phase in self._schedule_phases:
            end = phase["end_step"]
            if self.last_epoch <= end or phase is self._schedule_phases[-1]:
                way = (self.last_epoch - start) / (end - start) if end != start else 1.0
                break
            start = end
        between = along_cosine if self._anneal_func_type == "cos" else along_line
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(between(group[phase["start_lr"]], group[phase["end_lr"]], way))
            if self.cycle_momentum:
                momentum = between(group[phase["start_momentum"]], group[phase["end_momentum"]], way)
                self._write_momentum(group, momentum)
        return rates


def phases(share: float, steps: int, three: bool) -> list[dict[str, Any]]:
    """The end of each phase of OneCycleLR, and the entries of a group between which it goes."""

    def phase(end: float, lr: str, to_lr: str, momentum: str, to_momentum: str) -> dict[str, Any]:
        names = ("end_step", "start_lr", "end_lr", "start_momentum", "end_momentum")
        return dict(zip(names, (end, lr, to_lr, momentum, to_momentum), strict=True))

    up = phase(float(share * steps) - 1, "initial_lr", "max_lr", "max_momentum", "base_momentum")
    if not three:
        return [up, phase(steps - 1, "max_lr", "min_lr", "base_momentum", "max_momentum")]
    down = phase(float(2 * share * steps) - 2, "max_lr", "initial_lr", "base_momentum", "max_momentum")
    return [up, down, phase(steps - 1, "initial_lr", "min_lr", "max_momentum", "max_momentum")]


def along_cosine(start: float, end: float, way: float) -> float:
    return end + (start - end) / 2 * (math.cos(math.pi * way) + 1)


def along_line(start: float, end: float, way: float) -> float:
    return (end - start) * way + start


class CyclicLR(_Cycling):
    """Up and down between `base_lr` and `max_lr`, again and again, with momentum the other way (Smith 2017).

    Parameters
    ----------
    optimizer, last_epoch
        As for `LRScheduler`.
    base_lr, max_lr : float, or list of float
        The bottom and the top, for all groups or one each.
    step_size_up, step_size_down : int
        Steps up, and down (as many as up if None); 1 or more.
    mode : "triangular", "triangular2" or "exp_range"
        The height of a cycle: always the same; halved after each; ``gamma**step``.
    gamma : float
    scale_fn : function, optional
        The height by the cycle (counted from 1) or by the step, as `scale_mode` says; `mode` is then ignored. As in
        torch, a state dict does not hold a function.
    scale_mode : "cycle" or "iterations"
    cycle_momentum : bool
        Whether momentum (for Adam: beta1) is also scheduled.
    base_momentum, max_momentum : float, or list of float
    """

    _not_saved = ("optimizer", "_scale_fn_custom")

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.8,
        max_momentum: float | list[float] = 0.9,
        last_epoch: int = -1,
    ) -> None:
        op = "CyclicLR"
        self.optimizer = an_optimizer(op, optimizer)
        bottoms = a_group_each(op, "base_lr", optimizer, base_lr)
        self.max_lrs = a_group_each(op, "max_lr", optimizer, max_lr)
        up = float(check.integer(op, "step_size_up", step_size_up, 1))
        down = up if step_size_down is None else float(check.integer(op, "step_size_down", step_size_down, 1))
        self.total_size = up + down
        self.step_ratio = up / self.total_size
        if scale_fn is None:
            check.choice(op, "mode", mode, ("triangular", "triangular2", "exp_range"))
        elif not callable(scale_fn):
            raise TypeError(f"{op}: scale_fn is a {type(scale_fn).__name__}\n  expected a function, or None")
        self.mode = mode
        self.gamma = check.number(op, "gamma", gamma)
        self._scale_fn_custom = scale_fn
        self.scale_mode = check.choice(op, "scale_mode", scale_mode, ("cycle", "iterations"))
        if scale_fn is None:
            self.scale_mode = "iterations" if mode == "exp_range" else "cycle"
        lows, highs = self._take_momentum(optimizer, cycle_momentum, base_momentum, max_momentum, last_epoch)
        if self.cycle_momentum:
            self.base_momentums, self.max_momentums = lows, highs
        if last_epoch == -1:
            for group, lr in zip(optimizer.param_groups, bottoms, strict=True):
                group["lr"] = lr
        self.base_lrs = bottoms
        super().__init__(optimizer, last_epoch)
        self.base_lrs = bottoms

    def scale_fn(self, x: float) -> float:
        """The height of a cycle: of `x`, the cycle or the step."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "triangular2":
            return 1 / 2.0 ** (x - 1)
        return self.gamma**x if self.mode == "exp_range" else 1.0

    def get_lr(self) -> list[float]:
        self._warn_outside_step()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        way = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        height = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            pairs = zip(self.base_momentums, self.max_momentums, strict=True)
            for group, (low, high) in zip(self.optimizer.param_groups, pairs, strict=True):
                self._write_momentum(group, high - (high - low) * way * height)
        return [low + (top - low) * way * height for low, top in zip(self.base_lrs, self.max_lrs, strict=True)]

    def state_dict(self) -> dict[str, Any]:
        f = self._scale_fn_custom
        plain = f is None or isinstance(f, types.FunctionType)
        return {**super().state_dict(), "_scale_fn_custom": None if plain else dict(vars(f))}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        state = self._fitting(state_dict)
        attributes = state.pop("_scale_fn_custom", None)
        super().load_state_dict(state)
        if attributes is not None and self._scale_fn_custom is not None:
            vars(self._scale_fn_custom).update(attributes)
