"""Sampling text from a character model, and filling in blanks."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import minirnn as mr
from minirnn.arguments.user_error import UserError
from minirnn.train.model import CharModel, blanked

LENGTH = 800
TEMPERATURE = 0.7
"""Below 1, likely characters are preferred: fewer slips, less variety."""
BLANK = "\u2588"
"""How a blank is shown, and how a user writes one."""


def characters(model: CharModel, prime: Any, temperature: float = TEMPERATURE, seed: int = 0) -> Iterator[int]:
    """Let a model with one direction read `prime` and continue it endlessly, one character at a time. Each character is
    drawn from softmax(scores / temperature) and then read by the model. The random numbers have their own stream, so
    that a sample does not disturb the training.

    Parameters
    ----------
    prime : (N,) ids, N at least 1
    temperature : float
        0 always takes the most likely character; 1 uses the model's probabilities; above 1 the text is more random.

    Yields
    ------
    int
        The id of the next character.
    """
    rng = np.random.Generator(np.random.Philox(seed))
    ids, state = np.asarray(prime)[:, None], model.zero_state(1)
    while True:
        with at_work(model), np.errstate(over="ignore", invalid="ignore"):  # `draw` reports scores that are not finite
            scores, state = model(ids, state)
        drawn = draw(scores.numpy()[-1, 0], temperature, rng)
        yield drawn
        ids = np.array([[drawn]])


def draw(scores: np.ndarray, temperature: float, rng: np.random.Generator) -> int:
    """One id, drawn from softmax(scores / temperature); the most likely one if the temperature is 0."""
    z = scores.astype(np.float64)
    if not np.isfinite(z).all():
        raise UserError("the model's scores are not finite: its weights are too large, so nothing can be drawn")
    if temperature == 0:
        return int(scores.argmax())
    with np.errstate(over="ignore"):  # a tiny temperature: all but the largest become -inf, and exp(-inf) is 0
        p = np.exp((z - z.max()) / temperature)
    return int(rng.choice(len(p), p=p / p.sum()))


def sample(
    model: CharModel, prime: Any, length: int = LENGTH, seed: int = 0, temperature: float = TEMPERATURE
) -> np.ndarray:
    """The first `length` ids of `characters`, (length,)."""
    return np.fromiter(itertools.islice(characters(model, prime, temperature, seed), length), np.int64, length)


def filled(model: CharModel, text: np.ndarray, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Blank out some of the text (N,) and fill it in: the text with blanks (id V), and with the most likely ids."""
    given, _ = blanked(text[:, None], model.V, np.random.Generator(np.random.Philox(seed)))
    return given[:, 0], fill_in(model, given[:, 0])


def fill_in(model: CharModel, given: np.ndarray) -> np.ndarray:
    """The ids (N,) with the most likely one at each blank (id V), from a model with two directions."""
    with at_work(model):
        scores, _ = model(given[:, None], model.zero_state(1))
    return np.where(given == model.V, scores.numpy()[:, 0].argmax(axis=-1), given)


@contextmanager
def at_work(model: CharModel) -> Iterator[None]:
    """Inside this block nothing is recorded, and the model is in evaluation: no dropout, no random numbers."""
    training = model.training
    model.eval()
    try:
        with mr.no_grad():
            yield
    finally:
        model.train(training)
