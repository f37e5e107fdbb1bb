"""Which mutants do the tests notice? One thing in one function of minirnn is changed at a time.

    python scripts/kill_power.py optim                        # 60 mutants of a room, its own default tests
    python scripts/kill_power.py optim --all --only cosine    # every mutant of what is named so
    python scripts/kill_power.py --whole --out FILE           # all rooms, also the slow tests; a table
    python scripts/kill_power.py learn --own --out FILE       # also the slow tests of that room alone
    python scripts/kill_power.py --sample 40 --least 0.45     # what CI runs: 40 of four rooms that the seed draws
    python scripts/kill_power.py backward --all               # each term of each backward formula dropped or negated

The script changes operators, comparisons, conditions, constants and arguments. A test meets the mutants of the code
that it enters, which is recorded once per test file (`--cache`), in a copy of the tree. The checkout is never changed.
Each room is written to the table of `--out` as soon as it is done, and the same command continues with the missing
ones. A survivor that computes the same is listed in `mutation/reasons.toml` with the reason; any other one shows a line
that no test looks at, and the exit status is 1. torch cannot be imported. Linux and macOS. Needs the [test] extra.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable
from datetime import date
from itertools import islice
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from mutation import probes, trees  # noqa: E402
from mutation.entries import Entries  # noqa: E402
from mutation.mutants import Mutant  # noqa: E402
from mutation.record import record  # noqa: E402
from mutation.rooms import FORMULAS, ROOMS, mutants, test_files  # noqa: E402

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "minirnn" / "kill_power"
DRAWN_ROOMS = 4
EVERY = {**ROOMS, **FORMULAS}


def reasons() -> dict[str, str]:
    """The keys of equivalent mutants, with the reasons."""
    found = tomllib.loads((Path(__file__).parent / "mutation/reasons.toml").read_text(encoding="utf-8"))
    return {f"{path} {change}": reason for path, changes in found.items() for change, reason in changes.items()}


class Laboratory:
    """Copies of a tree, in which tests are recorded and mutants are tried."""

    def __init__(self, root: Path, cache: Path, workers: int, folder: Path) -> None:
        self.root, self.cache, self.folder = root, cache, folder
        self.files = list(test_files(root))
        self.trees = [trees.copy_of(root, folder / f"trial{k}") for k in range(workers)]
        self.probed: list[Path] = []
        self.entries = Entries()
        self.shown: dict[str, set[str]] = {}
        """The tests that each mutant has met. None meets it again."""

    def record(self, layer: str, files: Iterable[str]) -> None:
        """Read which code the tests of the files enter."""
        if not self.probed:
            self.probed = [trees.copy_of(self.root, self.folder / f"record{k}") for k in range(len(self.trees))]
            for tree in self.probed:
                probes.prepare(tree)
        files = list(files)
        record(self.root, self.cache, layer, files, self.probed)
        self.entries.read(self.root, self.cache, layer, files)

    def run(self, chosen: list[Mutant], layer: str, first: tuple[str, ...], budget: float) -> dict[str, dict[str, Any]]:
        """Run the recorded tests that enter each mutant, until one fails; returns the outcome of each mutant."""
        tasks = []
        for m in sorted(chosen, key=lambda m: m.path):
            seen = self.shown.setdefault(m.key, set())
            if tests := self.entries.tests(m.segment, layer, first, budget, seen):
                seen |= {name for name, _ in tests}
                tasks.append({"key": m.key, "path": m.path, "text": m.make(), "tests": tests})
        started, outs = {}, []
        for k, tree in enumerate(self.trees):
            share = tasks[k :: len(self.trees)]
            if share:
                file = self.folder / f"tasks{k}.jsonl"
                file.write_text("".join(json.dumps(task) + "\n" for task in share), encoding="utf-8")
                outs.append(file.with_suffix(".out"))
                outs[-1].unlink(missing_ok=True)
                started[tree] = trees.start("trial", tree, layer, str(file))
        trees.wait(started)
        lines = [line for out in outs if out.exists() for line in out.read_text(encoding="utf-8").splitlines()]
        return {result["key"]: result for result in map(json.loads, lines)}


def measure(laboratory: Laboratory, room: str, chosen: list[Mutant], layers: str, budget: float) -> dict[str, Any]:
    """One row of the table: which of the chosen mutants of a room are killed by which tests."""
    own = EVERY[room].tests
    mine = [file for file in laboratory.files if file.startswith(own)]
    laboratory.record("default", mine)
    killed: dict[str, dict[str, str]] = {"default": {}, "slow": {}}
    left = chosen
    stages: list[tuple[str, list[str]]] = [("default", mine)]
    if layers == "whole":
        stages += [("default", laboratory.files), ("slow", laboratory.files)]
    if layers == "own":
        stages += [("slow", mine)]
    shown: set[str] = set()
    for layer, files in stages:
        if not left:
            break
        laboratory.record(layer, files)
        found = laboratory.run(left, layer, own, budget)
        shown |= found.keys()
        killed[layer].update({key: result["killer"] for key, result in found.items() if result["killer"]})
        left = [mutant for mutant in left if not found.get(mutant.key, {}).get("killer")]
    return {
        "mutants": len(chosen),
        "default": len(killed["default"]),
        "whole": len(killed["default"]) + len(killed["slow"]),
        "only slow": killed["slow"],
        "survivors": [str(mutant) for mutant in left],
        "not entered": [str(mutant) for mutant in left if mutant.key not in shown],
    }


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rooms", nargs="*", choices=[[], *EVERY], metavar="ROOM", help=f"of {', '.join(EVERY)}")
    parser.add_argument("--only", default="", metavar="TEXT", help="files and functions whose names contain TEXT")
    parser.add_argument(
        "--sample", type=int, metavar="N", help="mutants of each room (60); without ROOM and --out: of four"
    )
    parser.add_argument("--all", action="store_true", help="every mutant")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument(
        "--least", type=float, default=1.0, metavar="SHARE", help="exit status 1 if a smaller share is killed (1)"
    )
    layers = parser.add_mutually_exclusive_group()
    layers.add_argument("--whole", action="store_true", help="survivors meet the other default tests, then the slow")
    layers.add_argument("--own", action="store_true", help="survivors meet the slow tests of their room")
    parser.add_argument("--budget", type=float, default=60, metavar="S", help="seconds of tests for each mutant")
    parser.add_argument("--list", action="store_true", help="say what would be changed, and stop")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--root", type=Path, default=Path(__file__).parents[1], help="another checkout")
    parser.add_argument("--cache", type=Path, default=CACHE, help=f"of what tests enter ({CACHE})")
    parser.add_argument("--out", type=Path, metavar="FILE", help="add the rooms that this JSON file lacks")
    options = parser.parse_args(arguments)
    drawn = not options.rooms and options.sample is not None and not options.out
    rooms = options.rooms or list(ROOMS)
    size = options.sample or 60
    if drawn:
        rooms = random.Random(options.seed).sample(rooms, DRAWN_ROOMS)
        size = -(-options.sample // DRAWN_ROOMS)
    listed = reasons()
    start, unlisted, met = time.monotonic(), 0, 0
    with tempfile.TemporaryDirectory(prefix="kill_power-") as folder:
        laboratory = None
        asked = {"seed": options.seed, "sample": "all" if options.all else size, "only": options.only}
        asked |= {"layers": "whole" if options.whole else "own" if options.own else "default"}
        asked |= {"commit": commit(options.root)}
        for room in rooms:
            found = table(options.out).get(room, {}) if options.out else {}
            if asked.items() <= found.items():
                print(f"{room}: in {options.out}")
                unlisted, met = unlisted + len(found["survivors"]), met + found["mutants"]
                continue
            began = time.monotonic()
            every = mutants(options.root, room, options.only)
            counting = [m for m in every if not {m.key, m.reason} & listed.keys()]
            counting.sort(key=lambda m: m.rank(options.seed))
            chosen = list(islice((m for m in counting if m.make()), None if options.all else size))
            if options.list:
                print(*chosen, sep="\n")
                continue
            laboratory = laboratory or Laboratory(options.root, options.cache, options.workers, Path(folder))
            row = measure(laboratory, room, chosen, str(asked["layers"]), options.budget)
            unlisted, met = unlisted + len(row["survivors"]), met + row["mutants"]
            tell(room, row, len(every) - len(counting), options.whole or options.own)
            if options.out:
                row = {"date": date.today().isoformat(), **asked, "seconds": round(time.monotonic() - began), **row}
                write(options.out, {**table(options.out), room: row})
    if not options.list:
        print(f"{time.monotonic() - start:.0f} s")
    return 1 if unlisted > (1 - options.least) * met else 0


def tell(room: str, row: dict[str, Any], listed: int, whole: bool) -> None:
    text = f"{room}: {row['mutants']} mutants, the default suite kills {row['default']}"
    print(text + (f", the whole one {row['whole']}" if whole else "") + f" ({listed} others are listed)")
    for name, tests in row["only slow"].items():
        print(f"  SLOW TESTS ONLY: {name}\n    {tests}")
    for name in row["survivors"]:
        print(f"  {'NOT ENTERED' if name in row['not entered'] else 'SURVIVED'}: {name}", flush=True)


def table(path: Path) -> dict[str, dict[str, Any]]:
    """The measured rooms, by name."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def write(path: Path, rows: dict[str, dict[str, Any]]) -> None:
    """Write the table. An interrupted write keeps the old one."""
    new = path.with_suffix(".new")
    new.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    new.replace(path)


def commit(root: Path) -> str:
    done = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=root, capture_output=True, text=True)
    return done.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
