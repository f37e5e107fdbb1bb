"""The adding problem: two marked numbers, far apart, and their sum at the end."""

from __future__ import annotations

import numpy as np

from minirnn.data.task import Task, check_count, check_rng


def adding_problem(rng: np.random.Generator, T: int, B: int) -> Task:
    """Draw a batch of the adding problem: add the two numbers that carry a mark.

    Each time step brings a number and a mark, ``x[t, b] = (value, mark)``. The values are uniform in [0, 1). Exactly
    two marks of a sequence are 1, all others 0: one among the first ``T // 2`` steps, one among the rest. After the
    last step the network gives one number:

        target[b] = value[t1, b] + value[t2, b]        t1 < T // 2 <= t2

    So the gradient of the loss has to travel back from step T-1 to step t1, over at least half of the sequence. The
    marks move, so counting steps does not help. Raises TypeError or ValueError if `rng` is not a Generator, or `T` or
    `B` is too small or not a whole number.

    Parameters
    ----------
    rng : numpy.random.Generator
    T : int
        Time steps, at least 2.
    B : int
        Sequences in the batch.

    Returns
    -------
    Task
        ``x`` (T, B, 2) float32; ``target`` (B, 1) float32, to be compared with the output at the last step;
        ``baseline`` 1/6, a mean squared error.

    Notes
    -----
    The baseline always answers 1, the mean. Its error is the variance of the sum of two uniform numbers,
    2 * 1/12 = 1/6. (A network without memory that sees only the last step does slightly better, because that step is
    marked in one of T - T // 2 sequences: 1/6 - 1 / (12 (T - T // 2)).)

    Hochreiter and Schmidhuber 1997, "Long Short-Term Memory", Neural Computation 9(8), experiment 4. They drew values
    from [-1, 1], used sequences of T to 1.1 T steps and a target scaled to [0, 1]. This is the later form, with one
    length and the plain sum: Le, Jaitly and Hinton 2015, arXiv:1504.00941.

    Examples
    --------
    >>> x, target, baseline = adding_problem(np.random.default_rng(0), T=50, B=4)
    >>> x.shape, target.shape
    ((50, 4, 2), (4, 1))
    >>> bool(np.allclose((x[:, :, 0] * x[:, :, 1]).sum(axis=0), target[:, 0]))
    True
    """
    check_rng("adding_problem", rng)
    T = check_count("adding_problem", "T", T, 2, "each half of a sequence holds one marked number")
    B = check_count("adding_problem", "B", B, 1)

    values = rng.random((T, B), dtype=np.float32)  # (T, B)
    t1 = rng.integers(0, T // 2, size=B)  # (B,)
    t2 = rng.integers(T // 2, T, size=B)  # (B,)
    rows = np.arange(B)

    x = np.zeros((T, B, 2), np.float32)
    x[:, :, 0] = values
    x[t1, rows, 1] = 1
    x[t2, rows, 1] = 1
    target = (values[t1, rows] + values[t2, rows])[:, None]  # (B, 1)
    return Task(x, target, 1 / 6)
