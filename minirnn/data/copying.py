"""The copy memory task: repeat ten symbols long after they were read."""

from __future__ import annotations

import math

import numpy as np

from minirnn.data.task import Task, check_count, check_rng


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
    check_rng("copy_memory", rng)
    length = check_count("copy_memory", "length", length, 1)
    symbols = check_count("copy_memory", "symbols", symbols, 2, "with a single symbol there is nothing to remember")
    why = f"{length} steps to hear the string, 1 for the signal, {length} to say it again"
    T = check_count("copy_memory", "T", T, 2 * length + 1, why)
    B = check_count("copy_memory", "B", B, 1)

    blank, signal = symbols, symbols + 1
    string = rng.integers(0, symbols, size=(length, B))  # (K, B)
    heard = np.full((T, B), blank)
    heard[:length] = string
    heard[T - length - 1] = signal
    target = np.full((T, B), blank, np.int64)
    target[T - length :] = string

    x = np.eye(symbols + 2, dtype=np.float32)[heard]  # (T, B, S+2)
    return Task(x, target, length * math.log(symbols) / T)
