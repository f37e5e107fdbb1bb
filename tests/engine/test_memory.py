"""The objects that exist after a backward pass, and graphs that are too long for recursion.

Tests `minirnn/engine/tape.py` and `minirnn/engine/backward.py`.
"""

import gc
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import ops
from tests.each import each
from tests.engine.small_ops import NEEDS_INPUT, NEEDS_NONE, both, leaves


@pytest.fixture
def no_gc() -> Iterator[None]:
    """Without the cycle collector, an object is freed only when nothing refers to it."""
    gc.disable()
    yield
    gc.enable()


LONG = 200_000


def chain(x: mr.Tensor, length: int) -> mr.Tensor:
    for _ in range(length // 2):
        x = -(x + x)
    return x


def test_a_long_chain_needs_no_stack_in_backward() -> None:
    x = mr.tensor(0.0, requires_grad=True)
    y = x
    for _ in range(20_000):
        y = -(y + 1.0)
    y.backward()
    assert x.grad.item() == 1


def test_a_long_chain_needs_no_stack_when_it_is_dropped(no_gc: None) -> None:
    """Runs in a thread with a small stack, in which recursion would crash: each level takes 100 bytes or more.

    It is not smaller because Python 3.13 recurses several thousand levels before it puts the rest on a list.
    """
    done = []

    def work() -> None:
        x = mr.tensor(0.0, requires_grad=True)
        y = x
        for _ in range(LONG // 2):
            y = -(y + 1.0)
        first = weakref.ref(y.parents[0])
        del y
        done.append(first() is None)

    old = threading.stack_size(1 << 20)
    try:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(old)
    assert done == [True]


def test_a_long_chain_is_differentiated_twice_without_stack() -> None:
    x = mr.tensor(1.0, requires_grad=True)
    y = x * x
    for _ in range(20_000):
        y = -y
    d = mr.grad(y, x, create_graph=True)
    assert mr.grad(d, x).item() == 2


def test_backward_gives_the_memory_back(no_gc: None) -> None:
    (a,) = leaves(np.ones(1000))
    hidden = a * 2.0
    alive = weakref.ref(hidden)
    values = weakref.ref(hidden.array)
    y = (hidden * hidden).sum()
    del hidden
    assert alive() is not None
    y.backward()
    assert alive() is None and values() is None
    assert y.item() == 4000


def test_results_that_are_not_recorded_keep_nothing_alive(no_gc: None) -> None:
    a = mr.tensor(np.ones(1000))
    hidden = a * 2.0
    alive = weakref.ref(hidden)
    y = hidden.sum()
    del hidden
    assert alive() is None and y.item() == 2000


OPS: dict[str, Callable[[Any, Any], Any]] = {
    **{f"{name}": f for name, f in NEEDS_INPUT.items()},
    **{f"{name}": f for name, f in NEEDS_NONE.items()},
    "several outputs, all": lambda a, w: ops.concat(both(a, w)[:2]),
    "minimum": lambda a, w: ops.minimum(a, w),
    "mean": lambda a, w: w.mean(),
    "stack": lambda a, w: ops.stack([a, w]),
    "split": lambda a, w: ops.chunk(w, 2)[1],
    "embedding": lambda a, w: ops.embedding(w, [1, 1]),
    "hook": lambda a, w: hooked(a * w),
    "retain_grad": lambda a, w: (a * w).retain_grad(),
}


def hooked(t: mr.Tensor) -> mr.Tensor:
    t.register_hook(lambda g: g * 2.0)
    return t


@each("create_graph", [False, True])
@each("name", OPS)
def test_no_op_leaves_a_cycle_behind(no_gc: None, name: str, create_graph: bool) -> None:
    """This holds before and after backward: everything is freed when its last reference is gone."""
    if name == "retain_grad" and create_graph:
        pytest.skip("y.grad was computed from y, and y holds it: that cycle is what was asked for")
    for run_backward in (False, True):
        a, w = leaves([[0.5, 0.8], [0.3, 0.7]], [[0.4, 0.3], [0.2, 0.9]])
        x = w * 1.0
        y = OPS[name](a * 1.0, x)
        z = (y * y).sum()
        watched = [weakref.ref(t) for t in (x, y, z, a, w)]
        if run_backward:
            gs = mr.grad(z, [x, w], create_graph=create_graph)
            watched += [weakref.ref(g) for g in gs]
            del gs
        del a, w, x, y, z
        assert [ref for ref in watched if ref() is not None] == []


def test_grads_kept_on_leaves_make_no_cycle_without_create_graph(no_gc: None) -> None:
    (a,) = leaves([1.0, 2.0])
    y = (a * a).retain_grad()
    (y * y).sum().backward()
    watched = [weakref.ref(t) for t in (a, y, a.grad, y.grad)]
    del a, y
    assert [ref for ref in watched if ref() is not None] == []
