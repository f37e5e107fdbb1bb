"""Outputs with the right numbers in the wrong order, place or scale."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from minirnn.learn.exercise import Exercise
from minirnn.learn.judge import Case, equal
from minirnn.learn.wrong_numbers import GATES, axes, pieces, sizes_of


def other_order(cases: Sequence[Case]) -> str:
    """The message if all outputs are right but in another order; otherwise empty."""
    names = list(cases[0].expected)
    order: list[str] = []
    for name in names:
        came = [n for n in names if all(equal(c.expected[n], c.got[name]) for c in cases)]
        free = [n for n in came if n not in order]
        order.append(name if name in free else free[0] if free else "")
    if "" in order or order == names:
        return ""
    exchanged = [n for n, came in zip(names, order, strict=True) if n != came]
    if len(exchanged) == 2:
        return f"{exchanged[0]} and {exchanged[1]} are exchanged in what is returned"
    return f"the values are returned in the order {', '.join(order)}; expected {', '.join(names)}"


def reason(exercise: Exercise, cases: Sequence[Case], name: str) -> str:
    """The reason why an output is right except for its order, direction or scale; empty if none is found."""
    pairs = [(case.expected[name], case.got[name], case) for case in cases]
    if not all(isinstance(v, np.ndarray) and v.size and v.dtype.kind in "biuf" for w, g, _ in pairs for v in (w, g)):
        return ""
    return next((text for text in rearrangements(exercise, name, pairs)), "")


Pairs = Sequence[tuple[Any, Any, Case]]


def rearrangements(exercise: Exercise, name: str, pairs: Pairs) -> Iterator[str]:
    """The sentences of all changes that turn what is expected into what was returned, in all cases."""
    want = pairs[0][0]

    def always(transform: Any) -> bool:
        try:
            return all(equal(transform(w, case), g) for w, g, case in pairs)
        except (ValueError, IndexError, np.exceptions.AxisError):
            return False

    for text, change in SIMPLE_MISTAKES.items():
        if always(lambda w, c, f=change: f(w)):
            yield f"it {text}"
    yield from same(block_reasons(exercise, name, *pair) for pair in pairs)
    if want.ndim and always(lambda w, c: w[::-1]):
        first = (axes(exercise.outputs[name]) or [""])[0]
        if first == "T":
            yield "it is reversed in time"
        elif len(want) == 2:
            yield "the two parts along the first axis are exchanged"
        else:
            yield "it is reversed along the first axis"
    for other in pairs[0][2].expected:
        if other != name and always(lambda w, c, n=other: c.expected[n]):
            yield f"{other} is returned in its place"
    for axis in range(1, want.ndim):
        if always(lambda w, c, a=axis: np.flip(w, a)):
            yield f"its axis number {axis} is reversed"
    for axis, shift in itertools.product(range(want.ndim), (1, -1)):
        if want.shape[axis] > 2 and always(lambda w, c, a=axis, s=shift: np.roll(w, s, a)):
            yield f"it is shifted by one along its axis number {axis}"
    for scale, text in scales(exercise, pairs[0][2]):
        if always(lambda w, c, f=scale: w * f(c)):
            yield text
    yield from same(ratio(*pair[:2]) for pair in pairs)
    yield from same(sum_reasons(exercise, name, *pair) for pair in pairs)


def same(reasons: Iterator[list[str]]) -> Iterator[str]:
    """The reasons that hold in every case."""
    lists = list(reasons)
    for text in lists[0]:
        if all(text in others for others in lists[1:]):
            yield text


def only(ndim: int, change: Callable[[np.ndarray], np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
    """A change for arrays with `ndim` axes. With another number of axes, the result cannot equal an output."""
    return lambda want: change(want) if want.ndim == ndim else np.full(want.shape, np.nan)


SIMPLE_MISTAKES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "is transposed": only(2, np.transpose),
    "is reshaped where it must be transposed": only(2, lambda want: want.T.ravel().reshape(want.shape)),
    "has the wrong sign": lambda want: -want,
    "is twice as large as expected": lambda want: 2 * want,
    "is half of what is expected": lambda want: want / 2,
    "is zero": lambda want: 0 * want,
}
"""Ways in which an output may be changed, and how each is made from the right one."""
REVERSED = {"is reversed in time": only(3, lambda want: want[::-1])}
"""The same for arrays whose axes have no names. Three axes count as (T, B, units)."""


LENGTHS = {"T": "the number of steps", "B": "the batch size"}
"""The names of axis lengths in messages. Other axes are called by their letter."""


def scales(exercise: Exercise, first: Case) -> Iterator[tuple[Callable[[Case], float], str]]:
    """Factors that follow from the sizes of a case: the product of the lengths of up to three axes, or one over it."""
    letters = list(lengths(exercise, first))
    for count in range(1, min(3, len(letters)) + 1):
        for chosen in itertools.combinations(letters, count):
            names = " times ".join(LENGTHS.get(letter, letter) for letter in chosen)

            def product(case: Case, power: float = 1.0, chosen: tuple[str, ...] = chosen) -> float:
                known = lengths(exercise, case)
                return float(math.prod(known[letter] for letter in chosen) ** power)

            hint = ": a gradient is the sum over the batch, not the mean" if chosen == ("B",) else ""
            yield partial(product, power=-1.0), f"it is divided by {names}{hint}"
            yield product, f"it is multiplied by {names}"


def lengths(exercise: Exercise, case: Case) -> dict[str, int]:
    """The lengths of the axes of a case by their letters; T and B also by an x (T, B, I) or (B, I)."""
    x = np.asarray(case.inputs.get("x", 0))
    own = dict(zip({3: "TB", 2: "B"}.get(x.ndim, ""), x.shape, strict=False))
    return own | sizes_of(exercise.outputs, case.expected)


def ratio(want: np.ndarray, got: np.ndarray) -> list[str]:
    """The reason if an output is a constant multiple of the expected one."""
    if want.shape != got.shape or want.size < 2 or not np.abs(want).max() > 0:
        return []
    factor = float(np.vdot(got, want) / np.vdot(want, want))
    if not np.isfinite(factor) or not equal(factor * want, got) or abs(factor) < 1e-12:
        return []
    return [f"it is {number(factor)} times what is expected"]


def block_reasons(exercise: Exercise, name: str, want: np.ndarray, got: np.ndarray, case: Case) -> list[str]:
    """Blocks of gates, or of the rows of x and h, that are exchanged or scaled."""
    if want.shape != got.shape:
        return []
    sizes, names = sizes_of(exercise.outputs, case.expected), GATES.get(exercise.gates, ())
    parts = pieces(exercise.outputs[name], sizes, names)
    if len(parts) != want.ndim or max(map(len, parts), default=0) < 2:
        return []
    found = []
    if len(parts[0]) == 2 and want.ndim == 2:
        first, second = parts[0][0].place, parts[0][1].place
        if equal(np.concatenate([want[second], want[first]]), got):
            found.append(f"{parts[0][1].name} come before {parts[0][0].name}")
    gate_axis = next((k for k, p in enumerate(parts) if p[0].name.startswith("gate")), None)
    if gate_axis is None or not names:
        return found
    lines = [[p] for p in parts[1 - gate_axis]] if want.ndim == 2 else [[]]
    told, moved = [], False
    for line in lines:
        index: list[Any] = [slice(None)] * want.ndim
        if line:
            index[1 - gate_axis] = line[0].place
        here, mine = want[tuple(index)], got[tuple(index)]
        where = f"in {line[0].name} " if line and line[0].name else ""
        if equal(here, mine):
            continue
        text = gate_order(here, mine, gate_axis, names) or block_difference(here, mine, parts[gate_axis], gate_axis)
        if (
            not text
            and mine.ndim == 2
            and (equal(here.T.ravel().reshape(here.shape), mine) or reshaped(here, mine, gate_axis, len(names)))
        ):
            text = "the numbers are reshaped where they must be transposed"
        text = text or next(iter(ratio(here, mine)), "")
        if not text:
            return found
        moved = True
        told.append(where + text)
    return [*found, "; ".join(told)] if moved else found


def gate_order(want: np.ndarray, got: np.ndarray, axis: int, names: Sequence[str]) -> str:
    """The order of the gates in `got`, in words; empty if it has no such blocks."""
    for order in itertools.permutations(range(len(names))):
        if list(order) != sorted(order) and equal(reordered(want, order, axis), got):
            return f"the gates come in the order {', '.join(names[k] for k in order)}; expected {', '.join(names)}"
    return ""


def reshaped(want: np.ndarray, got: np.ndarray, axis: int, count: int) -> bool:
    """Whether `got` holds the numbers of `want`, its gates in some order, as if a transpose was forgotten."""
    return any(
        equal(reordered(want, order, axis).T.ravel().reshape(want.shape), got)
        for order in itertools.permutations(range(count))
    )


def block_difference(want: np.ndarray, got: np.ndarray, parts: Sequence[Any], axis: int) -> str:
    """The block of a single gate that differs by a constant summand or factor."""
    wrong = [p for p in parts if not equal(take(want, p, axis), take(got, p, axis))]
    if len(wrong) != 1:
        return ""
    a, b = take(want, wrong[0], axis), take(got, wrong[0], axis)
    if b.size > 1 and np.ptp(b - a) <= 1e-9 * np.abs(a).max() and abs(float((b - a).mean())) > 1e-6:
        return f"{number(float((b - a).mean()))} is added to {wrong[0].name}: a bias of that gate?"
    for factor, words in ((-1.0, "has the wrong sign"), (2.0, "is counted twice"), (0.0, "is zero")):
        if equal(factor * a, b):
            return f"{wrong[0].name} {words}"
    return ""


def number(value: float) -> str:
    return f"{value:.6g}"


def take(array: np.ndarray, piece: Any, axis: int) -> np.ndarray:
    index: list[Any] = [slice(None)] * array.ndim
    index[axis] = piece.place
    return array[tuple(index)]


def reordered(a: np.ndarray, order: Sequence[int], axis: int) -> np.ndarray:
    parts = np.split(a, len(order), axis=axis)
    return np.concatenate([parts[k] for k in order], axis=axis)


def sum_reasons(exercise: Exercise, name: str, want: np.ndarray, got: np.ndarray, case: Case) -> list[str]:
    """The reason if an output is a sum of two inputs, one of which has its gates in the wrong order."""
    count = exercise.gates
    if want.ndim != 1 or count < 2 or want.shape != got.shape or want.size % count:
        return []
    given = [n for n, v in case.inputs.items() if isinstance(v, np.ndarray) and v.shape == want.shape]
    orders = list(itertools.permutations(range(count)))
    for a, b in itertools.permutations(given, 2):
        for order in orders:
            if equal(reordered(case.inputs[a] + case.inputs[b], order, 0), want):
                for taken in orders:
                    if taken != order and equal(
                        reordered(case.inputs[a], taken, 0) + reordered(case.inputs[b], order, 0), got
                    ):
                        as_given = list(taken) == sorted(taken)
                        says = "goes in with its gates as they were" if as_given else "has its gates in another order"
                        return [f"{a} {says}, while {b} is right"]
    return []
