"""What docs/appendix/names_of_torch.md says to write instead, evaluated on the samples of torch's database.

Tests `minirnn/lookup/pointers.py`. `tests/names_of_torch.py` says which argument of torch is which letter of a line.
"""

from __future__ import annotations

import ast
import math
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn.lookup.pointers import answer

pytest.importorskip("torch")
pytest.importorskip("expecttest", reason="could not import 'torch.testing', which needs expecttest")
import torch  # noqa: E402
from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402

from tests.names_of_torch import CASES, line  # noqa: E402
from tests.peers.differences import is_documented  # noqa: E402
from tests.peers.samples import array, leaves, outcome, to_minirnn  # noqa: E402

OPS: dict[str, list[Any]] = {}
for op in op_db:
    OPS.setdefault(op.name.removeprefix("nn.functional."), []).append(op)
LINES = [name for name in CASES if name in OPS]
MANY = 8


def bound(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any] | None:
    """The letters of a line for torch's arguments, or None for an argument that the line does not have."""
    call = ast.parse(CASES[name][0], mode="eval").body
    assert isinstance(call, ast.Call)
    places = [getattr(node, "id", None) for node in call.args]
    letters = dict(CASES[name][1])
    if len(args) > len(places):
        return None
    for place, value in zip(places, args, strict=False):
        if place is None:  # a number of the expression
            return None
        letters[place] = value
    named = {keyword.arg: getattr(keyword.value, "id", None) for keyword in call.keywords}
    for key, value in kwargs.items():
        if named.get(key) is None:
            return None
        letters[named[key]] = value
    return letters if len(args) == len(places) and set(kwargs) == set(named) else None


def holds_for(name: str, operands: list[Any]) -> bool:
    """Whether the words before a line, such as "of a matrix:", hold for Tensors."""
    words, _, rest = answer(name, "nn.functional" if CASES[name][0].startswith("F.") else "")[0].partition(": ")
    axes = {"vector": 1, "matri": 2}
    needed = [n for word, n in axes.items() if rest and word in words]
    return not needed or all(t.ndim == needed[0] for t in operands)


@pytest.mark.parametrize("name", LINES)
def test_a_line_gives_the_values_of_torch_on_its_samples(name: str) -> None:
    found, code = [], compile(line(name), name, "eval")
    for op in OPS[name]:
        dtype = torch.float64 if op.supports_dtype(torch.float64, "cpu") else torch.int64
        for sample in list(op.sample_inputs("cpu", dtype, requires_grad=False))[:MANY]:
            letters = bound(name, (sample.input, *sample.args), sample.kwargs)
            if letters is None or not holds_for(name, list(leaves(list(letters.values()), torch.Tensor))):
                continue

            def mine(*args: Any, letters: dict[str, Any] = letters, **kwargs: Any) -> Any:
                given = {key: to_minirnn(value) for key, value in letters.items()}
                return eval(code, {"mr": mr, "np": np, "math": math, "F": mr.nn.functional, **given})

            kind, text = outcome(mine, op.op, (sample.input, *sample.args), sample.kwargs)
            shape = tuple(array(sample.input).shape) if isinstance(sample.input, torch.Tensor) else ""
            if kind != "same":
                found.append(f"{name} {kind} {text} of {shape} {sample.args} {sample.kwargs}")
    assert all(is_documented(name, "line", text) for text in found), "\n".join(found)[:2000]
