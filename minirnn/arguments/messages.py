"""Shows values in error messages, on one short line whatever the caller passed."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Mapping
from typing import Any

WRITTEN_BITS = 2000
"""Python may refuse to print integers with more bits."""


class _Short(reprlib.Repr):
    def repr_int(self, x: int, level: int) -> str:
        return super().repr_int(x, level) if x.bit_length() <= WRITTEN_BITS else f"an integer of {x.bit_length()} bits"


_short = _Short()
_short.maxstring = _short.maxother = 60
_short.maxdict = _short.maxlist = _short.maxset = 4
_short.maxtuple = 12  # all of a shape


def shown(value: Any) -> str:
    """``repr(value)``, shortened if it is long."""
    return _short.repr(value).replace("\n", " ")


def likely(name: str, known: Iterable[str], also: Mapping[str, str] | None = None, most: int = 1) -> list[str]:
    """The names that the writer of `name` probably meant, the most likely one first. Often there are none.

    Parameters
    ----------
    known : iterable of str
        All existing names.
    also : mapping of str to str, optional
        Other words for some of them: ``{"gpu": "cuda"}``.
    most : int
        The largest number of names to return.
    """
    from difflib import get_close_matches  # only after a mistake: it takes time to import

    known, other = list(known), also or {}
    word = name[:60].lower()
    by_letters: dict[str, str] = {}
    for one in (*known, *other):
        by_letters.setdefault(one.lower(), other.get(one, one))
    if word in by_letters:
        return [by_letters[word]]
    parts = [one for one in known if len(word) > 2 and word in one.lower()]
    near = [] if parts else get_close_matches(word, by_letters, most + 1, 0.6)
    return list(dict.fromkeys([*parts, *(by_letters[one] for one in near)]))[:most]


def meant(name: str, known: Iterable[str], also: Mapping[str, str] | None = None, most: int = 1) -> str:
    """A line for an error message such as ``likely 'cuda' is meant``, or "" if no name is similar."""
    names = likely(name, known, also, most)
    return f"\n  likely {' or '.join(map(repr, names))} is meant" if names else ""
