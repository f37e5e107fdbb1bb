"""The answers of a device for tasks above the contract of devices, such as clipping or a walk over the tape.

They are in its dict `tasks`, by name. `minirnn.learn.mine.in_place` calls them in the place of minirnn's functions.
"""

from __future__ import annotations

from typing import Any

TASKS = {
    "walk": "(count, nodes, seeds, back, add) -> the gradients of variables 0 .. count-1, None where there is none:"
    " the backward pass over a tape (`minirnn.learn.mine.walked`)",
    "clip_by_norm": "(gradients, max_norm) -> gradients, norm",
    "rmsprop": "(p, g, v, buffer, *, lr, alpha, eps, momentum) -> p, v, buffer; v and buffer None at the first step",
    "dropout_mask": "(u, rate) -> mask: 1 / (1 - rate) or 0 for each of the random numbers u in [0, 1)",
    "all_reduce": "(rank, size, part, pass_on) -> the sum over all ranks, in host memory; pass_on(values, count) sends"
    " an array to the next rank and returns the one of `count` numbers from the rank before",
    "lstm_start": "(uniform, normal) -> W, R, b: the first weights of an LSTM from random numbers (I, 4H), (4, H, H)",
}
"""Name and signature of each. A function returns NotImplemented if no answer covers the case."""


def has_answer(device: Any, name: str) -> bool:
    return name in getattr(device, "tasks", ())


def answered(device: Any, name: str, *args: Any, **kwargs: Any) -> Any:
    """The result of the device's answer for the task; NotImplemented if there is none."""
    return device.tasks[name](*args, **kwargs) if has_answer(device, name) else NotImplemented
