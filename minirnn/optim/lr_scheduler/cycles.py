"""Schedules that go up and down, with momentum the other way: OneCycleLR and CyclicLR."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from minirnn.arguments import check
from minirnn.optim.lr_scheduler.scheduler import LRScheduler, a_group_each, an_optimizer, attributes, within
from minirnn.optim.lr_scheduler.shapes import along_cosine, along_line
from minirnn.optim.optimizer import Optimizer


class _Cycling(LRScheduler):
    """A schedule that may also change momentum: that of SGD and RMSprop, or the first of Adam's betas."""

    cycle_momentum: bool

    def _take_momentum(self, optimizer: Optimizer, cycle: Any, base: Any, top: Any) -> tuple[list[float], list[float]]:
        """The lowest and the highest momentum of each group. Raises ValueError for an optimizer without momentum."""
        op = type(self).__name__
        self.cycle_momentum = check.flag(op, "cycle_momentum", cycle)
        highs = a_group_each(op, "max_momentum", optimizer, top)
        lows = a_group_each(op, "base_momentum", optimizer, base)
        if self.cycle_momentum:
            if "betas" not in optimizer.defaults and "momentum" not in optimizer.defaults:
                raise ValueError(
                    f"{op}: {type(optimizer).__name__} has neither momentum nor betas\n"
                    "  expected cycle_momentum=False for it"
                )
            self.use_beta1 = "betas" in optimizer.defaults
        return lows, highs


class OneCycleLR(_Cycling):
    """Up from ``max_lr / div_factor`` to `max_lr`, then down to a ten-thousandth of the start (Smith & Topin 2018).

    Momentum goes from `max_momentum` down to `base_momentum` and up again. This schedule is stepped after every batch.
    Raises the errors of `LRScheduler`; ``step`` raises ValueError after `total_steps`.

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
        share = check.number(op, "pct_start", pct_start, 0, 1)
        self._anneal_func_type = check.choice(op, "anneal_strategy", anneal_strategy, ("cos", "linear"))
        ends = [share * self.total_steps - 1, 2 * share * self.total_steps - 2, self.total_steps - 1]
        self._ends = ends if check.flag(op, "three_phase", three_phase) else [ends[0], ends[2]]
        for name, value in (("div_factor", div_factor), ("final_div_factor", final_div_factor)):
            within(op, name, value, check.number(op, name, value) > 0, "above 0")
        tops = a_group_each(op, "max_lr", optimizer, max_lr)
        momenta = self._take_momentum(optimizer, cycle_momentum, base_momentum, max_momentum)
        if last_epoch == -1:
            for group, top, low, high in zip(optimizer.param_groups, tops, *momenta, strict=True):
                group["initial_lr"], group["max_lr"] = top / div_factor, top
                group["min_lr"] = group["initial_lr"] / final_div_factor
                if self.cycle_momentum:
                    group["max_momentum"], group["base_momentum"] = high, low
        super().__init__(optimizer, last_epoch)

    def _between(self, epoch: float, names: tuple[str, ...]) -> float:
        """The value between the entries `names` of the group: at the start, and at the end of each phase."""
        k = next((k for k, end in enumerate(self._ends[:-1]) if epoch <= end), len(self._ends) - 1)
        start, end = (0.0, *self._ends)[k : k + 2]
        way = (epoch - start) / (end - start) if end != start else 1.0
        group = self.optimizer.param_groups[self.group]
        return self._along(group[names[k]], group[names[k + 1]], way)

    @property
    def _along(self) -> Callable[[float, float, float], float]:
        return along_cosine if self._anneal_func_type == "cos" else along_line

    def at(self, epoch: float, base: float) -> float:
        if epoch > self.total_steps:
            raise ValueError(f"OneCycleLR: step {epoch}\n  expected at most total_steps, {self.total_steps}")
        middle = ("initial_lr",) if len(self._ends) == 3 else ()
        return self._between(epoch, ("initial_lr", "max_lr", *middle, "min_lr"))

    def _momentum_at(self, epoch: float) -> float | None:
        low, high = "base_momentum", "max_momentum"
        last = (high,) if len(self._ends) == 3 else ()
        return self._between(epoch, (high, low, high, *last)) if self.cycle_momentum else None


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

    _not_saved = (*LRScheduler._not_saved, "_scale_fn_custom")

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
        lows, highs = self._take_momentum(optimizer, cycle_momentum, base_momentum, max_momentum)
        if self.cycle_momentum:
            self.base_momentums, self.max_momentums = lows, highs
        self._bottoms = bottoms
        super().__init__(optimizer, last_epoch)

    @property
    def base_lrs(self) -> list[float]:
        return list(self._bottoms)

    def scale_fn(self, x: float) -> float:
        """The height of a cycle: of `x`, the cycle or the step."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "triangular2":
            return 1 / 2.0 ** (x - 1)
        return self.gamma**x if self.mode == "exp_range" else 1.0

    def _height(self, epoch: float) -> float:
        """The share of the way from the bottom to the top."""
        cycle = math.floor(1 + epoch / self.total_size)
        x = 1.0 + epoch / self.total_size - cycle
        way = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        return way * self.scale_fn(cycle if self.scale_mode == "cycle" else epoch)

    def at(self, epoch: float, base: float) -> float:
        bottom = self._of_group("base_lr", self._bottoms)
        return bottom + (self._of_group("max_lr", self.max_lrs) - bottom) * self._height(epoch)

    def _momentum_at(self, epoch: float) -> float | None:
        if not self.cycle_momentum:
            return None
        low, high = (self._of_group("momentum", values) for values in (self.base_momentums, self.max_momentums))
        return high - (high - low) * self._height(epoch)

    def state_dict(self) -> dict[str, Any]:
        return super().state_dict() | {"_scale_fn_custom": attributes(self._scale_fn_custom)}

    def _take(self, state: dict[str, Any]) -> None:
        values = state.pop("_scale_fn_custom", None)
        if self._scale_fn_custom is not None:
            vars(self._scale_fn_custom).update(values or {})
        super()._take({**state, "_bottoms": state["base_lrs"], "base_lrs": ()})
