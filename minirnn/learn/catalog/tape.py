"""Chapters 1 and 2: what a tape does, and how a gradient is checked."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from minirnn.learn.catalog.stages import sample_stages
from minirnn.learn.exercise import Exercise, Inputs, Sizes, Wrong
from minirnn.learn.formulas import tape as formulas


def mul_add(rng: np.random.Generator, s: Sizes) -> Inputs:
    return dict(x=rng.normal(size=(s.B, s.I)), w=rng.normal(size=s.I), dy=rng.normal(size=(s.B, s.I)))


# ---- ex02: the backward pass of a tape of numbers


def small_tape(rng: np.random.Generator, s: Sizes) -> Inputs:
    """Three numbers, then T + 3 operations on whatever was there before; every variable is used."""
    values = [float(v) for v in rng.uniform(0.5, 1.5, size=3)]
    tape: list[Any] = []
    for step in range(s.T + 3):
        # The latest variable is always used, so that no chain breaks; the other is any.
        a, b, out = len(values) - 1, int(rng.integers(0, len(values))), len(values)
        operation = ("mul", "add", "tanh")[step % 3]
        tape.append((operation, out, (a,) if operation == "tanh" else (a, b)))
        x, y = values[a], values[b]
        values.append({"mul": x * y, "add": x + y, "tanh": float(np.tanh(x))}[operation])
    # x * x: both factors are the same variable; and every start is used at the end.
    out = len(values)
    tape += [("mul", out, (out - 1, out - 1)), ("mul", out + 1, (0, 1)), ("add", out + 2, (out + 1, 2))]
    values += [values[-1] ** 2, values[0] * values[1]]
    values.append(values[-1] + values[2])
    tape.append(("add", out + 3, (out, out + 2)))
    values.append(values[out] + values[out + 2])
    return dict(tape=tape, values=values)


def slopes(operation: str, out: int, inputs: Any, values: Any) -> tuple[float, ...]:
    """The slope of an operation along each of its inputs."""
    if operation == "add":
        return 1.0, 1.0
    return (values[inputs[1]], values[inputs[0]]) if operation == "mul" else (1 - values[out] ** 2,)


def slopes_but(operation: str, wrong: Any) -> Any:
    """`slopes`, but for one operation."""
    return lambda *of: wrong(*of[1:]) if of[0] == operation else slopes(*of)


def walk(
    tape: Any, values: Any, *, slopes: Any = slopes, order: Any = reversed, added: bool = True, chained: bool = True,
    start: Any = lambda values: 1.0,
) -> Any:  # fmt: skip
    """The backward pass of a tape, with one of its rules changed."""
    gradients = [0.0] * len(values)
    gradients[-1] = start(values)
    for operation, out, inputs in order(tape):
        dy = gradients[out] if chained else 1.0
        for k, slope in zip(inputs, slopes(operation, out, inputs, values), strict=True):
            gradients[k] = dy * slope + (gradients[k] if added else 0.0)
    return np.array(gradients)


def once(tape: Any, values: Any) -> Any:
    """The backward pass of a tape that reads both gradients of an operation before it adds to either."""
    gradients = [0.0] * len(values)
    gradients[-1] = 1.0
    for operation, out, inputs in reversed(tape):
        before = [gradients[k] for k in inputs]
        for k, old, slope in zip(inputs, before, slopes(operation, out, inputs, values), strict=True):
            gradients[k] = old + gradients[out] * slope
    return np.array(gradients)


def tape_mistake(sentence: str, **rule: Any) -> Wrong:
    return Wrong(sentence, partial(walk, **rule))


TAPE_MISTAKES = (
    tape_mistake(
        "a variable that is used twice keeps only one of its two contributions: add to its gradient, with +=",
        added=False,
    ),
    tape_mistake(
        "the tape is walked from its beginning: a gradient is passed on before it is complete",
        order=iter,
    ),
    tape_mistake(
        "mul: each factor got its own value, not that of the other factor",
        slopes=slopes_but("mul", lambda out, inputs, values: (values[inputs[0]], values[inputs[1]])),
    ),
    Wrong("an operation that uses one variable twice (a * a, a + a) gave it only one of its two contributions", once),
    tape_mistake(
        "mul: the gradient is multiplied by the output, not by the other factor",
        slopes=slopes_but("mul", lambda out, inputs, values: (values[out], values[out])),
    ),
    tape_mistake(
        "add: each summand got half; each gets the whole gradient", slopes=slopes_but("add", lambda *_: (0.5, 0.5))
    ),
    tape_mistake(
        "the gradient of the last variable begins with its value; with respect to itself it is 1",
        start=lambda values: values[-1],
    ),
    tape_mistake(
        "tanh: the slope is 1 - y*y with the output y; the input was taken",
        slopes=slopes_but("tanh", lambda out, inputs, values: (1 - values[inputs[0]] ** 2,)),
    ),
    tape_mistake(
        "the slopes of the operations are added without the gradient of the output (the chain rule multiplies)",
        chained=False,
    ),
)


# ---- ex03, ex04: differences


def smooth(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """A function of an array that nobody can guess: sum(a * sin(x) + b * x * roll(x))."""
    a, b = rng.normal(size=(2, *shape))
    return lambda x: float(np.sum(a * np.sin(x) + b * x * np.roll(x, 1)))


def smooth_gradient(rng: np.random.Generator, shape: tuple[int, ...], x: np.ndarray) -> np.ndarray:
    """The gradient of the function that `smooth` makes from a generator in the same state."""
    a, b = rng.normal(size=(2, *shape))
    gradient: np.ndarray = a * np.cos(x) + b * np.roll(x, 1) + np.roll(b * x, -1)
    return gradient


def a_function(rng: np.random.Generator, s: Sizes) -> Inputs:
    # eps so large that the error of a one-sided difference shows.
    return dict(f=smooth(rng, (s.B, s.I)), x=rng.normal(size=(s.B, s.I)), eps=4e-3 / s.T)


def a_function_and_its_gradient(rng: np.random.Generator, s: Sizes) -> Inputs:
    shape, seed = (s.B, s.I), int(rng.integers(1 << 30))
    x, v = rng.normal(size=(2, *shape))
    f = smooth(np.random.default_rng(seed), shape)
    return dict(f=f, gradient=smooth_gradient(np.random.default_rng(seed), shape, x), x=x, v=v, eps=4e-3 / s.T)


def central(f: Any, x: np.ndarray, direction: np.ndarray, eps: float) -> Any:
    """The slope of f along a direction, from both sides."""
    return (f(x + eps * direction) - f(x - eps * direction)) / (2 * eps)


def differences(x: np.ndarray, slope: Any) -> np.ndarray:
    """The array of `slope(e)` for the direction e of each element."""
    dx = np.zeros_like(x)
    for k in np.ndindex(x.shape):
        e = np.zeros_like(x)
        e[k] = 1
        dx[k] = slope(e)
    return dx


def moving(f: Any, x: np.ndarray, eps: float, *, last: float) -> np.ndarray:
    """Differences in one array whose elements are not put back: each stays `last` * eps from where it was."""
    x, dx = x.copy(), np.zeros_like(x)
    for k in np.ndindex(x.shape):
        old = x[k]
        x[k] = old + eps
        up = f(x)
        x[k] = old - eps
        dx[k] = (up - f(x)) / (2 * eps)
        x[k] = old + last * eps
    return dx


NOT_RESTORED = "x[k] is not put back before the next element is moved: the steps add up in x"

DIFFERENCE_MISTAKES = (
    Wrong(NOT_RESTORED, partial(moving, last=-1.0)),
    Wrong(NOT_RESTORED, partial(moving, last=1.0)),
    Wrong(
        "f(x) - f(x - eps) is a one-sided difference; its error is of order eps: take f(x + eps) - f(x - eps)",
        lambda f, x, eps: differences(x, lambda e: (f(x) - f(x - eps * e)) / eps),
    ),
    Wrong(
        "one side is missing: f(x) is used where f(x - eps) belongs",
        lambda f, x, eps: differences(x, lambda e: (f(x + eps * e) - f(x)) / (2 * eps)),
    ),
    Wrong(
        "all elements are moved at once: each slope needs a step of one element alone",
        lambda f, x, eps: np.full_like(x, central(f, x, np.ones_like(x), eps)),
    ),
    Wrong(
        "whole rows are moved at once: each slope needs a step of one element alone",
        lambda f, x, eps: differences(x, lambda e: central(f, x, 0 * x + e.max(axis=-1, keepdims=True), eps)),
    ),
    Wrong(
        "f(x + eps) - f(x) is a one-sided difference; its error is of order eps: take f(x + eps) - f(x - eps)",
        lambda f, x, eps: differences(x, lambda e: (f(x + eps * e) - f(x)) / eps),
    ),
    Wrong(
        "the two points are 2*eps apart, not eps",
        lambda f, x, eps: differences(x, lambda e: 2 * central(f, x, e, eps)),
    ),
    Wrong(
        "the sign is wrong: f(x + eps) comes first",
        lambda f, x, eps: differences(x, lambda e: -central(f, x, e, eps)),
    ),
    Wrong(
        "the difference is not divided by the distance 2*eps",
        lambda f, x, eps: differences(x, lambda e: 2 * eps * central(f, x, e, eps)),
    ),
)

SLOPE_MISTAKES = (
    Wrong(
        "by_difference: x is moved by eps in every element, not along v",
        lambda f, gradient, x, v, eps: (central(f, x, np.ones_like(x), eps), np.sum(gradient * v)),
    ),
    Wrong(
        "by_difference: v is normalized, but by_gradient takes it as it is",
        lambda f, gradient, x, v, eps: (central(f, x, v / np.linalg.norm(v), eps), np.sum(gradient * v)),
    ),
    Wrong(
        "by_difference is one-sided: take f(x + eps*v) - f(x - eps*v)",
        lambda f, gradient, x, v, eps: ((f(x) - f(x - eps * v)) / eps, np.sum(gradient * v)),
    ),
    Wrong(
        "by_difference is one-sided: take f(x + eps*v) - f(x - eps*v)",
        lambda f, gradient, x, v, eps: ((f(x + eps * v) - f(x)) / eps, np.sum(gradient * v)),
    ),
    Wrong(
        "the two points are 2*eps apart, not eps",
        lambda f, gradient, x, v, eps: (2 * central(f, x, v, eps), np.sum(gradient * v)),
    ),
    Wrong(
        "by_gradient is the sum of gradient * v: the direction v is missing",
        lambda f, gradient, x, v, eps: (central(f, x, v, eps), np.sum(gradient)),
    ),
    Wrong(
        "by_gradient is not divided by the length of v, since by_difference is not either",
        lambda f, gradient, x, v, eps: (central(f, x, v, eps), np.sum(gradient * v) / np.sqrt(np.sum(v * v))),
    ),
)

EXERCISES = (
    Exercise(
        "01_tape/ex01_mul_add.py", mul_add, formulas.mul_add_backward, {"dx": "(B, I)", "dw": "(I,)", "db": "(I,)"},
        stages=sample_stages("y = x * w + b, a number at a time", "dw, db"),
    ),
    Exercise(
        "01_tape/ex02_backward.py", small_tape, formulas.backward, {"gradients": "(variables,)"}, wrong=TAPE_MISTAKES
    ),
    Exercise(
        "02_check/ex03_finite_difference.py", a_function, formulas.numerical_gradient, {"dx": "(B, I)"},
        wrong=DIFFERENCE_MISTAKES, tolerance=1e-5,
    ),
    Exercise(
        "02_check/ex04_random_direction.py", a_function_and_its_gradient, formulas.slopes,
        {"by_difference": "()", "by_gradient": "()"}, wrong=SLOPE_MISTAKES,
    ),
)  # fmt: skip
