"""The parameters of an optimizer: parameters, or groups of them with their own settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minirnn.engine.operands import all_tensors, iterated
from minirnn.engine.tensor import Tensor

EXPECTED = "a list of Tensors, or module.parameters()"


def groups_of(name: str, params: Any) -> list[dict[str, Any]]:
    """The argument `params` of the optimizer `name` as a list of groups, each a new dict with "params", not yet
    checked.
    """
    found = list(iterated(name, "parameter", params, EXPECTED))
    if not found:
        raise ValueError(
            f"{name}: no parameters\n  expected at least one\n"
            "  likely an iterator that was used up, or a module whose parameters are not nn.Parameter objects"
        )
    if not isinstance(found[0], Mapping):
        return [{"params": found}]
    for k, group in enumerate(found):
        if not isinstance(group, Mapping):
            raise TypeError(f"{name}: group {k} is a {type(group).__name__}\n  expected a dict, like group 0")
    return [dict(group) for group in found]


def parameters_of(name: str, group: Mapping[str, Any]) -> list[Tensor]:
    """The parameters of a group, checked.

    Raises TypeError if they are not Tensors, or they are a set, which has no order, and ValueError if "params" is
    missing, or a parameter is not a leaf or is listed twice.
    """
    if "params" not in group:
        raise ValueError(f"{name}: a group has {', '.join(map(repr, group)) or 'no keys'}\n  expected 'params' in it")
    given = group["params"]
    if isinstance(given, (set, frozenset)):
        raise TypeError(f"{name}: parameters is a {type(given).__name__}, which has no order\n  expected a list")
    found = [given] if isinstance(given, Tensor) else list(iterated(name, "parameter", given, EXPECTED))
    parameters = all_tensors(name, "parameter", found)
    for k, p in enumerate(parameters):
        if p.op is not None:
            raise ValueError(f"{name}: parameter {k} was made by {p.op.name}\n  expected a leaf: detach() it first")
    if len(set(parameters)) < len(parameters):
        raise ValueError(f"{name}: a parameter comes twice\n  expected each once, or it would be changed twice")
    return parameters


def mismatch(optimizer: str, label: str, p: Tensor, g: Tensor) -> Exception:
    """The error for a gradient whose device, dtype or shape differs from that of its parameter."""
    if g.device is not p.device:
        return ValueError(
            f"{optimizer}: {label} is on {p.device.name}, its gradient on {g.device.name}\n  expected one device\n"
            "  likely moved after backward(); compute the gradient again"
        )
    if g.dtype != p.dtype:
        return TypeError(
            f"{optimizer}: {label} has dtype {p.dtype}, its gradient {g.dtype}\n  expected one dtype; use .astype()"
        )
    return ValueError(f"{optimizer}: {label} has shape {p.shape}, its gradient {g.shape}\n  expected one shape")
