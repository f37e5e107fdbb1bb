"""The cells of the gallery in torch, from the same functions: the reference for minirnn.

A cell's function is run on torch's Tensors with torch's functions, and torch differentiates it. minirnn only
provides the names of the parameters.
"""

import importlib.util
import types
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

GALLERY = Path(__file__).parents[2] / "docs" / "examples" / "cells"
CELLS = sorted(path.stem for path in GALLERY.glob("*.py"))
WITH_KEYS = sorted(path.stem for path in (GALLERY / "with_keys").glob("*.py"))


def gallery(name: str) -> Any:
    """The cell of a file of the gallery."""
    spec = importlib.util.spec_from_file_location(name, next(GALLERY.rglob(f"{name}.py")))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, name)


def torch_functions(matrices: Mapping[str, Any]) -> dict[str, Callable[..., Any]]:
    """torch's functions under the names of a cell's language; `matrices` has those of products (H, H), by name.

    Matrices without a name of the user are used in the order of calls.
    """
    import torch

    def tensors(function: Any) -> Any:
        def call(*args: Any) -> Any:
            like = next(a for a in args if isinstance(a, torch.Tensor))
            return function(*[a if isinstance(a, torch.Tensor) else torch.full_like(like, a) for a in args])

        return call

    class Straight(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, value: Any, x: Any) -> Any:
            return value.clone()

        @staticmethod
        def backward(ctx: Any, d: Any) -> Any:
            return None, d

    def clip(x: Any, low: float, high: float, straight_through: bool = False) -> Any:
        y = torch.clip(x, low, high)
        return Straight.apply(y.detach(), x) if straight_through else y

    def norm(*values: Any, eps: float = 1e-5) -> Any:
        every = torch.cat(values, -1)
        found = torch.nn.functional.layer_norm(every, every.shape[-1:], eps=eps).split(values[0].shape[-1], -1)
        return found if len(found) > 1 else found[0]

    left = iter([a for n, a in matrices.items() if n.startswith("product_")])
    names = ("sigmoid", "tanh", "relu", "exp", "log", "sqrt", "abs", "sin", "cos", "floor", "sign", "erf")
    return {
        **{name: getattr(torch, name) for name in names},
        "where": torch.where,
        "softplus": torch.nn.functional.softplus,
        "maximum": tensors(torch.maximum),
        "minimum": tensors(torch.minimum),
        "clip": clip,
        "straight_through": lambda value, x: Straight.apply(value.detach(), x),
        "unit_mean": lambda v: v.mean(-1, keepdim=True),
        "unit_sum": lambda v: v.sum(-1, keepdim=True),
        "unit_max": lambda v: v.amax(-1, keepdim=True),
        "unit_softmax": lambda v: torch.softmax(v, -1),
        "unit_norm": norm,
        "product": lambda v, matrix=None: v @ (next(left) if matrix is None else matrices[matrix]).T,
    }


def torch_step(cell: Any, matrices: Mapping[str, Any], *args: Any, **kwargs: Any) -> tuple[Any, ...]:
    """The cell's function on torch's Tensors."""
    f = cell.function
    known = torch_functions(matrices)
    cells = f.__closure__ or ()
    scope = dict(zip(f.__code__.co_freevars, [c.cell_contents for c in cells], strict=True))
    scope = {n: types.CellType(known.get(n, v)) for n, v in scope.items()}
    with_torch = types.FunctionType(
        f.__code__, {**f.__globals__, **known}, f.__name__, f.__defaults__, tuple(scope.values())
    )
    with_torch.__kwdefaults__ = {**(f.__kwdefaults__ or {}), **cell.step.constants}
    found = with_torch(*args, **kwargs)
    return found if isinstance(found, tuple) else (found,)


def shapes_of(cell: Any, I: int, H: int, P: int) -> dict[str, tuple[int, ...]]:
    """The weights of a layer by the names of its parameters."""
    gates = list(cell.step.gate_order)
    n_x, n_h = (sum(n[0] in kinds for n in gates) for kinds in ("zx", "zh"))
    shapes: dict[str, tuple[int, ...]] = {}
    if n_x:
        shapes["weight_ih"] = (n_x * H, I)
    if n_h:
        shapes["weight_hh"] = (n_h * H, P)
    shapes["bias"] = (len(gates) * H,)
    if P != H:
        shapes["weight_hr"] = (P, H)
    shapes |= dict.fromkeys(cell.step.matrices, (H, H))
    return shapes | dict.fromkeys(cell.step.vectors, (H,))


def torch_direction(
    cell: Any, w: dict[str, Any], x: Any, states: dict[str, Any], lengths: Any, reverse: bool, masks: dict[str, Any]
) -> tuple[Any, dict[str, Any]]:
    """y (T, B, P) and the last states (B, ..) of one direction. `states` has those that the function reads."""
    import torch

    T, B, _ = x.shape
    step = cell.step
    gates = list(step.gate_order)
    of_x, of_h = [n for n in gates if n[0] in "zx"], [n for n in gates if n[0] in "zh"]
    H = len(w["bias"]) // len(gates)
    output = step.output
    outputs: list[Any] = [None] * T
    names = (*step.user_states, *(() if step.read else (output,)))
    for t in range(T - 1, -1, -1) if reverse else range(T):
        values = dict(zip(gates, w["bias"].split(H), strict=True))
        if of_x:
            for n, part in zip(of_x, (x[t] @ w["weight_ih"].T).split(H, 1), strict=True):
                values[n] = values[n] + part
        if of_h:
            for n, part in zip(of_h, (states[output] @ w["weight_hh"].T).split(H, 1), strict=True):
                values[n] = values[n] + part
        values = {n: v.expand(B, H) for n, v in values.items()} | states | {n: m[t] for n, m in masks.items()}
        matrices = {n: w[n] for n in step.matrices}
        vectors = {n: w[n] for n in step.vectors}
        found = torch_step(cell, matrices, *[values[n] for n in step.positional], **vectors)
        new = dict(zip(names, found, strict=True))
        if "weight_hr" in w:
            new[output] = new[output] @ w["weight_hr"].T
        on = None if lengths is None else torch.as_tensor(t < lengths)[:, None]
        outputs[t] = new[output] if on is None else torch.where(on, new[output], 0.0)
        states = {n: new[n] if on is None else torch.where(on, new[n], states[n]) for n in states}
    return torch.stack(outputs), states
