"""A question for the exam on each unit of the syllabus, with numbers that a seed draws, and the answers.

The wording is public. The numbers and the answers follow from the seed, which only the teacher knows. A student who
takes another seed gets an exam of the same kind, for practice.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from minirnn.io.atomic import atomic_write

POINTS = 10


class Question(NamedTuple):
    """A question, its answer, and the named numbers in both."""

    title: str
    text: str
    answer: str
    given: dict[str, float]
    asked: dict[str, float]


def number_text(value: float) -> str:
    """A number as the exam prints it: four digits."""
    return f"{value:.4g}"


def question(title: str, text: str, answer: str, given: dict[str, float], asked: dict[str, float]) -> Question:
    """Fill the numbers into both texts."""
    numbers = {name: number_text(value) for name, value in (given | asked).items()}
    return Question(title, text.format(**numbers), answer.format(**numbers), given, asked)


def tape(rng: np.random.Generator) -> Question:
    """Unit 1: a gradient on the tape, and finite differences."""
    given = {"a": pick(rng, 2, 3, 4), "x": pick(rng, 1.5, 2.5, 3.5), "w": pick(rng, 0.5, 1.0, 2.0), "s": 0.1}
    a, x, w, s = given.values()
    asked = {
        "slope": 3 * a * w**2 + x,
        "central": (a * (w + s) ** 3 + x * (w + s) - a * (w - s) ** 3 - x * (w - s)) / (2 * s),
        "forward": (a * (w + s) ** 3 + x * (w + s) - a * w**3 - x * w) / s,
    }
    return question(
        "One gradient, three ways",
        "Let L = a w w w + x w with a = {a}, x = {x} and w = {w}.\n\n"
        "1. Draw the tape. How many contributions does the gradient of w get, and what is their sum?\n"
        "2. Compute the central and the one-sided difference with the step {s}.\n"
        "3. By what factor does each error shrink when the step is halved? Why must the step not be halved forever?",
        "1. Four: three from the product w w w, each a w w, and one from x w, which is x. The sum is {slope}.\n"
        "2. The central difference is {central}, the one-sided one {forward}.\n"
        "3. The central error shrinks by 4 and the one-sided one by about 2. Rounding makes an error of the order of "
        "the rounding unit divided by the step, which grows when the step shrinks.",
        given,
        asked,
    )


def through_time(rng: np.random.Generator) -> Question:
    """Unit 2: the gradient of a recurrent weight, and how fast it vanishes."""
    given = {"r": pick(rng, 0.5, 0.6, 0.8), "x1": pick(rng, 1, 2), "x2": pick(rng, -1, 1), "x3": pick(rng, 1, 3)}
    r, *x = given.values()
    h1 = x[0]
    h2 = r * h1 + x[1]
    h3 = r * h2 + x[2]
    asked = {
        "h2": h2,
        "h3": h3,
        "d3": 1.0,
        "d2": 1 + r,
        "d1": 1 + r * (1 + r),
        "dr": h1 * (1 + r) + h2,
        "n": float(math.ceil(math.log(0.01) / math.log(r))),
    }
    return question(
        "The sum over the steps",
        "A network of one unit without a nonlinearity computes h_t = r h_(t-1) + x_t with h_0 = 0, r = {r} and the "
        "inputs {x1}, {x2}, {x3}. The loss is L = h_1 + h_2 + h_3.\n\n"
        "1. Compute the total derivatives of L with respect to h_3, h_2 and h_1, in this order.\n"
        "2. Compute dL/dr, and say what each term of the sum means.\n"
        "3. After how many steps is less than one percent left of the gradient of a single h_t?\n"
        "4. The unit now has a tanh. Does the number of steps rise or fall? Why?",
        "1. They are {d3}, {d2} and {d1}: what arrives from outside is 1 at each step, and r times the next one is "
        "carried.\n"
        "2. h_1 times {d2} plus h_2 times {d3}, with h_2 = {h2}, is {dr}. The term of step t is the influence of r "
        "through its use at step t alone. That of step 1 is zero, because h_0 is.\n"
        "3. After {n} steps, the smallest n with r^n < 0.01.\n"
        "4. It falls or stays: the slope of tanh is at most 1, so each step multiplies by at most r.",
        given,
        asked,
    )


def lstm(rng: np.random.Generator) -> Question:
    """Unit 3: one step of an LSTM, backward."""
    given = {
        "f": pick(rng, 0.7, 0.8, 0.9),
        "i": pick(rng, 0.3, 0.4),
        "o": pick(rng, 0.5, 0.6),
        "g": pick(rng, -0.5, 0.5),
        "before": pick(rng, 1.0, 2.0),
        "dh": pick(rng, 1.0, 2.0),
        "carried": pick(rng, 0.5, 1.5),
    }
    f, i, o, g, before, dh, carried = given.values()
    c = f * before + i * g
    through_h = dh * o * (1 - math.tanh(c) ** 2)
    dc = carried + through_h
    asked = {
        "c": c,
        "through_h": through_h,
        "dc": dc,
        "dzf": dc * before * f * (1 - f),
        "dzi": dc * g * i * (1 - i),
        "dc_before": dc * f,
        "lost": through_h * f,
        "half": math.log(0.5) / math.log(f),
    }
    return question(
        "The gradient of a cell state",
        "A unit of an LSTM has f = {f}, i = {i}, o = {o}, the candidate {g} and the cell state {before} before the "
        "step. The gradient {dh} arrives at h_t, and {carried} is carried to c_t from the next step.\n\n"
        "1. Compute c_t and the total derivative of the loss with respect to c_t.\n"
        "2. Compute the gradients of the pre-activations of f and of i, and what is carried to c_(t-1) on the "
        "direct path.\n"
        "3. A program forgets the path from h_t to c_t. By how much is the carried gradient wrong?\n"
        "4. After how many steps is half of a gradient left on the direct path if f keeps this value? Which number "
        "would you change before training, and in which direction?",
        "1. c_t = {c}. The total is {carried} + {through_h} = {dc}.\n"
        "2. dz_f = {dzf}, dz_i = {dzi}, and {dc_before} is carried.\n"
        "3. By {lost}, the share {through_h} times f.\n"
        "4. After {half} steps. A larger bias of the forget gate brings f closer to 1.",
        given,
        asked,
    )


def cut(rng: np.random.Generator) -> Question:
    """Unit 4: what truncation loses, and what a GRU keeps."""
    given = {"r": pick(rng, 0.5, 0.8, 0.9), "x": pick(rng, 1, 2), "u": pick(rng, 0.9, 0.95), "n": pick(rng, 10, 20)}
    r, x, u, n = given.values()
    h = [0.0, x, r * x, r**2 * x, r**3 * x]
    terms = [h[t - 1] * r ** (4 - t) for t in range(1, 5)]
    asked = {"full": sum(terms), "window": sum(terms[2:]), "lost": sum(terms[:2]), "kept": u**n}
    return question(
        "What a cut loses",
        "A linear unit h_t = r h_(t-1) + x_t has r = {r}, h_0 = 0, and the inputs {x}, 0, 0, 0. The loss is h_4.\n\n"
        "1. Compute dL/dr as a sum over the steps 1 to 4.\n"
        "2. Training cuts the gradient into windows of two steps: 1 and 2, 3 and 4. The state is handed on. Which "
        "terms are left, and what is their sum?\n"
        "3. Does the error vanish when you average over many sequences of this kind, all with a positive first input?"
        " Give the reason.\n"
        "4. A GRU's update gate keeps u = {u} of the old state at every step. Which share of a gradient is left on "
        "the direct path after {n} steps?",
        "1. The sum of h_(t-1) r^(4-t) over the four steps is {full}.\n"
        "2. Those of steps 3 and 4, which add up to {window}. The terms of steps 1 and 2, together {lost}, are lost. "
        "h_2 still counts as a number in the term of step 3.\n"
        "3. No. The lost terms have the same sign in every such sequence, so their mean is not zero: the error is a "
        "bias.\n"
        "4. u to the power of {n}, which is {kept}.",
        given,
        asked,
    )


def training(rng: np.random.Generator) -> Question:
    """Unit 5: softmax, clipping, lengths."""
    given = {
        "odds": pick(rng, 2, 3, 4),
        "a": pick(rng, 3, 6),
        "b": pick(rng, 4, 8),
        "m": pick(rng, 1, 2),
        "k": 6,
        "t": 10,
    }
    odds, a, b, m, k, t = given.values()
    p = odds / (odds + 1)
    norm = math.hypot(a, b)
    asked = {"p": p, "loss": -math.log(p), "d": p - 1, "e": 1 - p, "norm": norm, "scale": m / norm}
    asked |= {"a_clipped": a * m / norm, "b_clipped": b * m / norm, "wrong": k / t}
    return question(
        "From scores to a step",
        "1. Two classes have the scores log {odds} and 0, and the first one is right. Compute the softmax, the cross-"
        "entropy in nats, and its gradient with respect to both scores.\n"
        "2. Two matrices have gradients of the norms {a} and {b}. They are clipped to the norm {m} together. What are"
        " their norms afterwards? What would clipping each alone change that this does not?\n"
        "3. A sequence of {k} steps is padded to {t}. A program divides the loss by {t} and ignores the padding "
        "otherwise. By what factor is the gradient wrong?\n"
        "4. Say how you would test that padding changes nothing.",
        "1. The softmax is {p} and {e}, the loss {loss}, and the gradient {d} and {e}.\n"
        "2. The norm of both is {norm}, so both are multiplied by {scale} and have {a_clipped} and {b_clipped}. "
        "Clipped alone, they would change the direction of the step.\n"
        "3. It is {wrong} times what it should be.\n"
        "4. Fill the padding with NaN: no result and no gradient may change.",
        given,
        asked,
    )


def paths(rng: np.random.Generator) -> Question:
    """Unit 6: attention, dropout, checkpoints."""
    given = {"odds": pick(rng, 3, 4), "d1": pick(rng, 1.0, 2.0), "d2": pick(rng, -1.0, 0.5), "T": pick(rng, 400, 900)}
    given |= {"rate": pick(rng, 0.2, 0.5), "n": 10}
    odds, d1, d2, T, rate, n = given.values()
    p = odds / (odds + 1)
    mean = p * d1 + (1 - p) * d2
    asked = {"p": p, "e": 1 - p, "s1": p * (d1 - mean), "s2": (1 - p) * (d2 - mean), "segment": math.sqrt(T)}
    asked |= {"states": 2 * math.sqrt(T), "alive": (1 - rate) ** n}
    return question(
        "Shorter paths",
        "1. Attention looks at two states. Their scores give the weights p = {p} and {e}, and the gradients of the "
        "loss with respect to the weights are {d1} and {d2}. Compute the gradients with respect to the scores, and "
        "their sum.\n"
        "2. How many recurrent steps lie between the loss and a state that attention reads, and why does that help?\n"
        "3. Dropout with the rate {rate} draws a new mask for the recurrent state at every step. What is "
        "the probability that a unit is never dropped in {n} steps? Name a way of dropping that keeps the memory.\n"
        "4. A network of {T} steps keeps one array per step. It is trained with checkpoints. How long are the best "
        "segments, and how many arrays are in memory at most, instead of {T}?",
        "1. {s1} and {s2}. Their sum is 0, because a constant added to all scores changes nothing.\n"
        "2. None: the weighted sum is a direct path, so no product of Jacobians lies between them.\n"
        "3. {alive}. One mask for all steps, zoneout, weight drop, or a mask on the candidate alone.\n"
        "4. {segment} steps. {segment} first states and the {segment} arrays of the segment that is computed again are "
        "{states} in all.",
        given,
        asked,
    )


UNITS: dict[int, Callable[[np.random.Generator], Question]] = {
    1: tape, 2: through_time, 3: lstm, 4: cut, 5: training, 6: paths,
}  # fmt: skip


def pick(rng: np.random.Generator, *values: float) -> float:
    """A random choice among these numbers."""
    return float(values[rng.integers(len(values))])


def questions(seed: str) -> dict[int, Question]:
    """The question of each unit, with the numbers of a seed, which can be any text."""
    return {
        unit: make(np.random.default_rng(int.from_bytes(hashlib.sha256(f"{seed}/{unit}".encode()).digest())))
        for unit, make in UNITS.items()
    }


def exam(seed: str) -> tuple[str, str]:
    """The exam and its answers, in Markdown."""
    asked, answered = ["# Exam: how gradients flow through recurrent networks\n"], [f"# Answers, seed {seed}\n"]
    for unit, made in questions(seed).items():
        heading = f"## Question {unit}: {made.title} ({POINTS} points)\n"
        asked += [heading, made.text, ""]
        answered += [heading, made.answer, ""]
    return "\n".join(asked), "\n".join(answered)


def write(folder: Path, seed: str) -> tuple[Path, Path]:
    """Write ``exam.md`` for the students and ``answers.md`` for the teacher."""
    folder.mkdir(parents=True, exist_ok=True)
    files = folder / "exam.md", folder / "answers.md"
    for file, text in zip(files, exam(seed), strict=True):
        with atomic_write(file) as out:
            out.write(text)
    return files
