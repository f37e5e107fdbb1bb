"""Fonts for a text: Matplotlib's own where it has the letters, else installed fonts that have them."""

from __future__ import annotations

from functools import lru_cache

MISSING = "\ufffd"
"""What is drawn for a letter that no installed font has."""

SYMBOLS = ("cm", "STIX", "Last Resort")
"""Matplotlib's fonts for formulas, whose letters are others, and one of frames."""


@lru_cache
def letters_of(path: str) -> frozenset[int]:
    """The letters of a font file, as numbers; none if it cannot be read."""
    from matplotlib.font_manager import get_font

    try:
        return frozenset(get_font(path).get_charmap())
    except (OSError, RuntimeError):
        return frozenset()


def fonts_for(text: str, first: str = "DejaVu Sans Mono") -> tuple[list[str], str]:
    """The families that draw `text`, beginning with `first`, and the text with `MISSING` for what none of them has.

    Matplotlib draws each letter with the first family that has it. Without a font it would print a warning for each.
    """
    from matplotlib.font_manager import FontProperties, findfont, fontManager

    families = [first]
    left = {ord(c) for c in text} - letters_of(findfont(FontProperties(family=first)))
    for font in fontManager.ttflist if left else ():
        if font.name.startswith(SYMBOLS):
            continue
        found = left & letters_of(font.fname)
        if found:
            families.append(font.name)
            left -= found
    return families, "".join(MISSING if ord(c) in left else c for c in text)
