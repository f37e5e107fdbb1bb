"""Sine waves: one value does not show where the wave goes, two do."""

from __future__ import annotations

import math

import numpy as np

from minirnn.data.task import Task, check_count, check_rng
from minirnn.messages import shown


def sine_wave(
    rng: np.random.Generator, T: int, B: int, *, periods: tuple[float, float] = (10.0, 30.0), ahead: int = 1
) -> Task:
    """Draw sine waves of random frequency and phase; predict each wave `ahead` steps later.

        x[t, b, 0]      = sin(w_b t + p_b)                 w_b uniform between 2 pi / periods[1] and 2 pi / periods[0]
        target[t, b, 0] = sin(w_b (t + ahead) + p_b)       p_b uniform in [0, 2 pi)

    This is the smallest task with a state: x[t] alone doesn't say whether the wave rises or falls, x[t-1] and x[t]
    together do, once w is known: sin(w (t+1) + p) = 2 cos(w) x[t] - x[t-1]. And w can only be inferred from several
    steps.

    Parameters
    ----------
    rng : numpy.random.Generator
    T : int
        Time steps.
    B : int
        Waves in the batch.
    periods : (float, float)
        Shortest and longest wave in steps, both above 2; the same number twice makes the frequency known.
    ahead : int
        How many time steps ahead the target lies.

    Returns
    -------
    Task
        ``x`` (T, B, 1) float32; ``target`` (T, B, 1) float32; ``baseline`` a mean squared error over all steps.

    Raises
    ------
    TypeError, ValueError
        `rng` is not a Generator; a size is too small or not a whole number; `periods` are not two ascending numbers
        above 2.

    Notes
    -----
    The phase is uniform, so without memory the best prediction from x[t] is m x[t] with m = E[cos(w ahead)],
    and the baseline, its mean squared error, is (1 - m^2) / 2.

    A periodic signal to be continued is an old test of recurrent networks; see Gers, Schraudolph and Schmidhuber 2002,
    "Learning Precise Timing with LSTM Recurrent Networks", JMLR 3, for one where the timing has to be exact.

    Examples
    --------
    >>> x, target, baseline = sine_wave(np.random.default_rng(0), T=40, B=3)
    >>> x.shape, bool(np.allclose(x[1:], target[:-1]))
    ((40, 3, 1), True)
    """
    check_rng("sine_wave", rng)
    T = check_count("sine_wave", "T", T, 1)
    B = check_count("sine_wave", "B", B, 1)
    ahead = check_count("sine_wave", "ahead", ahead, 1, "the value at the step itself is the input")
    try:
        shortest, longest = (float(period) for period in periods)
        if not 2 < shortest <= longest < math.inf:
            raise ValueError
    except (TypeError, ValueError):
        raise ValueError(
            f"sine_wave: periods is {shown(periods)}\n"
            "  expected (shortest, longest), in steps, with 2 < shortest <= longest\n"
            "  a wave of two steps or less can't be told from a slower one"
        ) from None

    slow, fast = 2 * math.pi / longest, 2 * math.pi / shortest
    w = rng.uniform(slow, fast, size=B)  # (B,)
    p = rng.uniform(0, 2 * math.pi, size=B)  # (B,)
    phase = w * np.arange(T)[:, None] + p  # (T, B)
    x = np.sin(phase)[:, :, None].astype(np.float32)
    target = np.sin(phase + w * ahead)[:, :, None].astype(np.float32)

    # m = E[cos(w ahead)] for w uniform in [slow, fast]: the integral of the cosine over the length of the interval.
    if fast > slow:
        m = (math.sin(fast * ahead) - math.sin(slow * ahead)) / ((fast - slow) * ahead)
    else:
        m = math.cos(slow * ahead)
    return Task(x, target, (1 - m * m) / 2)
