"""One stream of random numbers: the same seed gives the same numbers."""

import threading
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn.engine.random import generator, replayed


def draw() -> list[float]:
    return generator().standard_normal(4).tolist()


def test_the_same_seed_gives_the_same_numbers_and_another_seed_others() -> None:
    mr.manual_seed(7)
    first, second = draw(), draw()
    mr.manual_seed(7)
    assert draw() == first
    assert draw() == second != first
    mr.manual_seed(8)
    assert draw() != first


def test_manual_seed_returns_the_stream_itself() -> None:
    assert mr.manual_seed(3) is generator()
    assert isinstance(generator().bit_generator, np.random.Philox)


def test_each_thread_has_a_stream_that_starts_from_seed_zero() -> None:
    mr.manual_seed(0)
    expected = draw()
    mr.manual_seed(7)
    results: list[Any] = []

    def work() -> None:
        results.append(draw())
        mr.manual_seed(99)

    for _ in range(3):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert results == [expected] * 3
    after = draw()
    mr.manual_seed(7)
    assert draw() == after


def test_a_negative_seed_is_refused_and_the_stream_goes_on() -> None:
    mr.manual_seed(7)
    expected = draw()
    mr.manual_seed(7)
    with pytest.raises(ValueError, match="manual_seed: seed is -1\n  expected 0 or more"):
        mr.manual_seed(-1)
    assert draw() == expected


def test_a_stretch_of_the_stream_is_replayed_and_the_stream_goes_on_where_it_was() -> None:
    mr.manual_seed(7)
    state = generator().bit_generator.state
    first, second = draw(), draw()
    mr.manual_seed(7)
    draw()
    stream = generator()
    for _ in range(2):
        with replayed(state):
            assert generator() is not stream
            assert draw() == first
    with pytest.raises(KeyError), replayed(state):
        mr.manual_seed(8)
        raise KeyError
    assert generator() is stream
    assert draw() == second
