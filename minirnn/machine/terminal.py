"""Output on a terminal: emphasis, and lines about work that takes a while.

Files, pipes and users who want no colors (https://no-color.org) get no escape sequences.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

QUIET = "MINIRNN_QUIET"
"""The environment variable that silences `say` and `while_working` if it is 1."""
STYLES = {"bold": "1", "red": "31", "green": "32"}
"""Name -> the number of the escape sequence."""


def has_colors(stream: TextIO) -> bool:
    """Whether `stream` is a terminal that supports escape sequences, and its user wants them."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM", "dumb") != "dumb"


def styled(text: str, style: str, stream: TextIO | None = None) -> str:
    """The text in a style of `STYLES` if `stream` (default: stdout) has colors, else unchanged."""
    return f"\x1b[{STYLES[style]}m{text}\x1b[0m" if has_colors(stream or sys.stdout) else text


def is_quiet() -> bool:
    """Whether the user wants no messages about work that takes a while."""
    return os.environ.get(QUIET, "0") not in ("", "0")


def say(line: str) -> None:
    """Print a line on stderr about work that takes a while."""
    if not is_quiet():
        print(line, file=sys.stderr, flush=True)


@contextmanager
def while_working(line: str, quiet: bool = False) -> Iterator[None]:
    """``with while_working("..."):`` shows a line on stderr during the block if stderr is a terminal."""
    seen = sys.stderr.isatty() and not (quiet or is_quiet())
    if seen:
        sys.stderr.write(f"\r{line}")
        sys.stderr.flush()
    try:
        yield
    finally:
        if seen:
            sys.stderr.write(f"\r{' ' * len(line)}\r")  # no escape sequence: a dumb terminal would show it
            sys.stderr.flush()
