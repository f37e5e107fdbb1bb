r"""Sentences of the book that are bound to values.

`bound/NAME.txt` belongs to the chapter or page NAME. Readers never see it. Each line has words of the page and an
expression::

    keeps its norm within two percent := abs(chapter.kept - 1) < 0.02
    left after 40 steps are 170 := left[40] / alone[40]

The words occur once in the text of the page. The expression may use the names that the chapter leaves, those of
`values.py`, and ``chapter("04")``. Its value has to be True, or the numbers in the words, in their order, rounded as
they are written: "2.5" means 2.45 to 2.55, "a tenth" 9.5 to 10.5 percent, ``10^{-15}`` at most half a power of ten more
or less. After "about", "nearly" or "almost" a number may be off by 15 percent. Indented lines continue.

A sentence is a claim if it has a number, a comparison or a word such as "dominates". `unbound` finds the claims that
are not bound. How many a page may have is in `test_sentences.py`, so a new claim needs a value.
"""

import math
import re
from collections.abc import Callable
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).parent / "bound"
COUNTED = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
SHARES = {"half": 1 / 2, "third": 1 / 3, "quarter": 1 / 4, "tenth": 0.1, "hundredth": 0.01, "hundred": 100, "twice": 2}
NEAR = {word: (k, 0.5) for k, word in enumerate(COUNTED)} | {word: (x, x / 20) for word, x in SHARES.items()}
DIGITS = r"\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?(?:\^\{?-?\d+\}?)?"
NUMBER = re.compile(rf"(?<![\w.])({DIGITS}|{'|'.join(NEAR)})(?!\w)")
CLAIM = re.compile(
    rf"(?<![\w.])({DIGITS}|{'|'.join(SHARES)}|dominat\w+|decid\w+|decisive|always|never|none|most|same (?:order|rate)|"
    r"works|first|still|than|percent|limit|(?:larg|small|fast|slow|long|short|strong|weak|clos|high|low|earli|lat|soon|"
    r"flat)(?:er|est))(?!\w)"
)
NO_CLAIM = re.compile(
    r"\(\d{4}\)|\bchapters? \d+(?:(?: to | and |, )\d+)*|:\w+:`[^`]*`|\$[^$]*\$|``[^`]*``|\]\([^)]*\)"
)


def of_page(path: Path) -> str:
    """The prose of a page in one line: without code, displayed equations and headings."""
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        first, *cells = re.split(r"^# %%\n", source, flags=re.M)
        comments = ("\n".join(s[2:] for s in takewhile(lambda s: s[:1] == "#", c.splitlines())) for c in cells)
        source = "\n\n".join([first.split('"""')[1], *comments])
    source = re.sub(
        r"^\.\. (?:math|sliders)::.*\n(?:\n|[ \t]+.*\n?)+|^\$\$\n(?:.*\n)*?\$\$.*\n|^```(?!\{glossary)(?:.*\n)*?```",
        "",
        source,
        flags=re.M,
    )
    source = re.sub(r"^.*\n[-=]{4,}$|^#+ .*$", "", source, flags=re.M)
    return " ".join(source.split())


def bound(name: str) -> list[tuple[str, str]]:
    """The words and expressions of a page."""
    path = FOLDER / f"{name}.txt"
    text = re.sub(r"\n +", " ", path.read_text(encoding="utf-8")) if path.exists() else ""
    return [(words, value) for words, _, value in (line.partition(" := ") for line in text.splitlines() if line)]


def rounds_to(number: str, value: float, loose: bool) -> bool:
    """Is the value the number as it is written?"""
    if "^" in number:
        base, exponent = map(int, re.findall(r"-?\d+", number))
        return abs(math.log(value, base) - exponent) <= 0.5
    digits, _, power = number.replace(",", "").partition("e")
    wanted, near = NEAR.get(number) or (
        float(f"{digits}e{power or 0}"),
        0.5 * 10.0 ** (int(power or 0) - len(digits.partition(".")[2])),
    )
    return bool(abs(value - wanted) <= max(near * (1 + 1e-9), 0.15 * wanted * loose))


def agrees(words: str, value: Any) -> bool:
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    written, values, loose = NUMBER.findall(words), np.atleast_1d(value), bool(re.search("about|nearly|almost", words))
    return len(written) == len(values) and all(map(rounds_to, written, values, [loose] * len(values)))


def wrong(
    text: str, bindings: list[tuple[str, str]], names: dict[str, Any], chapter: Callable[[str], Any]
) -> list[str]:
    """What is wrong with the bindings of a text: words that are not there, or not true."""
    found, known = [], {"np": np, "math": math, "chapter": chapter, **names}
    for words, expression in bindings:
        if (count := text.count(words)) != 1:
            found.append(f"{count} times on the page, expected once: {words}")
        elif not agrees(words, value := eval(expression, known)):  # noqa: S307
            found.append(f"not true: {words}\n  {expression} is {value}")
    return found


def unbound(text: str, bindings: list[tuple[str, str]]) -> list[str]:
    """The claims outside the words that are bound, each with its sentence."""
    for words, _ in bindings:
        text = text.replace(words, "\u2026", 1)
    found = []
    for said in re.split(r"(?<=[.?!:\u2026]) (?=[-A-Z*:`])", text):
        found += [f"{claim[0]}: {said}" for claim in CLAIM.finditer(NO_CLAIM.sub("", said))]
    return found
