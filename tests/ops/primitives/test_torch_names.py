"""`dim` and `keepdim`, torch's names for `axis` and `keepdims`.

Tests `minirnn/engine/operands.py` through the public functions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import ops
from tests.compare import assert_same

X = np.float32([[[3, 1, 2], [7, 0, 5]]])

BY_DIM: dict[str, tuple[Any, Any]] = {
    "sum": (lambda t, **k: t.sum(**k), {"dim": 1}),
    "sum of two": (lambda t, **k: ops.sum(t, **k), {"dim": (0, 2)}),
    "mean": (lambda t, **k: t.mean(**k), {"dim": -1}),
    "argmax": (lambda t, **k: t.argmax(**k), {"dim": 1}),
    "softmax": (lambda t, **k: t.softmax(**k), {"dim": 1}),
    "log_softmax": (lambda t, **k: t.log_softmax(**k), {"dim": 1}),
    "concat": (lambda t, **k: ops.concat([t, t], **k), {"dim": 2}),
    "stack": (lambda t, **k: ops.stack([t, t], **k), {"dim": 2}),
    "split": (lambda t, **k: ops.concat(list(t.split([1, 1], **k))[::-1]), {"dim": 1}),
    "squeeze": (lambda t, **k: ops.squeeze(t, **k), {"dim": 0}),
    "expand_dims": (lambda t, **k: ops.expand_dims(t, **k), {"dim": 1}),
}


@pytest.mark.parametrize("name", BY_DIM)
def test_dim_is_axis(name: str) -> None:
    f, named = BY_DIM[name]
    assert_same(f(mr.tensor(X), **named), f(mr.tensor(X), axis=named["dim"]).numpy())
    with pytest.raises(TypeError, match=r"got axis=.* and dim=.*\n  expected one: dim is torch's name for axis"):
        f(mr.tensor(X), axis=named["dim"], **named)


@pytest.mark.parametrize("name", ["sum", "mean", "argmax"])
def test_keepdim_is_keepdims(name: str) -> None:
    f = getattr(mr.tensor(X), name)
    assert f(dim=1, keepdim=True).shape == (1, 1, 3) == f(axis=1, keepdims=True).shape
    assert f(keepdim=True).shape == (1, 1, 1)
    assert f(1, True).shape == (1, 1, 3)
    assert f(1, keepdim=False).shape == (1, 3)
    for theirs in (True, False):
        with pytest.raises(TypeError, match="expected one: keepdim is torch's name for keepdims"):
            f(1, keepdims=False, keepdim=theirs)


def test_without_an_axis_argmax_counts_all_elements() -> None:
    assert mr.tensor(X).argmax().item() == 3
    assert mr.tensor(np.float32(2)).argmax().item() == 0


def test_a_sum_is_made_in_the_dtype_that_is_asked_for() -> None:
    assert_same(mr.tensor(np.float16([60000, 60000])).sum(dtype=np.float32), np.float32(120000))
    assert_same(mr.tensor([1, 2]).mean(dtype=np.float64), np.float64(1.5))


def test_flip_takes_dims() -> None:
    assert_same(ops.flip(mr.tensor(X), dims=(0, 2)), X[::-1, :, ::-1])
    with pytest.raises(TypeError, match="got axis=1 and dim=2"):
        ops.flip(mr.tensor(X), 1, dims=2)
