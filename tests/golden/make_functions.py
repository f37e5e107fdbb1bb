"""Write golden data for functions of functions, computed by torch in float64.

Needs torch (CPU is enough); `files.py` says how it is run. Functions and inputs are in `tests/autograd/cases.py`.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import torch
import torch.autograd.functional as F

from tests.autograd.cases import CASES, MAPPINGS, named, results
from tests.golden.files import write_or_check


def weights(shape: tuple[int, ...]) -> np.ndarray:
    """The weights of results: 1.5, -0.5, 2.5, ... in an irregular order, so that a sum notices swaps."""
    return np.cos(np.arange(1, 1 + int(np.prod(shape)))).reshape(shape)


def weigh(y: Any) -> Any:
    return torch.tensor(weights(tuple(y.shape)))


def of_case(name: str) -> dict[str, np.ndarray]:
    case = CASES[name]
    w, xs, vs = case.arrays(name)
    found = results(F, case, torch.tensor(w), [torch.tensor(x) for x in xs], [torch.tensor(v) for v in vs], weigh)
    for function in ("jacobian", "hessian", "vjp", "jvp", "hvp"):
        if any(key.split(".")[0] == function for key in found):
            found |= differentiated(name, function)
    return {key: value.numpy() for key, value in found.items()}


def differentiated(name: str, function: str) -> dict[str, Any]:
    """The gradient of a weighted sum of the results, made with create_graph=True, with respect to w and the inputs."""
    case = CASES[name]
    w, xs, vs = (
        [torch.tensor(a, requires_grad=True) for a in part] if isinstance(part, list) else torch.tensor(part)
        for part in case.arrays(name)
    )
    w.requires_grad_()
    inputs, v = (tuple(xs), tuple(vs)) if case.many else (xs[0], vs[0])
    if function == "vjp":
        y = case.func(w, *xs)
        v = tuple(map(weigh, y)) if isinstance(y, tuple) else weigh(y)
    arguments = (inputs,) if function in ("jacobian", "hessian") else (inputs, v)
    result = getattr(F, function)(lambda *z: case.func(w, *z), *arguments, create_graph=True)
    total = sum((t * weigh(t)).sum() for _, t in named("", result))
    leaves = [w, *xs, *(vs if function in ("jvp", "hvp") else [])]
    gradients = [None] * len(leaves)
    if total.requires_grad:
        gradients = torch.autograd.grad(total, leaves, allow_unused=True)
    return {
        f"{function}.gradient.{k}": torch.zeros_like(t) if g is None else g
        for k, (t, g) in enumerate(zip(leaves, gradients, strict=True))
    }


def tensors(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: tensors(part) for key, part in value.items()}
    return [tensors(part) for part in value] if isinstance(value, list) else torch.tensor(value, requires_grad=True)


def of_mapping(name: str) -> dict[str, np.ndarray]:
    mapping = MAPPINGS[name]
    args = tensors(mapping.arrays(name))
    result = torch.func.vmap(mapping.func, mapping.in_dims, mapping.out_dims)(*args)
    found = dict(named("result", result))
    leaves = dict(named("gradient", args))
    total = sum((t * weigh(t)).sum() for t in found.values())
    found |= dict(zip(leaves, torch.autograd.grad(total, list(leaves.values())), strict=True))
    return {key: value.detach().numpy() for key, value in found.items()}


def main(check: bool | None = None) -> int:
    made = {name: of_case(name) for name in CASES} | {f"vmap_{name}": of_mapping(name) for name in MAPPINGS}
    return write_or_check("functions", made, rtol=1e-12, atol=1e-12, check=check)


if __name__ == "__main__":
    sys.exit(main())
