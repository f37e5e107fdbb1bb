"""Text that a character model writes, or blanks that it fills in."""

from __future__ import annotations

import numpy as np

import minirnn as mr
from minirnn.train.model import CharModel, blanked

LENGTH = 800
TEMPERATURE = 0.7
"""Below 1, likely characters are preferred: fewer slips, less variety."""


def sample(model: CharModel, prime: np.ndarray, length: int = LENGTH, seed: int = 0) -> np.ndarray:
    """Let a model of one direction read `prime` and go on.

    Each character is drawn from softmax(scores / TEMPERATURE) and read by the model in its turn. The random numbers are
    a stream of their own, so that a sample does not disturb the training.

    Parameters
    ----------
    prime : (N,) ids, N at least 1

    Returns
    -------
    ndarray, (length,) ids
    """
    rng = np.random.Generator(np.random.Philox(seed))
    ids: list[int] = []
    with mr.no_grad():
        scores, state = model(np.asarray(prime)[:, None], model.zero_state(1))
        for _ in range(length):
            z = scores.numpy()[-1, 0].astype(np.float64) / TEMPERATURE
            p = np.exp(z - z.max())
            ids.append(int(rng.choice(len(p), p=p / p.sum())))
            scores, state = model(np.array([ids[-1:]]), state)
    return np.array(ids)


def filled(model: CharModel, text: np.ndarray, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Let a model of two directions fill in blanks: the text (N,) with blanks (id V), and with the likeliest ids."""
    given, where = blanked(text[:, None], model.V, np.random.Generator(np.random.Philox(seed)))
    with mr.no_grad():
        scores, _ = model(given, model.zero_state(1))
    answer = given.copy()
    answer[where] = scores.numpy()[where].argmax(axis=-1)
    return given[:, 0], answer[:, 0]
