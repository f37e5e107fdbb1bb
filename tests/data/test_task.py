from __future__ import annotations

import numpy as np
import pytest

from minirnn import data
from minirnn.data.task import check_count

TASKS = [data.adding_problem, data.copy_memory]


@pytest.mark.parametrize("task", TASKS)
def test_the_same_generator_state_gives_the_same_batch(task):
    first = task(np.random.default_rng(7), 31, 5)
    again = task(np.random.default_rng(7), 31, 5)
    other = task(np.random.default_rng(8), 31, 5)
    np.testing.assert_array_equal(first.x, again.x)
    np.testing.assert_array_equal(first.target, again.target)
    assert not np.array_equal(first.x, other.x)


@pytest.mark.parametrize("task", TASKS)
def test_a_task_leaves_numpys_global_random_state_alone(task):
    before = np.random.get_state()[1].copy()
    task(np.random.default_rng(7), 31, 5)
    np.testing.assert_array_equal(np.random.get_state()[1], before)


@pytest.mark.parametrize("task", TASKS)
def test_inputs_are_time_major_float32(task):
    x, _, baseline = task(np.random.default_rng(7), 31, 5)
    assert x.shape[:2] == (31, 5)
    assert x.ndim == 3
    assert x.dtype == np.float32
    assert isinstance(baseline, float)


@pytest.mark.parametrize("task", TASKS)
def test_a_seed_instead_of_a_generator_is_refused_with_the_cure(task):
    with pytest.raises(TypeError, match=rf"{task.__name__}: rng is 7.*\n.*Generator\n.*default_rng\(seed\)"):
        task(7, 31, 5)


@pytest.mark.parametrize("task", TASKS)
def test_sizes_that_make_no_sense_are_refused_by_name(task):
    rng = np.random.default_rng(7)
    with pytest.raises(ValueError, match=f"{task.__name__}: B is 0"):
        task(rng, 31, 0)
    with pytest.raises(ValueError, match=f"{task.__name__}: T is 0"):
        task(rng, 0, 5)
    with pytest.raises(TypeError, match=f"{task.__name__}: T is 31.0"):
        task(rng, 31.0, 5)


def test_a_count_is_at_most_what_an_index_can_be():
    assert check_count("f", "T", 2**62 - 1, 1) == 2**62 - 1
    assert check_count("f", "T", np.int8(3), 3) == 3
    for beyond in (2**62, 2**62 + 1, 2**64):
        with pytest.raises(ValueError, match=r"f: T is .*\n  expected at least 1, and less than 2\*\*62"):
            check_count("f", "T", beyond, 1)
    with pytest.raises(ValueError, match="f: T is 2\n  expected at least 3\n  because"):
        check_count("f", "T", 2, 3, "because")
