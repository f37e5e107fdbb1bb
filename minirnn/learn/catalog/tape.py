"""Chapters 1 and 2: what a tape does, and how a gradient is checked."""

from __future__ import annotations

from typing import Any

import numpy as np

from minirnn.learn.catalog.edited import mistakes
from minirnn.learn.catalog.stages import sample_stages
from minirnn.learn.exercise import Exercise, Inputs, Sizes, Stage
from minirnn.learn.formulas import tape as formulas


def mul_add(rng: np.random.Generator, s: Sizes) -> Inputs:
    return dict(x=rng.normal(size=(s.B, s.I)), w=rng.normal(size=s.I), dy=rng.normal(size=(s.B, s.I)))


# ---- ex02: the backward pass of a tape of numbers


def small_tape(rng: np.random.Generator, s: Sizes) -> Inputs:
    """Three numbers, then T + 3 operations on whatever was there before; every variable is used."""
    values = [float(v) for v in rng.uniform(0.5, 1.5, size=3)]
    tape: list[Any] = []
    for step in range(s.T + 3):
        # One operand is always the latest variable, so that no chain breaks. The other one is random.
        a, b, out = len(values) - 1, int(rng.integers(0, len(values))), len(values)
        operation = ("mul", "add", "tanh")[step % 3]
        tape.append((operation, out, (a,) if operation == "tanh" else (a, b)))
        x, y = values[a], values[b]
        values.append({"mul": x * y, "add": x + y, "tanh": float(np.tanh(x))}[operation])
    # x * x uses one variable for both factors. At the end every initial variable is used.
    out = len(values)
    tape += [("mul", out, (out - 1, out - 1)), ("mul", out + 1, (0, 1)), ("add", out + 2, (out + 1, 2))]
    values += [values[-1] ** 2, values[0] * values[1]]
    values.append(values[-1] + values[2])
    tape.append(("add", out + 3, (out, out + 2)))
    values.append(values[out] + values[out + 2])
    return dict(tape=tape, values=values)


def short_tape(look: str, *tape: Any) -> Stage:
    """A stage with this tape only. Its first operation is on the first numbers of the full one."""

    def change(inputs: Inputs) -> Inputs:
        values = list(inputs["values"][: tape[0][1]])
        for operation, _, (a, *b) in tape:
            x, y = values[a], values[b[0] if b else a]
            values.append({"mul": x * y, "add": x + y, "tanh": float(np.tanh(x))}[operation])
        return {**inputs, "tape": list(tape), "values": values}

    return Stage(f"for the tape {list(tape)}", look, change=change)


TAPE_STAGES = (
    short_tape("what each summand gets", ("add", 2, (0, 1))),
    short_tape("what each factor gets", ("mul", 2, (0, 1))),
    short_tape("the slope of tanh", ("tanh", 1, (0,))),
    short_tape("the two uses of one variable", ("add", 1, (0, 0))),
    short_tape("the two uses of one variable", ("mul", 1, (0, 0))),
    short_tape("what the second operation passes to the first", ("tanh", 1, (0,)), ("tanh", 2, (1,))),
    short_tape("a variable that two operations use", ("mul", 2, (0, 1)), ("add", 3, (2, 0))),
    Stage("for longer tapes", "the order of the operations"),
)

TAPE_MISTAKES = mistakes(
    formulas.backward,
    ("a variable that is used twice keeps only one of its two contributions, because one overwrites the other",
     "+=", "="),
    ("the tape is walked from its beginning, so a gradient is passed on before it is complete",
     "reversed(tape)", "tape"),
    ("mul: the gradient of each factor is multiplied by its own value, not by the other factor",
     "[a] += dy * values[b]", "[a] += dy * values[a]", "[b] += dy * values[a]", "[b] += dy * values[b]"),
    ("an operation that uses one variable twice (a * a, a + a) gives it only one of its two contributions",
     "dy = gradients[out]", "dy, old = gradients[out], gradients.copy()", "[a] += dy *", "[a] = old[a] + dy *",
     "[b] += dy *", "[b] = old[b] + dy *", "[a] += dy\n", "[a] = old[a] + dy\n", "[b] += dy\n", "[b] = old[b] + dy\n"),
    ("add: x + x uses one variable twice, so both of its uses count, but only one of them does",
     "[b] += dy\n", "[b] += dy * (a != b)\n"),
    ("mul: the gradient is multiplied by the output, not by the other factor",
     "dy * values[b]", "dy * values[out]", "dy * values[a]", "dy * values[out]"),
    ("add: each summand gets half of the gradient, but it must get all of it", "+= dy\n", "+= dy / 2\n"),
    ("the gradient of the last variable begins with its value, but with respect to itself it is 1",
     "[-1] = 1.0", "[-1] = values[-1]"),
    ("tanh: the slope 1 - y*y is computed with the input, but y is the output", "values[out] ** 2", "values[a] ** 2"),
    ("the slopes of the operations are added without being multiplied by the gradient of the output",
     "dy = gradients[out]", "dy = 1.0"),
)  # fmt: skip


# ---- ex03, ex04: differences


def smooth(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """A random function of an array, sum(a * sin(x) + b * x * roll(x)), so that nobody can guess its gradient."""
    a, b = rng.normal(size=(2, *shape))
    return lambda x: float(np.sum(a * np.sin(x) + b * x * np.roll(x, 1)))


def smooth_gradient(rng: np.random.Generator, shape: tuple[int, ...], x: np.ndarray) -> np.ndarray:
    """The gradient of the function that `smooth` makes from a generator in the same state."""
    a, b = rng.normal(size=(2, *shape))
    gradient: np.ndarray = a * np.cos(x) + b * np.roll(x, 1) + np.roll(b * x, -1)
    return gradient


def a_function(rng: np.random.Generator, s: Sizes) -> Inputs:
    # eps is so large that the error of a one-sided difference is visible.
    return dict(f=smooth(rng, (s.B, s.I)), x=rng.normal(size=(s.B, s.I)), eps=4e-3 / s.T)


def a_function_and_its_gradient(rng: np.random.Generator, s: Sizes) -> Inputs:
    shape, seed = (s.B, s.I), int(rng.integers(1 << 30))
    x, v = rng.normal(size=(2, *shape))
    f = smooth(np.random.default_rng(seed), shape)
    return dict(f=f, gradient=smooth_gradient(np.random.default_rng(seed), shape, x), x=x, v=v, eps=4e-3 / s.T)


NOT_RESTORED = "x[k] is not put back before the next element is moved, so the steps add up in x"
MOVED = ("dx = np.zeros_like(x)", "dx, moved = np.zeros_like(x), 0 * x", "f(x", "f(x + moved", "(2 * eps)")
"""A mistake: each changed element keeps its step instead of being restored."""

DIFFERENCE_MISTAKES = mistakes(
    formulas.numerical_gradient,
    (NOT_RESTORED, *MOVED, "(2 * eps)\n        moved = moved - step"),
    (NOT_RESTORED, *MOVED, "(2 * eps)\n        moved = moved + step"),
    ("f(x) - f(x - eps) is a one-sided difference, whose error is of order eps",
     "f(x + step)", "f(x)", "2 * eps", "eps"),
    ("one side is missing: f(x) is used where f(x - eps) belongs", "f(x - step)", "f(x)"),
    ("all elements are moved at once, but each slope needs a step of one element alone", "step[k]", "step[...]"),
    ("whole rows are moved at once, but each slope needs a step of one element alone", "step[k]", "step[k[0]]"),
    ("f(x + eps) - f(x) is a one-sided difference, whose error is of order eps",
     "f(x - step)", "f(x)", "2 * eps", "eps"),
    ("the difference is divided by eps, but the two points are 2*eps apart", "2 * eps", "eps"),
    ("the sign is wrong: f(x + eps) is subtracted from f(x - eps)",
     "(f(x + step) - f(x - step))", "(f(x - step) - f(x + step))"),
    ("the difference is not divided by the distance 2*eps", " / (2 * eps)", ""),
)  # fmt: skip

ONE_SIDED = "by_difference: the difference is one-sided, so its error is of order eps"
SLOPE_MISTAKES = mistakes(
    formulas.slopes,
    ("by_difference: x is moved by eps in every element, not along v", "eps * v", "eps"),
    ("by_difference: v is normalized, but by_gradient takes it as it is", "eps * v", "eps * v / np.linalg.norm(v)"),
    (ONE_SIDED, "f(x + eps * v)", "f(x)", "2 * eps", "eps"),
    (ONE_SIDED, "f(x - eps * v)", "f(x)", "2 * eps", "eps"),
    ("the difference is divided by eps, but the two points are 2*eps apart", "2 * eps", "eps"),
    ("by_gradient: the direction v is missing in the sum of gradient * v", "gradient * v", "gradient"),
    ("by_gradient: the norms are multiplied, not the numbers",
     "np.sum(gradient * v)", "np.linalg.norm(gradient) * np.linalg.norm(v)"),
    ("by_gradient: this is the norm of the gradient, but its product with v is needed",
     "np.sum(gradient * v)", "np.linalg.norm(gradient)"),
    ("by_gradient: it is divided by the norm of v, but by_difference is not",
     "np.sum(gradient * v)", "np.sum(gradient * v) / np.sqrt(np.sum(v * v))"),
)  # fmt: skip

EXERCISES = (
    Exercise(
        "01_tape/ex01_mul_add.py", mul_add, formulas.mul_add_backward, {"dx": "(B, I)", "dw": "(I,)", "db": "(I,)"},
        stages=sample_stages("y = x * w + b, one number at a time", "dw, db"),
    ),
    Exercise(
        "01_tape/ex02_backward.py", small_tape, formulas.backward, {"gradients": "(variables,)"}, wrong=TAPE_MISTAKES,
        stages=TAPE_STAGES,
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
