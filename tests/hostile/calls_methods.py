"""Wrong calls of the methods of a Tensor that are no ops, and of the loss that is one."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.hostile.table import rows
from tests.hostile.wrong_call import tensor

X = tensor(2, 3)
W = tensor(4, 5)
BOOLS = tensor(2, 3, dtype=np.bool_)


def formatted(t: Any, spec: str) -> str:
    return format(t, spec)


ROWS = rows(
    globals(),
    r"""
BOOLS.__pos__() -> positive & bool & numbers
X.view_as(W) -> reshape & (4, 5) & 6
X.reshape_as(W) -> reshape & (4, 5) & 6
X.type_as(np.float64) -> type_as & Tensor
X.new_full((2,), "a") -> full & 'a' & number
X.new_tensor([[1.0], [2.0, 3.0]]) -> tensor & ragged
X.__contains__("a") -> a str & a number or a Tensor
formatted(X, ".3f") -> '.3f' & (2, 3) & one element
X.__round__(2) -> (2, 3) & one element
iter(tensor()) -> iteration & () & one axis
ops.cross_entropy(X, [0.0, 1.0]) -> cross_entropy & float64 & integers
ops.cross_entropy(X, [0, 3]) -> cross_entropy & 0 to 3 & 0 .. 2
ops.cross_entropy(X, [0, -1]) -> cross_entropy & -1 & 0 .. 2
ops.cross_entropy(X, [0]) -> cross_entropy & (1,) & (2,)
ops.cross_entropy([0, 1], X) -> cross_entropy & int64
ops.cross_entropy(tensor(2, 3, 4), np.zeros((2, 4), int)) -> cross_entropy & (2, 4) & (2, 3) & likely
ops.cross_entropy(X, [[0], [1, 2]]) -> cross_entropy & ragged
ops.cross_entropy(tensor(), 0) -> cross_entropy & ()
for NAME in new_zeros/zeros new_ones/ones new_empty/empty:
    X.NAME(2.0, 3) -> WORD & 2.0 & integers
""",
)
