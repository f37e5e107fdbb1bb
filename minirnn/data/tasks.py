"""Tasks that need memory: the adding problem and the copy memory task. A function draws a batch of its task."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from minirnn.arguments import check
from minirnn.arguments.messages import shown


class Task(NamedTuple):
    """One random batch of a task; unpacks as ``x, target, baseline = adding_problem(rng, T, B)``.

    Attributes
    ----------
    x : ndarray, float32
        Inputs, time-major (T, B, I).
    target : ndarray
        The values to predict. Shape, dtype and loss depend on the task and are given in its docstring.
    baseline : float
        The expected loss of the best prediction that uses no memory. A network that stays at the baseline has learned
        only the statistics of the task. The further its loss falls below, the more it remembers.
    """

    x: np.ndarray
    target: np.ndarray
    baseline: float


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
    _check_rng("adding_problem", rng)
    T = check.integer("adding_problem", "T", T, 2, meaning="\n  each half of a sequence holds one marked number")
    B = check.integer("adding_problem", "B", B, 1)

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


def copy_memory(rng: np.random.Generator, T: int, B: int, *, length: int = 10, symbols: int = 8) -> Task:
    """Draw a batch of the copy memory task: remember a string during a silence, then repeat it.

    With K = `length` and S = `symbols`, a sequence has four parts. ``.`` is the blank, number S; ``:`` is the signal
    to answer, number S + 1; letters are random data symbols, 0 to S - 1:

        step      0 .. K-1    K .. T-K-2    T-K-1    T-K .. T-1
        x         c a f b     . . . . . .     :       . . . .
        target    . . . .     . . . . . .     .       c a f b

    The string must be remembered for T - K steps. Everything but the last K steps is easy. Raises TypeError or
    ValueError if `rng` is not a Generator, or a size is too small or not a whole number.

    Parameters
    ----------
    rng : numpy.random.Generator
    T : int
        The number of time steps, at least 2 K + 1.
    B : int
        Sequences in the batch.
    length : int
        K, symbols in the string.
    symbols : int
        S, different data symbols, at least 2.

    Returns
    -------
    Task
        ``x`` (T, B, S+2) float32, one-hot; ``target`` (T, B) int64, a class number in 0 .. S at every step (the signal
        is never a target but has a class number, so a network needs S + 2 outputs); ``baseline`` K log(S) / T, a cross
        entropy in nats, averaged over all T steps.

    Notes
    -----
    The baseline predicts the blank with certainty until the signal, and then guesses each of K symbols among S: K
    log(S) nats in T steps.

    Hochreiter and Schmidhuber 1997, "Long Short-Term Memory", introduced tasks of this kind; the form here is that of
    Arjovsky, Shah and Bengio 2016, "Unitary Evolution Recurrent Neural Networks", arXiv:1511.06464. Their T counts only
    the silence: the T here is theirs + 2 K.

    Examples
    --------
    >>> x, target, baseline = copy_memory(np.random.default_rng(0), T=12, B=1, length=3)
    >>> print(*x[:, 0].argmax(axis=-1))
    6 5 4 8 8 8 8 8 9 8 8 8
    >>> print(*target[:, 0])
    8 8 8 8 8 8 8 8 8 6 5 4
    """
    _check_rng("copy_memory", rng)
    length = check.integer("copy_memory", "length", length, 1)
    why = "\n  with a single symbol there is nothing to remember"
    symbols = check.integer("copy_memory", "symbols", symbols, 2, meaning=why)
    why = f"\n  {length} steps to hear the string, 1 for the signal, {length} to say it again"
    T = check.integer("copy_memory", "T", T, 2 * length + 1, meaning=why)
    B = check.integer("copy_memory", "B", B, 1)

    blank, signal = symbols, symbols + 1
    string = rng.integers(0, symbols, size=(length, B))  # (K, B)
    heard = np.full((T, B), blank)
    heard[:length] = string
    heard[T - length - 1] = signal
    target = np.full((T, B), blank, np.int64)
    target[T - length :] = string

    x = np.eye(symbols + 2, dtype=np.float32)[heard]  # (T, B, S+2)
    return Task(x, target, length * math.log(symbols) / T)


def _check_rng(function: str, rng: object) -> np.random.Generator:
    """Return `rng`, or raise TypeError if it is not a NumPy Generator."""
    if not isinstance(rng, np.random.Generator):
        raise TypeError(
            f"{function}: rng is {shown(rng)}, of type {type(rng).__name__}\n"
            "  expected a numpy.random.Generator\n"
            "  numpy.random.default_rng(seed) makes one from a seed"
        )
    return rng
