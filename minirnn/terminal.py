"""Emphasis on a terminal; nothing of it reaches files and pipes, or a user who wants none (https://no-color.org)."""

from __future__ import annotations

import os
import sys
from typing import TextIO

STYLES = {"bold": "1", "red": "31", "green": "32"}
"""Name -> the number of the escape sequence."""


def has_colors(stream: TextIO) -> bool:
    """Whether `stream` is a terminal that shows escape sequences, and its user wants them."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM", "dumb") != "dumb"


def styled(text: str, style: str, stream: TextIO | None = None) -> str:
    """The text in a style of `STYLES` if `stream` (default: stdout) has colors, else as it is."""
    return f"\x1b[{STYLES[style]}m{text}\x1b[0m" if has_colors(stream or sys.stdout) else text
