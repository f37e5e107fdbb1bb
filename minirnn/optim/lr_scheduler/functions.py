"""Schedules that the user defines by a function: LambdaLR and MultiplicativeLR."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from typing import Any

from minirnn.messages import shown
from minirnn.optim.lr_scheduler.scheduler import LRScheduler, an_optimizer
from minirnn.optim.optimizer import Optimizer

Factor = Callable[[int], float]


class _ByFunction(LRScheduler):
    """The base of both: one function per group. Functions are not saved, but the attributes of other callables are."""

    _not_saved = ("optimizer", "lr_lambdas")

    def __init__(self, optimizer: Optimizer, lr_lambda: Factor | list[Factor], last_epoch: int = -1) -> None:
        name = type(self).__name__
        n = len(an_optimizer(name, optimizer).param_groups)
        given = list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * n
        if len(given) != n:
            raise ValueError(f"{name}: lr_lambda has {len(given)} functions\n  expected {n}, one per group")
        for function in given:
            if not callable(function):
                raise TypeError(f"{name}: lr_lambda is {shown(function)}\n  expected a function of the epoch")
        self.lr_lambdas: list[Factor] = given
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        functions = [None if isinstance(f, types.FunctionType) else dict(vars(f)) for f in self.lr_lambdas]
        return {**super().state_dict(), "lr_lambdas": functions}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        state = self._fitting(state_dict, also=("lr_lambdas",))
        attributes = state.pop("lr_lambdas")
        vars(self).update(state)
        for function, values in zip(self.lr_lambdas, attributes, strict=True):
            if values is not None:
                vars(function).update(values)


class LambdaLR(_ByFunction):
    """Set the step size to ``base_lr * lr_lambda(epoch)``.

    Parameters
    ----------
    optimizer, last_epoch
        As for `LRScheduler`.
    lr_lambda : function of int, or list of functions
        One for all groups, or one for each. As in torch, a state dict holds the attributes of callable objects, but
        no functions.
    """

    def get_lr(self) -> list[float]:
        self._warn_outside_step()
        return [lr * f(self.last_epoch) for f, lr in zip(self.lr_lambdas, self.base_lrs, strict=True)]


class MultiplicativeLR(_ByFunction):
    """Multiply the step size by ``lr_lambda(epoch)`` at each epoch.

    Parameters
    ----------
    optimizer, last_epoch
        As for `LRScheduler`.
    lr_lambda : function of int, or list of functions
        As for `LambdaLR`.
    """

    def get_lr(self) -> list[float]:
        self._warn_outside_step()
        if self._is_initial:
            return self._current()
        return [lr * f(self.last_epoch) for f, lr in zip(self.lr_lambdas, self._current(), strict=True)]
