"""Helpers of the engine's tests: leaves, two ops with several outputs, and ops by what their backward needs."""

from collections.abc import Callable
from typing import Any

import numpy as np

import minirnn as mr
from minirnn import ops
from minirnn.engine.outputs import record_many
from minirnn.engine.tape import Op


def leaves(*values: Any) -> list[mr.Tensor]:
    return [mr.tensor(np.asarray(v, np.float64), requires_grad=True) for v in values]


class Both(Op):
    """s, d, n = a + b, a - b, number of a > b. The op with several outputs that the tests use."""

    def backward(self, dy: Any, y: Any, a: Any, b: Any) -> Any:
        assert len(dy) == len(y) == 3 and dy[2] is None
        ds, dd = (g if g is not None else a * 0 for g in dy[:2])
        return ds + dd, ds - dd


BOTH = Both()


def both(a: mr.Tensor, b: mr.Tensor) -> list[mr.Tensor]:
    x, y = a.array, b.array
    return record_many(BOTH, a.device, [x + y, x - y, np.sum(x > y)], (a, b))


class Squares(Op):
    """s, c = a^2, a^3: its backward reads inputs and outputs."""

    def backward(self, dy: Any, y: Any, a: Any) -> Any:
        ds, dc = (g if g is not None else a * 0 for g in dy)
        return (ds * 2 * a + dc * 3 * y[0],)


def squares(a: mr.Tensor) -> list[mr.Tensor]:
    return record_many(Squares(), a.device, [a.array**2, a.array**3], (a,))


NEEDS_INPUT: dict[str, Callable[[Any, Any], Any]] = {
    "multiply": lambda a, w: a * w,
    "divide": lambda a, w: a / w,
    "power": lambda a, w: a**w,
    "constant power": lambda a, w: w**3,
    "matmul": lambda a, w: a @ w,
    "log": lambda a, w: w.log(),
    "absolute": lambda a, w: abs(w),
    "maximum": lambda a, w: ops.maximum(a, w),
    "clip": lambda a, w: w.clip(-1, 1),
    "max": lambda a, w: w.max(),
    "cross_entropy": lambda a, w: ops.cross_entropy(w, [0, 1]),
    "several outputs": lambda a, w: squares(w)[1],
}


NEEDS_NONE: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, w: a + w,
    "subtract": lambda a, w: a - w,
    "negative": lambda a, w: -w,
    "exp": lambda a, w: w.exp(),
    "sqrt": lambda a, w: w.sqrt(),
    "tanh": lambda a, w: w.tanh(),
    "sigmoid": lambda a, w: w.sigmoid(),
    "relu": lambda a, w: w.relu(),
    "softmax": lambda a, w: w.softmax(),
    "log_softmax": lambda a, w: w.log_softmax(),
    "straight-through clip": lambda a, w: w.clip(-0.3, 0.3, straight_through=True),
    "sum": lambda a, w: w.sum(axis=0),
    "where": lambda a, w: ops.where(a > 0, a, w),
    "getitem": lambda a, w: w[[0, 0]],
    "put_add": lambda a, w: ops.put_add((3, 2), ([0, 0],), w),
    "reshape": lambda a, w: w.reshape(-1),
    "transpose": lambda a, w: w.T,
    "broadcast_to": lambda a, w: w.broadcast_to((3, 2, 2)),
    "concat": lambda a, w: ops.concat([a, w]),
    "astype": lambda a, w: w.astype(np.float32),
    "identity": lambda a, w: ops.identity(w),
}
