"""Makes a text that a student wrote safe to print and to write into any report. Each text is cleaned once, where it
enters.

Characters that could break a terminal, a spreadsheet, XML or UTF-8 are replaced: surrogates, control characters (ESC
and NUL, and those of C1), characters that turn the direction of writing, and code points that are not characters.
"""

from __future__ import annotations

from typing import Any

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
MOST = 20_000
"""Characters of a text that are kept."""


def cleaned(text: str, most: int = MOST) -> str:
    """The text with only printable characters, spaces, tabs and line ends."""
    text = text[: most + 1].replace("\r\n", "\n").replace("\r", "\n")
    if not text.replace("\n", "").isprintable():
        text = "".join(c if c in "\n\t" or c.isprintable() else " " if c.isspace() else REPLACEMENT for c in text)
    return text if len(text) <= most else f"{text[:most]}..."


def printable(name: str, most: int = 120) -> str:
    """A name that is safe to print on one line: it cannot move the cursor, end the line or change the writing
    direction.
    """
    clean = "".join(c if c.isprintable() else REPLACEMENT for c in name)
    return clean if len(clean) <= most else f"{clean[: most // 2 - 2]}...{clean[-most // 2 + 2 :]}"


def several(number: int, noun: str) -> str:
    """``1 point`` or ``2 points``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def cleaned_all(value: Any) -> Any:
    """A message from another process, or a JSON value, with all texts and names in it cleaned."""
    if isinstance(value, str):
        return cleaned(value)
    if isinstance(value, dict):
        return {cleaned(name) if isinstance(name, str) else name: cleaned_all(one) for name, one in value.items()}
    if isinstance(value, list):
        return [cleaned_all(one) for one in value]
    if isinstance(value, tuple):
        return tuple(cleaned_all(one) for one in value)
    return value
