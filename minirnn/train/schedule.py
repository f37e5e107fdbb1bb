"""The optimizer and the schedule that the options of a training run ask for."""

from __future__ import annotations

import json
from typing import Any

from minirnn import optim
from minirnn.optim import lr_scheduler
from minirnn.optim.optimizer import Optimizer, Params

OPTIMIZERS: dict[str, tuple[type[Optimizer], dict[str, Any]]] = {
    "adam": (optim.Adam, {}),
    "adamw": (optim.AdamW, {}),
    "nadam": (optim.NAdam, {}),
    "sgd": (optim.SGD, {"momentum": 0.9}),
    "rmsprop": (optim.RMSprop, {}),
    "adagrad": (optim.Adagrad, {}),
    "adadelta": (optim.Adadelta, {}),
}
"""Names of ``--optimizer``: the class, and the settings that differ from its defaults."""

SCHEDULES = ("constant", "cosine", "step", "onecycle")
"""Names of ``--schedule``."""


def optimizer_of(name: str, parameters: Params, lr: float) -> Optimizer:
    """The optimizer that ``--optimizer`` names."""
    kind, settings = OPTIMIZERS[name]
    made: Any = kind
    return made(parameters, lr=lr, **settings)


class Schedule:
    """The step size of each training step: rising for `warmup` steps, then as `name` says until step `length`.

    After that it stays constant, so that a run can be extended.

    Parameters
    ----------
    name : str
        "constant"; "cosine": down to 0 along half a cosine; "step": a tenth after a half and again after three quarters
        of the steps; "onecycle": `lr_scheduler.OneCycleLR`, up for `warmup` steps (by default 0.3 of all), with
        momentum moving in the opposite direction.
    """

    def __init__(self, name: str, optimizer: Optimizer, lr: float, warmup: int, length: int) -> None:
        self.length = warmup if name == "constant" else length
        self.steps = 0
        self.inner = scheduler_of(name, optimizer, lr, warmup, length)

    def step(self) -> None:
        """Advance to the next training step."""
        self.steps += 1
        if self.inner is not None and self.steps < self.length:
            self.inner.step()

    def state_dict(self) -> dict[str, Any]:
        """Everything needed to continue, as JSON types."""
        inner = None if self.inner is None else self.inner.state_dict()
        state: dict[str, Any] = json.loads(json.dumps({"steps": self.steps, "inner": inner}))
        return state

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Return to the point at which `state_dict` was called."""
        self.steps = state["steps"]
        if self.inner is not None:
            self.inner.load_state_dict(state["inner"])


def scheduler_of(
    name: str, optimizer: Optimizer, lr: float, warmup: int, length: int
) -> lr_scheduler.LRScheduler | None:
    """The schedule of the library, None for a constant step size without warm-up."""
    if name == "onecycle":
        momentum = "betas" in optimizer.defaults or bool(optimizer.defaults.get("momentum"))
        rising = warmup / length if warmup else 0.3
        return lr_scheduler.OneCycleLR(optimizer, lr, length, pct_start=rising, cycle_momentum=momentum)
    rest = max(length - warmup, 1)
    after: lr_scheduler.LRScheduler | None = None
    if name == "cosine":
        after = lr_scheduler.CosineAnnealingLR(optimizer, rest)
    elif name == "step":
        after = lr_scheduler.MultiStepLR(optimizer, [max(rest // 2, 1), max(3 * rest // 4, 1)])
    if not warmup:
        return after
    first = lr_scheduler.LinearLR(optimizer, 1 / warmup, total_iters=max(warmup - 1, 1))
    return first if after is None else lr_scheduler.SequentialLR(optimizer, [first, after], [warmup])
