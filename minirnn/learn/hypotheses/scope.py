"""The values that an expression can use when a statement is reached, and those among them that are alike."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

import numpy as np

from minirnn.learn.hypotheses.edits import Site, text_of


def pool(site: Site) -> dict[str, Any]:
    """The values that an expression can use at this place: variables, and their elements at the current step."""
    found: dict[str, Any] = {}
    known = {*site.program.parameters} | {name for s in site.program.every.values() for name in s.target.split(", ")}
    for name in sorted(known & set(site.env), key=list(site.env).index):
        value = site.env[name]
        is_number = isinstance(value, np.ndarray | float | int | np.number) and not isinstance(value, bool)
        if is_number and not np.isnan(value).any():  # the outputs of a CUDA kernel are still empty
            found[name] = value
    if not site.step.loops:  # before and after a loop over the steps of an array, its ends are available
        for name, value in list(found.items()):
            if np.ndim(value) == 3:
                found |= {f"{name}[0]": value[0], f"{name}[-1]": value[-1]}
    for t in site.step.loops:
        if isinstance(site.env.get(t), int):
            for name, value in list(found.items()):
                if np.ndim(value) > 1 and len(value) > site.env[t]:
                    found[f"{name}[{t}]"] = value[site.env[t]]
    return found


def kind_of(value: Any) -> Any:
    """The shape of a number or array, and whether it is an integer; None if it is neither."""
    return (np.shape(value), np.asarray(value).dtype.kind in "iub") if value is not None else None


def alike(site: Site, node: ast.expr, among: Mapping[str, Any]) -> list[str]:
    """The names of values that have the shape of `node` (or differ only in the batch axis) and a different value."""
    text = text_of(node)
    kind = kind_of(site.evaluate(text))
    if kind is None:
        return []
    shape, counts = kind
    whole = np.shape(site.evaluate(text_of(site.value)))
    found = []
    for name, value in among.items():
        other, also = kind_of(value)
        fits = other == shape or (shape and other == whole and whole[-len(shape) :] == shape)
        if counts == also and name != text and (fits or (other and shape[-len(other) :] == other)):
            found.append(name)
    return found
