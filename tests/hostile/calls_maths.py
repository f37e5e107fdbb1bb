"""Wrong calls of the mathematics: extremes, order, scans, statistics, gathering, einsum."""

from __future__ import annotations

import numpy as np

from tests.hostile.table import rows
from tests.hostile.wrong_call import tensor

X = tensor(2, 3)
V = tensor(3)
W = tensor(4, 5)
NOTHING = tensor(2, 0)
BOOLS = tensor(2, 3, dtype=np.bool_)
ELSEWHERE = tensor(2, 3, device="cpu-composed")
I = np.array([[0, 1, 1], [1, 0, 0]])
FUNCTIONS = ("sin", "cos", "tan", "erf", "log1p", "expm1", "square", "reciprocal", "rsqrt")
STEPS = ("floor", "ceil", "round", "trunc")
TRUTHS = ("isnan", "isinf", "isfinite")
REDUCTIONS = ("any", "all", "count_nonzero", "prod", "amax", "amin", "logsumexp", "var", "std", "var_mean")
ORDER = ("sort", "argsort")

ROWS = rows(
    globals(),
    r"""
ops.round(X, "two") -> round & decimals & 'two' & integer
ops.topk(X, 4) -> topk & 4 & 0 .. 3 & (2, 3)
ops.topk(X, 1.5) -> topk & 1.5 & integer
ops.topk(X, 1, 2) -> topk & axis 2
ops.cumsum(X) -> cumsum & no axis & dim=0
ops.diff(X, -1) -> diff & -1 & 0 or more
ops.diff(X, 1, 0, W) -> (2, 3) & (4, 5)
ops.var(X, correction="one") -> var & 'one' & number
ops.norm(X, "nuc") -> norm & 'nuc' & singular
ops.norm(X, [2]) -> norm & [2] & number
ops.gather(X, 0, [[0.5]]) -> gather & float64 & integers
ops.gather(X, 1, [0, 1]) -> gather & (2,) & 2 axes & unsqueeze
ops.gather(X, 1, [[0], [0], [0]]) -> gather & (3, 1) & (2, 3) & axis 0
ops.gather(X, 1, [[-1]]) -> raises IndexError: gather & -1 & 0 .. 2
ops.gather(X, 2, I) -> gather & axis 2
ops.take_along_axis(X, [[0, 3]], 1) -> raises IndexError: 0 to 3 & 0 .. 2
ops.take_along_dim(X, [[0, 3]], 1) -> raises IndexError: 0 to 3 & 0 .. 2
ops.index_select(X, 0, I) -> index_select & (2, 3) & one axis
ops.index_select(X, 1, [5]) -> raises IndexError: index_select & 5 & 0 .. 2
ops.index_select(X, 1, [0.0]) -> index_select & float64 & integers
ops.scatter(X, 0, I, ELSEWHERE) -> scatter & different devices
ops.scatter_add((2, 3), (np.array([0]),), array(1, 3), array(1, 3)) -> scatter_add & dim & (x, dim, index, src)
ops.einsum(3, X) -> einsum & 3 & text
ops.einsum("ij,jk->ik", X) -> einsum & 1 operands & expected 2
ops.einsum("ijk->i", X) -> einsum & 'ijk' & (2, 3) & 2 axes
ops.einsum("i->i", X) -> einsum & 'i' & (2, 3)
ops.einsum("ij,jk->ik", X, W) -> einsum & 'j' & 3 and 4 & equal
ops.einsum("ii", X) -> einsum & 'i' & [2, 3] & equal
ops.einsum("ij->k", X) -> einsum & 'k' & no operand
ops.einsum("ij->ii", X) -> einsum & twice
ops.einsum("i*->i", X) -> einsum & 'i*' & letters
ops.einsum("ij,ij->i", X, ELSEWHERE) -> einsum & different devices & operand 1
ops.clamp(X) -> clamp & no bound & min, max or both
ops.clamp(X, "low") -> clamp & min & 'low' & number
ops.clamp(X, None, "nan") -> clamp & max is
ops.clamp_min(X, "low") -> clamp & min & 'low' & number
ops.clamp_max(X, "high") -> clamp & max & 'high' & number
ops.dot(X, V) -> dot & (2, 3) & (3,) & two vectors
ops.mv(V, V) -> mv & (3,) & a matrix
ops.mm(X, V) -> mm & (2, 3) & (3,) & two matrices
ops.bmm(X, X) -> bmm & (2, 3) & batches
ops.bmm(tensor(2, 3, 4), tensor(1, 4, 3)) -> bmm & (2, 3, 4) & (1, 4, 3) & one size
ops.outer(X, V) -> outer & (2, 3) & two vectors
for NAME in FUNCTIONS STEPS TRUTHS REDUCTIONS ORDER min argmin norm diff:
    ops.NAME("one") -> tensor & <U3
for NAME in STEPS clamp:
    ops.NAME(BOOLS) -> NAME & bool
for NAME in REDUCTIONS ORDER argmin max min cumsum cumprod:
    ops.NAME(X, 2) -> NAME & axis 2 & -2 .. 1
for NAME in REDUCTIONS ORDER argmin max min cumsum cumprod norm diff:
    ops.NAME(X, axis=0, dim=1) -> NAME & axis=0 & dim=1 & expected one
for NAME in REDUCTIONS argmin max min norm:
    ops.NAME(X, keepdims=True, keepdim=True) -> NAME & keepdims & keepdim
for NAME in max min amax amin argmin:
    ops.NAME(NOTHING, 1) -> NAME & (2, 0) & at least one
for NAME in max min:
    ops.NAME(X, dim=(0, 1)) -> NAME & (0, 1) & integer & aNAME
    ops.NAME(X, X, dim=1) -> NAME & by position
    ops.NAME(X, 0, True, 1) -> NAME & 4 arguments
    ops.NAME(X, 0, axis=1) -> NAME & axis=1
    ops.NAME(X, W) -> (2, 3) & (4, 5) & broadcast
for NAME in var std var_mean:
    ops.NAME(X, unbiased=True, correction=0) -> NAME & unbiased=True & correction=0 & one of the two
for NAME in scatter scatter_add:
    ops.NAME(X, 0, I, tensor(2, 2)) -> NAME & src & (2, 2) & (2, 3)
    ops.NAME(X, 0, I, array(2, 3, dtype=np.float64)) -> NAME & float64 & float32
    ops.NAME(X, 0, [[0, 7]], X) -> raises IndexError: NAME & 0 to 7 & 0 .. 1
""",
)
