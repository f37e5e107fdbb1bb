"""The length of the code per folder, and the number of files with the arithmetic of the LSTM's cell state."""

from __future__ import annotations

import io
import re
import tokenize
from collections import Counter
from pathlib import Path

CODE = {".py", ".cu", ".cuh", ".cpp", ".h"}


def code_files(package: Path) -> list[Path]:
    """All files of code, without those of the course (`learn/`)."""
    return [
        path
        for path in sorted(package.rglob("*"))
        if path.suffix in CODE and not path.is_relative_to(package / "learn")
    ]


def lines(path: Path) -> int:
    return len(path.read_bytes().splitlines())


def lines_by_room(package: Path) -> dict[str, int]:
    """Maps a folder, and a folder in a folder, to the lines of all files below it. "." has the package's own files."""
    rooms: Counter[str] = Counter()
    for path in code_files(package):
        parts = path.relative_to(package).parts[:-1]
        for depth in range(1, min(len(parts), 2) + 1) if parts else [0]:
            rooms["/".join(parts[:depth]) or "."] += lines(path)
    return dict(sorted(rooms.items()))


# ---- c = f*c' + i*n


def _one(names: str) -> str:
    """A variable with one of these names. It may be a member and may have an index."""
    return rf"(?:\w+(?:\.|->))?\b(?:{names})\b(?:\[[^\]]*\])?"


def _both(a: str, b: str, between: str) -> str:
    return rf"(?:{a}{between}{b}|{b}{between}{a})"


_F, _C, _I, _N = _one("f"), _one("c|c_prev|cs_prev"), _one("i"), _one("n|g|ci")
_CALL = r"\w*\.?multiply\({}\)"
_PATTERNS = (
    _both(_both(_F, _C, r" \* "), _both(_I, _N, r" \* "), r" \+ "),  # f * c_prev + i * n
    r"add\(" + _both(_CALL.format(_both(_F, _C, ", ")), _CALL.format(_both(_I, _N, ", ")), ", "),
    r"multiply\(i_f, n_c",  # both products in one
)
_HOME = re.compile("|".join(_PATTERNS))


def homes(package: Path) -> list[str]:
    """The files in whose code the new cell state of an LSTM is computed as f times the old one plus i times candidate.

    The search uses the names of minirnn's formulas, with operators or with calls of `add` and `multiply`. Comments and
    docstrings do not count. It skips `learn/`, whose answers are written out on purpose, and `verify/`, which judges by
    a formula in torch.
    """
    files = [path for path in code_files(package) if not path.is_relative_to(package / "verify")]
    return [str(path.relative_to(package)) for path in files if _HOME.search(without_comments(path))]


def without_comments(path: Path) -> str:
    """The code of a file with single spaces, without comments and without Python strings."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        return " ".join(re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL).split())
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    cuts = [(t.start, t.end) for t in tokens if t.type in (tokenize.COMMENT, tokenize.STRING)]
    rows = text.splitlines()
    for (row, column), (last, end) in reversed(cuts):
        rows[row - 1 : last] = [rows[row - 1][:column] + rows[last - 1][end:]]
    return " ".join(" ".join(rows).split())
