"""Wrong calls of the primitive ops."""

from __future__ import annotations

import numpy as np

from tests.hostile.table import rows
from tests.hostile.wrong_call import tensor

X = tensor(2, 3)
XT = tensor(3, 2)
W = tensor(4, 5)
INTS = tensor(2, 3, dtype=np.int64)
BOOLS = tensor(2, 3, dtype=np.bool_)
ELSEWHERE = tensor(2, 3, device="cpu-composed")
PAIRS = ("add", "subtract", "multiply", "divide", "power", "maximum", "minimum")
COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
FLOAT_ONLY = ("exp", "log", "sqrt", "tanh", "sigmoid", "relu", "softmax", "log_softmax")
ANY = ("absolute", "sign", "negative", "identity", "sum", "mean", "max", "argmax", "transpose")

ROWS = rows(
    globals(),
    r"""
ops.subtract(BOOLS, BOOLS) -> subtract & bool
X.__add__("a") -> tensor & <U1
X.__mul__(1j) -> complex128
X.__add__(10**400) -> raises OverflowError: 1329 bits & float32
INTS.__pow__(-1) -> power & int64 to the power -1 & floats
INTS.__pow__(INTS - INTS - 1) -> power & int64 to the power -1 & floats
ops.matmul(X, X) -> matmul & (2, 3) & likely the second operand is transposed
ops.matmul(X, 2.0) -> matmul & () & one axis
ops.matmul(tensor(2, 3, 4), tensor(5, 4, 2)) -> matmul & (2, 3, 4) & (5, 4, 2)
ops.matmul(XT, ELSEWHERE) -> matmul & a is on
ops.matmul(X, array(4)) -> matmul & (4,) & 3 and 4
ops.matmul(X, "w") -> tensor & <U1
ops.clip(X, 2, 1) -> clip & 2 & 1 & low <= high
ops.where(X, X, X) -> where & float32 & bool
ops.where(X > 0, X, W) -> where & (2, 3) & (4, 5)
ops.where(X > 0, X, ELSEWHERE) -> where & condition is on cpu, a on cpu, b on cpu-composed
ops.astype(X, None) -> astype & None
ops.to(X, "nowhere") -> 'nowhere' & known
ops.embedding(W, [0.0, 1.0]) -> embedding & float64 & integers
ops.embedding(tensor(4), [0]) -> embedding & (4,) & (V, I)
ops.getitem(X, 0.5) -> 0.5 & integers
ops.put_add((2, 3), (np.array([7]),), array(1, 3)) -> raises IndexError: put_add & (2, 3) & 7
ops.put_add((2, 3), (np.array([0, 1]),), W) -> put_add & (4, 5) & (2, 3)
ops.put_add((2.0, 3), (np.array([0]),), array(1, 3)) -> put_add & 2.0
ops.concat([X], X) -> concat & integer
ops.concat([X, ELSEWHERE]) -> concat & tensor 0 is on cpu, tensor 1 on
ops.concat([X, "a"]) -> <U1
ops.stack([X, XT]) -> stack & (2, 3) & (3, 2) & equal
ops.stack([X, X], 3) -> stack & axis 3
ops.stack([X, ELSEWHERE]) -> different devices
ops.split(X, 1.5) -> split & 1.5
ops.reshape(X, ["a"]) -> reshape & 'a'
ops.reshape(X, (10**30, 10**30)) -> reshape & 6 elements
ops.broadcast_to(X, (10**12, 10**12, 10**12, 2, 3)) -> broadcast_to & (2, 3)
ops.expand_dims(X, 3) -> expand_dims & axis 3
ops.squeeze(X, 2) -> squeeze & axis 2
ops.flip(X, (0, -2)) -> flip & (0, -2) & at most once
ops.split(X, 1, 0, dim=1) -> split & axis=0 & dim=1
ops.flip(X, 0, dims=1) -> flip & axis=0 & dim=1
ops.transpose(X, "T") -> transpose & 'T'
ops.transpose(X, 1) -> transpose & 1
ops.cross_entropy(X, [0.0, 1.0]) -> cross_entropy & float64 & integers
ops.cross_entropy(X, [0, 3]) -> cross_entropy & 0 to 3 & 0 .. 2
ops.cross_entropy(X, [0, -1]) -> cross_entropy & -1 & 0 .. 2
ops.cross_entropy(X, [0]) -> cross_entropy & (1,) & (2,)
ops.cross_entropy([0, 1], X) -> cross_entropy & int64
ops.cross_entropy(tensor(2, 3, 4), np.zeros((2, 4), int)) -> cross_entropy & (2, 4) & (2, 3) & likely
ops.cross_entropy(X, [[0], [1, 2]]) -> cross_entropy & ragged
ops.cross_entropy(tensor(), 0) -> cross_entropy & ()
for NAME in PAIRS COMPARISONS:
    ops.NAME(X, W) -> NAME & (2, 3) & (4, 5) & broadcast
    ops.NAME(X, ELSEWHERE) -> NAME & a is on cpu, b on cpu-composed & t.to(name)
for NAME in PAIRS:
    ops.NAME(X, XT) -> NAME & (2, 3) & (3, 2) & likely & transposed
    ops.NAME(X, [[1.0], [2.0, 3.0]]) -> tensor & likely a ragged list
    ops.NAME(X, None) -> tensor & object
for NAME in FLOAT_ONLY ANY:
    ops.NAME("one") -> tensor & <U3
for NAME in sum mean argmax softmax log_softmax squeeze expand_dims:
    ops.NAME(X, axis=1, dim=0) -> NAME & axis=1 & dim=0 & torch's name
for NAME in sum mean argmax:
    ops.NAME(X, keepdims=True, keepdim=True) -> NAME & keepdims & keepdim
""",
)
