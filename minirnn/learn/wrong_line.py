"""Where in a student's file the mistake is: which of its variables holds the wrong value, and which line makes it."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

import numpy as np

from minirnn.learn.calls import message_of
from minirnn.learn.exercise import Inputs
from minirnn.learn.judge import equal
from minirnn.learn.sandbox.parent import Child


def place_of(text: str, target: str, wrong: Any, child: Child, inputs: Inputs) -> str:
    """``, line 8 (where you assign dzc)``; empty if no variable of the file is the one that is wrong.

    `target` is its name in the formula, `wrong` the value that it has with the mistake.
    """
    if line := first_line(text, target):
        return f", line {line} (where you assign {target})"
    if not isinstance(wrong, np.ndarray) or not wrong.ndim:
        return ""
    for name in same_value(own_variables(child, inputs), wrong):
        if line := first_line(text, name):
            return f", line {line} (your {name} is {target} in the formula)"
    return ""


def own_variables(child: Child, inputs: Inputs) -> Mapping[str, Any]:
    """The variables of the answer when it returns."""
    message, served = message_of(inputs, locals=True)
    return child.call(message, served).locals


def same_value(variables: Mapping[str, Any], wrong: np.ndarray) -> list[str]:
    """The variables that hold a value, as it is or transposed."""
    arrays = {name: value for name, value in variables.items() if isinstance(value, np.ndarray)}
    found = [name for name, value in arrays.items() if equal(wrong, value)]
    return found or [name for name, value in arrays.items() if value.ndim == 2 and equal(wrong, value.T)]


def first_line(text: str, name: str) -> int | None:
    """The first line in which the file assigns a variable."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return None
    lines = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AugAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if name in {n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)}:
                lines.append(node.lineno)
    return lines[0] if lines else None
