"""Calls an answer in its process, and describes in words what goes wrong there."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np

from minirnn.learn.exercise import Exercise, Inputs
from minirnn.learn.judge import SINGLE, Case, Failed, brought, equal, outputs_of
from minirnn.learn.sandbox import given
from minirnn.learn.sandbox.parent import Child
from minirnn.learn.sandbox.replies import Reply

GIVEN = {given.lstm_cell_forward: ("given.py", "lstm_cell_forward")}


def function_case(exercise: Exercise, child: Child, inputs: Inputs) -> Case:
    """Call the answer on `inputs`. Raises `Failed` if nothing comparable comes back."""
    reply = child.call(*message_of(inputs))
    value = value_of(reply, exercise)
    expected = exercise.expected(inputs)
    return Case(inputs, expected, brought(exercise, outputs_of(exercise, value), expected), reply.warnings)


def message_of(inputs: Inputs, **more: Any) -> tuple[dict[str, Any], dict[str, Callable[..., Any]]]:
    """The inputs as a message, and the functions among them that the judge serves: all but those of `GIVEN`."""
    functions = {name: value for name, value in inputs.items() if callable(value)}
    shown = {name: GIVEN[f] for name, f in functions.items() if f in GIVEN}
    served = {name: f for name, f in functions.items() if name not in shown}
    plain = {name: value for name, value in inputs.items() if name not in functions}
    return {"arguments": plain, "callbacks": list(served), "given": shown, "order": list(inputs), **more}, served


DIFFERENCES = "a sample's digits are lost where another's gradient is large, as finite differences do: derive a formula"
LARGE = 2.0**50
"""How much larger the gradients of the first sample become."""


def takes_differences(exercise: Exercise, child: Child, case: Case, right: Collection[str]) -> bool:
    """Whether outputs that are `right` lose a sample's digits where the gradients of another sample are large.

    A derivative treats the samples one by one. Finite differences of a loss that sums over them do not, and the digits
    that they lack otherwise may be too few to be noticed.
    """
    letters = {name: re.findall(r"[^(), ]+", exercise.outputs[name]) for name in right}
    arrays = {name for name in right if isinstance(case.expected[name], np.ndarray)}
    axes = {name: some.index("B") for name, some in letters.items() if "B" in some and name in arrays}
    samples = {case.expected[name].shape[axis] for name, axis in axes.items()}
    inputs = dict(case.inputs)
    for name, value in case.inputs.items():
        is_gradient = name.startswith("d") and isinstance(value, np.ndarray) and value.ndim > 1
        if is_gradient and {value.shape[-2]} == samples != {1}:
            inputs[name] = value * np.where(np.arange(value.shape[-2]) == 0, LARGE, 1)[:, None]
    if all(inputs[name] is value for name, value in case.inputs.items()):
        return False
    try:
        want = exercise.expected(inputs)
    except Exception:  # a reference that stays with the teacher has results only for stored inputs
        return False
    message, served = message_of(inputs, trials=[[]])  # a trial prints nothing, but it may be too long
    tried = child.call(message, served).results or [None]
    value = child.call(*message_of(inputs)).value if tried[0] is None else tried[0]
    if value is None:
        return False
    got = brought(exercise, outputs_of(exercise, value), want)
    rest = [[np.delete(v[name], 0, axis) for v in (want, case.expected, got)] for name, axis in axes.items()]
    return any(equal(a, b) and not equal(a, c, SINGLE) for a, b, c in rest)


def value_of(reply: Reply, exercise: Exercise) -> dict[str, Any]:
    """The value that a reply brings. Raises `Failed` if it brings something else."""
    if reply.fatal:
        raise Failed(reply.fatal, reply.line, busy=reply.busy, ended=True)
    if reply.error is not None:
        raise failure_of(reply.error, exercise)
    if reply.value is None:
        raise Failed("what came back could not be read")
    return reply.value


def failure_of(error: Mapping[str, Any], exercise: Exercise) -> Failed:
    """An exception in the student's file, in words."""
    kind, text, line = error["type"], error["text"][:2000], error["line"]
    code = f"\n    {error['code']}" if error["code"] else ""
    if kind == "NotImplementedError":
        return Failed("nothing written yet", line, not_started=True)
    if kind == "UnicodeDecodeError" or (kind in ("SyntaxError", "LookupError") and "encoding" in text):
        return Failed(
            f"the file is not UTF-8 text: {text}\n  save it as UTF-8, or declare its encoding in the first line"
        )
    if kind in ("SyntaxError", "IndentationError", "TabError"):
        return Failed(f"this is not valid Python: {text}{code}", line)
    if kind == "Missing":
        defined = f"it defines {text}" if text and exercise.kind != "cuda" else text
        return Failed(f"there is no {exercise.function}" + (f"; {defined}" if defined else ""))
    if kind == "SystemExit":
        return Failed("the answer calls exit: return the gradients instead", line)
    if kind in ("ModuleNotFoundError", "ImportError"):
        return Failed(f"{text}: only NumPy and Python's own modules can be imported here{code}", line)
    if kind == "MemoryError":
        return Failed(f"the answer needs too much memory{code}", line)
    if kind == "ValueError" and "read-only" in text:
        return Failed(f"this changes an input in place: make a new array instead{code}", line)
    if kind == "TypeError" and line is None and f"{exercise.function}()" in text:
        wanted = ", ".join(inspect.signature(exercise.reference).parameters)
        return Failed(f"{text}\n  expected the arguments {wanted}, in this order")
    if exercise.kind == "cuda" and kind.endswith("Error") and text.strip():
        return Failed(text, line)
    there = f"\n  where {error['shapes']}" if error["shapes"] and kind in ("ValueError", "IndexError") else ""
    said = f"{kind}: {text}" if text else kind
    return Failed(f"{said}{code}{there}", line)
