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
from tests.peers.samples import array, leaves, outcome  # noqa: E402

OPS: dict[str, list[Any]] = {}
for op in op_db:
    OPS.setdefault(op.name.removeprefix("nn.functional."), []).append(op)
LINES = [name for name in CASES if name in OPS]
WITHOUT_SAMPLES = [
    "addbmm",
    "addmv",
    "logcumsumexp",
    "dist",
    "renorm",
    "cdist",
    "bincount",
    "unique",
    "searchsorted",
    "logspace",
    "gaussian_nll_loss",
]
WITHOUT_SAMPLES += [
    "poisson_nll_loss",
    "margin_ranking_loss",
    "hinge_embedding_loss",
    "cosine_embedding_loss",
    "triplet_margin_loss",
]
"""All samples of torch give these other arguments than their line has."""
MANY = 20


def bound(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any] | None:
    """The letters of a line for torch's arguments, or None for an argument that the line does not have."""
    call = ast.parse(CASES[name][0], mode="eval").body
    assert isinstance(call, ast.Call)
    places = [getattr(node, "id", None) or ast.literal_eval(node) for node in call.args]
    letters = {key: v for key, v in CASES[name][1].items() if not isinstance(v, list)}
    if len(args) > len(places) or isinstance(args[0], (list, tuple)) != (places[0] == "list"):
        return None
    for place, value in zip(places, args, strict=False):
        if isinstance(place, str):
            letters[place] = value
        elif place != value:  # the line is for this number
            return None
    named = {keyword.arg: getattr(keyword.value, "id", None) for keyword in call.keywords}
    for key, value in kwargs.items():
        if named.get(key) is None:
            return None
        letters[named[key]] = value
    needed = {node.id for node in ast.walk(call) if isinstance(node, ast.Name)} - {"torch", "F"}
    return letters if needed <= set(letters) else None


def holds_for(name: str, letters: dict[str, Any]) -> bool:
    """Whether the words before a line, such as "of a matrix:" or "for margin >= 0:", hold for the letters."""
    words, _, rest = answer(name, "nn.functional" if CASES[name][0].startswith("F.") else "")[0].partition(": ")
    operands = list(leaves(list(letters.values()), torch.Tensor))
    if rest and words.startswith("of "):
        axes = [n for word, n in (("vector", 1), ("matri", 2)) if word in words]
        return all(t.ndim in axes if axes else t.ndim > 0 for t in operands)
    if rest and words == "for targets 1 and -1":
        return bool((abs(letters["target"]) == 1).all())
    return not (rest and words.startswith("for ")) or bool(eval(words.removeprefix("for "), letters))


@pytest.mark.parametrize("name", LINES)
def test_a_line_gives_the_values_of_torch_on_its_samples(name: str) -> None:
    found, calls, code = [], 0, compile(line(name), name, "eval")
    for op in OPS[name]:
        dtype = torch.float64 if op.supports_dtype(torch.float64, "cpu") else torch.int64
        for sample in list(op.sample_inputs("cpu", dtype, requires_grad=False))[:MANY]:
            letters = bound(name, (sample.input, *sample.args), sample.kwargs)
            if letters is None or not holds_for(name, letters):
                continue

            def mine(letters: dict[str, Any]) -> Any:
                return eval(code, {"mr": mr, "np": np, "math": math, "F": mr.nn.functional, **letters})

            def theirs(letters: dict[str, Any]) -> Any:
                return eval(CASES[name][0], {"torch": torch, "F": torch.nn.functional, **letters})

            calls += 1
            kind, text = outcome(mine, theirs, (letters,), {})
            shape = tuple(array(sample.input).shape) if isinstance(sample.input, torch.Tensor) else ""
            if kind != "same":
                found.append(f"{name} {kind} {text} of {shape} {sample.args} {sample.kwargs}")
    assert calls or name in WITHOUT_SAMPLES, "no sample has the arguments of the line"
    assert not found, "\n".join(found)[:2000]
