"""Nests: what functions take and return, Tensors inside tuples, named tuples, lists and dicts, to any depth."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from minirnn.engine.tensor import Tensor


def is_nest(value: Any) -> bool:
    return isinstance(value, (tuple, list, dict)) and not isinstance(value, Tensor)


def inside(nest: Any) -> Iterator[tuple[Any, Any]]:
    """Keys (or numbers) and values directly inside a nest."""
    return iter(nest.items()) if isinstance(nest, dict) else enumerate(nest)


def leaves_of(value: Any) -> Iterator[Any]:
    """The elements of a nest that are not nests themselves, from left to right."""
    if is_nest(value):
        for _, part in inside(value):
            yield from leaves_of(part)
    else:
        yield value


def mapped(function: Callable[[Any], Any], value: Any) -> Any:
    """The same nest with each leaf replaced by ``function(leaf)``."""
    if not is_nest(value):
        return function(value)
    parts = {key: mapped(function, part) for key, part in inside(value)}
    if isinstance(value, dict):
        # a copy keeps the attributes of a subclass of dict
        same = type(value)() if type(value) is dict else value.copy()
        same.update(parts)
        return same
    if hasattr(value, "_fields"):  # a named tuple
        return type(value)(*parts.values())
    return type(value)(parts.values())


def same_shape(a: Any, b: Any) -> bool:
    """Whether two nests have the same kinds, lengths and keys."""
    if not is_nest(a) or not is_nest(b):
        return not is_nest(a) and not is_nest(b)
    if type(a) is not type(b) or len(a) != len(b):
        return False
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same_shape(a[key], b[key]) for key in a)
    return all(same_shape(p, q) for p, q in zip(a, b, strict=True))
