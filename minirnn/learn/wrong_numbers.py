"""Describes which numbers of an output are wrong: a step, a gate, the rows of x, all but the first block."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

GATES = {4: ("i", "ci", "f", "o"), 3: ("r", "z", "n"), 2: ("r", "u")}
AXES = {"T": "step", "B": "sample", "I": "input", "H": "unit", "N": "element", "M": "row", "K": "column"}
ROWS = {"I": "x", "H": "h_prev"}


class Piece(NamedTuple):
    """A part of an axis that has a name: a gate, the rows of x."""

    name: str
    place: slice


def sizes_of(shapes: Mapping[str, str], arrays: Mapping[str, Any]) -> dict[str, int]:
    """The sizes of axes, from the shapes of arrays in letters such as ``(I+H, 4H)``."""
    known: dict[str, int] = {}
    for _ in range(3):  # the I of I+H follows once H is known
        for name, letters in shapes.items():
            specs, shape = axes(letters), np.shape(arrays[name]) if not isinstance(arrays[name], list) else ()
            for spec, size in zip(specs, shape, strict=False) if len(specs) == len(shape) else ():
                terms = [re.fullmatch(r"(\d*)([A-Z])", term) for term in spec.split("+")]
                rest, unknown = size, []
                for term in terms:
                    if term is None:
                        unknown += [("", 1), ("", 1)]
                    elif term[2] in known:
                        rest -= int(term[1] or 1) * known[term[2]]
                    else:
                        unknown.append((term[2], int(term[1] or 1)))
                if len(unknown) == 1 and rest > 0:
                    known[unknown[0][0]] = rest // unknown[0][1]
    return known


def axes(letters: str) -> list[str]:
    """``["I+H", "4H"]`` of ``(I+H, 4H)``."""
    return [spec.strip() for spec in letters.strip("()").split(",") if spec.strip()]


def pieces(letters: str, sizes: Mapping[str, int], gates: Sequence[str] = ()) -> list[list[Piece]]:
    """The named parts of each axis. An axis without names is a single unnamed part."""
    found = []
    for spec in axes(letters):
        start, parts = 0, []
        for term in spec.split("+"):
            match = re.fullmatch(r"(\d*)([A-Z])", term)
            if match is None or match[2] not in sizes:
                return []
            count, size = int(match[1] or 1), sizes[match[2]]
            for k in range(count):
                gate = gates[k] if count == len(gates) else f"part {k}"
                name = f"gate {gate}" if count > 1 else f"the rows of {ROWS.get(term, term)}" if "+" in spec else ""
                parts.append(Piece(name, slice(start, start + size)))
                start += size
        found.append(parts)
    return found


def where(wrong: np.ndarray, letters: str, parts: Sequence[Sequence[Piece]] = ()) -> str:
    """Which numbers are wrong, if they fill whole lines along some axes; otherwise empty."""
    if not wrong.any() or wrong.all() or not wrong.ndim:
        return ""
    said, specs = [], axes(letters)
    for axis in range(wrong.ndim):
        others = tuple(k for k in range(wrong.ndim) if k != axis)
        touched = np.flatnonzero(wrong.any(axis=others))
        if len(touched) == wrong.shape[axis]:
            continue
        named = [p.name for p in (parts[axis] if len(parts) == wrong.ndim else ()) if p.name
                 and set(touched) & set(range(p.place.start, p.place.stop))]  # fmt: skip
        if named and len(named) == len(parts[axis]):  # some numbers of every part
            continue
        axis_name = AXES.get(specs[axis] if axis < len(specs) else "", "index")
        said.append(" and ".join(named) if named else span(touched, wrong.shape[axis], axis_name))
    return ", ".join(said)


def span(indices: np.ndarray, size: int, axis: str) -> str:
    """Describe some of the indices of an axis in words."""
    first, last = int(indices[0]), int(indices[-1])
    several = "indices" if axis == "index" else f"{axis}s"
    if len(indices) == 1:
        end = " (the last)" if first == size - 1 else " (the first)" if first == 0 else ""
        return f"{axis} {first}{end}"
    if len(indices) == last - first + 1:
        return f"all {several} from {first} on" if last == size - 1 else f"the {several} {first} to {last}"
    left = sorted(set(range(size)) - {int(k) for k in indices})
    if len(left) <= 2:
        return f"all {several} but {' and '.join(map(str, left))}"
    return f"{len(indices)} of {size} {several}"
