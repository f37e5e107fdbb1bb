"""Figures about the structure of minirnn: the length of the code, and the path of a call.

    python scripts/house.py                       # this checkout
    python scripts/house.py --against FOLDER      # and another one next to it: calls, lines, and times in turns
    python scripts/house.py --against FOLDER --out docs/data/house.md   # the tables of the release notes
    python scripts/house.py --rooms               # only the budget: subject, lines and limit of each room
    python scripts/house.py --write               # the same, and the lines of now go to tests/house.toml

A call is counted for each function or comprehension of minirnn that Python enters, when everything is warm; NumPy's own
functions are not counted. Times are the best of many runs, taken in turns; only their ratio means something.

The parts are in `figures/`: `trips.py` for calls, `texts.py` for lines; circles of imports are found by
`tests/imports.py`.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tomllib
from datetime import date
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(HERE)]
from minirnn.devices.base import KERNELS  # noqa: E402
from scripts.figures.texts import code_files, homes, lines, lines_by_room  # noqa: E402
from scripts.figures.trips import measured_in  # noqa: E402
from tests.imports import arrows, circles  # noqa: E402

ROUNDS = 5
BUDGET = HERE / "tests" / "house.toml"
Trips = dict[str, dict[str, float]]

BEFORE = "1.0.0"
# Maps a figure to its value in version 1.0.0 (commit 7bd44d00), counted in the same way, and its goal.
GOALS = {
    "package without learn/ and the simulator, lines": ("64981", "<= 57500"),
    "tests, lines": ("76362", "<= 65000"),
    "optional kernels of a device": ("13", "<= 8"),
    "nn.LSTM forward + backward, calls / files": ("169 / 24", "<= 145 / 18"),
    "lstm_block_cell with backward, calls / files": ("127 / 20", "<= 120 / 15"),
    "cudnn_rnn_v3 forward, files": ("22", "<= 14"),
    "places with the arithmetic c = f*c' + i*n": ("9", "1"),
    "import cycles": ("0", "0"),
}


def reached(package: Path, trips: Trips) -> list[str]:
    """The figures of a checkout, in the order of `GOALS`."""

    def calls_and_files(name: str) -> str:
        return f"{trips[name]['calls']} / {trips[name]['files']}"

    return [
        str(sum(lines(path) for path in code_files(package) if not path.is_relative_to(package / "devices/cuda/sim"))),
        str(sum(map(lines, (package.parent / "tests").rglob("*.py")))),
        str(len(KERNELS)),
        calls_and_files("nn.LSTM, backward"),
        calls_and_files("lstm_block_cell, backward"),
        str(trips["cudnn_rnn_v3"]["files"]),
        str(len(homes(package))),
        str(len(circles(arrows(package)))),
    ]


def print_goals(package: Path, trips: Trips) -> None:
    print(f"{'':46}{BEFORE:>10}{'goal':>13}{'this checkout':>16}")
    for (name, (before, goal)), now in zip(GOALS.items(), reached(package, trips), strict=True):
        print(f"{name:46}{before:>10}{goal:>13}{now:>16}")
    for name in homes(package):
        print(f"    a home: {name}")
    for circle in circles(arrows(package)):
        print(f"    a circle: {', '.join(module.removeprefix('minirnn.') for module in circle)}")


def as_markdown(figures: list[str], packages: list[Path]) -> str:
    """The table of goals and that of rooms, as a part of a page, with the commit and the date."""
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=HERE, capture_output=True, text=True).stdout
    rows = ["| | 1.0.0 | goal | now |", "|---|---|---|---|"]
    for (name, (before, goal)), now in zip(GOALS.items(), figures, strict=True):
        rows.append(f"| {name.replace('*', '×')} | {before} | {goal} | {now} |")
    if len(packages) == 2:
        before, after = ({r: n for r, n in lines_by_room(p).items() if not re.search(r"/|\.py", r)} for p in packages)
        rows += ["", "| lines of each room | 1.0.0 | now |", "|---|---|---|"]
        rows += [
            f"| `{room}` | {before.get(room, '')} | {after.get(room, '')} |"
            for room in sorted({*before, *after} - {"."})
        ]
    rows += ["", f"`scripts/house.py` counted this at commit {commit.strip()} on {date.today()}."]
    return "\n".join(rows) + "\n"


def counted_rooms(package: Path) -> dict[str, int]:
    """The lines of each room, and of modules next to the rooms that have their own limit."""
    own = {name: package / name for name in tomllib.loads(BUDGET.read_text(encoding="utf-8")) if name.endswith(".py")}
    return lines_by_room(package) | {name: lines(path) for name, path in own.items() if path.exists()}


def print_rooms(packages: list[Path]) -> None:
    """The lines of each room, of one checkout or of two, its limit and its subject."""
    counts = [counted_rooms(package) for package in packages]
    budget = tomllib.loads(BUDGET.read_text(encoding="utf-8"))
    print("lines by room, without learn/, and their limits (tests/house.toml)")
    for room in sorted(set().union(*counts)):
        indented = f"{'    ' * room.count('/')}{room}"
        now = " -> ".join(f"{count.get(room, 0):6}" for count in counts)
        own = budget.get(room, {"limit": 0, "subject": "no subject"})
        above = "  ABOVE" if counts[-1].get(room, 0) > own["limit"] else ""
        print(f"{indented:26}{now} of {own['limit']:6}{above}   {own['subject']}")
    top = {room: n for room, n in counts[-1].items() if "/" not in room and not room.endswith(".py")}
    print(f"{'all':26}{sum(top.values()):6}")


def write_lines(count: dict[str, int]) -> None:
    """Write the lines of now into the budget. Limits are changed by hand."""

    def counted(found: re.Match[str]) -> str:
        return f"{found[1]}{count.get(found[2], 0):5}"

    text = BUDGET.read_text(encoding="utf-8")
    BUDGET.write_text(re.sub(r'(?m)^("([^"]+)" *= \{ lines = ) *\d+', counted, text), encoding="utf-8")


def print_trips(rounds: list[list[Trips]]) -> None:
    """A line for each trip, of one checkout or of two."""
    print(f"{'':28}{'calls':>14}{'files':>12}{'time':>10}")
    for name in rounds[0][0]:
        found = [trips[name] for trips in rounds[0]]
        calls, files = (" -> ".join(str(trip[what]) for trip in found) for what in ("calls", "files"))
        best = [min(trips[k][name]["us"] for trips in rounds) for k in range(len(found))]
        time = f"x {best[1] / best[0]:.2f}" if len(best) == 2 else f"{best[0]:.0f} us"
        print(f"{name:28}{calls:>14}{files:>12}{time:>10}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--against", type=Path, metavar="FOLDER", help="another checkout to compare with")
    parser.add_argument("--out", type=Path, metavar="FILE", help="also write the table of goals as Markdown")
    parser.add_argument("--rooms", action="store_true", help="print only the table of rooms")
    parser.add_argument("--write", action="store_true", help="write the lines of now into tests/house.toml")
    args = parser.parse_args()
    if args.write:
        write_lines(counted_rooms(HERE / "minirnn"))
    if args.rooms or args.write:
        print_rooms([HERE / "minirnn"])
        return
    folders = [HERE] if args.against is None else [args.against.resolve(), HERE]
    rounds = [[measured_in(folder) for folder in folders] for _ in range(ROUNDS)]
    print_trips(rounds)
    print()
    print_rooms([folder / "minirnn" for folder in folders])
    print()
    print_goals(HERE / "minirnn", rounds[0][-1])
    if args.out is not None:
        text = as_markdown(reached(HERE / "minirnn", rounds[0][-1]), [folder / "minirnn" for folder in folders])
        args.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
