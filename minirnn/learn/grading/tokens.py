"""The words and signs of an answer, which `similarity` compares. Names, comments, spaces and parts of the stub are left
out. Each character is read once.
"""

from __future__ import annotations

import io
import itertools
import re
import tokenize
from collections.abc import Iterator, Sequence

CUDA_TOKEN = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)|\"(?:\\.|[^\"\\\n])*+\"?|([A-Za-z_]\w*)|(\d[\w.]*)|(\S)", re.DOTALL)
"""Comments and strings that are never closed extend to the end, so that each character is read once."""
KEPT = {"for", "while", "if", "else", "return", "def", "lambda", "in", "not", "and", "or", "float", "int", "np",
        "threadIdx", "blockIdx", "blockDim", "__syncthreads", "__shared__"}  # fmt: skip
"""Words that are kept. All other names count as the same name."""
MOST_READ = 100_000
"""The most characters of an answer that are read. Otherwise a huge file of comments would delay everything else."""


def words_of(answers: Sequence[bytes], stub: str, python: bool, most: int) -> list[list[str]]:
    """The first words of each answer that are not from the stub."""
    given = set(lines_of(stub))
    texts = [data.decode("utf-8", errors="replace")[:MOST_READ] for data in answers]
    return [tokens(own_text(text, given), python, most) for text in texts]


def lines_of(text: str) -> Iterator[str]:
    """The lines of a text without their spaces."""
    for one in text.splitlines():
        if bare := "".join(one.split()):
            yield bare


def own_text(text: str, stub: set[str]) -> str:
    """The lines that are not from the stub."""
    return "\n".join(one for one in text.splitlines() if "".join(one.split()) not in stub)


def tokens(text: str, python: bool, most: int | None = None) -> list[str]:
    """The words and signs of a program, without comments and layout; all names are one, and so are all numbers."""
    return list(itertools.islice(python_tokens(text) if python else cuda_tokens(text), most))


def python_tokens(text: str) -> Iterator[str]:
    skipped = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.STRING}
    try:
        for token in tokenize.generate_tokens(io.StringIO(text.replace("\0", "")).readline):
            if token.type not in skipped and token.string.strip():
                yield word(token.string, token.type == tokenize.NAME, token.type == tokenize.NUMBER)
    except (tokenize.TokenError, SyntaxError, ValueError, RecursionError):
        return  # text that is not Python is compared up to the error


def cuda_tokens(text: str) -> Iterator[str]:
    for match in CUDA_TOKEN.finditer(text):
        name, number, sign = match.groups()
        if name or number or sign:
            yield word(name or number or sign, bool(name), bool(number))


def word(text: str, name: bool, number: bool) -> str:
    return "0" if number else "name" if name and text not in KEPT else text
