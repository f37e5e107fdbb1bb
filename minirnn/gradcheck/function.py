"""The function under test: its arguments in float64, its float outputs, its gradients by the tape."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np

from minirnn.engine.backward import grad
from minirnn.engine.tape import enable_grad
from minirnn.engine.tensor import Tensor, tensor


def name_of(fn: Any) -> str:
    return getattr(fn, "__name__", type(fn).__name__)


def promote(fn: Any, inputs: Any) -> tuple[list[str], list[Any], list[int], dict[int, Tensor]]:
    """The names of the arguments; the arguments, floats in float64; the positions of those to be checked; the Tensors
    that require gradients and were copied, by position.

    A float64 leaf is passed on itself and perturbed in place, because `fn` may use it without its argument, as
    ``lambda *p: net(x)`` uses the parameters of `net`.
    """
    if isinstance(inputs, (Tensor, np.ndarray, np.generic)):
        inputs = (inputs,)
    args: list[Any] = []
    checked: list[int] = []
    copied: dict[int, Tensor] = {}
    for k, x in enumerate(inputs):
        if isinstance(x, (Tensor, np.ndarray, np.generic)) and x.dtype.kind == "f":
            if not isinstance(x, Tensor) or x.requires_grad:
                checked.append(k)
            if not (isinstance(x, Tensor) and x.is_leaf and x.requires_grad and x.dtype == np.float64):
                if isinstance(x, Tensor) and k in checked:
                    copied[k] = x
                x = tensor(x, requires_grad=k in checked, dtype=np.float64)
        args.append(x)
    if not checked:
        raise ValueError(
            f"gradcheck: no input requires gradients, got {', '.join(type(x).__name__ for x in args) or 'none'}\n"
            "  expected at least one float array, or float Tensor with requires_grad=True"
        )
    names = [f"input {k}" for k in range(len(args))]
    try:
        parameters = inspect.signature(fn).parameters.values()
    except (ValueError, TypeError):  # some built-in functions have none
        return names, args, checked, copied
    positional = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return (positional + names[len(positional) :])[: len(args)], args, checked, copied


def outputs(fn: Any, args: Sequence[Any]) -> list[Tensor]:
    """The float outputs of ``fn(*args)``, recorded."""
    with enable_grad():
        result = fn(*args)
    ys = list(result) if isinstance(result, (list, tuple)) else [result]
    for y in ys:
        if not isinstance(y, Tensor):
            raise TypeError(f"gradcheck: {name_of(fn)} returned a {type(y).__name__}\n  expected Tensors")
    ys = [y for y in ys if y.dtype.kind == "f"]
    if not ys:
        raise ValueError(f"gradcheck: {name_of(fn)} returned no float Tensor\n  expected at least one")
    return ys


def analytic(ys: Sequence[Tensor], xs: Sequence[Tensor], vs: Sequence[Any], create_graph: bool = False) -> list[Tensor]:
    """The tape's gradient of L = sum <v, y>. Outputs that were not recorded count as constants."""
    pairs = [(y, v) for y, v in zip(ys, vs, strict=True) if y.requires_grad]
    if not pairs:
        return [tensor(np.zeros(x.shape), device=x.device) for x in xs]
    return list(grad([y for y, _ in pairs], xs, [v for _, v in pairs], create_graph=create_graph))


def reached(ys: Sequence[Tensor]) -> set[Tensor]:
    """All Tensors from which the outputs were computed, as the tape has recorded it."""
    found: set[Tensor] = set()
    left = list(ys)
    while left:
        t = left.pop()
        if t not in found:
            found.add(t)
            left += t.parents
    return found


class Gradients:
    """The gradients of `fn`, as a function of its checked inputs and of the cotangents: what order 2 checks."""

    def __init__(self, fn: Any, args: Sequence[Any], checked: Sequence[int]) -> None:
        self.fn, self.args, self.checked = fn, args, checked
        self.__name__ = f"the gradient of {name_of(fn)}"

    def __call__(self, *variables: Tensor) -> list[Tensor]:
        xs, vs = variables[: len(self.checked)], variables[len(self.checked) :]
        args = list(self.args)
        for k, x in zip(self.checked, xs, strict=True):
            args[k] = x
        return analytic(outputs(self.fn, args), xs, vs, create_graph=True)
