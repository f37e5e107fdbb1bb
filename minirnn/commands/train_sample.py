"""Text that a character model writes."""

from __future__ import annotations

import numpy as np

import minirnn as mr
from minirnn.commands.train_model import CharModel

LENGTH = 800
TEMPERATURE = 0.6  # below 1, likely characters are preferred: fewer slips, less variety


def sample(model: CharModel, prime: np.ndarray, length: int = LENGTH, seed: int = 0) -> np.ndarray:
    """Let the model read `prime` and go on.

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
    state = model.zero_state(1)
    ids: list[int] = []
    with mr.no_grad():
        for k in prime:
            step = model.step(np.array([k]), state)
            state = step.state
        for _ in range(length):
            z = step.scores.numpy()[0].astype(np.float64) / TEMPERATURE
            p = np.exp(z - z.max())
            ids.append(int(rng.choice(len(p), p=p / p.sum())))
            step = model.step(np.array(ids[-1:]), state)
            state = step.state
    return np.array(ids)
