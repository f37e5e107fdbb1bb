import math

import numpy as np
import pytest

from minirnn.data import adding_problem, copy_memory

TASKS = [adding_problem, copy_memory]


@pytest.mark.parametrize("task", TASKS)
def test_the_same_generator_state_gives_the_same_batch(task):
    first = task(np.random.default_rng(7), 31, 5)
    again = task(np.random.default_rng(7), 31, 5)
    other = task(np.random.default_rng(8), 31, 5)
    np.testing.assert_array_equal(first.x, again.x)
    np.testing.assert_array_equal(first.target, again.target)
    assert not np.array_equal(first.x, other.x)


@pytest.mark.parametrize("task", TASKS)
def test_inputs_are_time_major_float32(task):
    x, _, baseline = task(np.random.default_rng(7), 31, 5)
    assert x.shape[:2] == (31, 5)
    assert x.ndim == 3
    assert x.dtype == np.float32
    assert isinstance(baseline, float)


@pytest.mark.parametrize("T", [2, 3, 10, 11])
def test_one_mark_in_each_half_and_their_values_add_up_to_the_target(T):
    x, target, _ = adding_problem(np.random.default_rng(1), T, 200)
    assert x.shape == (T, 200, 2)
    assert target.shape == (200, 1)
    assert target.dtype == np.float32
    for b in range(200):
        marked = [t for t in range(T) if x[t, b, 1] == 1]
        assert sum(x[t, b, 1] != 0 for t in range(T)) == 2
        assert len(marked) == 2
        assert marked[0] < T // 2 <= marked[1]
        assert target[b, 0] == x[marked[0], b, 0] + x[marked[1], b, 0]


def test_every_place_of_each_half_gets_marked():
    x, _, _ = adding_problem(np.random.default_rng(1), 7, 500)
    assert (x[:, :, 1].sum(axis=1) > 0).all()


def test_values_fill_the_unit_interval():
    values = adding_problem(np.random.default_rng(1), 50, 100).x[:, :, 0]
    assert values.min() >= 0
    assert values.max() < 1
    assert abs(values.mean() - 0.5) < 0.02  # 5000 numbers: five standard errors


def test_the_baseline_is_the_error_of_the_best_constant():
    _, target, baseline = adding_problem(np.random.default_rng(1), 20, 100_000)
    assert baseline == 1 / 6
    assert abs(target.var() - baseline) < 0.004  # five standard errors of a variance from 100 000 samples
    assert abs(((target - 1) ** 2).mean() - baseline) < 0.004


def test_seeing_only_the_last_step_wins_what_the_docstring_says():
    T = 4
    x, target, baseline = adding_problem(np.random.default_rng(1), T, 100_000)
    value, mark = x[-1].T
    best = np.where(mark == 1, value + 0.5, 1.0)  # the other number is 0.5 on average
    error = ((target[:, 0] - best) ** 2).mean()
    assert abs(error - (baseline - 1 / (12 * (T - T // 2)))) < 0.004
    assert error < baseline - 0.03


def test_a_batch_may_be_one_sequence():
    assert adding_problem(np.random.default_rng(1), 2, 1).x.shape == (2, 1, 2)


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
    with pytest.raises(ValueError, match="T is 20\n  expected 21 or more\n  10 steps to hear.*1 for the signal"):
        copy_memory(np.random.default_rng(2), 20, 3)


def test_one_symbol_can_be_held_over_one_step_of_silence():
    x, target, _ = copy_memory(np.random.default_rng(2), 3, 1, length=1)
    assert x[1:, 0].argmax(axis=-1).tolist() == [9, 8]
    assert target[:, 0].tolist() == [8, 8, x[0, 0].argmax()]
