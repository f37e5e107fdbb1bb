"""One stream of random numbers for all devices.

Numbers are drawn on the host by NumPy's counter-based Philox generator and copied to the device, so the same seed gives
the same weights and dropout masks everywhere.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from minirnn.arguments import check
from minirnn.arguments.messages import shown

_DEFAULT_SEED = 0


class _State(threading.local):
    """Each thread has its own stream, so that threads cannot disturb each other's results."""

    def __init__(self) -> None:
        self.generator = np.random.Generator(np.random.Philox(_DEFAULT_SEED))


_state = _State()


def manual_seed(seed: int) -> np.random.Generator:
    """Restart this thread's stream from `seed`, and return it.

    Raises TypeError or ValueError if `seed` is not an integer of 0 or more.
    """
    _state.generator = np.random.Generator(np.random.Philox(check.integer("manual_seed", "seed", seed, 0)))
    return _state.generator


def generator(op: str = "", given: Any = None) -> np.random.Generator:
    """This thread's stream, which `manual_seed` restarts, unless an `op` was `given` another one.

    Raises TypeError if that is not a generator of NumPy.
    """
    if given is not None and not isinstance(given, np.random.Generator):
        raise TypeError(
            f"{op}: generator is {shown(given)}\n"
            "  expected a numpy.random.Generator, as mr.manual_seed returns, or None"
        )
    return _state.generator if given is None else given


def stream(seed: int, *numbers: int) -> Any:
    """The beginning of the stream that belongs to `seed` and `numbers` (the shard, the step, ...), for `replayed`. It
    is the same everywhere, and independent of the streams of other numbers.
    """
    return np.random.Philox(np.random.SeedSequence(seed, spawn_key=numbers)).state


@contextmanager
def replayed(state: Any) -> Iterator[None]:
    """Inside the block, this thread draws from a stream at `state` (a ``generator().bit_generator.state``)."""
    before = _state.generator
    _state.generator = np.random.Generator(np.random.Philox(_DEFAULT_SEED))
    try:
        _state.generator.bit_generator.state = state
        yield
    finally:
        _state.generator = before
