"""Runs one call with torch and with minirnn, and says in one word how the results differ."""

from __future__ import annotations

import traceback
import types
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

import minirnn as mr
from minirnn.lookup.pointers import NotHere

torch.set_num_threads(1)
PACKAGE = str(Path(mr.__file__).parent)
TOLERANCE = {"float64": 1e-9, "float32": 2e-5, "float16": 2e-3}
"""The largest difference, divided by the largest value of both results (at least 1)."""
ORDERS = ["gradient", "second"]


class Difference(Exception):
    """How a result of minirnn differs from torch's: a word of the table in docs/disagreements.md, and details."""


def to_minirnn(value: Any) -> Any:
    """The same argument for minirnn. A Tensor that requires gradients becomes a leaf that does."""
    if isinstance(value, torch.Tensor):
        return mr.tensor(array(value), requires_grad=value.requires_grad)
    if isinstance(value, torch.dtype):
        return str(value).removeprefix("torch.")
    if isinstance(value, torch.device):
        return "cpu"
    if isinstance(value, (torch.memory_format, torch.layout)):
        return getattr(mr, str(value).removeprefix("torch."))
    if isinstance(value, dict):
        return {key: to_minirnn(v) for key, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(map(to_minirnn, value)) if type(value) is list else tuple(map(to_minirnn, value))
    return value


def copied(value: Any) -> Any:
    """The same argument with new leaves. Those of the databases may be views that lose their gradients."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone().requires_grad_(value.requires_grad)
    if isinstance(value, dict):
        return {key: copied(v) for key, v in value.items()}
    return type(value)(map(copied, value)) if type(value) in (list, tuple) else value


def leaves(value: Any, kind: type) -> Iterator[Any]:
    """The Tensors of an argument or result, from left to right."""
    if isinstance(value, kind):
        yield value
    elif isinstance(value, dict):
        yield from leaves(list(value.values()), kind)
    elif isinstance(value, (list, tuple)):
        for v in value:
            yield from leaves(v, kind)


def array(value: Any) -> np.ndarray:
    if isinstance(value, torch.Tensor):
        value = torch.empty_like(value, requires_grad=False).copy_(value.detach()).numpy()
    return np.asarray(value.detach().numpy() if isinstance(value, mr.Tensor) else value)


def compare(kind: str, found: Any, right: Any, tolerance: float | None = None) -> None:
    """Raise a `Difference` unless both have the same structure, shape, dtype and values."""
    if isinstance(right, dict):
        right, found = list(right.values()), [found.get(key) for key in right]
    if isinstance(right, (list, tuple)) and not isinstance(right, torch.Size):
        if not isinstance(found, (list, tuple)) or len(found) != len(right):
            raise Difference("structure", f"{type(found).__name__} instead of {type(right).__name__}")
        for a, b in zip(found, right, strict=True):
            compare(kind, a, b, tolerance)
        return
    if right is None:
        if found is not None:
            raise Difference("structure", f"{type(found).__name__} instead of None")
        return
    a, b = array(found), array(right)
    if a.shape != b.shape:
        raise Difference("shape", f"{a.shape} instead of {b.shape}")
    if a.dtype != b.dtype and isinstance(right, torch.Tensor):
        raise Difference("dtype", f"{a.dtype} instead of {b.dtype}")
    if np.array_equal(a, b, equal_nan=b.dtype.kind == "f"):
        return
    if a.dtype.kind in "fiu":
        a, b = a.astype(np.float64), b.astype(np.float64)
        scale = max(1.0, float(np.max(np.abs(b[np.isfinite(b)]), initial=0.0)))
        close = np.abs(a - b) <= (tolerance or TOLERANCE.get(array(right).dtype.name, 0.0)) * scale
        wrong = ~(close | (a == b) | (np.isnan(a) & np.isnan(b)))
        if not wrong.any():
            return
        a, b = a[wrong], b[wrong]
    raise Difference(kind, f"{a.ravel()[:3]} instead of {b.ravel()[:3]}")


def derivatives(lib: Any, outputs: list[Any], inputs: list[Any], order: int) -> dict[str, Any]:
    """The gradients of random cotangents, and, for order 2, the gradients of a random product of those."""
    found: dict[str, Any] = {}
    for k in range(order):
        rng = np.random.default_rng(k)
        drawn = [lib.tensor(np.asarray(rng.standard_normal(tuple(y.shape)), array(y).dtype)) for y in outputs]
        pairs = [(y, c) for y, c in zip(outputs, drawn, strict=True) if y.requires_grad]
        gradients = [None] * len(inputs)
        if pairs:
            try:
                gradients = lib.autograd.grad(
                    [y for y, _ in pairs], inputs, [c for _, c in pairs], create_graph=k + 1 < order, allow_unused=True
                )
            except RuntimeError as error:
                if lib is torch and "is not implemented" in str(error):
                    return found
                raise
        outputs = [lib.zeros_like(x) if g is None else g for g, x in zip(gradients, inputs, strict=True)]
        found[ORDERS[k]] = outputs
    return found


def outcome(
    mine: Callable[..., Any],
    theirs: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    order: int = 0,
    values: bool = True,
    parameters: tuple[list[Any], list[Any]] = ([], []),
) -> tuple[str, str]:
    """How a call of minirnn ends compared with torch's.

    Parameters
    ----------
    order
        2 to compare gradients and second derivatives also, 1 for gradients alone.
    values
        False for random results, of which shape and dtype are compared.
    parameters
        minirnn's and torch's parameters, whose gradients are also compared.

    Returns
    -------
    The first word is "same", "missing" (minirnn does not have a name), "refused", "crash" or a word of the table in
    docs/disagreements.md; details follow.
    """
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        args, kwargs = copied(args), copied(kwargs)
        try:
            ours = to_minirnn(args), to_minirnn(kwargs)
        except NotHere as error:
            return "missing", str(error)
        inputs = [*leaves((args, kwargs), torch.Tensor), *parameters[1]]
        twins = [*leaves(ours, mr.Tensor), *parameters[0]]
        right = theirs(*args, **kwargs)
        pairs = [(a, b) for a, b in zip(twins, inputs, strict=True) if b.requires_grad]
        outputs = [y for y in leaves(right, torch.Tensor) if y.requires_grad]
        expected = derivatives(torch, outputs, [b for _, b in pairs], order) if pairs and outputs and values else {}
        try:
            found = mine(*ours[0], **ours[1])
            if not values:
                compare("value", mr.zeros_like(found), torch.zeros_like(right))
                return "same", ""
            compare("value", found, right)
            if expected:
                recorded = zip(leaves(found, mr.Tensor), leaves(right, torch.Tensor), strict=True)
                outputs = [a for a, b in recorded if b.requires_grad]
                if not all(y.requires_grad for y in outputs):
                    raise Difference("gradient", "is not recorded")
                gradients = derivatives(mr, outputs, [a for a, _ in pairs], len(expected))
                for kind in expected:
                    compare(kind, gradients[kind], expected[kind], 1e-7 if kind == "second" else None)
        except NotHere as error:
            return "missing", str(error)
        except Difference as difference:
            return difference.args
        except Exception as error:
            return ("refused" if is_own(error) else "crash"), f"{type(error).__name__}: {error}".split("\n")[0][:200]
    return "same", ""


def is_own(error: BaseException) -> bool:
    """True if minirnn raised the error with a sentence; False if it came from Python, NumPy or a formula."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return last.filename.startswith(PACKAGE) and "raise " in (last.line or "")


def with_minirnn(function: Callable[..., Any]) -> Callable[..., Any]:
    """A lambda of torch's database whose name `torch` is minirnn."""
    assert isinstance(function, types.FunctionType)
    seen = {**function.__globals__, "torch": mr, "np": np}
    return types.FunctionType(function.__code__, seen, None, function.__defaults__, function.__closure__)
