"""What the process of an answer replies. Every field is checked here, where it is read, and nowhere else.

An answer can write to the pipe itself and send any message, so a field of another type than expected counts as missing,
and a list ends where its limit is. Arrays may be anywhere in a message. Comparing one with a text, or using it as a
condition, raises an error or gives an array, so nothing is done with a value before its type is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

MOST_ROWS, MOST_NUMBERS = 10_000, 60_000
"""The most rows of a list, and the most numbers of all variables in a reply, which the judge compares."""


@dataclass
class Reply:
    """The outcome of a call: a value, or what went wrong, in words for the student.

    Attributes
    ----------
    value : dict or None
        The result: ``single``, or ``values`` and perhaps their ``names``. Each is an array, or a dict with the type of
        something else as ``odd``. None if there is none.
    error : dict or None
        An exception in the student's file: its ``type``, ``text``, ``code`` and ``shapes`` as texts, and its ``line``.
    fatal : str
        Why the process is gone (time, memory, a forbidden action); empty if it is alive.
    line : int or None
        The line of the forbidden action.
    busy : bool
        Whether the machine was too busy to judge, or could not even begin: nothing is known about the answer.
    counts : dict
        What the simulator counted.
    locals : dict
        The answer's own variables when it returned, by name, if they were asked for.
    lines : dict
        The line in which each variable is first assigned.
    warnings : list of (int, str)
        NumPy's warnings in the answer: the line and text of each.
    imported : bool
        Whether the answer imported minirnn, if Python says so.
    changes : list of list
        Changes to the file: numbers and texts, in the form of `own_change.Change` or `kernel_changes`.
    reach : dict
        For each line, the numbers of the outputs that it can change.
    results : list
        What the answer returned with some changes, each like `value`.
    noted : list of (int, array)
        The lines that assign something, and the values.
    """

    value: dict[str, Any] | None = None
    error: dict[str, Any] | None = None
    fatal: str = ""
    line: int | None = None
    busy: bool = False
    counts: dict[str, int] = field(default_factory=dict)
    locals: dict[str, np.ndarray] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    warnings: list[tuple[int, str]] = field(default_factory=list)
    imported: bool = False
    changes: list[list[int | str]] = field(default_factory=list)
    reach: dict[int, list[int]] = field(default_factory=dict)
    results: list[dict[str, Any] | None] = field(default_factory=list)
    noted: list[tuple[int, np.ndarray]] = field(default_factory=list)


def reply_of(message: Mapping[str, Any], last: int) -> Reply:
    """The reply in a message of an answer whose file has `last` lines."""
    get, error = message.get, message.get("error")
    at, values = listed(get("at")), listed(get("noted"))
    pairs = {name: [row for row in listed(get(name)) if type(row) is list and len(row) == 2 and line_of(row[0], last)]
             for name in ("warnings", "reach")}  # fmt: skip
    return Reply(
        result_of(get("value")),
        None if error is None else error_of(error, last),
        counts={name: n for name, n in named(get("counts")) if type(n) is int},
        locals=dict(counted(named(get("locals")))),
        lines={name: n for name, n in named(get("lines")) if line_of(n, last)},
        warnings=[(line, text_of(said, 200)) for line, said in pairs["warnings"][:20] if text_of(said)],
        imported=get("imported") is True,
        changes=[row for row in listed(get("changes")) if is_change(row)],
        reach={line: [k for k in listed(some) if type(k) is int] for line, some in pairs["reach"]},
        results=[result_of(one) for one in listed(get("results"))],
        noted=list(counted(zip(at, values, strict=False))) if all(type(line) is int for line in at) else [],
    )


def is_change(row: Any) -> bool:
    """Whether a row consists of six numbers and texts."""
    return type(row) is list and len(row) == 6 and all(type(one) in (int, str) for one in row)


def text_of(value: Any, most: int = 2000) -> str:
    """A text, cut off at its limit; empty if it is not one."""
    return value[:most] if type(value) is str else ""


def line_of(value: Any, last: int) -> int | None:
    """A line of the answer's file; None if it is not one."""
    return value if type(value) is int and 0 < value <= last else None


def listed(value: Any, most: int = MOST_ROWS) -> list[Any]:
    return value[:most] if type(value) is list else []


def named(value: Any) -> Iterator[tuple[str, Any]]:
    """The entries of a dict."""
    return iter(list(value.items())[:MOST_ROWS] if type(value) is dict else [])


def counted(pairs: Any) -> Iterator[tuple[Any, np.ndarray]]:
    """The pairs whose second element is an array of floats, up to `MOST_NUMBERS` numbers."""
    left = MOST_NUMBERS
    for name, value in pairs:
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            left -= value.size
            if left < 0:
                return
            yield name, value


def error_of(error: Any, last: int) -> dict[str, Any]:
    """An exception, with all its fields."""
    error = error if type(error) is dict else {}
    most = {"type": 200, "text": 10_000, "code": 200, "shapes": 300}
    texts = {name: text_of(error.get(name), size) for name, size in most.items()}
    return {**texts, "type": texts["type"].strip() or "Exception", "line": line_of(error.get("line"), last)}


def result_of(value: Any) -> dict[str, Any] | None:
    """What an answer returned; None if a value does not have that form."""
    if type(value) is not dict:
        return None
    if "single" in value:
        return {"single": value["single"]} if is_output(value["single"]) else None
    values, names = value.get("values"), value.get("names")
    names = [] if names is None else names
    if type(values) is not list or type(names) is not list or not all(type(name) is str for name in names):
        return None
    outputs = [one for v in values for one in (v if type(v) is list else [v])]
    if len(names) not in (0, len(values)) or not all(map(is_output, outputs)):
        return None
    return {"values": values, "names": names} if names else {"values": values}


def is_output(value: Any) -> bool:
    """Whether a value is an array or a number, or the name of the type of something else."""
    if type(value) is dict:
        return type(value.get("odd")) is str and len(value["odd"]) < 1000
    return isinstance(value, np.ndarray | np.generic)
