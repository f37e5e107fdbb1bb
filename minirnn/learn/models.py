"""Judges a model: its gradients first, then, if they are right, what it predicts after its own training."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from minirnn.learn.calls import function_case, message_of, value_of
from minirnn.learn.catalog.capstone import BOUND, MOST_UNITS, V, texts
from minirnn.learn.exercise import HIDDEN, PUBLIC, Exercise, Sizes
from minirnn.learn.judge import Case, Failed, Part, compare, worst
from minirnn.learn.sandbox.parent import Child

TRAINED_ON = (PUBLIC, HIDDEN[0])
"""Training takes long, so it runs once for the cases that students see and once for the hidden ones."""
NAMES = ("W", "R", "b", "U", "c")
STEPS = 14
"""The letters before the last one of an echo, from the beginning of the word before."""


def model_parts(
    exercise: Exercise, child: Child, which: Sequence[tuple[Sequence[int], Sizes]], cases: list[Case]
) -> list[Part]:
    """Check the gradients on the cases `which` and, if all are right, train the model and test it."""
    found = [function_case(exercise, child, exercise.case(seed, sizes)) for seed, sizes in which]
    parts = worst([compare(exercise, case.expected, case.got) for case in found])
    cases += found
    if not all(part.ok for part in parts):
        return [*parts, Part("bits", False, float("inf"))]
    seeds = [seed for seed, sizes in which if sizes in TRAINED_ON]
    if not seeds:
        return [*parts, Part("bits", True, 0.0)]
    text, validation = texts(seeds[0])
    model = trained(exercise, child, text, seeds[0])
    bits = bits_of(exercise, model, validation)
    flows = [function_case(exercise, child, inputs) for inputs in last_letter(model, validation)]
    cases += flows
    parts = worst([parts, *(compare(exercise, case.expected, case.got) for case in flows)])
    needs = f"your model needs {bits:.3f} bits per letter on a text it has not seen, and it passes below {BOUND}"
    complaint = f"{needs}\n  {learned(bits)}"
    return [*parts, Part("bits", bits < BOUND, 0.0 if bits < BOUND else bits, "" if bits < BOUND else complaint)]


def learned(bits: float) -> str:
    """What the bits per letter say about the training. At this point the gradients are right."""
    guessing = float(np.log2(V))
    if bits > guessing + 1.5:
        return (
            f"guessing needs log2({V}) = {guessing:.2f}: the training makes it worse, so the parameters go up the"
            " gradient (is the sign of the update wrong?), or the steps are far too large"
        )
    if bits > guessing - 0.4:
        return (
            f"guessing needs log2({V}) = {guessing:.2f}: it has hardly learned anything, so the learning rate is far"
            " too small, the steps are far too few, or what you return is not what was trained"
        )
    if bits > 1.35:
        return (
            "a model without memory needs 1.5: it has learned how frequent letters are, but no echoes; are the windows"
            " long enough, does the gradient flow through all their steps, and is the forget gate open at the start?"
        )
    return "it remembers some letters, but not all: train longer, or with a better learning rate"


def trained(exercise: Exercise, child: Child, text: np.ndarray, seed: Sequence[int]) -> dict[str, np.ndarray]:
    """The parameters that the answer's own training returns. It runs in a separate process."""
    # The answer can read the seed of its generator, which must not lead to the text that it is judged by.
    own = int.from_bytes(hashlib.sha256(repr([41, *seed]).encode()).digest()[:8])
    message, served = message_of({"text": text, "V": V}, seed=[own])
    other = child.another(exercise.training)
    try:
        value = value_of(other.call(message, served), exercise)
    except Failed as failure:
        if str(failure).startswith(f"there is no {exercise.function}"):
            raise Failed(f"there is no {exercise.training}") from None
        raise
    finally:
        other.close()
        child.output += other.output
    return parameters(exercise, value)


def parameters(exercise: Exercise, value: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """The parameters that training returned, by name. Raises `Failed` if they are not a model."""
    values, names = list(value.get("values", [])), value.get("names")
    if names and sorted(names) == sorted(NAMES):
        values = [values[names.index(name)] for name in NAMES]
    if len(values) != len(NAMES):
        raise Failed(f"{exercise.training} returned {len(values) or 'one'} value(s)\n  expected {', '.join(NAMES)}")
    model = dict(zip(NAMES, values, strict=True))
    H = len(model["R"]) if isinstance(model["R"], np.ndarray) and model["R"].ndim == 2 else 0
    if not 1 <= H <= MOST_UNITS:
        raise Failed(
            f"{exercise.training} returned an R whose shape is not (H, 4H)\n  expected H from 1 to {MOST_UNITS}"
        )
    shapes = {"W": (V, 4 * H), "R": (H, 4 * H), "b": (4 * H,), "U": (H, V), "c": (V,)}
    for name, shape in shapes.items():
        array = model[name]
        if not isinstance(array, np.ndarray) or array.shape != shape or array.dtype.kind not in "iuf":
            got = f"of shape {array.shape}" if isinstance(array, np.ndarray) else type(array).__name__
            raise Failed(f"{exercise.training} returned {name} {got}\n  expected {shape}, H = {H}")
        if not np.isfinite(array).all():
            raise Failed(f"{exercise.training} returned {name} with NaN or infinity: did the training explode?")
    return {name: np.asarray(array, float) for name, array in model.items()}


def bits_of(exercise: Exercise, model: Mapping[str, np.ndarray], validation: np.ndarray) -> float:
    """The bits per letter that `model` needs on a text."""
    T = len(validation) - 1
    outputs = exercise.expected({**model, "ids": validation, "weights": np.full(T, 1 / T)})
    return float(outputs["loss"] / np.log(2))


def last_letter(model: Mapping[str, np.ndarray], validation: np.ndarray) -> list[dict[str, Any]]:
    """The inputs that show how far the gradient of one letter flows: with random weights, and in the trained model."""
    rng = np.random.default_rng(41)
    random = {name: 0.3 * rng.normal(size=array.shape) for name, array in model.items()}
    weights = np.zeros(STEPS)
    weights[-1] = 1.0
    return [{**one, "ids": validation[: STEPS + 1], "weights": weights} for one in (random, dict(model))]
