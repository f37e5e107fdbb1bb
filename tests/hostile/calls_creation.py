"""Wrong calls of the constructors of Tensors."""

from __future__ import annotations

import numpy as np

from tests.hostile.table import rows
from tests.hostile.wrong_call import tensor

X = tensor(2, 3)
INTS = tensor(2, 3, dtype=np.int64)
SIZED = ("zeros", "ones", "empty", "rand", "randn")
LIKE = ("zeros_like", "ones_like", "empty_like", "rand_like", "randn_like")

ROWS = rows(
    globals(),
    r"""
mr.full((2,), "a") -> full & 'a' & number
mr.full(2.5, (2, 3)) -> full & 2.5 & integers
mr.full((2,), 300, dtype=np.int8) -> full & 300 & int8
mr.full((2,), float("nan"), dtype=np.int64) -> full & nan & int64
mr.full((2,), 10**5000, dtype=np.float32) -> full & bits & a float can hold
mr.full_like(X, "a") -> full & 'a' & number
mr.arange("a") -> arange & 'a' & number
mr.arange(1, 3, 0) -> arange & step 0 & not 0
mr.arange(5, 1) -> arange & start 5, end 1 & leads
mr.arange(float("inf")) -> arange & inf & finite
mr.arange(10**30) -> arange & 2**60
mr.arange(0.0, 1e300, 1e-300) -> arange & 2**60
mr.linspace(0, 1, 2.5) -> linspace & steps is 2.5 & integer
mr.linspace("a", 1, 3) -> linspace & 'a' & number
mr.linspace(0, float("inf"), 3) -> linspace & inf & finite
mr.eye(2.0) -> eye & n is 2.0 & integer
mr.eye(2, -1) -> eye & m is -1 & 0 or more
mr.randint(3) -> randint & no size & randint(high, size)
mr.randint(3, 3, (2,)) -> randint & low is 3, high is 3 & low < high
mr.randint(3.5, (2,)) -> randint & high is 3.5 & integer
mr.randint(300, (2,), dtype=np.uint8) -> randint & 0 .. 299 & uint8
mr.randint(-129, 127, (2,), dtype=np.int8) -> randint & -129 .. 126 & int8
mr.randint(2, (2,), dtype=bool) -> randint & bool
mr.randint(2, (2,), requires_grad=True) -> int64 & float32
mr.randint_like(INTS, 0) -> randint & low is 0, high is 0
mr.randperm(2.5) -> randperm & n is 2.5 & integer
mr.randperm(3, requires_grad=True) -> int64 & float32
for NAME in SIZED:
    mr.NAME() -> NAME & no size & NAME(2, 3)
    mr.NAME(2, size=(3,)) -> NAME & two sizes
    mr.NAME(True) -> NAME & True & integers
    mr.NAME(2, -3) -> NAME & (2, -3) & 0 or more
    mr.NAME(10**5000) -> NAME & 2**60
    mr.NAME(2, device="nowhere") -> 'nowhere' & known
    mr.NAME(2, dtype="float31") -> NAME & float31
    mr.NAME(2, dtype=np.int64, requires_grad=True) -> int64 & float32
for NAME in LIKE:
    mr.NAME("one") -> tensor & <U3
    mr.NAME(X, device="nowhere") -> 'nowhere' & known
for NAME in rand_like/rand randn_like/randn:
    mr.NAME(INTS) -> WORD & int64 & float16
for NAME in rand randn:
    mr.NAME(2, generator=3) -> NAME & 3 & Generator
""",
)
