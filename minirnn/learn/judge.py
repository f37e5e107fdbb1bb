"""Compares what an answer returned with what is expected, output by output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from minirnn.learn.cleaned import several
from minirnn.learn.exercise import Exercise, Inputs

TOLERANCE = {"python": 1e-9, "cuda": 1e-5, "tester": 0.0}
"""The largest relative error of an output by kind of exercise. Answers in Python add a few hundred numbers in float64,
those in CUDA in float32.
"""
SINGLE = 1e-5
"""The largest relative error of an output in float32, whatever the exercise."""


@dataclass(frozen=True)
class Part:
    """One output: whether it is right, its worst error relative to the largest expected value, a complaint, and a
    remark that applies even if it is right.
    """

    name: str
    ok: bool
    error: float
    complaint: str = ""
    note: str = ""


@dataclass(frozen=True)
class Case:
    """A case: its inputs, the expected and the returned outputs by name, and NumPy's warnings."""

    inputs: Inputs
    expected: Mapping[str, Any]
    got: Mapping[str, Any]
    warned: Sequence[tuple[int, str]] = ()

    @property
    def wrong(self) -> frozenset[str]:
        return frozenset(name for name, want in self.expected.items() if not equal(want, self.got[name]))


class Failed(Exception):
    """Raised if the answer cannot be judged. The text says why, and in which line.

    If `busy` is true, it is not the answer's fault. If `ended` is true, a lock or a limit ended its process.
    """

    def __init__(
        self, text: str, line: int | None = None, not_started: bool = False, busy: bool = False, ended: bool = False
    ) -> None:
        super().__init__(text)
        self.line, self.not_started, self.busy, self.ended = line, not_started, busy, ended


def outputs_of(exercise: Exercise, value: Mapping[str, Any]) -> dict[str, Any]:
    """What an answer returned, by the names of the exercise.

    Raises
    ------
    Failed
        If the number or the names of the values are not those of the exercise.
    """
    wanted = ", ".join(exercise.outputs)
    if "single" in value:
        values = [value["single"]]
        if len(exercise.outputs) > 1:
            kind = "None: is there a return?" if is_odd(values[0], "None") else "one value"
            raise Failed(f"{exercise.function} returned {kind}\n  expected {len(exercise.outputs)}: {wanted}")
    else:
        values = list(value.get("values", []))
        if names := value.get("names"):
            if sorted(names) == sorted(exercise.outputs):
                return {name: values[names.index(name)] for name in exercise.outputs}
            if len(exercise.outputs) != 1 and len(names) != len(exercise.outputs):  # otherwise by their order
                raise Failed(f"{exercise.function} returned a dict with {', '.join(names)}\n  expected {wanted}")
        if len(exercise.outputs) == 1 and is_listed_array(values):
            values = [np.array(values)]
    if len(values) != len(exercise.outputs):
        number = several(len(values), "value")
        raise Failed(f"{exercise.function} returned {number}\n  expected {len(exercise.outputs)}: {wanted}")
    return dict(zip(exercise.outputs, values, strict=True))


def brought(exercise: Exercise, got: Mapping[str, Any], expected: Mapping[str, Any]) -> dict[str, Any]:
    """The outputs of an answer, converted to the expected kind and shape where only the form differs."""
    found = {}
    for name, value in got.items():
        value, want = plain(value), expected[name]
        if isinstance(value, list) and not isinstance(want, list) and is_listed_array(value):
            value = np.array(value)
        if isinstance(value, list) and isinstance(want, list) and len(value) == len(want):
            found[name] = [fitted(v, np.shape(w)) for v, w in zip(value, want, strict=True)]
        else:
            found[name] = value if isinstance(want, list) else fitted(value, np.shape(want))
    return found


def is_listed_array(values: list[Any]) -> bool:
    """Whether a list can be converted to one array: it has numbers, or rows of equal length."""
    arrays = bool(values) and all(isinstance(v, np.ndarray) for v in values)
    return arrays and len({v.shape for v in values}) == 1 and (len(values) > 1 or values[0].ndim == 0)


def is_odd(value: Any, kind: str | None = None) -> bool:
    """Whether a value could not be sent, so that only its type arrived (`kind`, if given)."""
    return isinstance(value, dict) and "odd" in value and (kind is None or value["odd"] == kind)


def plain(value: Any) -> Any:
    """An output in the form that is compared. Complex numbers without an imaginary part become real."""
    if isinstance(value, list):
        return [plain(v) for v in value]
    if isinstance(value, np.ndarray) and value.dtype.kind == "c" and not value.imag.any():
        return value.real
    return value


def fitted(value: Any, shape: tuple[int, ...]) -> Any:
    """`value` as a single number if that is expected and it has one element; otherwise unchanged."""
    return value.reshape(()) if isinstance(value, np.ndarray) and shape == () and value.size == 1 else value


def is_single(value: Any) -> bool:
    """Whether an output has a lower precision than float64."""
    return isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.dtype.itemsize < 8


def tolerance_of(exercise: Exercise) -> float:
    """The largest relative error of the outputs of an exercise."""
    return exercise.tolerance or TOLERANCE[exercise.kind]


def compare(exercise: Exercise, expected: Mapping[str, Any], got: Mapping[str, Any]) -> list[Part]:
    """Compare each output with its expected value. NaN and infinity are wrong and cause no NumPy warnings."""
    letters, tolerance = exercise.outputs, tolerance_of(exercise)
    with np.errstate(all="ignore"):
        return [part(name, want, got[name], letters[name], tolerance, True) for name, want in expected.items()]


def part(name: str, want: Any, value: Any, letters: str, tolerance: float, single: bool = False) -> Part:
    """Compare one output, or a list of arrays, with what is expected; `letters` are its shape.

    With `single` an output in float32 is judged by the digits that it has.
    """
    if isinstance(want, list):
        if not isinstance(value, list) or len(value) != len(want):
            return Part(name, False, np.inf, f"{name} should be a list of {len(want)} arrays")
        each = [
            part(f"{name}[{k}]", w, v, "", tolerance, single) for k, (w, v) in enumerate(zip(want, value, strict=True))
        ]
        complaint, note = (
            next((n for n in notes if n), "") for notes in zip(*((p.complaint, p.note) for p in each), strict=True)
        )
        return Part(name, all(p.ok for p in each), max(p.error for p in each), complaint, note)
    want = np.asarray(want)
    if isinstance(value, list) and is_listed_array(value):
        value = np.array(value)
    if complaint := unfit(name, want, value, letters):
        return Part(name, False, np.inf, complaint)
    error, note = worst_error(want, value), ""
    if single and is_single(value) and tolerance < SINGLE and value.dtype.itemsize == 4:
        tolerance = SINGLE
        note = f"{name} is computed in float32: judged to {SINGLE:.0e}, not to 1e-09"
    if error > tolerance and value.dtype.kind in "biu" and not np.array_equal(want, np.trunc(want)):
        return Part(name, False, error, f"{name} is of dtype {value.dtype}: whole numbers, whose fractions are cut off")
    return Part(name, error <= tolerance, error, note=note)


def unfit(name: str, want: np.ndarray, value: Any, letters: str) -> str:
    """The reason why `value` cannot be compared with `want`; empty if it can."""
    shape = f"{letters} = {want.shape}" if letters and want.shape else str(want.shape) if want.shape else "one number"
    if is_odd(value):
        return f"{name} is {value['odd']}, expected an array of shape {shape}"
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "biuf":
        what = f"of dtype {value.dtype}" if isinstance(value, np.ndarray) else "a list"
        return f"{name} is {what}, expected an array of numbers of shape {shape}"
    if value.shape != want.shape:
        cause = ""
        if want.ndim == 2 and value.shape == want.shape[::-1]:
            cause = "; its transpose is right" if equal(want, value.T) else "; its transpose would fit"
        elif value.ndim == want.ndim + 1 and value.size == want.size and equal(want, value.reshape(want.shape)):
            cause = ": the numbers are right, but an axis of one element is left: was a sum taken with keepdims?"
        elif (axis := summed(want, value)) is not None:
            cause = f"; its sum over axis {axis} is right: is the sum over the batch missing?"
        elif leading(want, value):
            cause = "; its sum over the axes that come first, which were not there before, is right"
        elif (axis := side_by_side(want, value)) is not None:
            cause = f"; its two halves along axis {axis} have the right sum: add them up, do not put them side by side"
        elif value.ndim == want.ndim == 1:
            cause = "; was the sum taken over the wrong axis?"
        elif value.size == want.size:
            cause = "; it has the right number of elements"
        return f"{name} has shape {value.shape}, expected {shape}{cause}"
    if not np.isfinite(value).all():
        index = tuple(int(k) for k in np.argwhere(~np.isfinite(np.atleast_1d(value)))[0])
        where = f"{name}[{', '.join(map(str, index))}]" if value.ndim else name
        cause = ": was it never written, or is it a root of something negative?" if np.isnan(value).any() else ""
        return f"{where} is {np.atleast_1d(value)[index]}{cause}"
    return ""


def summed(want: np.ndarray, value: np.ndarray) -> int | None:
    """The axis whose sum over `value` gives the expected value; None if there is none."""
    return next((axis for axis in range(value.ndim) if equal(want, value.sum(axis))), None)


def side_by_side(want: np.ndarray, value: np.ndarray) -> int | None:
    """The axis along which two arrays whose sum is expected were put side by side; None if there is none."""
    for axis in range(want.ndim if value.ndim == want.ndim else 0):
        if value.shape[axis] == 2 * want.shape[axis] and equal(want, np.add(*np.split(value, 2, axis))):
            return axis
    return None


def leading(want: np.ndarray, value: np.ndarray) -> bool:
    """Whether an output is right after summing over its leading axes and over axes of length 1."""
    more = value.ndim - want.ndim
    if more < 1:
        return False
    sums = value.sum(axis=tuple(range(more)))
    ones = tuple(k for k in range(want.ndim) if want.shape[k] == 1)
    return equal(want, sums) or equal(want, sums.sum(axis=ones, keepdims=True))


def worst(cases: Sequence[Sequence[Part]]) -> list[Part]:
    """Each output with the result of its worst case."""
    return [max(parts, key=lambda p: (not p.ok, p.error)) for parts in zip(*cases, strict=True)]


def worst_error(want: Any, value: Any) -> float:
    """max |value - want| / max |want|."""
    want, value = np.asarray(want, float), np.asarray(value, float)
    if not want.size:
        return 0.0
    scale = float(np.abs(want).max())
    return float(np.abs(value - want).max()) / (scale if scale > 0 else 1.0)


def equal(a: Any, b: Any, tolerance: float = 1e-9) -> bool:
    """Whether two outputs (arrays or lists of arrays) are equal up to rounding."""
    if isinstance(a, list) or isinstance(b, list):
        if not (isinstance(a, list) and isinstance(b, list) and len(a) == len(b)):
            return False
        return all(equal(x, y, tolerance) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict) or isinstance(b, dict):  # values that could not be sent
        return False
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype.kind not in "biuf" or b.dtype.kind not in "biuf":
        return False
    if is_single(a) or is_single(b):
        tolerance = max(tolerance, SINGLE)
    return a.shape == b.shape and bool(np.isfinite(b).all()) and worst_error(a, b) <= tolerance


def alike(a: Any, b: Any, tolerance: float = 1e-9) -> bool:
    """Whether two outputs are equal up to rounding, with infinities and NaN in the same places."""
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        return all(alike(x, y, tolerance) for x, y in zip(a, b, strict=True))
    if any(isinstance(v, list | dict) or np.asarray(v).dtype.kind not in "biuf" for v in (a, b)):
        return False
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape:
        return False
    finite = np.isfinite(a)
    if finite.all() or not finite.any():  # an output that is all NaN does not show how it was computed
        return equal(a, b, tolerance)
    others = np.array_equal(a[~finite], b[~finite], equal_nan=True)
    return others and equal(a[finite], b[finite], tolerance)


def rows(parts: Sequence[Part]) -> list[str]:
    """A table of the outputs with their errors, in columns."""
    width = max(len(p.name) for p in parts)
    cells = [f"{p.name:{width}}  {number(p)}  {'ok' if p.ok else 'x '}" for p in parts]
    return ["  " + "      ".join(cells[k : k + 3]) for k in range(0, len(cells), 3)]


def number(part: Part) -> str:
    """The error of an output in five characters; blank if it is right."""
    if part.ok:
        return "     "
    if part.error < 0.005:
        return f"{part.error:5.0e}"
    return f"{part.error:5.2f}" if part.error < 100 else f"{part.error:5.0e}" if np.isfinite(part.error) else "   - "
