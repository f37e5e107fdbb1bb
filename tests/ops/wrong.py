"""The wrong calls of a row: those that it lists, and those that follow from what kind of op it is."""

import inspect

import numpy as np

from tests.hostile.table import rows
from tests.hostile.wrong_call import Wrong, tensor
from tests.ops.row import In, Op

X, XT, W, V = tensor(2, 3), tensor(3, 2), tensor(4, 5), tensor(3)
CUBE, NOTHING = tensor(2, 3, 4), tensor(2, 0)
INTS, BOOLS = tensor(2, 3, dtype=np.int64), tensor(2, 3, dtype=np.bool_)
ELSEWHERE, BITS = tensor(2, 3, device="cpu-composed"), tensor(2, 3, dtype=np.int64, device="cpu-composed")
I = np.array([[0, 1, 1], [1, 0, 0]])

TWO = """
ops.NAME(GIVEN, OTHER) -> NAME & a is on cpu, b on cpu-composed & t.to(name)"""
SHAPES = "\nops.NAME(X, W) -> NAME & (2, 3) & (4, 5) & broadcast"
NUMBERS = f"""{SHAPES}
ops.NAME(X, XT) -> NAME & (2, 3) & (3, 2) & likely & transposed
ops.NAME(X, [[1.0], [2.0, 3.0]]) -> tensor & likely a ragged list
ops.NAME(X, None) -> tensor & object"""
LABELLED = {"add", "subtract", "multiply", "divide", "power", "maximum", "minimum"}


def wrong_calls(row: Op) -> list[Wrong]:
    parameters = inspect.signature(row.function).parameters
    text = row.wrong
    if list(parameters) == ["a", "b"] and row.name not in ("matmul", "dot", "mv", "mm", "bmm", "outer"):
        bits = "f" not in row.dtypes
        text += TWO.replace("GIVEN", "INTS" if bits else "X").replace("OTHER", "BITS" if bits else "ELSEWHERE")
        text += NUMBERS if row.name in LABELLED else SHAPES * (not bits)
        text += "".join(f"\nX.{name}(W) -> {name} & (2, 3) & (4, 5) & broadcast" for name in row.names.split())
    if next(iter(parameters)) == "x" and type(row.calls[0].args[0]) is In and len(row.calls[0].args) == 1:
        text += "".join(f'\nops.{name}("one") -> tensor & <U3' for name in (row.name, *row.names.split()))
        text += "\nINTS.NAME() -> NAME & int64 & astype" * (row.dtypes == "f")
    if "axis" in parameters and "dim" in parameters and row.name not in ("max", "min", "unsqueeze"):
        more = {"split": "1, ", "chunk": "1, ", "topk": "1, "}.get(row.name, "")
        first = "[X, X]" if row.name in ("concat", "stack") else "X"
        text += f"\nops.NAME({first}, {more}axis=0, dim=1) -> NAME & axis=0 & dim=1 & torch's name"
    if "keepdims" in parameters and "keepdim" in parameters:
        text += "\nops.NAME(X, keepdims=True, keepdim=True) -> NAME & keepdims & keepdim"
    scope = {**globals(), "NAME": None}
    return rows(scope, text.replace("NAME", row.name))
