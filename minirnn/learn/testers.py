"""Tries tests written by students: a right backward pass must pass them, and no wrong one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from minirnn.learn.calls import message_of, value_of
from minirnn.learn.catalog.tests import wrong_cells
from minirnn.learn.exercise import PUBLIC, Exercise
from minirnn.learn.formula import Formula
from minirnn.learn.judge import Part
from minirnn.learn.sandbox.parent import Child


def tester_parts(exercise: Exercise, child: Child, seed: Sequence[int]) -> list[Part]:
    """Try the student's test on a right backward pass and on every wrong one: a part for each kind of mistake."""
    formula = exercise.formula
    assert formula is not None
    probe = wrong_cells(np.random.default_rng([21, *seed]), PUBLIC)
    right = formula.evaluate(probe)
    for name, backward in {"as it stands": backward_of(formula, {}), "written differently": other_way(formula)}.items():
        complaint = verdict(exercise, child, backward, [*seed, 0])
        if complaint is not None:
            text = f"your test rejects a right backward pass ({name}): {complaint}"
            return [Part(n, False, float("inf"), text if n == "right" else "") for n in exercise.outputs]
    missed: dict[str, list[str]] = {kind: [] for kind in list(exercise.outputs)[1:]}
    for number, mutant in enumerate(formula.mutants):
        with np.errstate(all="ignore"):
            outputs = formula.evaluate(probe, {mutant.line.number: mutant.code})
        if all(np.allclose(outputs[n], right[n]) for n in right):
            continue  # not wrong at all
        backward = backward_of(formula, {mutant.line.number: mutant.code})
        if verdict(exercise, child, backward, [*seed, number + 1]) is None:
            missed[mutant.kind].append(mutant.sentence())
    parts = [Part("right", True, 0.0)]
    for kind, sentences in missed.items():
        more = f", and {len(sentences) - 1} more" if len(sentences) > 1 else ""
        complaint = f"your test accepts a wrong one: {sentences[0]}{more}" if sentences else ""
        parts.append(Part(kind, not sentences, float(len(sentences)), complaint))
    return parts


def backward_of(formula: Formula, changed: Mapping[int, str]) -> Callable[..., Any]:
    """The formula, with lines changed, as a function that the student's test can call."""

    def backward(*args: Any) -> list[Any]:
        if len(args) != len(formula.parameters):
            raise TypeError(f"backward takes {len(formula.parameters)} arguments: {', '.join(formula.parameters)}")
        with np.errstate(all="ignore"):
            outputs = formula.evaluate(dict(zip(formula.parameters, args, strict=True)), changed)
        return list(outputs.values())

    return backward


def other_way(formula: Formula) -> Callable[..., Any]:
    """The right numbers with other rounding: a test that wants equal bits is no good."""
    exact = backward_of(formula, {})
    return lambda *args: [a * (1 + 1e-12) for a in exact(*args)]


def verdict(exercise: Exercise, child: Child, backward: Callable[..., Any], seed: Sequence[int]) -> str | None:
    """None if the student's test accepts, else what it says."""
    inputs = {**exercise.case(seed), "backward": backward}
    message, served = message_of(inputs, seed=seed)
    reply = child.call(message, served)
    if reply.error is not None and reply.error.get("type") == "AssertionError":
        return str(reply.error.get("text")) or "AssertionError"
    value = value_of(reply, exercise)
    returned = value.get("single")
    return (
        "it returned False"
        if isinstance(returned, np.ndarray) and returned.dtype == bool and not returned.all()
        else None
    )
