"""The length of each room of minirnn, and the other figures about its structure in the release notes.

    python scripts/house.py                       # subject, lines and limit of each room
    python scripts/house.py --write               # the same, and the lines of now go to tests/house.toml
    python scripts/house.py --table               # the last column of docs/data/house.md, which the release notes show

A call is counted for each function or comprehension of minirnn that Python enters, when everything is warm; NumPy's own
functions are not counted. Circles of imports are found by `tests/imports.py`.
"""

from __future__ import annotations

import argparse
import io
import re
import subprocess
import sys
import tokenize
import tomllib
from collections import Counter
from collections.abc import Callable
from datetime import date
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

HERE = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(HERE)]
from minirnn.devices.base import KERNELS  # noqa: E402
from tests.imports import arrows, circles  # noqa: E402

PACKAGE = HERE / "minirnn"
BUDGET = HERE / "tests" / "house.toml"
TABLE = HERE / "docs" / "data" / "house.md"
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


def counted_rooms() -> dict[str, int]:
    """The lines of each room, and of modules next to the rooms that have their own limit."""
    own = {name: PACKAGE / name for name in tomllib.loads(BUDGET.read_text(encoding="utf-8")) if name.endswith(".py")}
    return lines_by_room(PACKAGE) | {name: lines(path) for name, path in own.items() if path.exists()}


def print_rooms(count: dict[str, int]) -> None:
    """The lines of each room, its limit and its subject."""
    budget = tomllib.loads(BUDGET.read_text(encoding="utf-8"))
    print("lines by room, without learn/, and their limits (tests/house.toml)")
    for room in sorted(count):
        indented = f"{'    ' * room.count('/')}{room}"
        own = budget.get(room, {"limit": 0, "subject": "no subject"})
        above = "  ABOVE" if count[room] > own["limit"] else ""
        print(f"{indented:26}{count[room]:6} of {own['limit']:6}{above}   {own['subject']}")
    top = {room: n for room, n in count.items() if "/" not in room and not room.endswith(".py")}
    print(f"{'all':26}{sum(top.values()):6}")


def write_lines(count: dict[str, int]) -> None:
    """Write the lines of now into the budget. Limits are changed by hand."""

    def counted(found: re.Match[str]) -> str:
        return f"{found[1]}{count.get(found[2], 0):5}"

    text = BUDGET.read_text(encoding="utf-8")
    BUDGET.write_text(re.sub(r'(?m)^("([^"]+)" *= \{ lines = ) *\d+', counted, text), encoding="utf-8")


def entered(call: Callable[[], Any]) -> str:
    """How many functions of the package the third run of a call enters, and in how many files: ``"135 / 22"``."""
    call(), call()
    found: list[CodeType] = []

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(str(PACKAGE)):
            found.append(frame.f_code)

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return f"{len(found)} / {len({code.co_filename for code in found})}"


def figures() -> dict[str, str]:
    """The last cell of each row of the table, by its first."""
    import numpy as np

    import minirnn as mr

    rng = np.random.default_rng(0)
    T, B, I, H = 4, 1, 8, 16

    def leaf(*shape: int) -> Any:
        return mr.tensor(rng.normal(size=shape).astype(np.float32), requires_grad=True)

    cell = leaf(B, I), leaf(B, H), leaf(B, H), leaf(I + H, 4 * H), leaf(H), leaf(H), leaf(H), leaf(4 * H)
    x, state, module = leaf(T, B, I), (leaf(1, B, H), leaf(1, B, H)), mr.nn.LSTM(I, H)
    params = leaf(mr.ops.cudnn_rnn_params_size(1, H, I))
    sizes = {path: lines(path) for path in code_files(PACKAGE) if not path.is_relative_to(PACKAGE / "devices/cuda/sim")}
    rooms = lines_by_room(PACKAGE)
    return {
        "package without learn/ and the simulator, lines": str(sum(sizes.values())),
        "tests, lines": str(sum(map(lines, (HERE / "tests").rglob("*.py")))),
        "optional kernels of a device": str(len(KERNELS)),
        "nn.LSTM forward + backward, calls / files": entered(lambda: module(x)[0].sum().backward()),
        "lstm_block_cell with backward, calls / files": entered(
            lambda: mr.ops.lstm_block_cell(*cell).h.sum().backward()
        ),
        "cudnn_rnn_v3 forward, files": entered(lambda: mr.ops.cudnn_rnn_v3(x, *state, params, [T] * B)).split()[-1],
        "places with the arithmetic c = f×c' + i×n": str(len(homes(PACKAGE))),
        "import cycles": str(len(circles(arrows(PACKAGE)))),
    } | {f"`{room}`": str(n) for room, n in rooms.items()}


def write_table() -> None:
    """Count the last column again. A new room gets its row by hand."""
    found = figures()

    def counted(row: re.Match[str]) -> str:
        return f"{row[1]} {found[row[2]]} |" if row[2] in found else row[0]

    text = re.sub(r"(?m)^(\| (\S.*?) \|.*\|)[^|]*\|$", counted, TABLE.read_text(encoding="utf-8"))
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=HERE, capture_output=True, text=True).stdout
    text = re.sub(r"at commit \w+ on [\d-]+", f"at commit {commit.strip()} on {date.today()}", text)
    TABLE.write_text(text, encoding="utf-8")


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
    docstrings do not count. It skips `learn/`, whose answers are written out on purpose.
    """
    files = code_files(package)
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


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="write the lines of now into tests/house.toml")
    parser.add_argument("--table", action="store_true", help="count the last column of docs/data/house.md again")
    args = parser.parse_args()
    count = counted_rooms()
    if args.write:
        write_lines(count)
    if args.table:
        write_table()
    print_rooms(count)


if __name__ == "__main__":
    main()
