"""The changes of a backward formula of C++ or CUDA: each term of ``name = expression;`` dropped or negated."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import partial

from mutation.mutants import Mutant


def kernel_terms(path: str, source: str, wanted: str, segment: str) -> Iterator[Mutant]:
    """Mutants of the functions of a C++ or CUDA file whose names fit the pattern `wanted`."""
    kernel = ""
    seen: Counter[tuple[str, str]] = Counter()
    offset = 0
    for number, line in enumerate(source.splitlines(keepends=True), 1):
        if found := re.search(r"(?:__global__|__device__|CELL_FN) (?:inline )?\w+ (\w+)\(", line):
            kernel = found[1]
        code = line.partition("//")[0]
        if kernel and re.fullmatch(wanted, kernel) and not re.search(r"\b(i64|int|bool|for|return)\b", code):
            for begin, end in _values(code):
                value = code[begin:end]
                for new in _variants(value):
                    text = source[: offset + begin] + new + source[offset + end :]
                    seen[value, new] += 1
                    yield Mutant(path, kernel, number, value, new, partial(str, text), segment, seen[value, new])
        offset += len(line)


def _values(code: str) -> Iterator[tuple[int, int]]:
    """The positions of the right-hand sides of a line's assignments, also of several that are separated by commas."""
    depth = 0
    begin = -1
    for k, c in enumerate(code):
        depth += (c in "([") - (c in ")]")
        if c == "=" and depth == 0 and code[k - 1] not in "=<>!" and code[k + 1] != "=":
            begin = k + 1
        elif begin >= 0 and depth == 0 and c in ",;":
            piece = code[begin:k]
            lead = len(piece) - len(piece.lstrip())
            yield begin + lead, k
            begin = -1


def _variants(value: str) -> Iterator[str]:
    """The value negated, and with one summand or factor omitted or negated."""
    if re.fullmatch(r"[\d.]+|real\(0\)", value):
        return
    cast = re.fullmatch(r"real\((.*)\)", value)
    inner = cast[1] if cast else value
    wrap = "real({})" if cast else "{}"
    yield wrap.format(f"-({inner})")
    if "?" in inner:
        return
    terms = _split(inner, "+-")
    if len(terms) > 1:
        for k in range(len(terms)):
            rest = "".join(sign + term for j, (sign, term) in enumerate(terms) if j != k)
            yield wrap.format(rest.removeprefix("+"))
            flipped = [("-" if s == "+" else "+", term) if j == k else (s, term) for j, (s, term) in enumerate(terms)]
            yield wrap.format("".join(s + term for s, term in flipped).removeprefix("+"))
    for t, (_, term) in enumerate(terms):
        factors = _split(term, "*")
        for k in range(len(factors) if len(factors) > 1 else 0):
            product = "*".join(f for j, (_, f) in enumerate(factors) if j != k)
            yield wrap.format(
                "".join(s + (product if j == t else x) for j, (s, x) in enumerate(terms)).removeprefix("+")
            )


def _split(text: str, operators: str) -> list[tuple[str, str]]:
    """Split at operators outside brackets: (preceding operator, part)."""
    parts = [("+", "")]
    depth = 0
    for c in text:
        depth += (c in "([") - (c in ")]")
        if depth == 0 and c in operators and parts[-1][1].strip():
            parts.append((c, ""))
        else:
            parts[-1] = (parts[-1][0], parts[-1][1] + c)
    return parts
