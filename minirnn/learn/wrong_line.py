"""Finds the place of a mistake in a student's file: the variable with the wrong value, and the line that sets it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from minirnn.learn.calls import message_of
from minirnn.learn.exercise import Inputs
from minirnn.learn.judge import equal
from minirnn.learn.sandbox.parent import Child
from minirnn.learn.sandbox.replies import Reply


def place_of(target: str, wrong: Any, child: Child, inputs: Inputs) -> str:
    """``, line 8 (where you assign dzc)``; empty if no variable of the file is the wrong one.

    `target` is its name in the formula, `wrong` the value that it has with the mistake. The answer's process reports
    which lines assign what, because the judge does not parse a student's text.
    """
    message, served = message_of(inputs, locals=True)
    reply = child.call(message, served)
    if line := line_of(reply, target):
        return f", line {line} (where you assign {target})"
    if not isinstance(wrong, np.ndarray) or not wrong.ndim:
        return ""
    for name in same_value(reply.locals, wrong):
        if line := line_of(reply, name):
            return f", line {line} (your {name} is {target} in the formula)"
    return ""


def line_of(reply: Reply, name: str) -> int | None:
    """The first line in which the file assigns a variable."""
    return reply.lines.get(name) if name.isidentifier() else None


def same_value(arrays: Mapping[str, np.ndarray], wrong: np.ndarray) -> list[str]:
    """The variables that hold a value, possibly transposed."""
    found = [name for name, value in arrays.items() if equal(wrong, value)]
    return found or [name for name, value in arrays.items() if value.ndim == 2 and equal(wrong, value.T)]
