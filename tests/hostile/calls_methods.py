"""Wrong calls of the methods of a Tensor that have torch's names, and of the ops behind them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.hostile.table import rows
from tests.hostile.wrong_call import tensor

X = tensor(2, 3)
W = tensor(4, 5)
CUBE = tensor(2, 3, 4)
INTS = tensor(2, 3, dtype=np.int64)
BOOLS = tensor(2, 3, dtype=np.bool_)
ELSEWHERE = tensor(2, 3, device="cpu-composed")


def formatted(t: Any, spec: str) -> str:
    return format(t, spec)


SAME = ("maximum", "minimum", "floor_divide", "remainder")
OTHER = (
    *("add/add", "sub/subtract", "mul/multiply", "div/divide", "pow/power"),
    *("eq/equal", "ne/not_equal", "lt/less", "le/less_equal", "gt/greater", "ge/greater_equal"),
)
BITS = ("bitwise_and", "bitwise_or", "bitwise_xor")
LOGICAL = ("logical_and", "logical_or", "logical_xor")

METHODS = rows(
    globals(),
    r"""
INTS.floor_divide(0) -> floor_divide & integers & 0 & without zeros
INTS.remainder(INTS * 0) -> remainder & integers & 0 & without zeros
BOOLS.floor_divide(BOOLS) -> floor_divide & bool & numbers
BOOLS.remainder(BOOLS) -> remainder & bool & numbers
X.bitwise_not() -> bitwise_not & float32 & bools or integers
ops.logical_not("a") -> <U1
BOOLS.neg() -> negative & bool
BOOLS.__pos__() -> positive & bool & numbers
X.matmul(W) -> matmul & (2, 3) & (4, 5) & 3 and 4
for NAME in OTHER SAME:
    X.NAME(W) -> WORD & (2, 3) & (4, 5) & broadcast
for NAME in BITS:
    INTS.NAME(INTS[:, 0]) -> NAME & (2, 3) & (2,) & broadcast
    X.NAME(INTS) -> NAME & float32 & bools or integers
    BOOLS.NAME("a") -> <U1
for NAME in LOGICAL:
    X.NAME(W) -> NAME & (2, 3) & (4, 5) & broadcast
    BOOLS.NAME("a") -> <U1
X.view(np.float64) -> view & float64 & sizes & likely astype
X.view(4, 2) -> reshape & (4, 2) & 6
X.permute(1) -> transpose & (1,) & 2 axes
X.permute(0, 0) -> transpose & (0, 0) & once
X.swapaxes(0, 2) -> transpose & axis 2
X.swapdims(0, "a") -> transpose & 'a' & integer
X.transpose(dim0=0) -> transpose & (0,) & 2 axes
X.transpose(dim1=0) -> transpose & None & integer
X.movedim((0, 1), 0) -> movedim & (0, 1) & as many places
X.moveaxis(5, 0) -> movedim & axis 5
ops.matrix_transpose(tensor(3)) -> mT & (3,) & matrix
CUBE.t() -> t: & (2, 3, 4) & two axes
X.unsqueeze() -> expand_dims & None & integer
X.unsqueeze(1, axis=0) -> unsqueeze & axis=0 & dim=1
X.squeeze(2) -> squeeze & axis 2 & -2 .. 1
X.flatten(1, 0) -> flatten & start_dim 1 & end_dim 0 & (2, 3)
X.flatten("a") -> flatten & 'a' & integer
X.ravel(7) -> flatten & axis 7
X.unflatten(1, (2, 2)) -> unflatten & (2, 2) & (2, 3) & product is 3
X.unflatten(1, (-1, -1)) -> unflatten & (-1, -1)
X.expand(-1, 2, 3) -> broadcast_to & (-1, 2, 3)
X.expand_as(W) -> broadcast_to & (2, 3) & (4, 5)
X.repeat(2) -> repeat & (2,) & (2, 3) & 2 or more
X.repeat(1.5, 1) -> repeat & 1.5 & integers
X.tile(-1) -> repeat & (1, -1) & none negative
X.flip() -> flip & None & integer
X.narrow(1, 1, 3) -> narrow & start 1, length 3 & (2, 3) & 0 .. 3
X.narrow(1, 1.5, 1) -> narrow & start is 1.5 & an integer
X.roll((1, 2)) -> roll & (1, 2) & one shift
X.roll((1, 2), 0) -> roll & (1, 2) & as many
X.view_as(W) -> reshape & (4, 5) & 6
X.reshape_as(W) -> reshape & (4, 5) & 6
ops.tril(tensor(3)) -> tril & (3,) & matrix
X.tril(0.5) -> tril & 0.5 & integer
ops.triu(tensor(3)) -> triu & (3,) & matrix
X.triu(True) -> triu & True & integer
X.unbind(2) -> unbind & axis 2
tensor().unbind() -> unbind & 0 axes
X.chunk(0) -> chunk & 0 & 1 or more
X.chunk(1, 0, dim=1) -> chunk & axis=0 & dim=1
X.masked_fill(X, 0.0) -> masked_fill & float32 & bool
X.masked_fill(W > 0, 0.0) -> masked_fill & (4, 5) & (2, 3) & broadcast
X.masked_fill(X > 0, tensor(3)) -> masked_fill & (3,) & number
X.where(X, X) -> where & float32 & bool
X.type_as(np.float64) -> type_as & Tensor
X.to() -> to: got nothing & a device, a dtype
X.to(np.float64, np.float32) -> to: got the dtypes & one
X.to(np.complex64) -> complex64 & float16/32/64
X.new_full((2,), "a") -> full & 'a' & number
X.new_tensor([[1.0], [2.0, 3.0]]) -> tensor & ragged
X.__contains__("a") -> a str & a number or a Tensor
formatted(X, ".3f") -> '.3f' & (2, 3) & one element
X.__round__(2) -> (2, 3) & one element
iter(tensor()) -> iteration & () & one axis
for NAME in new_zeros/zeros new_ones/ones new_empty/empty:
    X.NAME(2.0, 3) -> WORD & 2.0 & integers
""",
)

OTHERS = rows(
    globals(),
    r"""
ops.abs("one") -> tensor & <U3
ops.clone("one") -> tensor & <U3
ops.cat([]) -> concat & empty
ops.concatenate(X) -> concat & Tensor & list
X.masked_fill(ELSEWHERE > 0, 0.0) -> x is on cpu, mask on cpu-composed
for NAME in BITS LOGICAL:
    BOOLS.NAME(ELSEWHERE > 0) -> NAME & a is on cpu, b on cpu-composed
for NAME in floor_divide remainder:
    X.NAME(ELSEWHERE) -> NAME & a is on cpu, b on cpu-composed
""",
)

ROWS = [*METHODS, *OTHERS]
