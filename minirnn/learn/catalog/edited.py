"""Typical mistakes as changes to the text of a reference or a solution, so that no formula is written twice."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any

from minirnn.learn.exercise import Slip, Wrong


def mistakes(reference: Callable[..., Any], *rows: tuple[str, ...]) -> tuple[Wrong, ...]:
    """A mistake for each row: its diagnosis, then pieces of the reference with their replacements."""
    return tuple(Wrong(says, edited(reference, *texts)) for says, *texts in rows)


def slips(*rows: tuple[str, ...]) -> tuple[Slip, ...]:
    """A slip for each row: its name, a piece of its diagnosis, then pieces of the solution with replacements."""
    pairs = [tuple(zip(texts[::2], texts[1::2], strict=True)) for _, _, *texts in rows]
    return tuple(Slip(row[0], changes, row[1]) for row, changes in zip(rows, pairs, strict=True))


def edited(reference: Callable[..., Any], *texts: str) -> Callable[..., Any]:
    """The reference with pieces of its text replaced. It is compiled when it is first called."""

    @cache
    def made() -> Callable[..., Any]:
        source = inspect.getsource(reference)
        for old, new in zip(texts[::2], texts[1::2], strict=True):
            assert old in source, f"{reference.__name__} has no {old!r}"
            source = source.replace(old, new)
        namespace = dict(reference.__globals__)
        exec(compile(source, f"<{reference.__name__}, changed>", "exec"), namespace)
        function: Callable[..., Any] = namespace[reference.__name__]
        return function

    return lambda **inputs: made()(**inputs)
