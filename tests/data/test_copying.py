from __future__ import annotations

import math

import numpy as np
import pytest

from minirnn.data import copy_memory


@pytest.mark.parametrize(("T", "length", "symbols"), [(17, 3, 5), (7, 3, 2), (40, 10, 8)])
def test_string_silence_signal_answer(T, length, symbols):
    blank, signal = symbols, symbols + 1
    x, target, _ = copy_memory(np.random.default_rng(2), T, 11, length=length, symbols=symbols)
    assert x.shape == (T, 11, symbols + 2)
    assert x.dtype == np.float32
    assert target.shape == (T, 11)
    assert target.dtype == np.int64
    assert (np.sort(x, axis=-1)[:, :, :-1] == 0).all()
    assert (x.max(axis=-1) == 1).all()
    for b in range(11):
        heard = [int(x[t, b].argmax()) for t in range(T)]
        string = heard[:length]
        assert all(symbol < symbols for symbol in string)
        assert heard[length:] == [blank] * (T - 2 * length - 1) + [signal] + [blank] * length
        assert target[:, b].tolist() == [blank] * (T - length) + string


def test_all_symbols_occur():
    target = copy_memory(np.random.default_rng(2), 30, 100).target
    assert set(np.unique(target)) == set(range(9))


def test_the_baseline_is_a_guess_among_the_symbols_after_the_signal():
    T, K, S, B = 23, 4, 5, 50_000
    _, target, baseline = copy_memory(np.random.default_rng(2), T, B, length=K, symbols=S)
    # The best prediction that knows only t: the frequencies of each step; its cross entropy is their entropy.
    entropy = 0.0
    for t in range(T):
        p = np.bincount(target[t], minlength=S + 2) / B
        entropy -= sum(q * math.log(q) for q in p if q) / T
    assert math.isclose(baseline, K * math.log(S) / T)
    assert abs(entropy - baseline) < 1e-4  # the plug-in entropy is too low by (S - 1) / 2B per step


def test_too_short_a_sequence_says_what_needs_how_many_steps():
    with pytest.raises(ValueError, match="copy_memory: T is 20\n.*at least 21\n.*10 steps to hear.*1 for the signal"):
        copy_memory(np.random.default_rng(2), 20, 3)
    with pytest.raises(ValueError, match="copy_memory: symbols is 1\n.*at least 2"):
        copy_memory(np.random.default_rng(2), 30, 3, symbols=1)


def test_one_symbol_can_be_held_over_one_step_of_silence():
    x, target, _ = copy_memory(np.random.default_rng(2), 3, 1, length=1)
    assert x[1:, 0].argmax(axis=-1).tolist() == [9, 8]
    assert target[:, 0].tolist() == [8, 8, x[0, 0].argmax()]
