"""Values in error messages: on one line, and short, whatever a caller passed."""

from __future__ import annotations

import reprlib
from typing import Any

_short = reprlib.Repr()
_short.maxstring = _short.maxother = 60
_short.maxdict = _short.maxlist = _short.maxset = 4
_short.maxtuple = 12  # all of a shape


def shown(value: Any) -> str:
    """``repr(value)``, cut where it is long."""
    try:
        return _short.repr(value).replace("\n", " ")
    except ValueError:  # Python refuses to write an integer of thousands of digits
        return f"an integer of {value.bit_length()} bits" if isinstance(value, int) else f"a {type(value).__name__}"
